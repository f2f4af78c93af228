//! Places for calls whose caller does not wait, and for their callbacks: of a tenant, and of all
//! tenants.

use std::collections::HashMap;
use std::sync::Arc;

use crate::app::{Counts, Party};
use crate::domain::id::TenantId;
use crate::lock::Lock;

#[derive(Debug, Clone)]
pub(in crate::http) struct PendingCalls {
    taken: Arc<Lock<HashMap<TenantId, Counts>>>,
    own_max: usize,
    all_max: usize,
}

/// Dropping it gives the place back.
#[derive(Debug)]
pub(in crate::http) struct PendingPlace {
    calls: PendingCalls,
    party: Party,
}

impl PendingCalls {
    /// The most of one tenant, and of all tenants.
    pub(in crate::http) fn new(own_max: usize, all_max: usize) -> Self {
        Self { taken: Arc::default(), own_max, all_max }
    }

    /// `None` if the callers of the tenant without a secret key, the tenant, or all tenants together
    /// have too many.
    pub(in crate::http) fn take(&self, party: Party) -> Option<PendingPlace> {
        let mut calls = self.taken.lock();
        let all: usize = calls.values().map(|it| it.all).sum();
        let mut own = calls.get(&party.tenant).copied().unwrap_or_default();
        if !own.have_room(party.credential, self.own_max) || all >= self.all_max {
            return None;
        }
        own.add(party.credential);
        calls.insert(party.tenant, own);
        Some(PendingPlace { calls: self.clone(), party })
    }
}

impl Drop for PendingPlace {
    fn drop(&mut self) {
        let mut calls = self.calls.taken.lock();
        if let Some(own) = calls.get_mut(&self.party.tenant) {
            own.subtract(self.party.credential);
            if own.all == 0 {
                calls.remove(&self.party.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Credential;
    use crate::bounds::{REACTOR_PENDING_ALL_MAX, REACTOR_PENDING_MAX};

    fn party(tenant: u128, credential: Credential) -> Party {
        Party { tenant: TenantId::new(uuid::Uuid::from_u128(tenant)), credential }
    }

    #[test]
    fn callers_without_a_secret_key_take_half_of_the_places_of_their_tenant() {
        use Credential::{Public, Secret};
        const MAX: usize = REACTOR_PENDING_MAX;
        // Takes of one credential after the other, and the places that each gets.
        for (takes, expected) in [
            (&[Public, Secret][..], &[MAX / 2, MAX / 2][..]),
            (&[Public, Public], &[MAX / 2, 0]),
            (&[Secret, Public], &[MAX, 0]),
        ] {
            let calls = PendingCalls::new(MAX, REACTOR_PENDING_ALL_MAX);
            let mut held = Vec::new();
            for (credential, expected) in takes.iter().zip(expected) {
                let got: Vec<_> =
                    (0..=MAX).map_while(|_| calls.take(party(1, *credential))).collect();
                assert_eq!(got.len(), *expected, "{takes:?}");
                held.extend(got);
            }
            assert!(calls.take(party(2, Public)).is_some(), "another tenant");
            held.clear();
            assert!(calls.taken.lock().is_empty());
        }
    }

    #[test]
    fn a_tenant_has_so_many_calls_and_leaves_room_for_others() {
        let calls = PendingCalls::new(REACTOR_PENDING_MAX, REACTOR_PENDING_ALL_MAX);
        let tenant = |number| party(number, Credential::Secret);
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
