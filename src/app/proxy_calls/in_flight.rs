//! The calls of each tenant that are under way. They are bounded, so that one tenant with slow
//! destinations leaves places to the others.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::app::error::Error;
use crate::bounds::PROXY_CALLS_PER_TENANT_MAX;
use crate::domain::id::TenantId;

#[derive(Debug, Default)]
pub(in crate::app) struct CallsInFlight(Mutex<HashMap<TenantId, usize>>);

/// A call under way. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct CallPlace<'a> {
    calls: &'a CallsInFlight,
    tenant: TenantId,
}

impl CallsInFlight {
    pub(super) fn begin(&self, tenant: TenantId) -> Result<CallPlace<'_>, Error> {
        let mut calls = self.lock();
        let count = calls.entry(tenant).or_default();
        if *count >= PROXY_CALLS_PER_TENANT_MAX {
            return Err(Error::Busy);
        }
        *count = count.saturating_add(1);
        Ok(CallPlace { calls: self, tenant })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TenantId, usize>> {
        // No code panics while it holds the lock, so poisoned data is still valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallPlace<'_> {
    fn drop(&mut self) {
        let mut calls = self.calls.lock();
        if let Some(count) = calls.get_mut(&self.tenant) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                calls.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn one_tenant_leaves_places_to_others_and_gets_its_own_back() {
        let calls = CallsInFlight::default();
        let [one, other] = [1, 2].map(|id| TenantId::new(Uuid::from_u128(id)));
        let held: Vec<_> =
            (0..PROXY_CALLS_PER_TENANT_MAX).map(|_| calls.begin(one).unwrap()).collect();
        assert!(matches!(calls.begin(one), Err(Error::Busy)));
        assert!(calls.begin(other).is_ok());
        drop(held);
        assert!(calls.lock().is_empty(), "tenants without calls take no memory");
        assert!(calls.begin(one).is_ok());
    }
}
