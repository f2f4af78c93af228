//! Sessions of public applications over HTTP.

use hyper::StatusCode;

use crate::http::exchange::{Exchange, OperationFailure};
use crate::http::problem::Problem;
use crate::http::reply::Reply;
use crate::http::wire::session;
use crate::idempotency::{AnswerStatus, RememberedAnswer};

impl Exchange<'_> {
    /// The answer is not remembered for an idempotency key, because it holds the session's key.
    pub(in crate::http) async fn create_session(&self) -> Result<Reply, Problem> {
        let new = self.app.access().create_session(self.caller).await?;
        Ok(Reply::with_status(StatusCode::CREATED, session::render(&new).into()))
    }

    pub(in crate::http) async fn authorize_session(&self) -> Result<Reply, OperationFailure> {
        let authorization = session::parse_authorization(self.body.expose())?;
        let answer = |(): &()| RememberedAnswer::empty(AnswerStatus::Ok);
        let write = self.write(&answer);
        let done = self.app.access().authorize_session(self.caller, &authorization, &write).await?;
        Ok(Reply::from(done.answer))
    }
}
