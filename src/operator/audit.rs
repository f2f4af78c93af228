//! Operator's commands on the audit chain: export and check, as JSON.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::app::{
    AuditScope, ChainGap, ChainPosition, ChainReport, Error, ExportCursor, ExportQuery,
    ExportedEntry, FollowStep, FollowedItem, TrustAnchors, Vault, decode_receipt, encode_receipt,
};
use crate::domain::audit::{Act, Entity, EntityKind};
use crate::domain::expires_at::parse_time;
use crate::domain::hex;
use crate::domain::origin::Origin;
use crate::domain::time::Timestamp;
use crate::operator::Answer;
use crate::operator::access::text;

pub(super) async fn export(
    vault: &Vault,
    next: Option<String>,
    from: Option<String>,
    to: Option<String>,
    reading: Option<Uuid>,
) -> Answer {
    let cursor = |text: String| {
        let wrong = || Error::invalid("next", "This is not a place in an export.");
        ExportCursor::parse(&text).ok_or_else(wrong)
    };
    let next = next.map(cursor).transpose()?;
    let is_first = next.is_none();
    let query = ExportQuery { next, from: time("from", from)?, to: time("to", to)? };
    let reading = reading.filter(|_| vault.audit().knows_reading(reading));
    // The first page has its entry from the export.
    if !is_first && reading.is_none() {
        let chain = Entity::of_server(EntityKind::AuditChain);
        vault.audit().write_operator_entry(Act::Export, chain).await?;
    }
    let page = vault.audit().export(query).await?;
    let reading = reading.unwrap_or_else(|| vault.audit().begin_reading());
    let entries: Vec<_> = page.entries.iter().map(render_entry).collect();
    let next = page.next.map(|it| it.to_string());
    Ok(text(&json!({"entries": entries, "next": next, "reading": reading.to_string()})))
}

/// Each item is an entry with its position, or a gap.
pub(super) async fn follow(vault: &Vault, after: Option<&str>, reading: Option<Uuid>) -> Answer {
    let position = |text| {
        let wrong = || Error::invalid("after", "This is not a position of the audit chain.");
        ChainPosition::parse(text).ok_or_else(wrong)
    };
    let after = after.map(position).transpose()?;
    let reading = reading.filter(|_| vault.audit().knows_reading(reading));
    let step = if reading.is_none() { FollowStep::First } else { FollowStep::Further };
    let page = vault.audit().follow(after, step).await?;
    let reading = reading.unwrap_or_else(|| vault.audit().begin_reading());
    let shown = |position: Option<ChainPosition>| position.map(|it| it.to_string());
    let items = page.items.iter().map(|item| match item {
        FollowedItem::Entry { entry, position } => {
            let mut entry = render_entry(entry);
            if let Some(members) = entry.as_object_mut() {
                members.insert(String::from("position"), Value::from(shown(position.clone())));
            }
            entry
        }
        FollowedItem::Gap(ChainGap::Missing(first, last)) => {
            json!({"gap": "missing", "first": first, "last": last})
        }
        FollowedItem::Gap(ChainGap::OtherHistory) => json!({"gap": "other_history"}),
    });
    let items: Vec<_> = items.collect();
    let position = shown(page.position);
    let (is_end, reading) = (page.is_end, reading.to_string());
    Ok(text(&json!({
        "items": items, "position": position, "is_end": is_end, "reading": reading,
    })))
}

pub(super) async fn receipt(vault: &Vault) -> Answer {
    let receipt = encode_receipt(&vault.audit().receipt().await?);
    Ok(receipt.map_err(Error::from)?.into_bytes())
}

pub(super) async fn verify(vault: &Vault, since: Option<&str>, public_key: Option<&str>) -> Answer {
    let receipt = since.map(decode_receipt).transpose();
    let receipt = receipt.map_err(|_bad| Error::invalid("since", "This is not a receipt."))?;
    let key = |digits| {
        let wrong = || Error::invalid("public_key", "A public key has 64 hexadecimal digits.");
        hex::decode(digits).ok_or_else(wrong)
    };
    let public_key = public_key.map(key).transpose()?;
    let expected = TrustAnchors { receipt, public_key, own: None };
    Ok(text(&render_report(&vault.audit().inspect(&expected).await?)))
}

pub fn render_report(report: &ChainReport) -> Value {
    let signed =
        report.last_signed.map(|(entries, at)| json!({"entries": entries, "at": at.to_wire()}));
    json!({
        "first": report.first,
        "entries": report.entries,
        "checkpoints": report.checkpoints,
        "last_signed": signed,
        "unanchored": report.unanchored,
        "after_receipt": report.after_receipt,
        "public_key": report.signer.map(|signer| hex::encode(&signer.public_key)),
        "key_number": report.signer.map(|signer| signer.number),
        "records": report.records.map(|records| records.count),
        "findings": report.findings,
        "more_findings": report.more,
    })
}

fn render_entry(exported: &ExportedEntry) -> Value {
    let ExportedEntry { number, scope, entry } = exported;
    let tenant = match scope {
        AuditScope::Server => None,
        AuditScope::Tenant(id) => Some(id.to_string()),
    };
    let origin = entry.origin.as_deref();
    let user = origin.and_then(|origin| origin.user.as_ref());
    let person = origin.and_then(|origin| origin.person.as_ref());
    let refusals = entry.refusals.as_deref();
    json!({
        "number": number,
        "time": entry.at.to_wire(),
        "tenant_id": tenant,
        "actor_type": entry.actor.kind(),
        "actor_id": entry.actor.id().map(|id| id.to_string()),
        "operation": entry.act.as_str(),
        "entity_type": entry.entity.kind.as_str(),
        "entity_id": entry.entity.public_id(),
        "record_id": entry.entity.id.to_string(),
        "outcome": entry.outcome(),
        "address": origin.and_then(|it| it.address).map(|it| it.to_string()),
        "key_id": origin.and_then(Origin::key).map(|key| key.to_string()),
        "trace_id": origin.and_then(|it| it.trace.as_ref()).map(ToString::to_string),
        "uid": user.map(|user| user.uid),
        "user": user.and_then(|user| user.name.as_deref()),
        "person": person.map(|person| &*person.name),
        "sign_on": person.map(|person| person.way.as_str()),
        "login_uid": user.and_then(|user| user.login),
        "reason": refusals.map(|it| it.reason.as_str()),
        "count": refusals.map(|it| it.count),
        "first_at": refusals.map(|it| it.first_at.to_wire()),
        "last_at": refusals.map(|it| it.last_at.to_wire()),
    })
}

fn time(name: &str, text: Option<String>) -> Result<Option<Timestamp>, Error> {
    let Some(text) = text else { return Ok(None) };
    let wrong = || Error::invalid(name, "This is not an ISO 8601 date or date-time.");
    parse_time(&text).ok_or_else(wrong).map(Some)
}
