//! The event `proxy.invoked` of webhooks: a call through a proxy and its outcome.

use serde_json::{Map, Value, json};

use crate::app::commit::commit_loop::Priority;
use crate::app::outbound::{OutboundFailure, OutboundResponse};
use crate::app::proxy_calls::ProxyFailure;
use crate::app::proxy_calls::invoke::Invocation;
use crate::domain::https_url::HttpsUrl;
use crate::domain::time::Timestamp;
use crate::domain::webhook::EventKind;

/// A call that a webhook subscribes to, before it is sent. Paths, headers and bodies are left out:
/// they hold values of tokens and secrets of the destination.
pub(super) struct CallEvent {
    destination: String,
    method: String,
    begun: Timestamp,
}

impl Invocation<'_> {
    /// `None` if no webhook of the tenant subscribes to calls.
    pub(super) fn event(
        self,
        url: &HttpsUrl,
        method: &str,
    ) -> Result<Option<CallEvent>, ProxyFailure> {
        if !self.vault.webhooks().wants(self.tenant, EventKind::ProxyInvoked)? {
            return Ok(None);
        }
        Ok(Some(CallEvent {
            destination: format!("https://{}", url.authority()),
            method: String::from(method),
            begun: self.vault.now(),
        }))
    }

    /// The request may have left, so a failure to write the event must not change the answer: the
    /// caller would send the request again.
    pub(super) async fn tell(
        self,
        event: CallEvent,
        outcome: Result<&OutboundResponse, &ProxyFailure>,
    ) {
        let at = self.vault.now();
        let data = self.data(&event, at, outcome);
        let emitted = self.vault.commit(Priority::Normal, |_| {
            let webhooks = self.vault.webhooks();
            let data = || data.clone();
            let (kind, actor) = (EventKind::ProxyInvoked, self.actor());
            Ok((webhooks.emit(self.tenant, actor, kind, at, data), ()))
        });
        emitted.await.ok();
    }

    fn data(
        self,
        event: &CallEvent,
        at: Timestamp,
        outcome: Result<&OutboundResponse, &ProxyFailure>,
    ) -> Map<String, Value> {
        let elapsed_ms = at.micros().saturating_sub(event.begun.micros()).max(0) / 1_000;
        let (status, error) = match outcome {
            Ok(answer) => (Some(answer.status), None),
            Err(failure) => (None, Some(reason(failure))),
        };
        let mut proxy = json!({
            "type": if self.proxy().is_some() { "pre-configured" } else { "ephemeral" },
            "response": {"status": status, "error": error},
        });
        if let (Some(stored), Some(members)) = (self.proxy(), proxy.as_object_mut()) {
            members.insert(String::from("id"), Value::from(stored.id.to_string()));
            members.insert(String::from("name"), Value::from(stored.settings.name.as_str()));
        }
        let destination = json!({
            "request": {"url": event.destination, "method": event.method},
            "response": {"status": status, "elapsed_ms": elapsed_ms},
        });
        [("proxy", proxy), ("destination", destination)]
            .map(|(name, value)| (String::from(name), value))
            .into_iter()
            .collect()
    }
}

const fn reason(failure: &ProxyFailure) -> &'static str {
    match failure {
        ProxyFailure::Answer(_) => "a transform of the answer failed",
        ProxyFailure::Outbound(OutboundFailure::Broken(_)) => "the answer could not be used",
        ProxyFailure::Outbound(OutboundFailure::Refused(_)) => "the destination is not allowed",
        ProxyFailure::Outbound(OutboundFailure::TimedOut) => "the destination did not answer",
        ProxyFailure::Outbound(OutboundFailure::Unreachable(_)) => "there was no connection",
        ProxyFailure::Answered(_) => "a program of the proxy answered",
        ProxyFailure::Program { .. } => "a program of the proxy failed",
        ProxyFailure::App(_) | ProxyFailure::Invalid(_) => "the call was refused",
    }
}
