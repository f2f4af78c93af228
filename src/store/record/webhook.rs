//! Webhooks and the events that wait for their delivery, version 1.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::domain::id::{ApplicationId, TenantId, WebhookId};
use crate::domain::time::Timestamp;
use crate::domain::webhook::{DeliveryFailure, EventKind, FailureReason, Webhook, WebhookStatus};
use crate::secret::Secret;
use crate::store::record::encoding::{
    BadRecord, EncodeFailed, bad, body, decode, encode, micros, unencodable,
};

const VERSION: u8 = 1;

/// An event as it waits for its delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRecord {
    pub kind: EventKind,
    pub at: Timestamp,
    pub trace: Option<String>,
    /// The member `data` of the event: a JSON object as text.
    pub data: String,
}

#[derive(Serialize, Deserialize)]
struct WebhookV1 {
    status: String,
    name: String,
    url: String,
    events: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    notify_email: Option<String>,
    created_by: Uuid,
    created_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modified_by: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modified_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failing: Option<FailureV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    disabled_at: Option<i64>,
}

#[derive(Serialize, Deserialize)]
struct FailureV1 {
    at: i64,
    reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
}

#[derive(Serialize, Deserialize)]
struct EventV1<'a> {
    r#type: String,
    at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
    #[serde(borrow)]
    data: &'a RawValue,
}

pub fn encode_webhook(webhook: &Webhook) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let failure = |failure: &DeliveryFailure| FailureV1 {
        at: micros(failure.at),
        reason: String::from(failure.reason.name()),
        status: failure.reason.status(),
    };
    encode(
        VERSION,
        &WebhookV1 {
            status: String::from(webhook.status.as_str()),
            name: webhook.name.clone(),
            url: webhook.url.clone(),
            events: webhook.events.iter().map(|kind| String::from(kind.as_str())).collect(),
            notify_email: webhook.notify_email.clone(),
            created_by: webhook.created_by.uuid(),
            created_at: micros(webhook.created_at),
            modified_by: webhook.modified_by.map(ApplicationId::uuid),
            modified_at: webhook.modified_at.map(micros),
            failing: webhook.failing.as_ref().map(failure),
            disabled_at: webhook.disabled_at.map(micros),
        },
    )
}

pub fn decode_webhook(tenant: TenantId, id: WebhookId, bytes: &[u8]) -> Result<Webhook, BadRecord> {
    let record: WebhookV1 = decode(VERSION, bytes)?;
    let failure = |failure: FailureV1| {
        let reason = FailureReason::parse(&failure.reason, failure.status).ok_or(BadRecord)?;
        Ok(DeliveryFailure { at: Timestamp::from_micros(failure.at), reason })
    };
    let events: Option<Vec<_>> = record.events.iter().map(|text| EventKind::parse(text)).collect();
    Ok(Webhook {
        id,
        tenant,
        status: WebhookStatus::parse(&record.status).ok_or(BadRecord)?,
        name: record.name,
        url: record.url,
        events: events.ok_or(BadRecord)?,
        notify_email: record.notify_email,
        created_by: ApplicationId::new(record.created_by),
        created_at: Timestamp::from_micros(record.created_at),
        modified_by: record.modified_by.map(ApplicationId::new),
        modified_at: record.modified_at.map(Timestamp::from_micros),
        failing: record.failing.map(failure).transpose()?,
        disabled_at: record.disabled_at.map(Timestamp::from_micros),
    })
}

/// Fails for data whose text is not JSON.
pub fn encode_event(event: &EventRecord) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    encode(
        VERSION,
        &EventV1 {
            r#type: String::from(event.kind.as_str()),
            at: micros(event.at),
            trace: event.trace.clone(),
            data: serde_json::from_str(&event.data).map_err(unencodable)?,
        },
    )
}

pub fn decode_event(bytes: &[u8]) -> Result<EventRecord, BadRecord> {
    let record: EventV1<'_> = serde_json::from_slice(body(VERSION, bytes)?).map_err(bad)?;
    Ok(EventRecord {
        kind: EventKind::parse(&record.r#type).ok_or(BadRecord)?,
        at: Timestamp::from_micros(record.at),
        trace: record.trace,
        data: String::from(record.data.get()),
    })
}
