//! The caller's own tenant over HTTP.

use crate::domain::tenant::Tenant;
use crate::http::exchange::{Exchange, OperationFailure};
use crate::http::reply::Reply;
use crate::http::wire::tenant;
use crate::idempotency::{AnswerStatus, RememberedAnswer};

impl Exchange<'_> {
    pub(in crate::http) fn read_tenant(&self) -> Reply {
        Reply::ok(tenant::render(&self.caller.tenant))
    }

    pub(in crate::http) async fn update_tenant(&self) -> Result<Reply, OperationFailure> {
        let change = tenant::parse_change(self.body.expose())?;
        let answer =
            |changed: &Tenant| RememberedAnswer::new(AnswerStatus::Ok, tenant::render(changed));
        let (id, caller, write) = (self.caller.tenant.id, Some(self.caller), self.write(&answer));
        let changed = self.app.access().change_tenant(id, &change, caller, &write).await?;
        Ok(Reply::from(changed.answer))
    }
}
