//! Operator's commands on webhooks.

use serde_json::{Value, json};

use crate::app::{Error, ListedWebhook, PendingEvent, Vault};
use crate::domain::id::WebhookId;
use crate::domain::time::Timestamp;
use crate::domain::webhook::EventKind;
use crate::operator::access::{tenant_id, text};

pub(super) fn list(vault: &Vault, tenant: &str) -> Result<Vec<u8>, Error> {
    let found = vault.webhooks().list_with_queues(tenant_id(tenant)?)?;
    Ok(text(&Value::from(found.iter().map(listed).collect::<Vec<_>>())))
}

pub(super) async fn events(vault: &Vault, tenant: &str, webhook: &str) -> Result<Vec<u8>, Error> {
    let found = vault.webhooks().pending(tenant_id(tenant)?, webhook_id(webhook)?).await?;
    Ok(text(&Value::from(found.iter().map(event).collect::<Vec<_>>())))
}

pub(super) async fn retry(vault: &Vault, tenant: &str, webhook: &str) -> Result<Vec<u8>, Error> {
    let due = vault.webhooks().retry(tenant_id(tenant)?, webhook_id(webhook)?).await?;
    Ok(text(&json!({ "due": due })))
}

pub(super) async fn rotate_key(vault: &Vault) -> Result<Vec<u8>, Error> {
    let public_key = vault.webhooks().rotate_key().await?;
    Ok(text(&json!({ "public_key_pem": public_key })))
}

/// Leaves out the URL, whose path may hold a token of the receiver.
fn listed(it: &ListedWebhook) -> Value {
    let webhook = &it.webhook;
    let events: Vec<_> = webhook.events.iter().map(|kind| kind.as_str()).collect();
    let failure = it.last_failure.map(|failure| {
        json!({
            "at": failure.at.to_wire(),
            "reason": failure.reason.name(),
            "status": failure.reason.status(),
        })
    });
    json!({
        "id": webhook.id.to_string(),
        "name": webhook.name,
        "status": webhook.status.as_str(),
        "events": events,
        "pending": it.pending,
        "failing_since": webhook.failing.map(|failure| failure.at.to_wire()),
        "last_failure": failure,
    })
}

fn event(it: &PendingEvent) -> Value {
    json!({
        "id": it.id,
        "type": it.kind.map(EventKind::as_str),
        "created_at": Timestamp::to_wire(it.at),
        "attempts": it.attempts,
        "next_attempt_at": it.next_attempt_at.to_wire(),
    })
}

fn webhook_id(id: &str) -> Result<WebhookId, Error> {
    WebhookId::parse(id).ok_or(Error::NotFound("webhook"))
}
