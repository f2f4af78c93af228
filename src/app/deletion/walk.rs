//! The walk that removes the rows of a deleted tenant, in steps.

use crate::app::TenantDeletion;
use crate::app::access::authenticate::open_api_key;
use crate::app::commit::commit_loop::Priority;
use crate::app::deletion::state::{self, DeletionWalk, DeletionWalks};
use crate::app::error::Error;
use crate::bounds::{DELETION_BATCH_MAX, DELETION_LOOKS_MAX};
use crate::domain::id::TenantId;
use crate::store::record::KeyRecord;
use crate::store::tables::{OwnerPlace, meta};
use crate::store::{Authority, Change, Shard, Snapshot, Table, tables};

/// The tables that a walk empties, in its order. The first change of a deletion removes the tenant
/// and its keys; the last one removes its counts, which hold the digest of the other rows.
fn emptied() -> impl Iterator<Item = Table> {
    let is_emptied = |table: &Table| {
        table.owner_place() != OwnerPlace::Nobody
            && !matches!(table, Table::Counts | Table::Keys | Table::Tenants)
    };
    Table::ALL.iter().copied().filter(is_emptied)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletionStep {
    /// No deletion is under way.
    Idle,
    /// Rows were examined, and this number of them was removed.
    Removed(usize),
    /// The deletion of this tenant is complete.
    Finished(TenantId),
}

struct Stretch {
    keys: Vec<Vec<u8>>,
    /// The next step starts behind this key; `None` at the end of the table.
    next: Option<Vec<u8>>,
}

impl TenantDeletion<'_> {
    pub async fn step(self) -> Result<DeletionStep, Error> {
        let mut walks = self.vault.deletions.walks.lock().await;
        let under_way = state::under_way(&self.vault.snapshot()?)?;
        let Some(tenant) = walks.turn(&under_way) else {
            *walks = DeletionWalks::default();
            return Ok(DeletionStep::Idle);
        };
        self.take_step(&mut walks, tenant).await
    }

    /// A step of this tenant's deletion, if it is under way. An operator waits for it, in any
    /// process.
    pub async fn step_of(self, tenant: TenantId) -> Result<DeletionStep, Error> {
        let mut walks = self.vault.deletions.walks.lock().await;
        if !self.is_under_way(tenant)? {
            return Ok(DeletionStep::Idle);
        }
        self.by(Authority::Anyone).take_step(&mut walks, tenant).await
    }

    async fn take_step(
        self,
        walks: &mut DeletionWalks,
        tenant: TenantId,
    ) -> Result<DeletionStep, Error> {
        let step = self.walk_on(walks.of.entry(tenant).or_default(), tenant).await;
        // A busy writer or a full disk refuses the steps of all deletions.
        let is_general = matches!(step, Err(Error::Busy | Error::ReadOnly(_)));
        (walks.last, walks.has_failed) = (Some(tenant), step.is_err() && !is_general);
        if matches!(step, Ok(DeletionStep::Finished(_))) {
            walks.of.remove(&tenant);
        }
        step
    }

    async fn walk_on(
        self,
        walk: &mut DeletionWalk,
        tenant: TenantId,
    ) -> Result<DeletionStep, Error> {
        if !walk.has_begun {
            // A killed process may have left the keys of codes.
            self.vault.cvcs().destroy_keys_of(tenant)?;
            walk.has_begun = true;
        }
        match emptied().nth(walk.done) {
            None => {
                // Forget the log before the mark is removed: without the mark, a restarted server
                // would not know that the log still has the rows.
                self.vault.store.forget().await?;
                self.by
                    .commit(self.vault, Priority::Upkeep, |snapshot| {
                        Ok((plan_end(snapshot, tenant)?, ()))
                    })
                    .await?;
                Ok(DeletionStep::Finished(tenant))
            }
            Some(Table::ApiKeys) => {
                let removed = self.remove_api_keys(walk, tenant).await?;
                walk.go_on((removed > 0).then(Vec::new));
                Ok(DeletionStep::Removed(removed))
            }
            Some(table) => {
                let (removed, next) = self
                    .by
                    .commit(self.vault, Priority::Upkeep, |snapshot| {
                        let Stretch { keys, next } = stretch(snapshot, table, tenant, &walk.from)?;
                        let removed = keys.len();
                        let shard = self.vault.store.shards().of_scope(tenant.bytes());
                        Ok((removal(table, keys, shard), (removed, next)))
                    })
                    .await?;
                walk.go_on(next);
                Ok(DeletionStep::Removed(removed))
            }
        }
    }

    /// Removes a batch of the tenant's API keys, which the server seals. Each is removed at every
    /// place that it may have: a rotation of the server's keys may move it meanwhile.
    async fn remove_api_keys(
        self,
        walk: &mut DeletionWalk,
        tenant: TenantId,
    ) -> Result<usize, Error> {
        if walk.api_keys.is_empty() {
            let find = || self.api_keys_of(&self.vault.snapshot()?, tenant);
            walk.api_keys = self.vault.operator_walks.run(find).await??;
        }
        let rest = walk.api_keys.len().saturating_sub(DELETION_BATCH_MAX);
        self.by
            .commit(self.vault, Priority::Upkeep, |_| {
                let forget = |change: Change, record: &KeyRecord| {
                    change.and(self.vault.access().forget_key(record))
                };
                Ok((walk.api_keys.iter().skip(rest).fold(Change::new(), forget), ()))
            })
            .await?;
        let removed = walk.api_keys.len().saturating_sub(rest);
        walk.api_keys.truncate(rest);
        Ok(removed)
    }

    /// The API keys of the tenant, a few thousand at most. A damaged row names no tenant, and
    /// stays. Finding them opens the rows of the whole vault, so it is done once for all batches,
    /// and once more to see that none is left.
    fn api_keys_of(self, snapshot: &Snapshot, tenant: TenantId) -> Result<Vec<KeyRecord>, Error> {
        let system = self.vault.keys().system();
        let mut found = Vec::new();
        for row in snapshot.range(&Table::ApiKeys.whole())? {
            let (key, sealed) = row?;
            let record = tables::api_key_of_key(&key)
                .and_then(|place| open_api_key(&system, place, &sealed).ok());
            found.extend(record.filter(|record| record.key.tenant == tenant));
        }
        Ok(found)
    }
}

