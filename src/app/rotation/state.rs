//! The in-memory state of rotations.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

use crate::crypto::{KeyTransfer, Phase};

/// `begun` wakes the background task.
#[derive(Debug, Default)]
pub(in crate::app) struct Rotations {
    pub(super) begun: Notify,
    /// Records that the current phase of the current rotation has examined.
    pub(in crate::app) looked_at: AtomicU64,
    /// Counts of the current rotation, taken when the phase began.
    pub(super) records: AtomicU64,
    pub(super) tokens: AtomicU64,
    /// One replacement of the master key at a time.
    pub(super) master: tokio::sync::Mutex<()>,
    pub(super) handover: crate::lock::Lock<Option<KeyTransfer>>,
    /// One write of counted uses at a time: the next one then finds a complete count in the file.
    pub(super) uses: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) struct RotationProgress {
    /// Records not yet examined. Examined ones are sealed under the new key.
    pub(in crate::app) records_left: u64,
    /// Tokens that still have index entries under the old key.
    pub(in crate::app) tokens_left: u64,
    /// The finished part of both.
    pub(in crate::app) percent: u64,
}

impl Rotations {
    /// Records and tokens that arrive during a phase are written under the new key and not counted.
    pub(in crate::app) fn progress(&self, phase: Phase) -> RotationProgress {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        progress(phase, read(&self.looked_at), [read(&self.records), read(&self.tokens)])
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
    let percent = done.saturating_mul(100).checked_div(all).unwrap_or(100);
    RotationProgress { records_left, tokens_left, percent }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(phase: Phase, looked_at: u64, left: [u64; 2], percent: u64) {
        let [records_left, tokens_left] = left;
        let expected = RotationProgress { records_left, tokens_left, percent };
        assert_eq!(progress(phase, looked_at, [150, 50]), expected, "{phase:?} {looked_at}");
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
    }
}
