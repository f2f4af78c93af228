//! Epochs of snapshots. They show when all work based on older snapshots has ended, so that every
//! request uses the new keys after a key change.
//!
//! Every snapshot belongs to the epoch in which it was opened. Work that relies on a snapshot's
//! data keeps an [`EpochGuard`] of its epoch. When all guards of older epochs are dropped, no work
//! relies on data from before the last [`Epochs::advance`].

use std::sync::{Arc, Weak};

use crate::lock::Lock;

/// Keeps an epoch alive.
#[derive(Debug, Clone)]
pub struct EpochGuard(#[expect(dead_code, reason = "having it is all")] Arc<()>);

#[derive(Debug)]
pub(super) struct Epochs(Lock<EpochState>);

#[derive(Debug)]
struct EpochState {
    current: Arc<()>,
    older: Vec<Weak<()>>,
}

impl Epochs {
    pub(super) fn new() -> Self {
        Self(Lock::new(EpochState { current: Arc::new(()), older: Vec::new() }))
    }

    pub(super) fn current(&self) -> EpochGuard {
        EpochGuard(Arc::clone(&self.0.lock().current))
    }

    pub(super) fn advance(&self) {
        let mut state = self.0.lock();
        let ended = std::mem::replace(&mut state.current, Arc::new(()));
        state.older.push(Arc::downgrade(&ended));
    }

    pub(super) fn is_quiescent(&self) -> bool {
        let mut state = self.0.lock();
        state.older.retain(|epoch| epoch.strong_count() > 0);
        state.older.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_waits_for_every_share_in_what_was_before_it() {
        let epochs = Epochs::new();
        let early = epochs.current();
        assert!(epochs.is_quiescent());
        epochs.advance();
        let copy = early.clone();
        let between = epochs.current();
        drop(early);
        assert!(!epochs.is_quiescent());
        epochs.advance();
        drop(copy);
        assert!(!epochs.is_quiescent());
        drop(between);
        assert!(epochs.is_quiescent());
        let _late = epochs.current();
        assert!(epochs.is_quiescent());
    }
}
