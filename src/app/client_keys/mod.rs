//! Client encryption keys: creating, listing and deleting them, and opening the values that clients
//! encrypted under them.

#[cfg(any(fuzzing, test))]
pub(crate) mod fuzz;
mod jwe;
pub(in crate::app) mod open;

use crate::app::ClientKeys;
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::{CommitOutcome, Priority, Write};
use crate::app::error::Error;
use crate::app::records;
use crate::bounds::{CLIENT_KEY_LIFE, CLIENT_KEY_LIFE_MAX, CLIENT_KEYS_MAX};
use crate::crypto::ClientKeyPair;
use crate::domain::audit::Act;
use crate::domain::client_key::ClientKey;
use crate::domain::expires_at::parse_expiry;
use crate::domain::id::ClientKeyId;
use crate::domain::time::Timestamp;
use crate::store::tables;

/// Without the private half.
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
        self.vault
            .commit_write(Priority::Normal, write, |snapshot| {
                let room = records::require_room(
                    snapshot,
                    tables::client_keys_of(tenant),
                    CLIENT_KEYS_MAX,
                    Error::Unprocessable(TOO_MANY),
                )?;
                let change = self
                    .vault
                    .create_record(&caller.keys, &new)?
                    .and(self.vault.audit().caller_entry(caller, Act::Create, new.id, now));
                Ok((change.and(room), view(&new)))
            })
            .await
    }

    /// The live keys, newest first.
    pub fn list(self, caller: &Caller) -> Result<Vec<ClientKeyView>, Error> {
        let (now, snapshot) = (self.vault.now(), self.vault.snapshot()?);
        let range = tables::client_keys_of(caller.tenant.id);
        let mut listed = Vec::new();
        for key in self.vault.sound_records(&caller.keys, snapshot.range_backwards(&range)?) {
            let key: ClientKey = key?;
            if key.is_live(now) {
                listed.push(view(&key));
            }
        }
        Ok(listed)
    }

    pub fn read(self, caller: &Caller, id: ClientKeyId) -> Result<ClientKeyView, Error> {
        let now = self.vault.now();
        let found = records::require(&self.vault.snapshot()?, &caller.keys, id, now)?;
        Ok(view(&found.0))
    }

    pub async fn delete(self, caller: &Caller, id: ClientKeyId) -> Result<(), Error> {
        self.vault
            .commit(Priority::Upkeep, |snapshot| {
                let now = self.vault.now();
                let (key, version): (ClientKey, _) =
                    records::require(snapshot, &caller.keys, id, now)?;
                let change = records::remove(&caller.keys, &key, version)
                    .and(self.vault.audit().caller_entry(caller, Act::Delete, id, now));
                Ok((change, ()))
            })
            .await
    }
}

const TOO_MANY: &str = "The tenant has as many client encryption keys as it can; delete one first.";

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
