//! Counts of the calls through each stored proxy since the start of the server, with the last
//! failure. Nothing of a call is kept: neither paths nor headers nor values.

use std::collections::HashMap;

use crate::bounds::PROXIES_COUNTED_MAX;
use crate::domain::id::ProxyId;
use crate::domain::time::Timestamp;
use crate::lock::Lock;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallCount {
    pub calls: u64,
    pub failures: u64,
    pub last_failure: Option<CallFailure>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallFailure {
    pub at: Timestamp,
    pub kind: &'static str,
    /// Set if the destination answered with an error.
    pub destination_status: Option<u16>,
}

#[derive(Debug, Default)]
pub(in crate::app) struct CallCounts(Lock<HashMap<ProxyId, CountedProxy>>);

#[derive(Debug)]
struct CountedProxy {
    count: CallCount,
    last_call: Timestamp,
}

impl CallCounts {
    /// If there are too many proxies, forgets the least recently called one.
    pub(super) fn count(&self, proxy: ProxyId, failure: Option<CallFailure>, now: Timestamp) {
        let mut known = self.0.lock();
        if known.len() >= PROXIES_COUNTED_MAX && !known.contains_key(&proxy) {
            let oldest = known.iter().min_by_key(|(_, counted)| counted.last_call);
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                known.remove(&oldest);
            }
        }
        let fresh = || CountedProxy { count: CallCount::default(), last_call: now };
        let counted = known.entry(proxy).or_insert_with(fresh);
        counted.last_call = now;
        counted.count.calls = counted.count.calls.saturating_add(1);
        if failure.is_some() {
            counted.count.failures = counted.count.failures.saturating_add(1);
            counted.count.last_failure = failure;
        }
    }

    pub(super) fn of(&self, proxy: ProxyId) -> CallCount {
        self.0.lock().get(&proxy).map(|counted| counted.count).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn proxy(number: u128) -> ProxyId {
        ProxyId::new(Uuid::from_u128(number))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_seconds(second)
    }

    #[test]
    fn calls_and_failures_are_counted_and_the_last_failure_stays() {
        let counts = CallCounts::default();
        counts.count(proxy(1), None, at(1));
        assert_eq!(counts.of(proxy(1)), CallCount { calls: 1, ..CallCount::default() });
        let failure = |second, kind, destination_status| {
            Some(CallFailure { at: at(second), kind, destination_status })
        };
        let first = failure(2, "destination_status", Some(503));
        counts.count(proxy(1), first, at(2));
        let once = CallCount { calls: 2, failures: 1, last_failure: first };
        assert_eq!(counts.of(proxy(1)), once);
        let second = failure(3, "timed_out", None);
        counts.count(proxy(1), second, at(3));
        counts.count(proxy(1), None, at(4));
        let twice = CallCount { calls: 4, failures: 2, last_failure: second };
        assert_eq!(counts.of(proxy(1)), twice);
        assert_eq!(counts.of(proxy(2)), CallCount::default());
    }

    #[test]
    fn the_proxy_that_was_not_called_for_the_longest_time_is_forgotten() {
        let counts = CallCounts::default();
        for number in 0..PROXIES_COUNTED_MAX {
            let second = i64::try_from(number).unwrap();
            counts.count(proxy(u128::try_from(number).unwrap()), None, at(second));
        }
        let late = at(1_800_000_000);
        counts.count(proxy(0), None, late);
        let beyond = proxy(u128::MAX);
        counts.count(beyond, None, late);
        let calls = [proxy(0), proxy(1), proxy(2), beyond].map(|proxy| counts.of(proxy).calls);
        assert_eq!(calls, [2, 0, 1, 1]);
    }
}
