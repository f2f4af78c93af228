//! What a running server knows of its chain: when it was last looked at to be signed, and what was
//! found to be wrong with it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use crate::app::App;
use crate::app::error::Error;
use crate::domain::time::Timestamp;

/// Why the chain is not to be trusted. It is served on, since nobody is helped by less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditFinding {
    /// What the start found behind the newest checkpoint does not lead to the chain's end. It is not
    /// signed: from then on nobody would see where it broke.
    BrokenTail,
    /// A checkpoint that old entries were to be removed up to is not signed by this vault, so
    /// nothing is removed.
    ForgedCheckpoint,
}

#[derive(Debug)]
pub(in crate::app) struct Watch {
    /// As microseconds.
    looked_at: AtomicI64,
    tail_is_known: AtomicBool,
    /// The first one.
    finding: OnceLock<AuditFinding>,
    is_told: AtomicBool,
}

impl Watch {
    pub(in crate::app) fn new(now: Timestamp) -> Self {
        Self {
            looked_at: AtomicI64::new(now.micros()),
            tail_is_known: AtomicBool::new(false),
            finding: OnceLock::new(),
            is_told: AtomicBool::new(false),
        }
    }

    /// Everything that was due to be signed at this moment is.
    pub(super) fn looked(&self, at: Timestamp) {
        self.looked_at.store(at.micros(), Ordering::Relaxed);
    }

    pub(in crate::app) fn looked_at(&self) -> Timestamp {
        Timestamp::from_micros(self.looked_at.load(Ordering::Relaxed))
    }

    pub(super) fn find(&self, finding: AuditFinding) {
        // The first one is what there is to look into.
        self.finding.set(finding).ok();
    }

    pub(in crate::app) fn finding(&self) -> Option<AuditFinding> {
        self.finding.get().copied()
    }
}

impl App {
    /// What was found, once.
    pub fn audit_news(&self) -> Option<AuditFinding> {
        let finding = self.audit_watch.finding()?;
        (!self.audit_watch.is_told.swap(true, Ordering::Relaxed)).then_some(finding)
    }

    /// Looks at the tail before the first signature; what comes later is of this process.
    pub(super) fn may_sign(&self) -> Result<bool, Error> {
        let watch = &self.audit_watch;
        if !watch.tail_is_known.load(Ordering::Relaxed) {
            if !self.audit_tail_is_whole()? {
                watch.find(AuditFinding::BrokenTail);
            }
            watch.tail_is_known.store(true, Ordering::Relaxed);
        }
        Ok(watch.finding() != Some(AuditFinding::BrokenTail))
    }
}

impl AuditFinding {
    /// For the log, which takes no other texts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BrokenTail => "broken_tail",
            Self::ForgedCheckpoint => "forged_checkpoint",
        }
    }

    pub const fn told(self) -> &'static str {
        match self {
            Self::BrokenTail => "The end of the audit chain is damaged and is not signed.",
            Self::ForgedCheckpoint => {
                "A checkpoint of the audit chain is forged; old entries are not removed."
            }
        }
    }
}
