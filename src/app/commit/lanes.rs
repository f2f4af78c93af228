//! Changes of one record take turns, so that many at once all succeed instead of refusing each
//! other until they give up.

use std::hash::{BuildHasher, RandomState};

use tokio::sync::{Mutex, MutexGuard};

/// More than requests in flight on two or four cores; two records that share a lane only wait.
const LANES: usize = 1_024;

/// Lets the next one in when it is dropped.
pub(in crate::app) type Turn<'a> = Option<MutexGuard<'a, ()>>;

#[derive(Debug)]
pub(in crate::app) struct Turns {
    hasher: RandomState,
    lanes: Vec<Mutex<()>>,
}

impl Turns {
    pub(in crate::app) fn new() -> Self {
        Self { hasher: RandomState::new(), lanes: (0..LANES).map(|_| Mutex::new(())).collect() }
    }

    /// Whoever holds the guard decides and commits alone among those who ask for the same name.
    pub(in crate::app) async fn take(&self, name: &[u8]) -> Turn<'_> {
        let lanes = u64::try_from(self.lanes.len()).unwrap_or(1);
        let lane = self.hasher.hash_one(name).checked_rem(lanes).unwrap_or(0);
        let lane = self.lanes.get(usize::try_from(lane).unwrap_or(0))?;
        Some(lane.lock().await)
    }
}
