//! Sessions of public applications over HTTP.

use hyper::StatusCode;

use crate::http::wire::answer::Answer as _;
use crate::http::wire::session::{self, SessionAnswer};
use crate::http::{Answer, Exchange, Reply, WriteAnswer};
use crate::idempotency::{AnswerStatus, RememberedAnswer};

/// The answer is not remembered for an idempotency key, because it holds the session's key.
pub(in crate::http) async fn create_session(exchange: &Exchange<'_>) -> Answer {
    let new = exchange.app.access().create_session(exchange.caller).await?;
    Ok(Reply::with_status(StatusCode::CREATED, SessionAnswer::render(&new).into()))
}

pub(in crate::http) async fn authorize_session(exchange: &Exchange<'_>) -> WriteAnswer {
    let authorization = session::parse_authorization(exchange.body.expose())?;
    let answer = |(): &()| RememberedAnswer::empty(AnswerStatus::Ok);
    let (access, write) = (exchange.app.access(), exchange.write(&answer));
    let done = access.authorize_session(exchange.caller, &authorization, &write).await?;
    Ok(Reply::from(done.answer))
}
