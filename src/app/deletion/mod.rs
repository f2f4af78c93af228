//! Deletion of a tenant.
//!
//! The first change removes the tenant's record and its keys, and closes its scope. From then on
//! every API key of the tenant is refused, the vault cannot decrypt anything of the tenant, and no
//! change adds a row to it. Then small steps remove the remaining rows, so that other tenants do
//! not wait. A mark in the file lets a restarted server continue.
//!
//! The log is forgotten after the first change, since it has the keys, and before the last one,
//! since it has the rows. Free pages of the data file keep old bytes until the file uses them
//! again.
//!
//! Two things stay. The audit chain keeps the tenant's entries until their retention ends, because
//! each row is a link of the chain; they are sealed under the server's key. And the times at which
//! the tenant's keys were made and destroyed stay as proof of their destruction.

pub(in crate::app) mod state;
mod walk;

use crate::app::TenantDeletion;
use crate::app::audit::entry::actor_of;
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::Priority;
use crate::app::error::{Error, Fault};
use crate::app::keys::facts::{KeyFacts, Rotation};
use crate::crypto::version;
use crate::domain::audit::Act;
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::store::tables::meta;
use crate::store::{Change, Snapshot, Table, tables};

pub use walk::DeletionStep;

impl TenantDeletion<'_> {
    /// Idempotent. `caller` is `None` when the operator deletes the tenant. On return, the tenant's
    /// keys are destroyed and gone from the log.
    pub async fn begin(self, tenant: TenantId, caller: Option<&Caller>) -> Result<(), Error> {
        let now = self.vault.now();
        self.vault
            .commit(Priority::Upkeep, |snapshot| {
                Ok((self.plan_beginning(snapshot, tenant, caller, now)?, ()))
            })
            .await?;
        self.vault.callers.forget();
        self.vault.cvcs().destroy_keys_of(tenant)?;
        self.vault.deletions.begun.notify_one();
        // The log still has the keys.
        Ok(self.vault.store.forget().await?)
    }

    /// Wakes the background task after another process has begun a deletion.
    pub(in crate::app) fn go_on(self) {
        self.vault.deletions.begun.notify_one();
    }

    /// Waits for the next deletion to begin.
    pub async fn begun(self) {
        self.vault.deletions.begun.notified().await;
    }

    /// True until the last row of the tenant is removed.
    pub fn is_under_way(self, tenant: TenantId) -> Result<bool, Error> {
        let mark = meta::deletion(tenant.bytes());
        Ok(self.vault.snapshot()?.value(Table::Meta, &mark)?.is_some())
    }

    fn plan_beginning(
        self,
        snapshot: &Snapshot,
        tenant: TenantId,
        caller: Option<&Caller>,
        now: Timestamp,
    ) -> Result<Change, Error> {
        let (scope, place) = (tenant.bytes(), tables::tenants(tenant));
        let Some(sealed) = snapshot.value(Table::Tenants, &place)? else {
            let has_begun = snapshot.value(Table::Meta, &meta::deletion(scope))?.is_some();
            return if has_begun { Ok(Change::new()) } else { Err(Error::NotFound("tenant")) };
        };
        let version = version(&sealed).ok_or(Error::Internal(Fault::BadRecord))?;
        let mut change = Change::new()
            .expect_version(Table::Tenants, place.clone(), version)
            .delete(Table::Tenants, place)
            .delete(Table::Meta, Rotation::place(scope))
            .close_scope(*scope, now);
        let keys = tables::keys_of(scope);
        let mut places = Vec::new();
        for (place, _) in snapshot.first(&keys, usize::MAX)? {
            let made_at = KeyFacts::of(snapshot, &place)?.made_at;
            let facts = KeyFacts { made_at, destroyed_at: Some(now) };
            change = change.and(facts.put(&place)).delete(Table::Keys, place.clone());
            places.push(place);
        }
        // Refused if a rotation added a key meanwhile: that key would stay.
        let change = change.expect_keys(keys, places);
        Ok(change.and(self.vault.audit().server_entry(
            actor_of(caller),
            Act::Delete,
            tenant.into(),
        )))
    }
}
