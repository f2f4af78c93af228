//! Webhooks over HTTP.

use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderValue};

use crate::domain::id::WebhookId;
use crate::domain::webhook::Webhook;
use crate::http::exchange::{Exchange, OperationFailure};
use crate::http::probes::ProbeRequest;
use crate::http::problem::Problem;
use crate::http::reply::Reply;
use crate::http::state::Http;
use crate::http::wire::answer::Answer as _;
use crate::http::wire::cursor::render_page;
use crate::http::wire::webhook::{self, EventAnswer, WebhookAnswer};
use crate::idempotency::{AnswerStatus, RememberedAnswer};

pub(in crate::http) async fn create(exchange: &Exchange<'_>) -> Result<Reply, OperationFailure> {
    let draft = webhook::parse_draft(exchange.body.expose())?;
    let answer: fn(&Webhook) -> RememberedAnswer = webhook::answer;
    let write = exchange.write(&answer);
    let made = exchange.app.webhooks().create(exchange.caller, &draft, &write).await?;
    Ok(Reply::from(made.answer))
}

pub(in crate::http) fn list(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    let (after, size) = webhook::parse_list(&exchange.query)?;
    let page = exchange.app.webhooks().list(exchange.caller, after, size)?;
    let items: Vec<_> = page.webhooks.iter().map(WebhookAnswer::render).collect();
    let next = page.next.as_ref().map(|id| id.bytes().as_slice());
    Ok(Reply::ok(render_page(size, next, &items)))
}

pub(in crate::http) fn read(exchange: &Exchange<'_>, id: &WebhookId) -> Result<Reply, Problem> {
    Ok(Reply::ok(WebhookAnswer::render(&exchange.app.webhooks().read(exchange.caller, *id)?)))
}

pub(in crate::http) async fn update(
    exchange: &Exchange<'_>,
    id: &WebhookId,
) -> Result<Reply, OperationFailure> {
    let change = webhook::parse_change(exchange.body.expose())?;
    let answer =
        |changed: &Webhook| RememberedAnswer::new(AnswerStatus::Ok, WebhookAnswer::render(changed));
    let write = exchange.write(&answer);
    let changed = exchange.app.webhooks().update(exchange.caller, *id, &change, &write).await?;
    Ok(Reply::from(changed.answer))
}

pub(in crate::http) async fn delete(
    exchange: &Exchange<'_>,
    id: &WebhookId,
) -> Result<Reply, Problem> {
    exchange.app.webhooks().delete(exchange.caller, *id).await?;
    Ok(Reply::nothing())
}

pub(in crate::http) async fn test(
    exchange: &Exchange<'_>,
    id: &WebhookId,
) -> Result<Reply, Problem> {
    let event = exchange.app.webhooks().test(exchange.caller, *id).await?;
    Ok(Reply::with_status(StatusCode::ACCEPTED, EventAnswer::render(event).into()))
}

pub(in crate::http) fn list_event_types() -> Reply {
    Reply::ok(webhook::render_event_types())
}

const NO_KEY_YET: &str = "There is no such key: it is made when the first webhook is created.";

/// The public key that verifies webhooks. No API key is needed: receivers have none.
pub(in crate::http) fn public_key(http: &Http, _: &ProbeRequest<'_>) -> Result<Reply, Problem> {
    match http.app.webhooks().public_key() {
        Ok(Some(pem)) => {
            let kind = HeaderValue::from_static("application/x-pem-file");
            Ok(Reply::ok(pem).with(CONTENT_TYPE, kind))
        }
        Ok(None) => Err(Problem::new(404, NO_KEY_YET)),
        Err(_) => Err(Problem::new(503, "The key cannot be read now.")),
    }
}
