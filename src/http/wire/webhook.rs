//! Webhooks on the wire.

use serde_json::Value;

use crate::app::{WebhookChange, WebhookDraft};
use crate::bounds::{EMAIL_CHARS_MAX, NAME_CHARS_MAX, WEBHOOK_EVENTS_MAX};
use crate::domain::https_url::{HttpsUrl, URL_CHARS_MAX};
use crate::domain::id::{EventId, WebhookId};
use crate::domain::mistakes::Mistakes;
use crate::domain::webhook::{EventKind, Webhook, WebhookStatus};
use crate::http::wire::answer::{Answer as _, answer};
use crate::http::wire::cursor;
use crate::http::wire::fields::Fields;
use crate::http::wire::page::size_in_query;
use crate::http::wire::query::Query;
use crate::idempotency::{AnswerStatus, RememberedAnswer};

pub(crate) fn parse_draft(body: &Value) -> Result<WebhookDraft, Mistakes> {
    let mut fields = Fields::of_body(body);
    let draft = draft(&mut fields);
    draft.filter(|_| fields.mistakes.is_empty()).ok_or(fields.mistakes)
}

pub(crate) fn parse_change(body: &Value) -> Result<WebhookChange, Mistakes> {
    let mut fields = Fields::of_body(body);
    let draft = draft(&mut fields);
    let message = "The status must be enabled or disabled.";
    let status = fields.parsed("status", WebhookStatus::parse, message);
    match draft {
        Some(draft) if fields.mistakes.is_empty() => Ok(WebhookChange { draft, status }),
        Some(_) | None => Err(fields.mistakes),
    }
}

fn draft(fields: &mut Fields<'_>) -> Option<WebhookDraft> {
    let name = fields.bounded_text("name", NAME_CHARS_MAX);
    let url = fields.bounded_text("url", URL_CHARS_MAX);
    if url.is_some_and(|url| HttpsUrl::parse_with_query(url).is_none()) {
        fields.wrong("url", "The url must be an https URL.");
    }
    let email = fields.text("notify_email");
    if email.is_some_and(|email| !(3..=EMAIL_CHARS_MAX).contains(&email.chars().count())) {
        let message = format!("An e-mail address has 3 to {EMAIL_CHARS_MAX} characters.");
        fields.wrong("notify_email", message);
    }
    let events = events(fields);
    Some(WebhookDraft {
        name: String::from(name?),
        url: String::from(url?),
        events,
        notify_email: email.map(String::from),
    })
}

fn events(fields: &mut Fields<'_>) -> Vec<EventKind> {
    let texts = fields.texts("events", WEBHOOK_EVENTS_MAX).unwrap_or_default();
    let mut events = Vec::with_capacity(texts.len());
    for (at, text) in texts {
        if let Some(kind) = EventKind::published().find(|kind| kind.as_str() == text) {
            events.push(kind);
        } else {
            let message = "There is no such event: see GET /webhooks/event-types.";
            fields.wrong(&format!("events[{at}]"), message);
        }
    }
    if events.is_empty() && fields.mistakes.is_empty() {
        fields.wrong("events", "There must be at least one event.");
    }
    events.sort_unstable();
    events.dedup();
    events
}

/// The position and the size of a page of the list.
pub(crate) fn parse_list(query: &Query) -> Result<(Option<WebhookId>, usize), Mistakes> {
    let mut mistakes = Mistakes::new();
    let size = size_in_query(query, &mut mistakes);
    let start = cursor::parse(query.first("start"), &mut mistakes);
    let after = start.map(|bytes| uuid::Uuid::from_slice(&bytes).ok().map(WebhookId::new));
    if after == Some(None) {
        mistakes.add("start", "The start is the next of an earlier page, unchanged.");
    }
    mistakes.into_result()?;
    Ok((after.flatten(), size))
}

pub(crate) fn answer(webhook: &Webhook) -> RememberedAnswer {
    let answer = RememberedAnswer::new(AnswerStatus::Created, WebhookAnswer::render(webhook));
    answer.at(format!("/webhooks/{}", webhook.id))
}

answer! {
    pub(crate) WebhookAnswer<'a>(it: &'a Webhook) {
        has id: id = it.id;
        has tenant_id: id = it.tenant;
        has status: word(WebhookStatus::ALL.map(WebhookStatus::as_str)) = it.status.as_str();
        has name: text = &it.name;
        has url: text = &it.url;
        may_have notify_email: text = it.notify_email.as_deref();
        has events: texts(Schema::reference("EventType")) = it.events.iter().map(|it| it.as_str());
        may_have created_by: id = Some(it.created_by), "The application that made it.";
        has created_at: time = it.created_at;
        may_have modified_by: id = it.modified_by;
        may_have modified_at: time = it.modified_at;
    }

    /// An event that waits for its delivery.
    pub(crate) EventAnswer<'a>(it: EventId) {
        has id: id = it, "The event's id.";
    }
}

pub(crate) fn render_event_types() -> String {
    let names: Vec<_> = EventKind::published().map(|kind| Value::from(kind.as_str())).collect();
    Value::from(names).to_string()
}
