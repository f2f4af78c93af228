//! The caller's own tenant over HTTP.

use serde_json::{Value, json};

use crate::domain::mistakes::Mistakes;
use crate::domain::tenant::Tenant;
use crate::http::wire::OffsetPage;
use crate::http::wire::answer::Answer as _;
use crate::http::wire::tenant::{self, Usage};
use crate::http::{Answer, Exchange, Reply, WriteAnswer};
use crate::idempotency::{AnswerStatus, RememberedAnswer};

impl Exchange<'_> {
    pub(in crate::http) fn read_tenant(&self) -> Reply {
        Reply::ok(tenant::render(&self.caller.tenant))
    }

    pub(in crate::http) async fn update_tenant(&self) -> WriteAnswer {
        let change = tenant::parse_change(self.body.expose())?;
        let answer =
            |changed: &Tenant| RememberedAnswer::new(AnswerStatus::Ok, tenant::render(changed));
        let (id, caller, write) = (self.caller.tenant.id, Some(self.caller), self.write(&answer));
        let changed = self.app.access().change_tenant(id, &change, caller, &write).await?;
        Ok(Reply::from(changed.answer))
    }
}

/// Destroys the tenant's keys. The server removes its rows afterwards.
pub(in crate::http) async fn delete_tenant(exchange: &Exchange<'_>) -> Answer {
    let caller = exchange.caller;
    exchange.app.deletion().begin(caller.tenant.id, Some(caller)).await?;
    Ok(Reply::nothing())
}

/// The roles of members in the published interface.
pub(in crate::http) fn list_roles() -> Reply {
    let names = ["OWNER", "ADMIN", "READ_ONLY"].map(|name| json!({ "name": name }));
    Reply::ok(Value::from(names.to_vec()).to_string())
}

pub(in crate::http) async fn read_tenant_usage(exchange: &Exchange<'_>) -> Answer {
    let usage = exchange.app.tokens(exchange.caller).usage().await?;
    Ok(Reply::ok(Usage::render(&usage)))
}

/// Members and invitations: this server has no users, so both lists are empty.
pub(in crate::http) fn list_no_people(exchange: &Exchange<'_>) -> Answer {
    let mut mistakes = Mistakes::new();
    let page = OffsetPage::parse(&exchange.query, &mut mistakes);
    mistakes.into_result()?;
    Ok(Reply::ok(page.render(0, &[])))
}
