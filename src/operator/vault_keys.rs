//! Operator's commands on the keys of the vault. Their answers contain no secrets.

use serde_json::{Value, json};

use crate::app::{
    ChainWord, Error, KeyInventory, ListedKey, ListedRotation, MasterRotation, NewSigner, Vault,
};
use crate::domain::hex;
use crate::domain::id::TenantId;
use crate::domain::share_set::{ShareSet, is_keeper_name};
use crate::domain::time::Timestamp;
use crate::operator::Answer;
use crate::operator::access::{tenant_id, text};

pub(super) async fn list(vault: &Vault) -> Answer {
    let inventory = vault.keys().inventory().await?;
    let took = vault.now().since(inventory.counted_at);
    let keys: Vec<_> = inventory.keys.iter().map(|key| listed(key, &inventory)).collect();
    let current = vault.rotation().progress()?;
    let rotation = |it: &ListedRotation| {
        // The others wait for this one.
        let is_current = current.scopes.first() == Some(&it.tenant);
        let left = current.left.filter(|_| is_current);
        json!({
            "scope": scope(it.tenant),
            "phase": it.phase.as_str(),
            "started_at": it.started_at.to_wire(),
            "percent": is_current.then_some(current.percent),
            "left_s": left.map(|left| left.as_secs()),
        })
    };
    let rotations: Vec<_> = inventory.rotations.iter().map(rotation).collect();
    let master = &inventory.master;
    Ok(text(&json!({
        "master": {
            "id": master.check,
            "created_at": master.made_at.map(Timestamp::to_wire),
            "age_days": master.made_at.map(|at| days(at, &inventory)),
        },
        "keys": keys,
        "rotations": rotations,
        "counted_at": inventory.counted_at.to_wire(),
        "counted_in_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    })))
}

/// Starts the rotation of the keys of one tenant, of all tenants, or of the server. The rotation of
/// the audit chain's keys is complete at once, because no entry is sealed again.
pub(super) async fn rotate(vault: &Vault, scope: &KeyScope) -> Answer {
    let mut begun = Vec::new();
    match scope {
        KeyScope::Audit => {
            let NewSigner { number, public_key } = vault.rotation().rotate_audit().await?;
            let public_key = hex::encode(&public_key);
            let rotated = json!({"scope": "audit", "number": number, "public_key": public_key});
            return Ok(text(&json!({ "rotated": [rotated] })));
        }
        KeyScope::Server => {
            let number = vault.rotation().rotate_server().await?;
            begun.push(json!({"scope": "server", "number": number}));
        }
        KeyScope::Tenant(tenant) => {
            let number = vault.rotation().rotate_tenant(*tenant).await?;
            begun.push(json!({"scope": tenant.to_string(), "number": number}));
        }
        KeyScope::AllTenants => {
            for tenant in vault.access().list_tenants()? {
                match vault.rotation().rotate_tenant(tenant.id).await {
                    Ok(number) => {
                        begun.push(json!({"scope": tenant.id.to_string(), "number": number}));
                    }
                    // A rotation of this tenant is already running.
                    Err(Error::Conflict(_)) => (),
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok(text(&json!({ "rotating": begun })))
}

pub(super) async fn destroy(vault: &Vault, scope: &KeyScope, number: u32) -> Answer {
    let tenant = match scope {
        KeyScope::Audit => {
            vault.rotation().destroy_audit_key(number).await?;
            return Ok(text(&json!({"destroyed": number})));
        }
        KeyScope::Server => None,
        KeyScope::Tenant(tenant) => Some(*tenant),
        KeyScope::AllTenants => return Err(Error::invalid("tenant", "One tenant at a time.")),
    };
    vault.rotation().destroy_key(tenant, number).await?;
    Ok(text(&json!({"destroyed": number})))
}

pub(super) fn begin_handover(vault: &Vault) -> Answer {
    let (public, check) = (vault.rotation().begin_handover()?, vault.rotation().master_check()?);
    let previous = vault.rotation().master_before()?;
    let public = hex::encode(&public);
    Ok(text(&json!({"public": public, "master": check, "previous": previous})))
}

pub(super) async fn take_handed(vault: &Vault, public: &str, sealed: &str) -> Answer {
    let unreadable = || Error::invalid("public", "This is not hexadecimal.");
    let public = hex::decode(public).ok_or_else(unreadable)?;
    let sealed = hex::decode_all(sealed).ok_or_else(unreadable)?;
    let MasterRotation { check, keys } = vault.rotation().take_handed(public, sealed).await?;
    Ok(text(&json!({"master": check, "keys": keys})))
}

#[derive(Debug)]
pub(super) enum KeyScope {
    AllTenants,
    Audit,
    Server,
    Tenant(TenantId),
}

impl KeyScope {
    /// `audit`, `server`, `tenants`, or a tenant's id.
    pub(super) fn parse(name: &str) -> Result<Self, Error> {
        match name {
            "audit" => Ok(Self::Audit),
            "server" => Ok(Self::Server),
            "tenants" => Ok(Self::AllTenants),
            id => tenant_id(id).map(Self::Tenant),
        }
    }
}

fn listed(key: &ListedKey, inventory: &KeyInventory) -> Value {
    json!({
        "scope": scope(key.tenant),
        "purpose": key.purpose.map_or("other", |purpose| purpose.as_str()),
        "number": key.number,
        "state": key.state.name(),
        "created_at": key.made_at.map(Timestamp::to_wire),
        "age_days": key.made_at.map(|at| days(at, inventory)),
        "destroyed_at": key.destroyed_at.map(Timestamp::to_wire),
        "uses": key.uses,
        "records": key.records,
        "index_entries": key.index_entries,
        "doubled_entries": key.doubled_entries,
    })
}

fn scope(tenant: Option<TenantId>) -> String {
    tenant.map_or_else(|| String::from("server"), |tenant| tenant.to_string())
}

fn days(at: Timestamp, inventory: &KeyInventory) -> u64 {
    const DAY: u64 = 24 * 60 * 60;
    inventory.counted_at.since(at).as_secs().div_euclid(DAY)
}

/// Records that shares are made, because they are equivalent to the key. Refuses shares of another
/// key.
pub(super) async fn note_shares(
    vault: &Vault,
    check: &str,
    set: &str,
    needed: u8,
    hashes: &[String],
    keepers: Vec<String>,
) -> Answer {
    let hashes: Option<Vec<_>> = hashes.iter().map(|hash| hex::decode(hash)).collect();
    let (Some(master), Some(set), Some(hashes)) = (hex::decode(check), hex::decode(set), hashes)
    else {
        return Err(Error::invalid("set", "This is not hexadecimal, or too short."));
    };
    let are_names = keepers.iter().all(|name| is_keeper_name(name));
    if !are_names || !(keepers.is_empty() || keepers.len() == hashes.len()) {
        return Err(Error::invalid("keepers", "There is one name for each share, or none."));
    }
    let set = ShareSet { set, needed, made_at: vault.now(), master, hashes, keepers };
    vault.keys().note_shares(&set).await?;
    Ok(text(&json!({"master": check})))
}

pub(super) fn share_set(vault: &Vault, set: &str) -> Answer {
    let set = hex::decode(set).ok_or_else(|| Error::invalid("set", "This is no set."))?;
    let Some((known, word)) = vault.keys().share_set(set)? else {
        return Ok(text(&json!({"known": false})));
    };
    let hashes: Vec<_> = known.hashes.iter().map(|hash| hex::encode(hash)).collect();
    let chain_differs = word == ChainWord::Differs;
    Ok(text(&json!({
        "known": true,
        "needed": known.needed,
        "made_at": known.made_at.to_wire(),
        "hashes": hashes,
        "chain_differs": chain_differs,
    })))
}
