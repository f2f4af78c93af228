//! Destroying an old key once nothing is sealed or indexed under it.

use crate::app::KeyRotation;
use crate::app::commit::commit_loop::Priority;
use crate::app::error::Error;
use crate::app::keys::facts::{KeyFacts, Rotation};
use crate::app::rotation::{keys_of, newest_number};
use crate::crypto::{KeyPurpose, SystemKeys};
use crate::domain::audit::{Act, Actor};
use crate::domain::id::TenantId;
use crate::store::{Change, Snapshot, Table, tables};

impl KeyRotation<'_> {
    /// Deletes the keys of this number, of a tenant or of the server. Nothing can be written under
    /// them again: without a rotation under way, only the newest keys are used for writing.
    pub async fn destroy_key(self, tenant: Option<TenantId>, number: u32) -> Result<(), Error> {
        let scope = tenant.map_or(SystemKeys::SCOPE, |tenant| *tenant.bytes());
        let purposes = [KeyPurpose::Seal, KeyPurpose::Index];
        let snapshot = self.vault.snapshot()?;
        if Rotation::of(&snapshot, &scope)?.is_some() {
            return Err(Error::Conflict("The rotation of these keys is still under way."));
        }
        if let Some(tenant) = tenant
            && snapshot.value(Table::Tenants, &tables::tenants(tenant))?.is_none()
        {
            return Err(Error::NotFound("tenant"));
        }
        let newest = newest_number(&snapshot, &scope, &purposes)?;
        if number >= newest {
            return Err(Error::Conflict("This is the current key, or none at all."));
        }
        let counted = self.vault.keys().count_scope(&snapshot, &scope).await?;
        if (counted.records(number), counted.older_entries()) != (0, 0) {
            return Err(Error::Conflict(
                "There are still records or index entries under this key; see key list.",
            ));
        }
        drop(snapshot);
        let now = self.vault.now();
        self.vault
            .commit(Priority::Normal, |snapshot| {
                let rotation = Rotation::place(&scope);
                let mut change = Change::new().expect_absent(Table::Meta, rotation);
                for purpose in purposes {
                    let place = tables::keys(&scope, purpose.code(), number);
                    if scope == SystemKeys::SCOPE
                        && purpose == KeyPurpose::Index
                        && !may_go(snapshot, &place)?
                    {
                        continue;
                    }
                    if snapshot.value(Table::Keys, &place)?.is_none() {
                        return Err(Error::NotFound("key"));
                    }
                    let made_at = KeyFacts::of(snapshot, &place)?.made_at;
                    let facts = KeyFacts { made_at, destroyed_at: Some(now) };
                    change = change
                        .expect_present(Table::Keys, place.clone())
                        .and(facts.put(&place))
                        .delete(Table::Keys, place);
                }
                let (audit, keys) = (self.vault.audit(), keys_of(&scope, number));
                Ok((change.and(audit.server_entry(Actor::Operator, Act::Delete, keys)), ()))
            })
            .await?;
        if scope == SystemKeys::SCOPE {
            self.vault.keys().reload_system()?;
        }
        // The log still has the key.
        Ok(self.vault.store.forget().await?)
    }
}

/// True if an index key of the server can be destroyed: it exists, and it is not the first one,
/// which makes the tags of all API keys. A server has fewer index keys than sealing keys if it was
/// rotated by a version that did not rotate index keys.
fn may_go(snapshot: &Snapshot, place: &[u8]) -> Result<bool, Error> {
    let all = tables::keys_of_purpose(&SystemKeys::SCOPE, KeyPurpose::Index.code());
    let stored = snapshot.first(&all, usize::MAX)?;
    Ok(stored.iter().skip(1).any(|(own, _)| own == place))
}
