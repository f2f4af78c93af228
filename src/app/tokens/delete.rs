//! `DELETE /tokens/{id}`.

use crate::app::App;
use crate::app::access::authenticate::Caller;
use crate::app::error::Error;
use crate::app::tokens::read::live_token;
use crate::app::tokens::rows;
use crate::domain::audit::{Act, Entity};
use crate::domain::permission::Permission;
use crate::store::{Change, Table, tables};

impl App {
    pub async fn delete_token(&self, caller: &Caller, id: &str) -> Result<(), Error> {
        let _turn = self.turns.take(id.as_bytes()).await;
        self.settle(|snapshot| {
            let now = self.now();
            let found = live_token(snapshot, caller, id, now)?;
            caller.require_in_all(Permission::TokenDelete, &found.token.containers)?;
            let record = tables::tokens(found.token.tenant, found.token.id);
            let change = Change::new()
                .expect_version(Table::Tokens, record, found.version)
                .and(rows::delete(&found.token, &caller.keys))
                .and(self.audit_caller(caller, Act::Delete, Entity::token(&found.token), now));
            Ok((change, ()))
        })
        .await
    }
}
