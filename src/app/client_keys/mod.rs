//! Client encryption keys: creating, listing and deleting them, and opening the values that clients
//! encrypted under them.

#[cfg(any(fuzzing, test))]
pub(crate) mod fuzz;
mod jwe;
pub(in crate::app) mod open;

use crate::app::access::caller::Caller;
use crate::app::commit::commit_loop::{CommitOutcome, Priority, Write};
use crate::app::error::{Error, Fault};
use crate::app::vault::Vault;
use crate::bounds::{CLIENT_KEY_LIFE, CLIENT_KEY_LIFE_MAX, CLIENT_KEYS_MAX};
use crate::crypto::{ClientKeyPair, TenantKeys, Version, version};
use crate::domain::audit::{Act, Actor};
use crate::domain::client_key::ClientKey;
use crate::domain::expires_at::parse_expiry;
use crate::domain::id::{ClientKeyId, TenantId};
use crate::domain::time::Timestamp;
use crate::store::record::{decode_client_key, encode_client_key};
use crate::store::tables::ExpiryKind;
use crate::store::{Change, Snapshot, Table, tables};

/// Operations on client encryption keys.
#[derive(Debug, Clone, Copy)]
pub struct ClientKeys<'a> {
    vault: &'a Vault,
}

impl Vault {
    pub const fn client_keys(&self) -> ClientKeys<'_> {
        ClientKeys { vault: self }
    }
}

/// A client encryption key without its private half.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientKeyView {
    pub id: ClientKeyId,
    pub public: [u8; 32],
    pub expires_at: Timestamp,
}

impl ClientKeys<'_> {
    pub async fn create(
        self,
        caller: &Caller,
        expires_at: Option<&str>,
        write: &Write<'_, ClientKeyView>,
    ) -> Result<CommitOutcome<ClientKeyView>, Error> {
        let (now, tenant) = (self.vault.now(), caller.tenant.id);
        let expires_at = match expires_at {
            Some(text) => life(text, now)?,
            None => now.plus(CLIENT_KEY_LIFE),
        };
        let pair = ClientKeyPair::new(self.vault.random());
        let new = ClientKey {
            id: ClientKeyId::new(self.vault.next_id(now)),
            tenant,
            private: pair.private(),
            created_by: caller.application.id,
            created_at: now,
            expires_at,
        };
        let place = tables::client_keys(tenant, new.id);
        self.vault
            .commit_write(Priority::Normal, write, |snapshot| {
                let known = snapshot.first(&tables::client_keys_of(tenant), CLIENT_KEYS_MAX)?;
                if known.len() >= CLIENT_KEYS_MAX {
                    return Err(Error::Unprocessable(TOO_MANY));
                }
                let plain = encode_client_key(&new)?;
                let table = Table::ClientKeys.number();
                let sealed = caller.keys.seal(table, &place, plain.expose(), self.vault.random());
                let change = Change::new()
                    .expect_absent(Table::ClientKeys, place.clone())
                    .put(Table::ClientKeys, place.clone(), sealed)
                    .put(Table::Expiries, due(&new), Vec::new())
                    .and(self.vault.audit().caller_entry(caller, Act::Create, new.id, now));
                Ok((change, view(&new)))
            })
            .await
    }

    /// The live keys, newest first.
    pub fn list(self, caller: &Caller) -> Result<Vec<ClientKeyView>, Error> {
        let (now, tenant) = (self.vault.now(), caller.tenant.id);
        let snapshot = self.vault.snapshot()?;
        let rows = snapshot.first(&tables::client_keys_of(tenant), CLIENT_KEYS_MAX)?;
        let mut listed = Vec::with_capacity(rows.len());
        for (key, sealed) in rows.iter().rev() {
            match open_row(&caller.keys, tenant, key, sealed) {
                Ok((key, _)) if key.is_live(now) => listed.push(view(&key)),
                Ok(_) => (),
                Err(error) => {
                    let id = Table::ClientKeys.id_of_key(key);
                    self.vault.damage.pass_over(Table::ClientKeys, tenant, id, error)?;
                }
            }
        }
        Ok(listed)
    }

    pub fn read(self, caller: &Caller, id: ClientKeyId) -> Result<ClientKeyView, Error> {
        let (now, tenant) = (self.vault.now(), caller.tenant.id);
        let found = find_client_key(&self.vault.snapshot()?, &caller.keys, tenant, id)?;
        let live = found.filter(|(key, _)| key.is_live(now));
        live.map(|(key, _)| view(&key)).ok_or_else(not_found)
    }

    pub async fn delete(self, caller: &Caller, id: ClientKeyId) -> Result<(), Error> {
        let tenant = caller.tenant.id;
        self.vault
            .commit(Priority::Upkeep, |snapshot| {
                let now = self.vault.now();
                let found = find_client_key(snapshot, &caller.keys, tenant, id)?;
                let live = found.filter(|(key, _)| key.is_live(now));
                let (key, version) = live.ok_or_else(not_found)?;
                let change = removal(&key, version)
                    .delete(Table::Expiries, due(&key))
                    .and(self.vault.audit().caller_entry(caller, Act::Delete, id, now));
                Ok((change, ()))
            })
            .await
    }

    /// Removes a key whose time is over. An expiry entry that is out of date removes nothing.
    pub(in crate::app) fn expire(
        self,
        snapshot: &Snapshot,
        keys: &TenantKeys,
        tenant: TenantId,
        id: ClientKeyId,
        now: Timestamp,
    ) -> Result<Option<Change>, Error> {
        let Some((key, version)) = find_client_key(snapshot, keys, tenant, id)? else {
            return Ok(None);
        };
        if key.is_live(now) {
            return Ok(None);
        }
        let audit = self.vault.audit().entry(tenant, Actor::System, Act::Expire, id, now);
        Ok(Some(removal(&key, version).and(audit)))
    }
}

