//! Writing and reading the rows of [`Table::KeyUses`].

use std::collections::HashMap;
use std::sync::Arc;

use crate::app::AccessControl;
use crate::app::caller::last_uses::LastUse;
use crate::app::commit::commit_loop::Priority;
use crate::app::error::{Error, Fault};
use crate::bounds::LAST_USES_AT_ONCE;
use crate::domain::id::{KeyId, TenantId};
use crate::domain::time::Timestamp;
use crate::store::{Change, Snapshot, Table, tables};

impl AccessControl<'_> {
    /// Writes the last uses that are not in the file yet. Below the disk floor they stay in memory:
    /// an administrator can do without them. Fails as busy if the uses in a shard could not be
    /// written.
    pub async fn write_last_uses(self) -> Result<(), Error> {
        let scope = |(last, _): &(Arc<LastUse>, i64)| {
            Table::KeyUses.scope_in_key(&last.place).unwrap_or_default()
        };
        let mut is_busy = false;
        for uses in self.vault.by_shard(self.vault.last_uses.unwritten(), scope).into_values() {
            match self.vault.for_a_while(self.write_uses_of_shard(&uses)).await {
                Err(Error::ReadOnly(_)) => return Ok(()),
                Err(Error::Busy) => is_busy = true,
                written => written?,
            }
        }
        self.vault.last_uses.forget_unneeded();
        if is_busy { Err(Error::Busy) } else { Ok(()) }
    }

    async fn write_uses_of_shard(self, uses: &[(Arc<LastUse>, i64)]) -> Result<(), Error> {
        for batch in uses.chunks(LAST_USES_AT_ONCE) {
            let decide = |snapshot: &Snapshot| {
                let mut change = Change::new();
                for (last, minute) in batch {
                    // A key that was deleted meanwhile must not get its row back.
                    if snapshot.value(Table::ApplicationKeys, &last.place)?.is_some() {
                        change = change
                            .expect_present(Table::ApplicationKeys, last.place.clone())
                            .put(Table::KeyUses, last.place.clone(), tables::minute_value(*minute));
                    }
                }
                Ok((change.passing_over_closed(), ()))
            };
            self.vault.commit(Priority::Normal, decide).await?;
            for (last, minute) in batch {
                last.set_written(*minute);
            }
        }
        Ok(())
    }

    /// To the minute.
    pub fn last_uses(self, tenant: TenantId) -> Result<HashMap<KeyId, Timestamp>, Error> {
        let mut found = HashMap::new();
        for row in self.vault.snapshot()?.range(&tables::key_uses_of(tenant))? {
            let (key, value) = row?;
            let read = tables::application_key_of_key(&key).zip(tables::minute_of_value(&value));
            let ((_, (_, id)), minute) = read.ok_or(Error::Internal(Fault::BadRecord))?;
            found.insert(id, minute);
        }
        for (id, minute) in self.vault.last_uses.of_tenant(tenant) {
            let known = found.entry(id).or_insert(minute);
            *known = minute.max(*known);
        }
        let start = |minute: i64| Timestamp::from_seconds(minute.saturating_mul(60));
        Ok(found.into_iter().map(|(id, minute)| (id, start(minute))).collect())
    }
}
