//! The in-memory state of rotations.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use crate::bounds::ROTATION_METER_PERIOD;
use crate::crypto::{KeyTransfer, KeyUse, Phase};
use crate::domain::time::Timestamp;
use crate::lock::Lock;
use crate::store::{CommitFailure, Verdict};

/// `begun` wakes the background task.
#[derive(Debug, Default)]
pub(in crate::app) struct Rotations {
    pub(super) begun: Notify,
    /// Records that the current phase of the current rotation has examined.
    pub(in crate::app) looked_at: AtomicU64,
    /// Counts of the current rotation, taken when the phase began.
    pub(super) records: AtomicU64,
    pub(super) tokens: AtomicU64,
    pub(super) meter: Lock<Meter>,
    /// One replacement of the master key at a time.
    pub(super) master: tokio::sync::Mutex<()>,
    pub(super) handover: Lock<Option<KeyTransfer>>,
    /// One write of counted uses at a time: the next one then finds a complete count in the file.
    pub(super) uses: tokio::sync::Mutex<Vec<SubmittedUses>>,
}

/// Counted uses of the keys of one shard, until the writer's verdict.
pub(super) struct SubmittedUses {
    pub(super) verdict: Pin<Box<dyn Future<Output = Result<Verdict, CommitFailure>> + Send>>,
    pub(super) used: Vec<KeyUse>,
}

opaque_debug!(SubmittedUses);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) struct RotationProgress {
    /// Records not yet examined. Examined ones are sealed under the new key.
    pub(in crate::app) records_left: u64,
    /// Tokens that still have index entries under the old key.
    pub(in crate::app) tokens_left: u64,
    /// The finished part of both.
    pub(in crate::app) percent: u64,
    /// The time that both take at the present speed; `None` until the speed is known.
    pub(in crate::app) left: Option<Duration>,
}

/// The speed of a phase, measured over the last half minute to minute, since it follows the load.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// Moments, with the records that the phase had looked at by then. The first is the older one.
    marks: [Option<(Timestamp, u64)>; 2],
}

impl Meter {
    pub(super) fn begin(now: Timestamp) -> Self {
        Self { marks: [None, Some((now, 0))] }
    }

    pub(super) fn note(&mut self, now: Timestamp, done: u64) {
        let [_, newer] = self.marks;
        if newer.is_none_or(|(at, _)| now.since(at) >= ROTATION_METER_PERIOD) {
            self.marks = [newer, Some((now, done))];
        }
    }

    /// The time for more records, if any were looked at since the older mark.
    fn time_for(&self, left: u64, now: Timestamp, done: u64) -> Option<Duration> {
        let [older, newer] = self.marks;
        let (at, before) = older.or(newer)?;
        let millis = u64::try_from(now.since(at).as_millis()).ok()?;
        millis
            .saturating_mul(left)
            .checked_div(done.saturating_sub(before))
            .map(Duration::from_millis)
    }
}

impl Rotations {
    /// Records and tokens that arrive during a phase are written under the new key and not counted.
    pub(in crate::app) fn progress(&self, phase: Phase, now: Timestamp) -> RotationProgress {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let looked_at = read(&self.looked_at);
        let progress = progress(phase, looked_at, [read(&self.records), read(&self.tokens)]);
        // A token whose entries are removed takes about as long as a record.
        let left = progress.records_left.saturating_add(progress.tokens_left);
        RotationProgress { left: self.meter.lock().time_for(left, now, looked_at), ..progress }
    }
}

fn progress(phase: Phase, looked_at: u64, [records, tokens]: [u64; 2]) -> RotationProgress {
    let (records_left, tokens_left) = match phase {
        Phase::Announced => (records, tokens),
        Phase::Both => (records.saturating_sub(looked_at), tokens),
        Phase::Flipped => (0, tokens),
        Phase::Clearing => (0, tokens.saturating_sub(looked_at)),
        Phase::Settled => (0, 0),
    };
    let (all, left) = (records.saturating_add(tokens), records_left.saturating_add(tokens_left));
    let done = all.saturating_sub(left);
    // Before the task enters the first phase, the records are not counted yet.
    let unknown = if phase == Phase::Announced { 0 } else { 100 };
    let percent = done.saturating_mul(100).checked_div(all).unwrap_or(unknown);
    RotationProgress { records_left, tokens_left, percent, left: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(phase: Phase, looked_at: u64, left: [u64; 2], percent: u64) {
        let [records_left, tokens_left] = left;
        let expected = RotationProgress { records_left, tokens_left, percent, left: None };
        assert_eq!(progress(phase, looked_at, [150, 50]), expected, "{phase:?} {looked_at}");
    }

    #[test]
    fn the_time_that_is_left_follows_the_speed_of_the_last_minute() {
        let at = Timestamp::from_seconds;
        let check = |meter: &Meter, now: i64, done: u64, left: Option<u64>| {
            let found = meter.time_for(1_000, at(now), done).map(|found| found.as_secs());
            assert_eq!(found, left, "{meter:?} {now}");
        };
        check(&Meter::default(), 9, 0, None);
        let mut meter = Meter::begin(at(0));
        check(&meter, 9, 0, None);
        // 100 records a second for a minute, then ten.
        for (now, done) in [(10, 1_000), (30, 3_000), (60, 6_000)] {
            meter.note(at(now), done);
            check(&meter, now, done, Some(10));
        }
        for (now, done, left) in [(75, 6_150, 14), (90, 6_300, 100), (120, 6_600, 100)] {
            meter.note(at(now), done);
            check(&meter, now, done, Some(left));
        }
    }

    #[test]
    fn a_rotation_has_first_its_records_left_and_then_its_index_entries() {
        check(Phase::Announced, 0, [150, 50], 0);
        check(Phase::Both, 0, [150, 50], 0);
        check(Phase::Both, 100, [50, 50], 50);
        check(Phase::Both, 170, [0, 50], 75);
        check(Phase::Flipped, 0, [0, 50], 75);
        check(Phase::Clearing, 25, [0, 25], 87);
        check(Phase::Clearing, 60, [0, 0], 100);
        check(Phase::Settled, 0, [0, 0], 100);
        assert_eq!(progress(Phase::Both, 0, [0, 0]).percent, 100, "an empty tenant");
        assert_eq!(progress(Phase::Announced, 0, [0, 0]).percent, 0, "not counted yet");
    }
}