const TOO_MANY: &str = "The tenant has as many client encryption keys as it can; delete one first.";

fn removal(key: &ClientKey, version: Version) -> Change {
    let place = tables::client_keys(key.tenant, key.id);
    Change::new()
        .expect_version(Table::ClientKeys, place.clone(), version)
        .delete(Table::ClientKeys, place)
}

/// The expiry that a request asks for.
fn life(text: &str, now: Timestamp) -> Result<Timestamp, Error> {
    let mistake = |message: &str| Error::invalid("expires_at", message);
    let at = parse_expiry(text, now).map_err(|invalid| mistake(invalid.message()))?;
    if at > now.plus(CLIENT_KEY_LIFE_MAX) {
        return Err(mistake("A client encryption key lasts at most a year."));
    }
    Ok(at)
}

fn view(key: &ClientKey) -> ClientKeyView {
    let public = ClientKeyPair::from_private(&key.private).public();
    ClientKeyView { id: key.id, public, expires_at: key.expires_at }
}

/// The key, whether it is live or not, and the version of its record.
pub(in crate::app) fn find_client_key(
    snapshot: &Snapshot,
    keys: &TenantKeys,
    tenant: TenantId,
    id: ClientKeyId,
) -> Result<Option<(ClientKey, Version)>, Error> {
    let place = tables::client_keys(tenant, id);
    let Some(sealed) = snapshot.value(Table::ClientKeys, &place)? else { return Ok(None) };
    open_row(keys, tenant, &place, &sealed).map(Some)
}

fn open_row(
    keys: &TenantKeys,
    tenant: TenantId,
    place: &[u8],
    sealed: &[u8],
) -> Result<(ClientKey, Version), Error> {
    let of_key = tables::client_key_of_key(place).filter(|(owner, _)| *owner == tenant);
    let (_, id) = of_key.ok_or(Error::Internal(Fault::BadRecord))?;
    let plain = keys.open(Table::ClientKeys.number(), place, sealed)?;
    let version = version(sealed).ok_or(Error::Internal(Fault::BadRecord))?;
    Ok((decode_client_key(tenant, id, plain.expose())?, version))
}

/// The entry in [`Table::Expiries`] that belongs to a key.
pub(in crate::app) fn due(key: &ClientKey) -> Vec<u8> {
    tables::expiries(key.expires_at, ExpiryKind::ClientKey, key.tenant, key.id.uuid())
}

const fn not_found() -> Error {
    Error::NotFound("key")
}
