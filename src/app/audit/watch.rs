//! The server's knowledge of its audit chain while it runs: the time of the last signature, and the
//! first problem found.

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::domain::time::Timestamp;
use crate::lock::Lock;

/// A reason not to trust the chain. The vault is still served: refusing requests would not repair
/// the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditFinding {
    /// The entries found after the newest checkpoint at the start do not lead to the end of the
    /// chain. The chain is no longer signed: a new checkpoint would hide the break.
    BrokenTail,
    /// The digests of the records are missing or do not add up, or a shard has older digests than
    /// the newest checkpoint: records were rolled back or their digests removed. Compared at the
    /// start and before each checkpoint.
    ForeignRecords,
    /// Old entries were due for removal up to a checkpoint that this vault did not sign. Nothing is
    /// removed.
    ForgedCheckpoint,
}

#[derive(Debug)]
pub(in crate::app) struct ChainWatch {
    /// The last time at which the chain was signed to its end.
    signed: Lock<Moment>,
    /// The last time at which `audit follow` asked this process for entries, if it did.
    followed: Lock<Option<Timestamp>>,
    pub(super) tail_is_known: AtomicBool,
    /// The first finding; later ones are dropped.
    finding: OnceLock<AuditFinding>,
    pub(super) is_told: AtomicBool,
}

/// A moment by both clocks. If the time of day is set back, it shows no progress until it has
/// caught up, so the monotonic clock is read too. A test's clock moves only the time of day.
#[derive(Debug, Clone, Copy)]
struct Moment {
    monotonic: Instant,
    at: Timestamp,
}

impl ChainWatch {
    pub(in crate::app) fn new(now: Timestamp) -> Self {
        Self {
            signed: Lock::new(Moment { monotonic: Instant::now(), at: now }),
            followed: Lock::new(None),
            tail_is_known: AtomicBool::new(false),
            finding: OnceLock::new(),
            is_told: AtomicBool::new(false),
        }
    }

    /// Notes that the chain is signed to its end.
    pub(super) fn set_signed(&self, at: Timestamp) {
        let mut signed = self.signed.lock();
        *signed = Moment { monotonic: Instant::now(), at };
    }

    /// By the clock that shows more.
    pub(in crate::app) fn since_signed(&self, now: Timestamp) -> Duration {
        let signed = *self.signed.lock();
        now.since(signed.at).max(signed.monotonic.elapsed())
    }

    pub(super) fn note_followed(&self, at: Timestamp) {
        *self.followed.lock() = Some(at);
    }

    pub(in crate::app) fn followed(&self) -> Option<Timestamp> {
        *self.followed.lock()
    }

    pub(in crate::app) fn find(&self, finding: AuditFinding) {
        // `set` fails if there is a finding already: the first one is the one to investigate.
        self.finding.set(finding).ok();
    }

    pub(in crate::app) fn finding(&self) -> Option<AuditFinding> {
        self.finding.get().copied()
    }
}

impl AuditFinding {
    /// The log accepts fixed texts only.
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
                "Records of the data file are not those that were written last; run strongroom \
                 verify."
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
        watch.signed.lock().monotonic = early.unwrap();
        assert!(watch.since_signed(now) >= Duration::from_mins(11));
        watch.set_signed(now);
        assert!(watch.since_signed(now) < Duration::from_mins(1));
        assert!(watch.since_signed(now.plus(Duration::from_hours(1))) >= Duration::from_hours(1));
    }
}
