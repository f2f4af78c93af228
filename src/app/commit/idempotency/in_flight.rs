//! The set of idempotency keys whose requests are in flight.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use crate::domain::id::TenantId;

#[derive(Debug, Default)]
pub(in crate::app) struct InFlight(Mutex<HashSet<(TenantId, [u8; 16])>>);

impl InFlight {
    pub(super) fn begin(&self, key: (TenantId, [u8; 16])) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key)
    }

    pub(super) fn end(&self, key: &(TenantId, [u8; 16])) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}
