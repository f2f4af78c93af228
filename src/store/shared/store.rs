//! The handle's part: generations of caches, and the rows of processes.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::store::handle::Store;
use crate::store::shared::rows::SharedRows;

impl Store {
    /// Changes with every commit that concerns tenants, applications or keys.
    pub fn access_generation(&self) -> u64 {
        generation(self, &self.0.access_generation)
    }

    /// Changes with every commit that concerns webhooks.
    pub fn webhook_generation(&self) -> u64 {
        generation(self, &self.0.webhook_generation)
    }

    /// Empties caches, because another process has changed the rows that they were made from.
    pub fn advance_generations(&self) {
        self.0.webhook_generation.fetch_add(1, Ordering::Release);
        self.0.access_generation.fetch_add(1, Ordering::Release);
    }

    /// The rows of the processes that share the store; `None` if this process has it alone.
    pub fn shared(&self) -> Option<SharedRows<'_>> {
        self.0.process.as_deref().map(|process| SharedRows::new(self, process))
    }
}

/// While this process may lack the newest changes of others, each call gives a new generation,
/// so that nothing is found in a cache.
fn generation(store: &Store, of: &AtomicU64) -> u64 {
    match &store.0.process {
        Some(process) if process.is_stale() => of.fetch_add(1, Ordering::AcqRel).wrapping_add(1),
        Some(_) | None => of.load(Ordering::Acquire),
    }
}
