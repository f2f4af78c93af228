//! The answers of the console's own operations. They show no data of another tenant, no value of a
//! token, no text of a key, and of a call through a proxy only its outcome.

pub(crate) mod activity;
pub(crate) mod limits;
pub(crate) mod preview;
pub(crate) mod sign_on;

use crate::app::{
    CallFailure, CalledProxy, CalledReactor, CalledReactors, Caller, FailedReaction, KeyOverview,
    ListedSession, ListedWebhook, SessionPage,
};
use crate::bounds::{
    CALL_FAILURES_KEPT, PROXIES_MAX, REACTORS_MAX, THREEDS_LISTED_MAX, WEBHOOKS_MAX,
};
use crate::domain::mistakes::Mistakes;
use crate::domain::tenant::TenantKind;
use crate::domain::time::Timestamp;
use crate::domain::webhook::{DeliveryFailure, WebhookStatus};
use crate::http::wire::answer::{Answer as _, answer};
use crate::http::wire::{Json, Query, cursor};
use crate::threeds::session::Device;

answer! {
    pub(crate) ConsoleKeys<'a>(it: (&'a Caller, &'a [KeyOverview])) {
        has data: list(ConsoleKey "ConsoleKey") = it.1.iter().map(|key| (it.0, key));
    }

    pub(crate) ConsoleKey<'a>(it: (&'a Caller, &'a KeyOverview)) {
        has application_id: id = it.1.key.application;
        has key_id: id = it.1.key.id;
        has created_at: time = it.1.key.created_at;
        may_have created_by: id = it.1.key.created_by;
        may_have last_used_at: time = it.1.last_used_at,
            "The minute in which a request last had the key.";
        has is_current: flag = it.1.key.id == it.0.key.id, "True for the key of this request.";
    }

    pub(crate) ConsoleWebhooks<'a>(it: &'a [ListedWebhook]) {
        has data: list(QueuedWebhook).up_to_items(WEBHOOKS_MAX) = it;
    }

    QueuedWebhook<'a>(it: &'a ListedWebhook) {
        has id: id = it.webhook.id;
        has name: text = &it.webhook.name;
        has status: word(WebhookStatus::ALL.map(WebhookStatus::as_str)) = it.webhook.status.as_str();
        has waiting: number = it.pending;
        may_have oldest_waiting_at: time = it.oldest;
        has failed_attempts: number = it.failed_attempts, "Since the last success and since the start.";
        may_have failing_since: time = it.webhook.failing.map(|failure| failure.at);
        may_have last_failure: object(FailedDelivery) = it.last_failure;
        may_have disabled_since: time = it.webhook.disabled_at;
    }

    FailedDelivery<'a>(it: DeliveryFailure) {
        has at: time = it.at;
        has kind: word(["broken", "refused", "status", "timed_out", "unreachable"]) = it.reason.name();
        may_have status: number.between(100, 999) = it.reason.status();
    }

    pub(crate) ConsoleProxies<'a>(it: (Timestamp, &'a [CalledProxy])) {
        has since: time = it.0;
        has data: list(CalledProxyAnswer).up_to_items(PROXIES_MAX) = it.1;
    }

    CalledProxyAnswer<'a>(it: &'a CalledProxy) {
        has id: id = it.id;
        has name: text = &it.name;
        has calls: number = it.count.calls;
        has failures: number = it.count.failures;
        may_have last_failure: object(FailedCall) = it.count.last_failures.first();
    }

    FailedCall<'a>(it: &'a CallFailure) {
        has at: time = it.at;
        has kind: word([
            "answer_transform", "broken", "destination_status", "invalid", "program", "refused",
            "timed_out", "unreachable", "vault",
        ]) = it.kind;
        may_have destination_status: number.between(400, 599) = it.destination_status;
    }

    pub(crate) ConsoleReactors<'a>(it: (TenantKind, Timestamp, &'a CalledReactors)) {
        has tenant_type: word(TenantKind::ALL.map(TenantKind::as_str)) = it.0.as_str();
        has runs_programs: flag = it.2.obstacle.is_none();
        may_have obstacle: text = it.2.obstacle, "The reason for which no program runs.";
        has since: time = it.1;
        has data: list(CalledReactorAnswer).up_to_items(REACTORS_MAX) = &it.2.reactors;
    }

    CalledReactorAnswer<'a>(it: &'a CalledReactor) {
        has id: id = it.id;
        has name: text = &it.name;
        has calls: number = it.count.calls;
        has failures: number = it.count.failures;
        has last_failures: list(FailedReactionAnswer).up_to_items(CALL_FAILURES_KEPT)
            = &it.count.last_failures, "Newest first.";
    }

    FailedReactionAnswer<'a>(it: &'a FailedReaction) {
        has at: time = it.at;
        has reason: text = it.reason, "A sentence for each kind of failure.";
        may_have trace_id: display(Schema::text()) = it.trace.as_ref();
    }

    /// The card and its source, the data of the device and the transaction ids are left out: they
    /// need the permission to read sessions.
    pub(crate) ConsoleThreedsSession<'a>(it: (Timestamp, &'a ListedSession)) {
        has id: id = it.1.id;
        has created_at: time = it.1.created_at;
        has step: word([
            "challenged", "created", "decided", "decoupled", "expired", "failed", "removed",
            "requested", "timed_out",
        ]) = it.1.step(it.0);
        may_have created_by: id = it.1.session.as_ref().map(|it| it.created_by);
        may_have modified_at: time = it.1.session.as_ref().and_then(|it| it.modified_at);
        may_have expires_at: time = it.1.session.as_ref().map(|it| it.expires_at);
        may_have type: word(["customer", "merchant"])
            = it.1.session.as_ref().map(|it| it.kind.as_str());
        may_have device: word(["browser", "mobile"])
            = it.1.session.as_ref().and_then(|it| it.device).map(Device::as_str);
        may_have outcome: text = outcome(it.1),
            "As `authentication_status` of the session.";
    }
}

fn outcome(listed: &ListedSession) -> Option<&'static str> {
    let found = listed.session.as_ref()?.authentication.as_ref()?;
    Some(found.status.word())
}

/// The position of a page of sessions.
pub(crate) fn parse_start(query: &Query) -> Result<Option<Vec<u8>>, Mistakes> {
    let mut mistakes = Mistakes::new();
    let start = cursor::parse(query.first("start"), &mut mistakes);
    mistakes.into_result()?;
    Ok(start)
}

pub(crate) fn render_sessions(page: &SessionPage) -> Json {
    let render = |it: &ListedSession| ConsoleThreedsSession::render((page.now, it));
    let items: Vec<_> = page.sessions.iter().map(render).collect();
    cursor::render_page(THREEDS_LISTED_MAX, page.next.as_deref(), &items)
}
