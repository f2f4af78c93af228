//! A cache of values made from rows of the data file. A change of any of these rows begins a new
//! generation, which empties the whole cache. Such changes are rare, and evicting only the affected
//! values would be one more thing to get wrong.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use crate::lock::SharedLock;

/// Holds at most `MAX` values.
#[derive(Debug)]
pub(in crate::app) struct GenerationCache<K, V: ?Sized, const MAX: usize>(SharedLock<Known<K, V>>);

#[derive(Debug)]
struct Known<K, V: ?Sized> {
    generation: u64,
    values: HashMap<K, Arc<V>>,
}

impl<K, V: ?Sized, const MAX: usize> Default for GenerationCache<K, V, MAX> {
    fn default() -> Self {
        Self(SharedLock::new(Known { generation: 0, values: HashMap::new() }))
    }
}

impl<K: Eq + Hash, V: ?Sized, const MAX: usize> GenerationCache<K, V, MAX> {
    pub(in crate::app) fn forget(&self) {
        self.0.write().values.clear();
    }

    pub(in crate::app) fn find(&self, key: &K, generation: u64) -> Option<Arc<V>> {
        let known = self.0.read();
        (known.generation == generation).then(|| known.values.get(key).map(Arc::clone)).flatten()
    }

    /// `generation` must be read before the snapshot that the value was made from: one that is too
    /// old causes another read, one that is too new would keep a wrong value. A value of an older
    /// generation than the cache's is not kept.
    pub(in crate::app) fn remember(&self, key: K, value: &Arc<V>, generation: u64) {
        let mut known = self.0.write();
        if known.generation < generation || known.values.len() >= MAX {
            known.values.clear();
            known.generation = known.generation.max(generation);
        }
        if known.generation == generation {
            known.values.insert(key, Arc::clone(value));
        }
    }
}
