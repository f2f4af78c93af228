//! `DELETE /tokens/{id}`.

use crate::app::commit::commit_loop::Priority;
use crate::app::error::Error;
use crate::app::program_calls::gathered;
use crate::app::tokens::Tokens;
use crate::app::tokens::read::live_token;
use crate::app::tokens::rows;
use crate::domain::audit::Act;
use crate::domain::permission::Permission;
use crate::store::{Change, Table, tables};

impl Tokens<'_> {
    pub async fn delete(self, id: &str) -> Result<(), Error> {
        let _turn = self.vault.lanes.take((self.caller.tenant.id, id)).await?;
        let deleted = self
            .vault
            .commit(Priority::Upkeep, |snapshot| {
                let now = self.vault.now();
                let found = live_token(snapshot, self.caller, Permission::TokenDelete, id, now)?;
                self.caller.require_in_all(Permission::TokenDelete, found.token.target())?;
                let record = tables::tokens(found.token.tenant, found.token.id);
                let change = Change::new()
                    .expect_version(Table::Tokens, record, found.version)
                    .and(rows::delete(&found.token, &self.caller.keys))
                    .and(self.vault.audit().caller_entry(
                        self.caller,
                        Act::Delete,
                        &found.token,
                        now,
                    ));
                Ok((change, found.token.id))
            })
            .await?;
        gathered::note_ended(deleted.uuid());
        Ok(())
    }
}
