//! The progress of work that the server does, for a client that waits.

use std::time::Duration;

use serde_json::{Value, json};

use crate::app::{RotationProgress, Vault};
use crate::bounds::{ROTATION_ANSWER_AFTER, ROTATION_LOOK};
use crate::domain::id::TenantId;
use crate::operator::Answer;
use crate::operator::access::text;
use crate::operator::vault_keys::KeyScope;

/// The done part and the total, or null if no work of this name runs.
pub(super) fn read(vault: &Vault, job: &str) -> Answer {
    let progress = if job == "rotation" {
        let RotationProgress { scopes, done, total, .. } = vault.rotation().progress()?;
        (!scopes.is_empty()).then_some((done, total))
    } else {
        vault.upkeep().jobs().progress(job)
    };
    Ok(text(&progress.map_or(Value::Null, |(done, total)| json!({"done": done, "total": total}))))
}

/// Waits for the end of the rotations of a scope. Answers after a deadline in any case, so that the
/// client notices a server that stops.
pub(super) async fn wait_for_rotation(vault: &Vault, scope: &KeyScope) -> Answer {
    let mut waited = Duration::ZERO;
    loop {
        let left = vault.rotation().progress()?.scopes;
        let left = left.iter().filter(|it| concerns(scope, **it)).count();
        if left == 0 || waited >= ROTATION_ANSWER_AFTER {
            return Ok(text(&json!({ "left": left })));
        }
        tokio::time::sleep(ROTATION_LOOK).await;
        waited = waited.saturating_add(ROTATION_LOOK);
    }
}

/// A rotation of the audit chain's keys is complete at once.
fn concerns(scope: &KeyScope, rotated: Option<TenantId>) -> bool {
    match scope {
        KeyScope::AllTenants => rotated.is_some(),
        KeyScope::Audit => false,
        KeyScope::Server => rotated.is_none(),
        KeyScope::Tenant(tenant) => rotated == Some(*tenant),
    }
}
