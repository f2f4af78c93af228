//! A cache of authenticated callers, so that most requests do not read the data file.
//!
//! A change of any tenant, application or API key empties the whole cache. Such changes are rare,
//! and removing only the affected callers would be one more thing to get wrong.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::app::access::caller::Caller;
use crate::bounds::CALLERS_MAX;

#[derive(Debug)]
pub(in crate::app) struct Callers(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    generation: u64,
    by_tag: HashMap<[u8; 32], Arc<Caller>>,
}

impl Callers {
    pub(in crate::app) fn new() -> Self {
        Self(RwLock::new(Known::default()))
    }

    /// Empties the cache: the next request of each caller reads the data file.
    pub(in crate::app) fn forget(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).by_tag.clear();
    }

    pub(in crate::app) fn find(&self, tag: &[u8; 32], generation: u64) -> Option<Arc<Caller>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        (known.generation == generation).then(|| known.by_tag.get(tag).map(Arc::clone)).flatten()
    }

    /// `generation` must be read before the snapshot that the caller was made from. A caller of an
    /// older generation than the cache's is not kept.
    pub(in crate::app) fn remember(&self, tag: [u8; 32], caller: &Arc<Caller>, generation: u64) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.generation < generation || known.by_tag.len() >= CALLERS_MAX {
            known.by_tag.clear();
            known.generation = known.generation.max(generation);
        }
        if known.generation == generation {
            known.by_tag.insert(tag, Arc::clone(caller));
        }
    }
}
