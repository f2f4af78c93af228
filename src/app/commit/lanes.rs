//! Lanes serialize changes of one record. Without them, concurrent changes would invalidate each
//! other's decisions until the commit loop gives up.

use std::hash::{BuildHasher, Hash};

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

    /// Of all tasks that take the same name, only the holder of the guard decides and commits. A name
    /// that callers choose comes with its tenant, or they would hold up others.
    pub(in crate::app) fn take<N: Hash>(
        &self,
        name: N,
    ) -> impl Future<Output = Result<LaneGuard<'_>, Error>> + use<'_, N> {
        self.enter(self.hasher.hash_one(name))
    }

    async fn enter(&self, hash: u64) -> Result<LaneGuard<'_>, Error> {
        let [low, high, ..] = hash.to_le_bytes();
        let lane = usize::from(u16::from_le_bytes([low, high])) % LANES;
        let lane = self.lanes.get(lane);
        Ok(lane.ok_or(Error::Internal(Fault::Impossible("a lane is missing")))?.lock().await)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use uuid::Uuid;

    use super::*;
    use crate::domain::id::TenantId;

    #[tokio::test]
    async fn a_name_that_one_tenant_chooses_holds_up_no_other_and_not_the_server() {
        let lanes = Lanes::new();
        let [one, other] = [1, 2].map(|tenant| TenantId::new(Uuid::from_u128(tenant)));
        let held = lanes.take((one, "webhook key")).await.unwrap();
        drop(lanes.take((other, "webhook key")).await.unwrap());
        drop(lanes.take(b"webhook key".as_slice()).await.unwrap());
        let mut same = pin!(lanes.take((one, "webhook key")));
        assert!(same.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(held);
        drop(same.await.unwrap());
    }
}
