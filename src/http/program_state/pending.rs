//! Places for calls whose caller does not wait, and for their callbacks: of a tenant, and of all
//! tenants.

use std::collections::HashMap;
use std::sync::Arc;

use crate::domain::id::TenantId;
use crate::lock::Lock;

#[derive(Debug, Clone)]
pub(in crate::http) struct PendingCalls {
    taken: Arc<Lock<HashMap<TenantId, usize>>>,
    own_max: usize,
    all_max: usize,
}

/// Dropping it gives the place back.
#[derive(Debug)]
pub(in crate::http) struct PendingPlace {
    calls: PendingCalls,
    tenant: TenantId,
}

impl PendingCalls {
    /// The most of one tenant, and of all tenants.
    pub(in crate::http) fn new(own_max: usize, all_max: usize) -> Self {
        Self { taken: Arc::default(), own_max, all_max }
    }

    /// `None` if the tenant, or all tenants together, have too many.
    pub(in crate::http) fn take(&self, tenant: TenantId) -> Option<PendingPlace> {
        let mut calls = self.taken.lock();
        let all: usize = calls.values().sum();
        let own = calls.get(&tenant).copied().unwrap_or(0);
        if own >= self.own_max || all >= self.all_max {
            return None;
        }
        calls.insert(tenant, own.saturating_add(1));
        Some(PendingPlace { calls: self.clone(), tenant })
    }
}

impl Drop for PendingPlace {
    fn drop(&mut self) {
        let mut calls = self.calls.taken.lock();
        if let Some(own) = calls.get_mut(&self.tenant) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                calls.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::{REACTOR_PENDING_ALL_MAX, REACTOR_PENDING_MAX};

    #[test]
    fn a_tenant_has_so_many_calls_and_leaves_room_for_others() {
        let calls = PendingCalls::new(REACTOR_PENDING_MAX, REACTOR_PENDING_ALL_MAX);
        let tenant = |number| TenantId::new(uuid::Uuid::from_u128(number));
        let mut held: Vec<_> =
            (0..REACTOR_PENDING_MAX).map(|_| calls.take(tenant(1)).unwrap()).collect();
        assert!(calls.take(tenant(1)).is_none());
        assert!(calls.take(tenant(2)).is_some());
        held.pop();
        assert!(calls.take(tenant(1)).is_some());
        let others = REACTOR_PENDING_ALL_MAX / REACTOR_PENDING_MAX;
        for number in 2..10 + u128::try_from(others).unwrap() {
            held.extend((0..REACTOR_PENDING_MAX).filter_map(|_| calls.take(tenant(number))));
        }
        assert_eq!(held.len(), REACTOR_PENDING_ALL_MAX);
        drop(held);
        assert!(calls.taken.lock().is_empty());
    }
}