fn stretch(
    snapshot: &Snapshot,
    table: Table,
    tenant: TenantId,
    from: &[u8],
) -> Result<Stretch, Error> {
    let range = table.rows_of(tenant.bytes()).starting_after(from);
    let (mut keys, mut looked_at): (Vec<_>, usize) = (Vec::new(), 0);
    for row in snapshot.range(&range)? {
        let (key, value) = row?;
        looked_at = looked_at.saturating_add(1);
        let is_last = looked_at == DELETION_LOOKS_MAX;
        if table.is_row_of(tenant.bytes(), &key, &value) {
            keys.push(key.clone());
        }
        if is_last || keys.len() == DELETION_BATCH_MAX {
            return Ok(Stretch { keys, next: Some(key) });
        }
    }
    Ok(Stretch { keys, next: None })
}

/// Pending events are also counted for the whole vault; a row that is gone already was subtracted
/// by the change that removed it.
fn removal(table: Table, keys: Vec<Vec<u8>>, shard: Shard) -> Change {
    let mut change = Change::new();
    if table == Table::WebhookSchedule && !keys.is_empty() {
        let gone = i64::try_from(keys.len()).unwrap_or(i64::MAX).saturating_neg();
        let expect = |change: Change, key: &Vec<u8>| change.expect_present(table, key.clone());
        change = keys.iter().fold(change.count(tables::all_webhook_counts(shard), gone), expect);
    }
    keys.into_iter().fold(change, |change, key| change.delete(table, key))
}

