//! The keys of card verification codes that are kept open in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::bounds::CVC_KEYS_OPEN_MAX;
use crate::crypto::SealingKey;
use crate::store::CvcKeyName;

/// Keys of minutes that were opened before, since most codes of a time are under the same few keys.
#[derive(Debug, Default)]
pub(in crate::app) struct OpenCvcKeys(Mutex<BTreeMap<CvcKeyName, Arc<SealingKey>>>);

impl OpenCvcKeys {
    pub(super) fn get(&self, name: &CvcKeyName) -> Option<Arc<SealingKey>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Keeps an opened key. When there are too many, all of them are opened again when needed.
    pub(super) fn keep(&self, name: CvcKeyName, key: &Arc<SealingKey>) {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= CVC_KEYS_OPEN_MAX {
            keys.clear();
        }
        keys.insert(name, Arc::clone(key));
    }

    /// Drops the keys of minutes before this one, which the file destroys.
    pub(super) fn forget_before(&self, minute: u64) {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.retain(|(_, of), _| *of >= minute);
    }

    /// Drops the keys of a tenant, which the file destroys.
    pub(super) fn forget_of(&self, tenant: &[u8; 16]) {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.retain(|(of, _), _| of != tenant);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    #[test]
    fn open_keys_are_bounded_and_go_with_their_minute() {
        let keys = OpenCvcKeys::default();
        let key = Arc::new(SealingKey::new(0, &Secret::new([7; 32])));
        for minute in 0..=u64::try_from(CVC_KEYS_OPEN_MAX).unwrap() {
            keys.keep(([1; 16], minute), &key);
        }
        assert!(Arc::strong_count(&key) <= CVC_KEYS_OPEN_MAX + 1);
        keys.keep(([1; 16], 5), &key);
        keys.keep(([2; 16], 6), &key);
        keys.forget_before(6);
        assert!(keys.get(&([1; 16], 5)).is_none());
        assert!(keys.get(&([2; 16], 6)).is_some());
    }
}
