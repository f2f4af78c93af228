//! Counters and gauges. Their atomics are relaxed: they are read for display and to choose a pace, never
//! for a decision that must be right.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, by: u64) {
        self.0.fetch_add(by, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A reader may see it between two steps of one operation, so it is never shown below 0.
#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    pub fn add(&self, by: i64) {
        self.0.fetch_add(by, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub fn set(&self, to: u64) {
        self.0.store(i64::try_from(to).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        u64::try_from(self.0.load(Ordering::Relaxed)).unwrap_or(0)
    }
}
