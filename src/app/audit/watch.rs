//! What a running server knows of its chain: when it was last looked at to be signed, and what was
//! found to be wrong with it.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::domain::time::Timestamp;

/// Why the chain is not to be trusted. It is served on, since nobody is helped by less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditFinding {
    /// What the start found behind the newest checkpoint does not lead to the chain's end. It is not
    /// signed: from then on nobody would see where it broke.
    BrokenTail,
    /// The digests of the records are missing, do not add up, or are older than the newest
    /// checkpoint: records were rolled back or their digests removed.
    ForeignRecords,
    /// A checkpoint that old entries were to be removed up to is not signed by this vault, so
    /// nothing is removed.
    ForgedCheckpoint,
}

#[derive(Debug)]
pub(in crate::app) struct ChainWatch {
    /// When the chain was last seen signed to its end, or a checkpoint was made.
    signed: Mutex<Moment>,
    pub(super) tail_is_known: AtomicBool,
    /// The first one.
    finding: OnceLock<AuditFinding>,
    pub(super) is_told: AtomicBool,
}

/// A moment by both clocks. The time of day may be set back, and then it alone would say for as long
/// as it was ahead that no time has passed; a test's clock moves only the time of day.
#[derive(Debug, Clone, Copy)]
struct Moment {
    monotonic: Instant,
    at: Timestamp,
}

impl ChainWatch {
    pub(in crate::app) fn new(now: Timestamp) -> Self {
        Self {
            signed: Mutex::new(Moment { monotonic: Instant::now(), at: now }),
            tail_is_known: AtomicBool::new(false),
            finding: OnceLock::new(),
            is_told: AtomicBool::new(false),
        }
    }

    /// The chain is signed to the end that it had at this moment.
    pub(super) fn set_signed(&self, at: Timestamp) {
        let mut signed = self.signed.lock().unwrap_or_else(PoisonError::into_inner);
        *signed = Moment { monotonic: Instant::now(), at };
    }

    /// The time since the last signature: the larger of what the two clocks say.
    pub(in crate::app) fn since_signed(&self, now: Timestamp) -> Duration {
        let signed = *self.signed.lock().unwrap_or_else(PoisonError::into_inner);
        now.since(signed.at).max(signed.monotonic.elapsed())
    }

    pub(in crate::app) fn find(&self, finding: AuditFinding) {
        // The first one is what there is to look into.
        self.finding.set(finding).ok();
    }

    pub(in crate::app) fn finding(&self) -> Option<AuditFinding> {
        self.finding.get().copied()
    }
}

impl AuditFinding {
    /// For the log, which takes no other texts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BrokenTail => "broken_tail",
            Self::ForeignRecords => "foreign_records",
            Self::ForgedCheckpoint => "forged_checkpoint",
        }
    }

    pub const fn told(self) -> &'static str {
        match self {
            Self::BrokenTail => "The end of the audit chain is damaged and is not signed.",
            Self::ForeignRecords => {
                "Records of the data file are not those that were written last; run strongroom verify."
            }
            Self::ForgedCheckpoint => {
                "A checkpoint of the audit chain is forged; old entries are not removed."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_back_does_not_stop_the_count_of_time() {
        let now = Timestamp::from_seconds(1_800_000_000);
        let watch = ChainWatch::new(now.plus(Duration::from_hours(24)));
        assert!(watch.since_signed(now) < Duration::from_mins(1));
        let early = Instant::now().checked_sub(Duration::from_mins(11));
        watch.signed.lock().unwrap().monotonic = early.unwrap();
        assert!(watch.since_signed(now) >= Duration::from_mins(11));
        watch.set_signed(now);
        assert!(watch.since_signed(now) < Duration::from_mins(1));
        assert!(watch.since_signed(now.plus(Duration::from_hours(1))) >= Duration::from_hours(1));
    }
}
