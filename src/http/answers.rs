//! The memory that large answers to reads take, of all requests together.
//!
//! An answer stays in memory until the client has taken it, and a client may take its time. What is
//! not small takes its bytes from one budget until it is written out or given up. An answer that finds
//! too little left gives way to a 503. Answers to writes are not held back: the write has happened.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::bounds::{ANSWER_BYTES_FREE, ANSWERS_BYTES_MAX};

/// What all large answers together hold.
#[derive(Debug, Clone, Default)]
pub struct Answers(Arc<AtomicUsize>);

/// What one answer holds of the budget, given back when dropped.
#[derive(Debug)]
pub(super) struct Share {
    answers: Answers,
    held: usize,
}

impl Answers {
    /// `None` when there is no memory left. An answer that is alone may be of any size.
    pub(super) fn share(&self, bytes: usize) -> Option<Share> {
        let held = if bytes <= ANSWER_BYTES_FREE { 0 } else { bytes };
        let more = |taken: usize| {
            let sum = taken.checked_add(held)?;
            (taken == 0 || sum <= ANSWERS_BYTES_MAX).then_some(sum)
        };
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.is_ok().then(|| Share { answers: self.clone(), held })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.answers.0.fetch_sub(self.held, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_answers_share_a_budget_and_give_it_back() {
        let answers = Answers::default();
        let large = ANSWERS_BYTES_MAX / 2;
        let first = answers.share(large).unwrap();
        let second = answers.share(large).unwrap();
        assert!(answers.share(ANSWER_BYTES_FREE + 1).is_none());
        assert!(answers.share(ANSWER_BYTES_FREE).is_some(), "a small one needs none of it");
        drop(first);
        assert!(answers.share(large).is_some());
        drop(second);
        let alone = answers.share(2 * ANSWERS_BYTES_MAX).unwrap();
        assert!(answers.share(large).is_none());
        drop(alone);
        assert_eq!(answers.0.load(Ordering::Relaxed), 0);
    }
}
