//! The enabled webhooks of a tenant and their events.

use std::sync::Arc;

use crate::app::error::Error;
use crate::app::webhooks::Webhooks;
use crate::app::webhooks::manage::open_webhook;
use crate::app::webhooks::subscription_cache::Subscriber;
use crate::bounds::WEBHOOKS_MAX;
use crate::domain::id::TenantId;
use crate::domain::webhook::{EventKind, WebhookStatus};
use crate::store::{Table, tables};

impl Webhooks<'_> {
    /// True if an enabled webhook of the tenant subscribes to this kind of event.
    pub(in crate::app) fn wants(self, tenant: TenantId, kind: EventKind) -> Result<bool, Error> {
        Ok(self.subscribers(tenant)?.iter().any(|it| it.events.contains(&kind)))
    }

    pub(super) fn subscribers(self, tenant: TenantId) -> Result<Arc<[Subscriber]>, Error> {
        // Read the generation before the snapshot: one that is too old causes another read, one that
        // is too new would keep a wrong result.
        let generation = self.vault.store.webhook_generation();
        let cache = &self.vault.webhooks.subscriptions;
        if let Some(known) = cache.find(tenant, generation) {
            return Ok(known);
        }
        let snapshot = self.vault.snapshot()?;
        let stored = snapshot.first(&tables::webhooks_of(tenant), WEBHOOKS_MAX)?;
        let mut found = Vec::with_capacity(stored.len());
        if !stored.is_empty() {
            let keys = self.vault.keys().tenant_keys(&snapshot, tenant)?;
            for (key, sealed) in &stored {
                match open_webhook(&keys, key, sealed) {
                    Ok((webhook, _)) if webhook.status == WebhookStatus::Enabled => {
                        found.push(Subscriber { webhook: webhook.id, events: webhook.events });
                    }
                    Ok(_) => (),
                    // A damaged webhook must not stop the tenant's writes.
                    Err(error) => {
                        let id = Table::Webhooks.id_of_key(key);
                        self.vault.damage.pass_over(Table::Webhooks, tenant, id, error)?;
                    }
                }
            }
        }
        let found: Arc<[Subscriber]> = found.into();
        cache.remember(tenant, &found, generation);
        Ok(found)
    }
}
