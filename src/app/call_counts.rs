//! Counts of the calls of each proxy and each reactor since the start of the server, with the last
//! failures. Nothing of a call is kept: neither paths nor headers nor values.

use std::collections::HashMap;
use std::hash::Hash;

use crate::bounds::{CALL_FAILURES_KEPT, CALLS_COUNTED_MAX};
use crate::domain::time::Timestamp;
use crate::lock::Lock;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallCount<F> {
    pub calls: u64,
    pub failures: u64,
    /// Newest first.
    pub last_failures: Vec<F>,
}

/// Counts by the id of a proxy or a reactor, with failures of the type `F`.
#[derive(Debug)]
pub(in crate::app) struct CallCounts<K, F>(Lock<HashMap<K, Counted<F>>>);

#[derive(Debug)]
struct Counted<F> {
    count: CallCount<F>,
    last_call: Timestamp,
}

impl<F> Default for CallCount<F> {
    fn default() -> Self {
        Self { calls: 0, failures: 0, last_failures: Vec::new() }
    }
}

impl<K, F> Default for CallCounts<K, F> {
    fn default() -> Self {
        Self(Lock::default())
    }
}

impl<K: Copy + Eq + Hash, F: Clone> CallCounts<K, F> {
    /// If there are too many ids, forgets the least recently called one.
    pub(in crate::app) fn count(&self, id: K, failure: Option<F>, now: Timestamp) {
        let mut known = self.0.lock();
        if known.len() >= CALLS_COUNTED_MAX && !known.contains_key(&id) {
            let oldest = known.iter().min_by_key(|(_, counted)| counted.last_call);
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                known.remove(&oldest);
            }
        }
        let fresh = || Counted { count: CallCount::default(), last_call: now };
        let counted = known.entry(id).or_insert_with(fresh);
        counted.last_call = now;
        let count = &mut counted.count;
        count.calls = count.calls.saturating_add(1);
        if let Some(failure) = failure {
            count.failures = count.failures.saturating_add(1);
            count.last_failures.truncate(CALL_FAILURES_KEPT.saturating_sub(1));
            count.last_failures.insert(0, failure);
        }
    }

    pub(in crate::app) fn of(&self, id: K) -> CallCount<F> {
        self.0.lock().get(&id).map(|counted| counted.count.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Counts = CallCounts<usize, &'static str>;

    fn at(second: usize) -> Timestamp {
        Timestamp::from_seconds(i64::try_from(second).unwrap())
    }

    #[test]
    fn calls_and_failures_are_counted_and_the_last_failures_stay() {
        let counts = Counts::default();
        counts.count(1, None, at(1));
        assert_eq!(counts.of(1), CallCount { calls: 1, ..CallCount::default() });
        counts.count(1, Some("first"), at(2));
        counts.count(1, Some("second"), at(3));
        counts.count(1, None, at(4));
        let last_failures = vec!["second", "first"];
        assert_eq!(counts.of(1), CallCount { calls: 4, failures: 2, last_failures });
        assert_eq!(counts.of(2), CallCount::default());
        for second in 5..5 + CALL_FAILURES_KEPT {
            counts.count(1, Some("later"), at(second));
        }
        assert_eq!(counts.of(1).last_failures, ["later"; CALL_FAILURES_KEPT]);
        assert_eq!(counts.of(1).failures, 2 + u64::try_from(CALL_FAILURES_KEPT).unwrap());
    }

    #[test]
    fn the_one_that_was_not_called_for_the_longest_time_is_forgotten() {
        let counts = Counts::default();
        for number in 0..CALLS_COUNTED_MAX {
            counts.count(number, None, at(number));
        }
        let late = at(1_800_000_000);
        counts.count(0, None, late);
        counts.count(usize::MAX, None, late);
        let calls = [0, 1, 2, usize::MAX].map(|id| counts.of(id).calls);
        assert_eq!(calls, [2, 0, 1, 1]);
    }
}
