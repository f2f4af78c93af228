//! Webhooks on the wire.

use serde_json::Value;

use crate::app::{WebhookChange, WebhookDraft};
use crate::bounds::{EMAIL_CHARS_MAX, NAME_CHARS_MAX, WEBHOOK_EVENTS_MAX};
use crate::domain::https_url::{HttpsUrl, URL_CHARS_MAX};
use crate::domain::id::{EventId, WebhookId};
use crate::domain::mistakes::Mistakes;
use crate::domain::webhook::{EventKind, Webhook, WebhookStatus};
use crate::http::wire::cursor;
use crate::http::wire::fields::Fields;
use crate::http::wire::json::Object;
use crate::http::wire::page::size_in_query;
use crate::http::wire::query::Query;
use crate::idempotency::{AnswerStatus, RememberedAnswer};
use crate::secret::Secret;

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
    let answer = RememberedAnswer::new(AnswerStatus::Created, render(webhook));
    answer.at(format!("/webhooks/{}", webhook.id))
}

pub(crate) fn render(webhook: &Webhook) -> Secret<Vec<u8>> {
    let mut object = Object::new();
    object.display("id", webhook.id);
    object.display("tenant_id", webhook.tenant);
    object.text("status", webhook.status.as_str());
    object.text("name", &webhook.name);
    object.text("url", &webhook.url);
    object.optional_text("notify_email", webhook.notify_email.as_deref());
    object.texts("events", webhook.events.iter().map(|kind| kind.as_str()));
    object.display("created_by", webhook.created_by);
    object.time("created_at", webhook.created_at);
    object.optional_display("modified_by", webhook.modified_by);
    object.optional_time("modified_at", webhook.modified_at);
    object.close()
}

/// An event that waits for its delivery.
pub(crate) fn render_event(id: EventId) -> Secret<Vec<u8>> {
    let mut object = Object::new();
    object.display("id", id);
    object.close()
}

pub(crate) fn render_event_types() -> String {
    let names: Vec<_> = EventKind::published().map(|kind| Value::from(kind.as_str())).collect();
    Value::from(names).to_string()
}
