//! Metrics of the writer: its queue, its batches, and the duration of commits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::bounds::COMMIT_STUCK_AFTER;
use crate::metrics::{Counter, Gauge, Histogram, Unit};

const BATCH_BOUNDS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256];
/// In microseconds, from half a millisecond (a commit without a sync) to ten seconds (a disk that
/// hangs).
const COMMIT_BOUNDS: &[u64] = &[
    500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 125_000, 250_000, 500_000, 1_000_000,
    2_500_000, 10_000_000,
];

#[derive(Debug)]
pub(super) struct WriterMetrics {
    pub(super) queued: Gauge,
    /// Changes refused because the queue was full.
    pub(super) refused: Counter,
    pub(super) batches: Histogram,
    pub(super) commits: Histogram,
    origin: Instant,
    /// For each writer: the start of the current commit, in microseconds since `origin` plus one; 0
    /// between commits.
    begun: Vec<AtomicU64>,
    /// The end of the last commit, in the same form.
    pub(super) ended: AtomicU64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct CommitStart(Instant);

impl WriterMetrics {
    pub(super) fn new(writers: usize) -> Self {
        Self {
            queued: Gauge::default(),
            refused: Counter::default(),
            batches: Histogram::new(Unit::Plain, BATCH_BOUNDS),
            commits: Histogram::new(Unit::Micros, COMMIT_BOUNDS),
            origin: Instant::now(),
            begun: (0..writers).map(|_| AtomicU64::new(0)).collect(),
            ended: AtomicU64::new(0),
        }
    }

    pub(super) fn begin(&self, writer: usize, changes: usize) -> CommitStart {
        self.queued.add(i64::try_from(changes).unwrap_or(i64::MAX).saturating_neg());
        self.batches.observe(u64::try_from(changes).unwrap_or(u64::MAX));
        self.set_begun(writer, self.elapsed());
        CommitStart(Instant::now())
    }

    /// Records the end of a commit. Not called after a final failure, which ends the store.
    pub(super) fn end(&self, writer: usize, begun: CommitStart) {
        self.commits.observe_duration(begun.0.elapsed());
        self.set_begun(writer, 0);
        self.ended.store(self.elapsed(), Ordering::Relaxed);
    }

    fn set_begun(&self, writer: usize, at: u64) {
        if let Some(begun) = self.begun.get(writer) {
            begun.store(at, Ordering::Relaxed);
        }
    }

    pub(super) fn is_stuck(&self) -> bool {
        let is_long = |since: Duration| since > COMMIT_STUCK_AFTER;
        self.begun.iter().any(|begun| self.since(begun).is_some_and(is_long))
    }

    fn elapsed(&self) -> u64 {
        let micros = u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX);
        micros.saturating_add(1)
    }

    /// The time since `moment`; `None` if `moment` is 0.
    pub(super) fn since(&self, moment: &AtomicU64) -> Option<Duration> {
        let moment = moment.load(Ordering::Relaxed);
        (moment > 0).then(|| Duration::from_micros(self.elapsed().saturating_sub(moment)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_that_takes_too_long_is_stuck_until_it_ends() {
        let mut metrics = WriterMetrics::new(2);
        assert!(!metrics.is_stuck(), "an idle writer is not");
        let begun = metrics.begin(1, 3);
        assert!(!metrics.is_stuck());
        metrics.origin = metrics.origin.checked_sub(2 * COMMIT_STUCK_AFTER).unwrap();
        assert!(metrics.is_stuck());
        metrics.end(1, begun);
        assert!(!metrics.is_stuck());
        assert_eq!((metrics.commits.read().count(), metrics.batches.read().sum()), (1, 3));
    }
}
