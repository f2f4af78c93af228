//! Callers that were authenticated before, so that most requests do not read the file for it.
//!
//! They are forgotten, all of them, whenever a tenant, an application or a key changes: that is
//! rare, and forgetting the right ones would be one more thing to get wrong.

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

    /// Whoever comes next is looked up in the file.
    pub(in crate::app) fn forget(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).by_tag.clear();
    }

    pub(in crate::app) fn find(&self, tag: &[u8; 32], generation: u64) -> Option<Arc<Caller>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        (known.generation == generation).then(|| known.by_tag.get(tag).map(Arc::clone)).flatten()
    }

    /// `generation` was read before the snapshot that the caller was made from. A caller made from
    /// an older one than is known is not kept.
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
