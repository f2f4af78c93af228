//! The enabled webhooks of each tenant and their events, cached, so that a request of a tenant
//! without webhooks reads nothing for them.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::app::error::Error;
use crate::app::webhooks::Webhooks;
use crate::bounds::{TENANTS_MAX, WEBHOOKS_MAX};
use crate::domain::id::{TenantId, WebhookId};
use crate::domain::webhook::{EventKind, WebhookStatus};
use crate::store::{Table, tables};

#[derive(Debug, Default)]
pub(super) struct Subscriptions(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    generation: u64,
    by_tenant: HashMap<TenantId, Arc<[Subscriber]>>,
}

/// An enabled webhook.
#[derive(Debug)]
pub(super) struct Subscriber {
    pub(super) webhook: WebhookId,
    pub(super) events: Vec<EventKind>,
}

impl Subscriptions {
    fn find(&self, tenant: TenantId, generation: u64) -> Option<Arc<[Subscriber]>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let found = || known.by_tenant.get(&tenant).map(Arc::clone);
        (known.generation == generation).then(found).flatten()
    }

    fn remember(&self, tenant: TenantId, found: &Arc<[Subscriber]>, generation: u64) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.generation < generation || known.by_tenant.len() >= TENANTS_MAX {
            known.by_tenant.clear();
            known.generation = known.generation.max(generation);
        }
        if known.generation == generation {
            known.by_tenant.insert(tenant, Arc::clone(found));
        }
    }
}

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
                match self.open_webhook(&keys, key, sealed) {
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
