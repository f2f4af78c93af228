//! Webhooks and the events that wait for their delivery, version 1.

use crate::domain::id::{TenantId, WebhookId};
use crate::domain::time::Timestamp;
use crate::domain::webhook::{DeliveryFailure, EventKind, FailureReason, Webhook, WebhookStatus};
use crate::secret::Secret;
use crate::store::record::encoding::{BadRecord, EncodeFailed};
use crate::store::record::shape::{
    Json, Members, Shape, decode_shape, encode_shape, members, put, put_sparse, record, texts,
};

/// An event that waits for delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRecord {
    pub kind: EventKind,
    pub at: Timestamp,
    pub trace: Option<String>,
    /// The event's member `data`: a JSON object as text.
    pub data: String,
}

record! { encode_webhook, decode_webhook(tenant: TenantId, id: WebhookId): Webhook {
    status, name, url, events, notify_email?, created_by, created_at, modified_by?, modified_at?,
    failing?, disabled_at?,
} }

members! { DeliveryFailure { at, ..reason } }
texts! { as_str: EventKind, WebhookStatus; }

impl Shape for FailureReason {
    type Key = ();

    fn write_members<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("reason", self.name())?;
        put_sparse(map, "status", &self.status())
    }

    fn read_members(members: &Members<'_>, (): ()) -> Option<Self> {
        let name: String = members.required("reason")?;
        Self::parse(&name, members.optional("status")?)
    }
}

/// Fails for data whose text is not JSON.
pub fn encode_event(event: &EventRecord) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    encode_shape(event)
}

pub fn decode_event(bytes: &[u8]) -> Result<EventRecord, BadRecord> {
    decode_shape((), bytes)
}

impl Shape for EventRecord {
    type Key = ();

    fn write_members<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        put(map, "type", &self.kind)?;
        put(map, "at", &self.at)?;
        put_sparse(map, "trace", &self.trace)?;
        map.serialize_entry("data", &Json(&self.data))
    }

    fn read_members(members: &Members<'_>, (): ()) -> Option<Self> {
        Some(Self {
            kind: members.required("type")?,
            at: members.required("at")?,
            trace: members.optional("trace")?,
            data: String::from(members.find("data")?.get()),
        })
    }
}
