//! Counters of the scrub.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::domain::time::Timestamp;

/// Counts rows and passes, for metrics and `status`.
#[derive(Debug, Default)]
pub(in crate::app) struct ScrubWatch {
    pub(super) rows: AtomicU64,
    pub(super) passes: AtomicU64,
    /// The end of the last pass in microseconds; 0 before the first one.
    pub(super) passed_at: AtomicI64,
}

impl ScrubWatch {
    pub(in crate::app) fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    pub(in crate::app) fn passes(&self) -> u64 {
        self.passes.load(Ordering::Relaxed)
    }

    pub(in crate::app) fn passed_at(&self) -> Option<Timestamp> {
        let micros = self.passed_at.load(Ordering::Relaxed);
        (micros != 0).then(|| Timestamp::from_micros(micros))
    }
}
