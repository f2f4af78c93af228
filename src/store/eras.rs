//! Who still works with what was read before a moment: the way to know that a change of keys has
//! reached everyone.
//!
//! Every snapshot belongs to the era in which it was begun, and whatever lives on what the snapshot
//! showed keeps a share in that era. When nobody has a share in an older era any more, nobody acts
//! on anything older than the turn.

use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A share in an era.
#[derive(Debug, Clone)]
pub struct Era(#[expect(dead_code, reason = "having it is all")] Arc<()>);

impl Era {
    /// One that no turn waits for.
    #[cfg(test)]
    pub(crate) fn apart() -> Self {
        Self(Arc::new(()))
    }
}

#[derive(Debug)]
pub(super) struct Eras(Mutex<Known>);

#[derive(Debug)]
struct Known {
    current: Arc<()>,
    older: Vec<Weak<()>>,
}

impl Eras {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Known { current: Arc::new(()), older: Vec::new() }))
    }

    pub(super) fn current(&self) -> Era {
        Era(Arc::clone(&self.lock().current))
    }

    pub(super) fn turn(&self) {
        let mut known = self.lock();
        let ended = std::mem::replace(&mut known.current, Arc::new(()));
        known.older.push(Arc::downgrade(&ended));
    }

    pub(super) fn is_settled(&self) -> bool {
        let mut known = self.lock();
        known.older.retain(|era| era.strong_count() > 0);
        known.older.is_empty()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_waits_for_every_share_in_what_was_before_it() {
        let eras = Eras::new();
        let early = eras.current();
        assert!(eras.is_settled());
        eras.turn();
        let copy = early.clone();
        let between = eras.current();
        drop(early);
        assert!(!eras.is_settled());
        eras.turn();
        drop(copy);
        assert!(!eras.is_settled());
        drop(between);
        assert!(eras.is_settled());
        let _late = eras.current();
        assert!(eras.is_settled());
    }
}
