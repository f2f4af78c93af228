//! What the writer is doing: its queue, its batches, how long a commit takes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::bounds::COMMIT_STUCK_AFTER;
use crate::metrics::{Checks, Counter, Gauge, Histogram, Observe, Page, StatusValue, Unit};
use crate::store::Store;

const BATCH_BOUNDS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256];
/// Half a millisecond is a commit without a sync, ten seconds is a disk that hangs.
const COMMIT_BOUNDS: &[u64] = &[
    500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 125_000, 250_000, 500_000, 1_000_000,
    2_500_000, 10_000_000,
];

#[derive(Debug)]
pub(super) struct WriterMetrics {
    pub(super) queued: Gauge,
    /// Changes that found the queue full.
    pub(super) refused: Counter,
    batches: Histogram,
    commits: Histogram,
    origin: Instant,
    /// Microseconds from `origin`, and one, to the beginning of the commit that is under way; 0 when
    /// there is none.
    begun: AtomicU64,
    /// The same for the end of the last one.
    ended: AtomicU64,
}

/// When a commit began.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommitStart(Instant);

impl WriterMetrics {
    pub(super) fn new() -> Self {
        Self {
            queued: Gauge::default(),
            refused: Counter::default(),
            batches: Histogram::new(Unit::Plain, BATCH_BOUNDS),
            commits: Histogram::new(Unit::Micros, COMMIT_BOUNDS),
            origin: Instant::now(),
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
        }
    }

    pub(super) fn begin(&self, changes: usize) -> CommitStart {
        self.queued.add(i64::try_from(changes).unwrap_or(i64::MAX).saturating_neg());
        self.batches.observe(u64::try_from(changes).unwrap_or(u64::MAX));
        self.begun.store(self.elapsed(), Ordering::Relaxed);
        CommitStart(Instant::now())
    }

    /// Not called for a commit that failed: the file has failed with it, and says so.
    pub(super) fn end(&self, begun: CommitStart) {
        self.commits.observe_duration(begun.0.elapsed());
        self.begun.store(0, Ordering::Relaxed);
        self.ended.store(self.elapsed(), Ordering::Relaxed);
    }

    fn is_stuck(&self) -> bool {
        self.since(&self.begun).is_some_and(|since| since > COMMIT_STUCK_AFTER)
    }

    fn elapsed(&self) -> u64 {
        let micros = u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX);
        micros.saturating_add(1)
    }

    /// How long ago that was; `None` for never.
    fn since(&self, moment: &AtomicU64) -> Option<Duration> {
        let moment = moment.load(Ordering::Relaxed);
        (moment > 0).then(|| Duration::from_micros(self.elapsed().saturating_sub(moment)))
    }
}

impl Observe for Store {
    fn measure(&self, page: &mut Page) {
        let metrics = &self.0.metrics;
        page.gauge(
            "strongroom_commit_queue_changes",
            "Changes that wait for the writer.",
            metrics.queued.get(),
        )
        .status("store", "queued_changes");
        page.counter(
            "strongroom_commit_queue_refused_total",
            "Changes that were refused with 503 because the queue was full.",
            metrics.refused.get(),
        )
        .status("store", "refused_changes");
        let (batches, commits) = (metrics.batches.read(), metrics.commits.read());
        page.histogram("strongroom_commit_batch_changes", "Changes in one commit.", &batches);
        page.histogram(
            "strongroom_commit_duration_seconds",
            "Time from the beginning of a commit until it was durable.",
            &commits,
        );
        page.line("store", "changes", StatusValue::Count(batches.sum()));
        page.lines_of("store", ["commits", "commit_p50_us", "commit_p99_us"], &commits);
        let last = metrics.since(&metrics.ended).map(|since| StatusValue::Count(since.as_secs()));
        page.line("store", "last_commit_ago_s", last);
    }

    fn check(&self, checks: &mut Checks) {
        let wrong = if self.0.alarm.has_sounded() {
            Some("The data file has failed; the process is ending.")
        } else if self.0.metrics.is_stuck() {
            Some("A commit has been under way for too long; the disk may hang.")
        } else {
            None
        };
        checks.set("store", wrong);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_that_takes_too_long_is_stuck_until_it_ends() {
        let mut metrics = WriterMetrics::new();
        assert!(!metrics.is_stuck(), "an idle writer is not");
        let begun = metrics.begin(3);
        assert!(!metrics.is_stuck());
        metrics.origin = metrics.origin.checked_sub(2 * COMMIT_STUCK_AFTER).unwrap();
        assert!(metrics.is_stuck());
        metrics.end(begun);
        assert!(!metrics.is_stuck());
        assert_eq!((metrics.commits.read().count(), metrics.batches.read().sum()), (1, 3));
    }
}
