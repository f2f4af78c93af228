//! The keys of card verification codes that other processes have sent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::bounds::CVC_KEYS_MAX;
use crate::secret::Secret;
use crate::store::CvcKeyName;

/// A key in clear. It is wiped when the last copy is dropped.
pub(in crate::app) type CvcKey = Arc<Secret<[u8; 32]>>;

/// Each process makes a key of its own for a tenant and a minute, so a name may have several keys.
#[derive(Debug, Default)]
pub(in crate::app) struct ReceivedCvcKeys(Mutex<BTreeMap<CvcKeyName, Vec<CvcKey>>>);

impl ReceivedCvcKeys {
    /// Keeps a key, unless it is known or there are too many.
    pub(in crate::app) fn keep(&self, name: CvcKeyName, key: CvcKey) {
        let mut keys = self.lock();
        let count: usize = keys.values().map(Vec::len).sum();
        let of_name = keys.entry(name).or_default();
        if count < CVC_KEYS_MAX && !of_name.iter().any(|known| known.expose() == key.expose()) {
            of_name.push(key);
        }
    }

    pub(in crate::app) fn of(&self, name: &CvcKeyName) -> Vec<CvcKey> {
        self.lock().get(name).cloned().unwrap_or_default()
    }

    pub(in crate::app) fn all(&self) -> BTreeMap<CvcKeyName, Vec<CvcKey>> {
        self.lock().clone()
    }

    /// Destroys the keys of minutes before this one.
    pub(super) fn destroy_before(&self, minute: u64) {
        self.lock().retain(|(_, of), _| *of >= minute);
    }

    /// Destroys the keys of a tenant.
    pub(super) fn destroy_of(&self, tenant: &[u8; 16]) {
        self.lock().retain(|(of, _), _| of != tenant);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<CvcKeyName, Vec<CvcKey>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
