//! A cache of the enabled webhooks of each tenant, so that a request of a tenant without webhooks
//! reads nothing for them.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::bounds::TENANTS_MAX;
use crate::domain::id::{TenantId, WebhookId};
use crate::domain::webhook::EventKind;

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
    pub(super) fn find(&self, tenant: TenantId, generation: u64) -> Option<Arc<[Subscriber]>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let found = || known.by_tenant.get(&tenant).map(Arc::clone);
        (known.generation == generation).then(found).flatten()
    }

    pub(super) fn remember(&self, tenant: TenantId, found: &Arc<[Subscriber]>, generation: u64) {
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
