//! The request that delivers an event: its body and its signature.

use serde_json::{Map, Value, json};

use crate::app::Webhooks;
use crate::app::error::{Error, Fault};
use crate::app::fair_pool::Credential;
use crate::app::outbound::OutboundRequest;
use crate::bounds::{WEBHOOK_ANSWER_BYTES_MAX, WEBHOOK_TIMEOUT};
use crate::domain::canonical_json::canonical;
use crate::domain::https_url::HttpsUrl;
use crate::domain::id::{EventId, TenantId};
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::record::EventRecord;
use crate::store::tables::PendingDelivery;

impl Webhooks<'_> {
    /// Each attempt has its own time, and so its own signature.
    pub(super) fn request(
        self,
        url: HttpsUrl,
        delivery: &PendingDelivery,
        event: &EventRecord,
    ) -> Result<OutboundRequest, Error> {
        let body = body(delivery.tenant, delivery.event, event, self.vault.now())?;
        // A webhook is created after the key.
        let key = self.key()?.ok_or(Error::Internal(Fault::Dangling))?;
        let signature = key.sign(body.as_bytes(), self.vault.random());
        let signature = signature.ok_or(Error::Internal(Fault::Impossible("no signature")))?;
        let header =
            |name: &str, value: &str| (String::from(name), Secret::new(value.as_bytes().to_vec()));
        Ok(OutboundRequest {
            tenant: delivery.tenant,
            credential: Credential::Secret,
            method: String::from("POST"),
            url,
            headers: vec![
                header("content-type", "application/json"),
                header("user-agent", concat!("strongroom/", env!("CARGO_PKG_VERSION"))),
                header("bt-signature", &signature),
                header("bt-signature-version", "v1"),
            ],
            body: Secret::new(body.into_bytes()),
            timeout: WEBHOOK_TIMEOUT,
            response_bytes_max: WEBHOOK_ANSWER_BYTES_MAX,
            identity: None,
        })
    }
}

/// Published receivers look for the id, the type, the tenant and the data either in `event` or at
/// the top, so they are in both places.
fn body(
    tenant: TenantId,
    id: EventId,
    event: &EventRecord,
    now: Timestamp,
) -> Result<String, Error> {
    let bad = |_| Error::Internal(Fault::BadRecord);
    let data: Map<String, Value> = serde_json::from_str(&event.data).map_err(bad)?;
    let mut inner = json!({
        "id": id.to_string(),
        "type": event.kind.as_str(),
        "tenant_id": tenant.to_string(),
        "data": data,
    });
    let mut outer = inner.clone();
    if let (Some(inner), Some(trace)) = (inner.as_object_mut(), &event.trace) {
        inner.insert(String::from("trace_id"), Value::from(trace.as_str()));
    }
    if let Some(inner) = inner.as_object_mut() {
        inner.insert(String::from("timestamp"), Value::from(event.at.to_iso_millis()));
    }
    if let Some(outer) = outer.as_object_mut() {
        outer.insert(String::from("delivered_at"), Value::from(now.to_iso_millis()));
        outer.insert(String::from("event"), inner);
    }
    Ok(canonical(&outer))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::domain::webhook::EventKind;

    #[test]
    fn the_body_is_canonical_and_has_the_event_at_both_places() {
        let at = Timestamp::from_micros(1_712_670_997_864_999);
        let event = EventRecord {
            kind: EventKind::TokenDeleted,
            at,
            trace: Some(String::from("trace-1")),
            data: String::from(r#"{"token":{"id":"x"},"actor":{"type":"system","name":"system"}}"#),
        };
        let (tenant, id) = (TenantId::new(Uuid::nil()), EventId::new(Uuid::max()));
        let body = body(tenant, id, &event, Timestamp::from_seconds(1_712_671_000)).unwrap();
        let data = r#"{"actor":{"name":"system","type":"system"},"token":{"id":"x"}}"#;
        let ids = [Uuid::max().to_string(), Uuid::nil().to_string()];
        let [id, tenant] = &ids;
        let expected = format!(
            r#"{{"data":{data},"delivered_at":"2024-04-09T13:56:40.000Z","event":{{"data":{data},"id":"{id}","tenant_id":"{tenant}","timestamp":"2024-04-09T13:56:37.864Z","trace_id":"trace-1","type":"token.deleted"}},"id":"{id}","tenant_id":"{tenant}","type":"token.deleted"}}"#
        );
        assert_eq!(body, expected);
    }
}
