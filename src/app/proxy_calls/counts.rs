//! Counts of the calls through each stored proxy since the start of the server, with the last failure.
//! Nothing of a call itself is kept: neither paths nor headers nor values.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::app::access::caller::Caller;
use crate::app::error::Error;
use crate::app::outbound::{OutboundFailure, OutboundResponse};
use crate::app::proxies::Proxies;
use crate::app::proxies::manage::ProxyQuery;
use crate::app::proxy_calls::ProxyFailure;
use crate::bounds::{PROXIES_COUNTED_MAX, PROXIES_MAX};
use crate::domain::id::ProxyId;
use crate::domain::time::Timestamp;

/// The calls through one proxy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallCount {
    pub calls: u64,
    pub failures: u64,
    pub last_failure: Option<CallFailure>,
}

/// A call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallFailure {
    pub at: Timestamp,
    pub kind: &'static str,
    /// The status of a destination that answered with an error.
    pub destination_status: Option<u16>,
}

/// A stored proxy with the count of its calls.
#[derive(Debug)]
pub struct CalledProxy {
    pub id: ProxyId,
    pub name: String,
    pub count: CallCount,
}

impl Proxies<'_> {
    /// All proxies of the caller's tenant with the counts of their calls. Neither keys nor
    /// configurations are shown, so that this is no read of a proxy for the audit log.
    pub async fn list_calls(self, caller: &Caller) -> Result<Vec<CalledProxy>, Error> {
        let all = ProxyQuery { take: PROXIES_MAX, ..ProxyQuery::default() };
        let page = self.vault.walks.run(|| self.page(caller, &all)).await??;
        let called = page.proxies.into_iter().map(|proxy| CalledProxy {
            id: proxy.id,
            count: self.vault.proxy_calls.of(proxy.id),
            name: proxy.settings.name,
        });
        Ok(called.collect())
    }
}

/// The calls through all proxies, by proxy.
#[derive(Debug, Default)]
pub(in crate::app) struct CallCounts(Mutex<HashMap<ProxyId, CountedProxy>>);

#[derive(Debug)]
struct CountedProxy {
    count: CallCount,
    last_call: Timestamp,
}

impl CallCounts {
    /// Forgets the proxy that was not called for the longest time if there are too many.
    pub(super) fn count(
        &self,
        proxy: ProxyId,
        outcome: Result<&OutboundResponse, &ProxyFailure>,
        now: Timestamp,
    ) {
        let failure = match outcome {
            Ok(answer) if answer.status < 400 => None,
            Ok(answer) => Some(("destination_status", Some(answer.status))),
            Err(failure) => Some((kind(failure), None)),
        };
        let mut known = self.lock();
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
        if let Some((kind, destination_status)) = failure {
            counted.count.failures = counted.count.failures.saturating_add(1);
            counted.count.last_failure = Some(CallFailure { at: now, kind, destination_status });
        }
    }

    fn of(&self, proxy: ProxyId) -> CallCount {
        self.lock().get(&proxy).map(|counted| counted.count).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ProxyId, CountedProxy>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const fn kind(failure: &ProxyFailure) -> &'static str {
    match failure {
        ProxyFailure::Answer(_) => "answer_transform",
        ProxyFailure::App(_) => "vault",
        ProxyFailure::Invalid(_) => "invalid",
        ProxyFailure::Outbound(OutboundFailure::Broken(_)) => "broken",
        ProxyFailure::Outbound(OutboundFailure::Refused(_)) => "refused",
        ProxyFailure::Outbound(OutboundFailure::TimedOut) => "timed_out",
        ProxyFailure::Outbound(OutboundFailure::Unreachable(_)) => "unreachable",
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::secret::Secret;

    fn proxy(number: u128) -> ProxyId {
        ProxyId::new(Uuid::from_u128(number))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_seconds(second)
    }

    fn answer(status: u16) -> OutboundResponse {
        OutboundResponse { status, headers: Vec::new(), body: Secret::new(Vec::new()) }
    }

    #[test]
    fn a_call_fails_without_an_answer_or_by_a_status_of_the_destination() {
        let counts = CallCounts::default();
        counts.count(proxy(1), Ok(&answer(204)), at(1));
        assert_eq!(counts.of(proxy(1)), CallCount { calls: 1, ..CallCount::default() });
        counts.count(proxy(1), Ok(&answer(503)), at(2));
        let failure = |at, kind, destination_status| CallFailure { at, kind, destination_status };
        let last = failure(at(2), "destination_status", Some(503));
        assert_eq!(
            counts.of(proxy(1)),
            CallCount { calls: 2, failures: 1, last_failure: Some(last) }
        );
        let timed_out = ProxyFailure::Outbound(OutboundFailure::TimedOut);
        counts.count(proxy(1), Err(&timed_out), at(3));
        let last = failure(at(3), "timed_out", None);
        counts.count(proxy(1), Ok(&answer(200)), at(4));
        assert_eq!(
            counts.of(proxy(1)),
            CallCount { calls: 4, failures: 2, last_failure: Some(last) }
        );
        assert_eq!(counts.of(proxy(2)), CallCount::default());
    }

    #[test]
    fn the_proxy_that_was_not_called_for_the_longest_time_is_forgotten() {
        let counts = CallCounts::default();
        for number in 0..PROXIES_COUNTED_MAX {
            let number = u128::try_from(number).unwrap();
            counts.count(proxy(number), Ok(&answer(200)), at(i64::try_from(number).unwrap()));
        }
        counts.count(proxy(0), Ok(&answer(200)), at(i64::MAX / 2_000_000));
        let beyond = proxy(u128::MAX);
        counts.count(beyond, Ok(&answer(200)), at(i64::MAX / 2_000_000));
        let calls = [proxy(0), proxy(1), proxy(2), beyond].map(|proxy| counts.of(proxy).calls);
        assert_eq!(calls, [2, 0, 1, 1]);
    }
}