/// Removes the tenant's counts, its digest and the mark of the deletion.
fn plan_end(snapshot: &Snapshot, tenant: TenantId) -> Result<Change, Error> {
    let change = Change::new().delete(Table::Meta, meta::deletion(tenant.bytes()));
    let imports = snapshot.first(&meta::imports_of(tenant), usize::MAX)?;
    let change =
        imports.into_iter().fold(change, |change, (key, _)| change.delete(Table::Meta, key));
    let counts = snapshot.first(&tables::counts_of(tenant.bytes()), usize::MAX)?;
    Ok(counts.into_iter().fold(change, |change, (key, _)| change.delete(Table::Counts, key)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Write;
    use crate::app::tests::{TestVault, everything, tenant_draft};
    use crate::bounds::KEYS_PER_APPLICATION_MAX;
    use crate::domain::id::{EventId, WebhookId};
    use crate::domain::time::Timestamp;
    use crate::store::Verdict;
    use crate::store::tables::PendingDelivery;
    use crate::store::tests::block_on;

    #[test]
    fn an_event_that_another_change_removed_is_not_subtracted_again() {
        let vault = TestVault::new();
        let tenant = vault.caller.tenant.id;
        let id = uuid::Uuid::from_u128;
        let place = |event| {
            let (webhook, event) = (WebhookId::new(id(7)), EventId::new(id(event)));
            PendingDelivery { tenant, webhook, event }.schedule_key(Timestamp::from_seconds(9))
        };
        let put = |change: Change, event| {
            let value = tables::attempts_value(0);
            change.put(Table::WebhookSchedule, place(event), value)
        };
        let waiting =
            (1..=3).fold(Change::new(), put).count(tables::all_webhook_counts(Shard::VAULT), 3);
        let store = vault.app.store();
        let commit = |change| block_on(store.commit(change)).unwrap();
        assert_eq!(commit(waiting), Verdict::Applied);
        let count =
            || store.snapshot().unwrap().count(&tables::all_webhook_counts(Shard::VAULT)).unwrap();
        assert_eq!(
            commit(removal(Table::WebhookSchedule, vec![place(1)], Shard::VAULT)),
            Verdict::Applied
        );
        let late = removal(Table::WebhookSchedule, vec![place(1), place(2)], Shard::VAULT);
        assert_eq!((commit(late), count()), (Verdict::Refused, 2));
        let rest = removal(Table::WebhookSchedule, vec![place(2), place(3)], Shard::VAULT);
        assert_eq!((commit(rest), count()), (Verdict::Applied, 0));
    }

    #[test]
    fn one_walk_over_the_api_keys_of_the_vault_serves_all_batches() {
        let vault = TestVault::new();
        let (access, plain) = (vault.app.access(), Write::plain());
        let applications = DELETION_BATCH_MAX / KEYS_PER_APPLICATION_MAX + 1;
        let all = applications * KEYS_PER_APPLICATION_MAX;
        block_on(async {
            let tenant = access.create_tenant(tenant_draft("second")).await.unwrap().id;
            for _ in 0..applications {
                let (draft, write) = (everything(), Write::plain());
                let made = access.create_application(tenant, &draft, None, &write).await;
                let id = made.unwrap().outcome.0.id;
                for _ in 1..KEYS_PER_APPLICATION_MAX {
                    access.create_key(tenant, id, None, None, &plain).await.unwrap();
                }
            }
            let deletion = vault.app.deletion();
            deletion.begin(tenant, None).await.unwrap();
            let mut walk = DeletionWalk::default();
            let removed = deletion.remove_api_keys(&mut walk, tenant).await.unwrap();
            assert_eq!((removed, walk.api_keys.len()), (DELETION_BATCH_MAX, all - removed));
            let removed = deletion.remove_api_keys(&mut walk, tenant).await.unwrap();
            assert_eq!((removed, walk.api_keys.len()), (all - DELETION_BATCH_MAX, 0));
            assert_eq!(deletion.remove_api_keys(&mut walk, tenant).await.unwrap(), 0);
        });
    }
}
