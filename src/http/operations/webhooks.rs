//! Webhooks over HTTP.

use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde_json::json;

use crate::domain::id::WebhookId;
use crate::domain::webhook::Webhook;
use crate::http::exchange::{Exchange, OperationFailure};
use crate::http::probes::ProbeDetail;
use crate::http::problem::Problem;
use crate::http::reply::Reply;
use crate::http::state::Http;
use crate::http::wire::cursor::render_page;
use crate::http::wire::webhook;
use crate::idempotency::{AnswerStatus, RememberedAnswer};
use crate::secret::SecretBody;

impl Exchange<'_> {
    pub(in crate::http) async fn create_webhook(&self) -> Result<Reply, OperationFailure> {
        let draft = webhook::parse_draft(self.body.expose())?;
        let answer: fn(&Webhook) -> RememberedAnswer = webhook::answer;
        let write = self.write(&answer);
        let made = self.app.webhooks().create(self.caller, &draft, &write).await?;
        Ok(Reply::from(made.answer))
    }

    pub(in crate::http) fn list_webhooks(&self) -> Result<Reply, Problem> {
        let (after, size) = webhook::parse_list(&self.query)?;
        let page = self.app.webhooks().list(self.caller, after, size)?;
        let items: Vec<_> = page.webhooks.iter().map(webhook::render).collect();
        let next = page.next.as_ref().map(|id| id.bytes().as_slice());
        Ok(Reply::ok(render_page(size, next, &items)))
    }

    pub(in crate::http) fn read_webhook(&self, id: &WebhookId) -> Result<Reply, Problem> {
        Ok(Reply::ok(webhook::render(&self.app.webhooks().read(self.caller, *id)?)))
    }

    pub(in crate::http) async fn update_webhook(
        &self,
        id: &WebhookId,
    ) -> Result<Reply, OperationFailure> {
        let change = webhook::parse_change(self.body.expose())?;
        let answer =
            |changed: &Webhook| RememberedAnswer::new(AnswerStatus::Ok, webhook::render(changed));
        let write = self.write(&answer);
        let changed = self.app.webhooks().update(self.caller, *id, &change, &write).await?;
        Ok(Reply::from(changed.answer))
    }

    pub(in crate::http) async fn delete_webhook(&self, id: &WebhookId) -> Result<Reply, Problem> {
        self.app.webhooks().delete(self.caller, *id).await?;
        Ok(Reply::nothing())
    }
}

pub(in crate::http) fn list_event_types() -> Reply {
    Reply::ok(webhook::render_event_types())
}

/// The public key that verifies webhooks. It needs no key: receivers have none.
pub(in crate::http) fn public_key(http: &Http, _: ProbeDetail) -> Reply {
    match http.app.webhooks().public_key() {
        Ok(Some(pem)) => {
            let kind = HeaderValue::from_static("application/x-pem-file");
            Reply::ok(pem).with(CONTENT_TYPE, kind)
        }
        Ok(None) => problem(
            StatusCode::NOT_FOUND,
            "There is no such key: it is made when the first webhook is created.",
        ),
        Err(_) => problem(StatusCode::SERVICE_UNAVAILABLE, "The key cannot be read now."),
    }
}

fn problem(status: StatusCode, detail: &'static str) -> Reply {
    let title = status.canonical_reason().unwrap_or_default();
    let body = json!({"status": status.as_u16(), "title": title, "detail": detail});
    Reply::with_status(status, SecretBody::from(body.to_string()))
}
