//! Answers of record version 1, which are stored as one text. A replay removes deleted tokens and
//! keys from the text. The stored text keeps them until the answer expires, at most a day after the
//! upgrade from the program version that wrote it.

use std::collections::HashSet;

use serde_json::Value;

use crate::app::access::caller::Caller;
use crate::app::commit::idempotency::Idempotency;
use crate::app::commit::idempotency::remember::token_entity;
use crate::app::error::{Error, Fault};
use crate::app::tokens::rows;
use crate::domain::audit::Entity;
use crate::domain::id::{ApplicationId, KeyId, TokenId};
use crate::domain::time::Timestamp;
use crate::secret::{Secret, Wipe};
use crate::store::record::WholeAnswer;
use crate::store::{Snapshot, Table, tables};

/// The members that a replay still shows of a token that is gone.
const OUTLINE: &[&str] = &[
    "_extras",
    "containers",
    "created_at",
    "created_by",
    "expires_at",
    "id",
    "modified_at",
    "modified_by",
    "tenant_id",
    "type",
];

impl Idempotency<'_> {
    /// Returns the body without deleted tokens and keys, and the tokens that it still shows in
    /// full.
    pub(super) fn prune(
        self,
        snapshot: &Snapshot,
        caller: &Caller,
        place: &[u8],
        whole: WholeAnswer,
        location: Option<&str>,
        now: Timestamp,
    ) -> Result<(Secret<Vec<u8>>, Vec<Entity>), Error> {
        let WholeAnswer { mut body, cvcs, tokens } = whole;
        // Codes are inserted from the last to the first, so that the remaining offsets stay valid.
        for (at, sealed) in cvcs.iter().rev() {
            let Some(code) = self.vault.cvcs().open(caller.tenant.id, place, sealed, now)? else {
                continue;
            };
            let (before, after) = body.expose().split_at_checked(*at).ok_or_else(bad_record)?;
            body = Secret::new([before, code.expose().as_bytes(), after].concat());
        }
        let (mut shown, mut gone) = (Vec::new(), HashSet::new());
        for (id, name) in tokens {
            let id = TokenId::new(id);
            let found = rows::find_by_id(snapshot, &caller.keys, caller.tenant.id, id)?;
            if found.is_some_and(|found| found.token.is_live(now)) {
                shown.push(token_entity(id, name.as_deref()));
            } else {
                gone.insert(name.unwrap_or_else(|| id.to_string()));
            }
        }
        let location = location.filter(|path| path.starts_with("/applications/"));
        if gone.is_empty() && location.is_none() {
            return Ok((body, shown));
        }
        let value = serde_json::from_slice(body.expose());
        let mut value = Secret::new(value.ok().ok_or_else(bad_record)?);
        let mut changed = !gone.is_empty();
        outline(value.expose_mut(), &gone);
        if let Some(location) = location
            && !has_live_key(snapshot, caller, location, value.expose())?
        {
            let members = value.expose_mut().as_object_mut().ok_or_else(bad_record)?;
            changed |= members.shift_remove("key").is_some();
        }
        // An unchanged body is sent byte for byte as it was stored.
        if changed {
            body = Secret::new(value.expose().to_string().into_bytes());
        }
        Ok((body, shown))
    }
}

/// Removes all members but the outline from tokens that are gone, at any depth.
fn outline(value: &mut Value, gone: &HashSet<String>) {
    match value {
        Value::Object(members) => {
            let id = members.get("id").and_then(Value::as_str);
            if id.is_some_and(|id| gone.contains(id)) && members.contains_key("tenant_id") {
                members.retain(|name, member| {
                    let is_kept = OUTLINE.contains(&name.as_str());
                    if !is_kept {
                        member.wipe();
                    }
                    is_kept
                });
            } else {
                members.values_mut().for_each(|member| outline(member, gone));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| outline(item, gone)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

/// True when the API key whose text is in the body still exists. `location` names its application.
/// The body is the key itself, or a new application with its first key.
fn has_live_key(
    snapshot: &Snapshot,
    caller: &Caller,
    location: &str,
    body: &Value,
) -> Result<bool, Error> {
    let application = location.split('/').nth(2).and_then(ApplicationId::parse);
    let key = body.get("keys").map_or(Some(body), |keys| keys.get(0));
    let key = key.and_then(|key| key.get("id")?.as_str()).and_then(KeyId::parse);
    let (Some(application), Some(key)) = (application, key) else { return Ok(false) };
    let place = tables::application_keys(caller.tenant.id, application, key);
    Ok(snapshot.value(Table::ApplicationKeys, &place)?.is_some())
}

const fn bad_record() -> Error {
    Error::Internal(Fault::BadRecord)
}
