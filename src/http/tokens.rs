//! Token operations over HTTP.

use crate::http::Exchange;
use crate::http::problem::Problem;
use crate::http::reply::Reply;
use crate::http::wire::token;

impl Exchange<'_> {
    pub(super) async fn create_token(&self) -> Result<Reply, Problem> {
        let draft = token::parse_draft(self.body.expose());
        let created = self.app.create_token(self.caller, draft).await?;
        let location = format!("/tokens/{}", created.shown.token.public_id());
        Ok(Reply::created(token::render_created(&created), Some(location)))
    }

    pub(super) fn read_token(&self) -> Result<Reply, Problem> {
        let shown = self.app.read_token(self.caller, self.parameter(0))?;
        Ok(Reply::ok(token::render(&shown)))
    }

    pub(super) async fn delete_token(&self) -> Result<Reply, Problem> {
        self.app.delete_token(self.caller, self.parameter(0)).await?;
        Ok(Reply::nothing())
    }
}
