//! The progress of a long piece of work, which another thread or process shows.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the done part of a total. The total is 0 while unknown, and may be an estimate.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    pub fn add(&self, by: usize) {
        self.done.fetch_add(u64::try_from(by).unwrap_or(0), Ordering::Relaxed);
    }

    pub fn set_done(&self, done: u64) {
        self.done.store(done, Ordering::Relaxed);
    }

    pub fn set_total(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }

    pub fn read(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}
