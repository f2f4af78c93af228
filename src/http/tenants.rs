//! The caller's own tenant over HTTP.

use crate::http::Exchange;
use crate::http::problem::Problem;
use crate::http::reply::Reply;
use crate::http::wire::tenant;

impl Exchange<'_> {
    pub(super) fn read_tenant(&self) -> Reply {
        Reply::ok(tenant::render(&self.caller.tenant))
    }

    pub(super) async fn update_tenant(&self) -> Result<Reply, Problem> {
        let change = tenant::parse_change(self.body.expose())?;
        let id = self.caller.tenant.id;
        let changed = self.app.change_tenant(id, &change, Some(self.caller)).await?;
        Ok(Reply::ok(tenant::render(&changed)))
    }
}
