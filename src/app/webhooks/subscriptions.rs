//! The enabled webhooks of a tenant and their events.

use std::sync::Arc;

use crate::app::Webhooks;
use crate::app::error::Error;
use crate::domain::id::{TenantId, WebhookId};
use crate::domain::webhook::{EventKind, WebhookStatus};
use crate::store::tables;

/// An enabled webhook.
#[derive(Debug)]
pub(super) struct Subscriber {
    pub(super) webhook: WebhookId,
    pub(super) events: Vec<EventKind>,
}

impl Webhooks<'_> {
    pub(in crate::app) fn wants(self, tenant: TenantId, kind: EventKind) -> Result<bool, Error> {
        Ok(self.subscribers(tenant)?.iter().any(|it| it.events.contains(&kind)))
    }

    pub(super) fn subscribers(self, tenant: TenantId) -> Result<Arc<[Subscriber]>, Error> {
        let generation = self.vault.store.webhook_generation();
        let cache = &self.vault.webhooks.subscriptions;
        if let Some(known) = cache.find(&tenant, generation) {
            return Ok(known);
        }
        let snapshot = self.vault.snapshot()?;
        let has_some = !snapshot.first(&tables::webhooks_of(tenant), 1)?.is_empty();
        let webhooks = if has_some {
            // A damaged webhook must not stop the tenant's writes.
            self.all_of(&snapshot, &self.vault.keys().tenant_keys(&snapshot, tenant)?)?
        } else {
            Vec::new()
        };
        let enabled = webhooks.into_iter().filter(|it| it.status == WebhookStatus::Enabled);
        let found = enabled.map(|it| Subscriber { webhook: it.id, events: it.events });
        let found: Arc<[Subscriber]> = found.collect();
        cache.remember(tenant, &found, generation);
        Ok(found)
    }
}
