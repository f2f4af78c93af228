//! The answers of the console's own operations. They show no data of another tenant, no value of a
//! token, no text of a key, and of a call through a proxy only its outcome.

pub(crate) mod activity;
pub(crate) mod limits;
pub(crate) mod preview;
pub(crate) mod sign_on;

use crate::app::{
    CalledProxy, CalledReactors, Caller, KeyOverview, ListedSession, ListedWebhook, SessionPage,
};
use crate::bounds::THREEDS_LISTED_MAX;
use crate::domain::mistakes::Mistakes;
use crate::domain::tenant::TenantKind;
use crate::domain::time::Timestamp;
use crate::http::wire::{Json, Object, Query, cursor};
use crate::threeds::session::{Device, ThreedsSession};

pub(crate) fn render_keys(caller: &Caller, keys: &[KeyOverview]) -> Json {
    let mut object = Object::new();
    object.objects("data", keys, |object, it| {
        object.display("application_id", it.key.application);
        object.display("key_id", it.key.id);
        object.time("created_at", it.key.created_at);
        object.optional_display("created_by", it.key.created_by);
        object.optional_time("last_used_at", it.last_used_at);
        object.flag("is_current", it.key.id == caller.key.id);
    });
    object.close()
}

pub(crate) fn render_webhooks(webhooks: &[ListedWebhook]) -> Json {
    let mut object = Object::new();
    object.objects("data", webhooks, |object, it| {
        object.display("id", it.webhook.id);
        object.text("name", &it.webhook.name);
        object.text("status", it.webhook.status.as_str());
        object.number("waiting", it.pending);
        object.optional_time("oldest_waiting_at", it.oldest);
        object.number("failed_attempts", it.failed_attempts);
        object.optional_time("failing_since", it.webhook.failing.map(|failure| failure.at));
        if let Some(failure) = it.last_failure {
            object.object("last_failure", |object| {
                object.time("at", failure.at);
                object.text("kind", failure.reason.name());
                object.optional_number("status", failure.reason.status());
            });
        }
        object.optional_time("disabled_since", it.webhook.disabled_at);
    });
    object.close()
}

pub(crate) fn render_proxies(since: Timestamp, proxies: &[CalledProxy]) -> Json {
    let mut object = Object::new();
    object.time("since", since);
    object.objects("data", proxies, |object, it| {
        object.display("id", it.id);
        object.text("name", &it.name);
        object.number("calls", it.count.calls);
        object.number("failures", it.count.failures);
        if let Some(failure) = it.count.last_failures.first() {
            object.object("last_failure", |object| {
                object.time("at", failure.at);
                object.text("kind", failure.kind);
                object.optional_number("destination_status", failure.destination_status);
            });
        }
    });
    object.close()
}

pub(crate) fn render_reactors(
    tenant: TenantKind,
    since: Timestamp,
    found: &CalledReactors,
) -> Json {
    let mut object = Object::new();
    object.text("tenant_type", tenant.as_str());
    object.flag("runs_programs", found.obstacle.is_none());
    object.optional_text("obstacle", found.obstacle);
    object.time("since", since);
    object.objects("data", &found.reactors, |object, it| {
        object.display("id", it.id);
        object.text("name", &it.name);
        object.number("calls", it.count.calls);
        object.number("failures", it.count.failures);
        object.objects("last_failures", &it.count.last_failures, |object, failure| {
            object.time("at", failure.at);
            object.text("reason", failure.reason);
            object.optional_display("trace_id", failure.trace.as_ref());
        });
    });
    object.close()
}

/// The position of a page of sessions.
pub(crate) fn parse_start(query: &Query) -> Result<Option<Vec<u8>>, Mistakes> {
    let mut mistakes = Mistakes::new();
    let start = cursor::parse(query.first("start"), &mut mistakes);
    mistakes.into_result()?;
    Ok(start)
}

pub(crate) fn render_sessions(page: &SessionPage) -> Json {
    let render = |it: &ListedSession| {
        let mut object = Object::new();
        object.display("id", it.id);
        object.time("created_at", it.created_at);
        object.text("step", it.step(page.now));
        if let Some(session) = &it.session {
            render_session(&mut object, session);
        }
        object.close()
    };
    let items: Vec<_> = page.sessions.iter().map(render).collect();
    cursor::render_page(THREEDS_LISTED_MAX, page.next.as_deref(), &items)
}

/// The card and its source, the data of the device and the transaction ids are left out: they need
/// the permission to read sessions.
fn render_session(object: &mut Object, session: &ThreedsSession) {
    object.display("created_by", session.created_by);
    object.optional_time("modified_at", session.modified_at);
    object.time("expires_at", session.expires_at);
    object.text("type", session.kind.as_str());
    object.optional_text("device", session.device.map(Device::as_str));
    let outcome = session.authentication.as_ref().map(|found| found.status.word());
    object.optional_text("outcome", outcome);
}
