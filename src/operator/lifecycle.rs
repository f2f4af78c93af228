//! Operator's commands that delete tenants and applications, erase the data of a person, and change
//! applications.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::app::{DeletionStep, Erasure, Error, MatchingRecords, Vault, Write, encode_erasure};
use crate::bounds::DELETION_COMMAND_STEPS;
use crate::domain::application::Application;
use crate::domain::erasure::Criterion;
use crate::domain::id::{ApplicationId, TenantId};
use crate::http::wire::application;
use crate::operator::Answer;
use crate::operator::access::{application_id, bytes, tenant_id, text};

/// Begins the deletion of a tenant unless `go_on` is set, and removes some rows. The client repeats
/// the command with `go_on` until nothing is left, and shows the progress.
pub(super) async fn delete_tenant(vault: &Vault, tenant: &str, go_on: bool) -> Answer {
    let tenant = tenant_id(tenant)?;
    if !go_on {
        vault.deletion().begin(tenant, None).await?;
    }
    let mut removed: usize = 0;
    for _ in 0..DELETION_COMMAND_STEPS {
        if !vault.deletion().is_under_way(tenant)? {
            break;
        }
        match vault.deletion().step_of(tenant).await? {
            DeletionStep::Removed(count) => removed = removed.saturating_add(count),
            DeletionStep::Finished(_) | DeletionStep::Idle => (),
        }
    }
    let is_done = !vault.deletion().is_under_way(tenant)?;
    let answer = json!({"id": tenant.to_string(), "deleted": is_done, "removed_rows": removed});
    Ok(text(&answer))
}

/// `change` has members of the body of `PUT /applications/{id}`; absent members stay unchanged.
pub(super) async fn set_application(
    vault: &Vault,
    tenant: &str,
    id: &str,
    change: &Map<String, Value>,
) -> Answer {
    let (tenant, id) = (tenant_id(tenant)?, application_id(id)?);
    let wanted = |known: &Application| {
        let unreadable = |_| Error::invalid("application", "Its record cannot be shown.");
        let shown = application::render(known, &[]);
        let mut body: Map<String, Value> =
            serde_json::from_slice(shown.expose()).map_err(unreadable)?;
        body.retain(|name, _| matches!(name.as_str(), "name" | "permissions" | "rules"));
        body.extend(change.iter().map(|(name, value)| (name.clone(), value.clone())));
        application::parse_update(&Value::Object(body), known.kind).map_err(Error::from)
    };
    let access = vault.access();
    let changed = access.update_application(tenant, id, None, &wanted, &Write::plain()).await?;
    let (changed, keys) = changed.outcome;
    Ok(bytes(application::render(&changed, &keys)))
}

pub(super) async fn delete_application(vault: &Vault, tenant: &str, id: &str) -> Answer {
    let (tenant, id): (TenantId, ApplicationId) = (tenant_id(tenant)?, application_id(id)?);
    vault.access().delete_application(tenant, id, None).await?;
    Ok(br#"{"deleted":true}"#.to_vec())
}

/// Finds the records of a person without deleting them.
pub(super) async fn find_person(
    vault: &Vault,
    tenant: &str,
    fingerprint: Option<String>,
    metadata: BTreeMap<String, String>,
) -> Answer {
    let (tenant, criterion) = (tenant_id(tenant)?, criterion(fingerprint, metadata)?);
    let MatchingRecords { tokens, intents, sessions, .. } =
        Erasure::of(vault).find(tenant, &criterion).await?;
    // The ids are shown only if the search has its entry.
    let hash = Erasure::of(vault).note_search(tenant, &criterion).await?;
    let count = tokens.len().saturating_add(intents.len()).saturating_add(sessions.len());
    let found = json!({
        "criterion": criterion.kind(),
        "criterion_hash": hash,
        "tokens": tokens.iter().map(|(_, name)| name.clone()).collect::<Vec<_>>(),
        "token_intents": intents.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "threeds_sessions": sessions.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "count": count,
    });
    Ok(text(&found))
}

/// Deletes the records of a person and answers with the signed receipt.
pub(super) async fn erase_person(
    vault: &Vault,
    tenant: &str,
    fingerprint: Option<String>,
    metadata: BTreeMap<String, String>,
) -> Answer {
    let (tenant, criterion) = (tenant_id(tenant)?, criterion(fingerprint, metadata)?);
    let signed = Erasure::of(vault).erase(tenant, &criterion).await?;
    Ok(encode_erasure(&signed)?.into_bytes())
}

fn criterion(
    fingerprint: Option<String>,
    metadata: BTreeMap<String, String>,
) -> Result<Criterion, Error> {
    let wrong = || Error::invalid("criterion", "Give a fingerprint, or metadata, and not both.");
    Criterion::new(fingerprint, metadata).ok_or_else(wrong)
}
