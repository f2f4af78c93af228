//! Counts the outcome of each call through a stored proxy, and lists the counts.

use crate::app::Proxies;
use crate::app::call_counts::CallCount;
use crate::app::caller::Caller;
use crate::app::error::Error;
use crate::app::named::{NamedPage, NamedQuery};
use crate::app::outbound::{OutboundFailure, OutboundResponse};
use crate::app::proxy_calls::ProxyFailure;
use crate::bounds::PROXIES_MAX;
use crate::domain::id::ProxyId;
use crate::domain::proxy::Proxy;
use crate::domain::time::Timestamp;

#[derive(Debug)]
pub struct CalledProxy {
    pub id: ProxyId,
    pub name: String,
    pub count: CallCount<CallFailure>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallFailure {
    pub at: Timestamp,
    pub kind: &'static str,
    /// Set if the destination answered with an error.
    pub destination_status: Option<u16>,
}

impl Proxies<'_> {
    /// An error of the destination counts as a failure too.
    pub(super) fn count_call(
        self,
        proxy: ProxyId,
        outcome: Result<&OutboundResponse, &ProxyFailure>,
    ) {
        let now = self.vault.now();
        let failed = |kind, destination_status| CallFailure { at: now, kind, destination_status };
        let failure = match outcome {
            Ok(answer) if answer.status < 400 => None,
            Ok(answer) => Some(failed("destination_status", Some(answer.status))),
            // A program that answers a call itself has not failed.
            Err(ProxyFailure::Answered(_)) => None,
            Err(failure) => Some(failed(kind(failure), None)),
        };
        self.vault.proxy_calls.count(proxy, failure, now);
    }

    /// Shows neither keys nor configurations, so this is not a read of a proxy for the audit log.
    pub async fn list_calls(self, caller: &Caller) -> Result<Vec<CalledProxy>, Error> {
        let all = NamedQuery::first(PROXIES_MAX);
        let walk = || self.vault.named_page(caller, &all);
        let page: NamedPage<Proxy> = self.vault.walks.run(caller.party(), walk).await??;
        let counted = page.records.into_iter().map(|proxy| CalledProxy {
            id: proxy.id,
            count: self.vault.proxy_calls.of(proxy.id),
            name: proxy.settings.name,
        });
        Ok(counted.collect())
    }
}

const fn kind(failure: &ProxyFailure) -> &'static str {
    match failure {
        ProxyFailure::Answer(_) => "answer_transform",
        ProxyFailure::Answered(_) => "answered",
        ProxyFailure::Program { .. } => "program",
        ProxyFailure::App(_) => "vault",
        ProxyFailure::Invalid(_) => "invalid",
        ProxyFailure::Outbound(OutboundFailure::Broken(_)) => "broken",
        ProxyFailure::Outbound(OutboundFailure::Refused(_)) => "refused",
        ProxyFailure::Outbound(OutboundFailure::TimedOut) => "timed_out",
        ProxyFailure::Outbound(OutboundFailure::Unreachable(_)) => "unreachable",
    }
}
