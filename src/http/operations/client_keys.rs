//! Client encryption keys over HTTP.

use crate::app::ClientKeyView;
use crate::domain::id::ClientKeyId;
use crate::http::exchange::{Exchange, OperationFailure};
use crate::http::problem::Problem;
use crate::http::reply::Reply;
use crate::http::wire::client_key;
use crate::http::wire::json::list;
use crate::idempotency::RememberedAnswer;

impl Exchange<'_> {
    pub(in crate::http) async fn create_client_key(&self) -> Result<Reply, OperationFailure> {
        let expires_at = client_key::parse_expires_at(self.body.expose())?;
        let answer: fn(&ClientKeyView) -> RememberedAnswer = client_key::answer;
        let (keys, write) = (self.app.client_keys(), self.write(&answer));
        let new = keys.create(self.caller, expires_at.as_deref(), &write).await?;
        Ok(Reply::from(new.answer))
    }

    pub(in crate::http) fn list_client_keys(&self) -> Result<Reply, Problem> {
        let keys = self.app.client_keys().list(self.caller)?;
        Ok(Reply::ok(list(&keys.iter().map(client_key::render).collect::<Vec<_>>())))
    }

    pub(in crate::http) fn read_client_key(&self, id: &ClientKeyId) -> Result<Reply, Problem> {
        Ok(Reply::ok(client_key::render(&self.app.client_keys().read(self.caller, *id)?)))
    }

    pub(in crate::http) async fn delete_client_key(
        &self,
        id: &ClientKeyId,
    ) -> Result<Reply, Problem> {
        self.app.client_keys().delete(self.caller, *id).await?;
        Ok(Reply::nothing())
    }
}
