//! The audit log over HTTP.

use crate::http::wire::answer::Answer as _;
use crate::http::wire::log::{self, LogPageAnswer};
use crate::http::{Answer, Exchange, Reply};

impl Exchange<'_> {
    pub(in crate::http) async fn list_logs(&self) -> Answer {
        let request = log::parse(&self.query)?;
        let log::LogRequest { query, start, page } = &request;
        let found = self.app.audit().list_logs(self.caller, query, start, page.size).await?;
        Ok(Reply::ok(LogPageAnswer::render((self.caller.tenant.id, &request, &found))))
    }
}

pub(in crate::http) fn list_log_entity_types() -> Reply {
    Reply::ok(log::render_kinds())
}
