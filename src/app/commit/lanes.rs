//! Lanes serialize changes of one record. Without them, concurrent changes would invalidate each
//! other's decisions until the commit loop gives up.

use std::hash::BuildHasher;

use tokio::sync::{Mutex, MutexGuard};

use crate::app::error::{Error, Fault};

/// More than the requests in flight on two or four cores. Records that share a lane only wait for
/// each other.
const LANES: usize = 1_024;

/// The right to change the records of a lane, until dropped.
pub(in crate::app) type LaneGuard<'a> = MutexGuard<'a, ()>;

/// Seeded at random: otherwise callers could choose ids that share a lane.
#[cfg(not(test))]
type LaneHasher = std::hash::RandomState;
/// Not seeded, so that a simulation repeats.
#[cfg(test)]
type LaneHasher = std::hash::BuildHasherDefault<std::hash::DefaultHasher>;

#[derive(Debug)]
pub(in crate::app) struct Lanes {
    hasher: LaneHasher,
    lanes: Vec<Mutex<()>>,
}

impl Lanes {
    pub(in crate::app) fn new() -> Self {
        Self { hasher: LaneHasher::default(), lanes: (0..LANES).map(|_| Mutex::new(())).collect() }
    }

    /// Of all tasks that take the same name, only the holder of the guard decides and commits.
    pub(in crate::app) async fn take(&self, name: &[u8]) -> Result<LaneGuard<'_>, Error> {
        let hash = self.hasher.hash_one(name).to_le_bytes();
        let [low, high, ..] = hash;
        let lane = usize::from(u16::from_le_bytes([low, high])) % LANES;
        let lane = self.lanes.get(lane);
        Ok(lane.ok_or(Error::Internal(Fault::Impossible("a lane is missing")))?.lock().await)
    }
}
