//! The queues of webhooks that are deleted or disabled.

use crate::app::Webhooks;
use crate::app::blocking::run_blocking;
use crate::app::error::Error;
use crate::app::records;
use crate::domain::id::{TenantId, WebhookId};
use crate::domain::webhook::{Webhook, WebhookStatus};
use crate::store::{Snapshot, Table, tables};

impl Webhooks<'_> {
    /// Asks the worker to remove queues that were left by a crash: requests of operations are in
    /// memory only.
    pub(super) fn find_leftovers(self) {
        // The worker reports a failing disk itself.
        let found = run_blocking(|| leftovers(self)).unwrap_or_default();
        for (tenant, webhook) in found {
            self.vault.webhooks.purge(tenant, webhook);
        }
    }

    /// Follows a change of webhooks by another process. Only the leader has a worker.
    pub(in crate::app) fn follow(self) {
        if self.vault.processes().leads() {
            self.find_leftovers();
            self.vault.webhooks.requests.lock().unblock_all = true;
            self.vault.webhooks.wake.notify_one();
        }
    }
}

/// Walks over the counts, which are few for each tenant, not over the events.
fn leftovers(webhooks: Webhooks<'_>) -> Result<Vec<(TenantId, WebhookId)>, Error> {
    let snapshot = webhooks.vault.snapshot()?;
    let mut found = Vec::new();
    for row in snapshot.range(&Table::Counts.whole())? {
        let (key, _) = row?;
        let Some((tenant, webhook)) = tables::webhook_of_count_key(&key) else { continue };
        let record = tables::webhooks(tenant, webhook);
        let is_deleted = snapshot.value(Table::Webhooks, &record)?.is_none();
        // A webhook that does not open keeps its events: it may be repaired.
        let is_disabled = || {
            let enabled = is_enabled(webhooks, &snapshot, tenant, webhook);
            snapshot.count(&key).is_ok_and(|count| count > 0) && enabled.is_ok_and(|it| !it)
        };
        if is_deleted || is_disabled() {
            found.push((tenant, webhook));
        }
    }
    Ok(found)
}

/// False for a deleted or disabled webhook.
pub(super) fn is_enabled(
    webhooks: Webhooks<'_>,
    snapshot: &Snapshot,
    tenant: TenantId,
    webhook: WebhookId,
) -> Result<bool, Error> {
    // Check the record first: a deleted tenant has no keys.
    if snapshot.value(Table::Webhooks, &tables::webhooks(tenant, webhook))?.is_none() {
        return Ok(false);
    }
    let keys = webhooks.vault.keys().tenant_keys(snapshot, tenant)?;
    let found = records::find::<Webhook>(snapshot, &keys, webhook)?;
    Ok(found.is_some_and(|(webhook, _)| webhook.status == WebhookStatus::Enabled))
}
