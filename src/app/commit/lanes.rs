//! Changes of one record wait for each other, so that many at once all succeed instead of refusing
//! each other until they give up.

use std::hash::{BuildHasher, RandomState};

use tokio::sync::{Mutex, MutexGuard};

use crate::app::error::{Error, Fault};

/// More than requests in flight on two or four cores; two records that share a lane only wait.
const LANES: usize = 1_024;

/// The right to change the records of a lane, until it is dropped.
pub(in crate::app) type LaneGuard<'a> = MutexGuard<'a, ()>;

#[derive(Debug)]
pub(in crate::app) struct Lanes {
    hasher: RandomState,
    lanes: Vec<Mutex<()>>,
}

impl Lanes {
    pub(in crate::app) fn new() -> Self {
        Self { hasher: RandomState::new(), lanes: (0..LANES).map(|_| Mutex::new(())).collect() }
    }

    /// Waits for the lane of this name. The holder of the guard decides and commits alone among all
    /// that ask for the same name.
    pub(in crate::app) async fn take(&self, name: &[u8]) -> Result<LaneGuard<'_>, Error> {
        let hash = self.hasher.hash_one(name).to_le_bytes();
        let [low, high, ..] = hash;
        let lane = usize::from(u16::from_le_bytes([low, high])) % LANES;
        let lane = self.lanes.get(lane);
        Ok(lane.ok_or(Error::Internal(Fault::Impossible("a lane is missing")))?.lock().await)
    }
}
