//! This process among those that share the store.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::bounds::PROCESS_STALE_AFTER;
use crate::crypto::Random;

/// The identity of this process, and the age of its knowledge of the others. Each start has a new
/// id.
#[derive(Debug)]
pub struct Process {
    pub(super) id: Uuid,
    begun: Instant,
    /// The process has joined the others: each of its batches expects its row.
    is_member: AtomicBool,
    /// The time of the last poll of the generations, in milliseconds since `begun`, plus one.
    polled: AtomicU64,
}

impl Process {
    pub(in crate::store) fn new() -> Self {
        Self {
            id: uuid::Builder::from_random_bytes(Random::new().bytes()).into_uuid(),
            begun: Instant::now(),
            is_member: AtomicBool::new(false),
            polled: AtomicU64::new(0),
        }
    }

    pub const fn id(&self) -> Uuid {
        self.id
    }

    /// False before the first [`SharedRows::join`](crate::store::SharedRows::join), and in a
    /// command that does not serve: batches then expect no row.
    pub fn is_member(&self) -> bool {
        self.is_member.load(Ordering::Acquire)
    }

    pub(in crate::store) fn set_member(&self, is_member: bool) {
        self.is_member.store(is_member, Ordering::Release);
    }

    /// Measured on the monotonic clock.
    pub fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Caches have followed the generations of a snapshot that was opened after this age.
    pub fn note_poll(&self, age: Duration) {
        self.polled.fetch_max(millis(age).saturating_add(1), Ordering::AcqRel);
    }

    /// Returns true if a cache may be older than [`PROCESS_STALE_AFTER`]. The clock keeps running
    /// while a signal has stopped the process.
    pub fn is_stale(&self) -> bool {
        self.since_poll().is_none_or(|since| since > PROCESS_STALE_AFTER)
    }

    /// Returns `None` before the first poll.
    pub fn since_poll(&self) -> Option<Duration> {
        let polled = self.polled.load(Ordering::Acquire).checked_sub(1)?;
        let now = millis(self.age());
        Some(Duration::from_millis(now.saturating_sub(polled)))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
