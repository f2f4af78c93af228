//! Reading the keys of the server and of tenants from the file, and making new ones.

use std::sync::Arc;

use crate::app::KeyRing;
use crate::app::error::{Error, Fault};
use crate::app::keys::facts::{KeyFacts, Rotation};
use crate::crypto::{
    Identity, KeyMaterial, KeyPurpose, MasterKey, Phase, Random, SystemKeys, TenantKeys,
};
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::{Change, Snapshot, StorageFailure, Table, tables};

impl KeyRing<'_> {
    pub(in crate::app) fn system(self) -> Arc<SystemKeys> {
        Arc::clone(&self.vault.system.read())
    }

    pub(in crate::app) fn reload_system(self) -> Result<(), Error> {
        let snapshot = self.vault.snapshot()?;
        let master = self.vault.masters.of(&snapshot)?;
        let keys = open_keys(&snapshot, &master, &SystemKeys::SCOPE)?;
        let phase = phase_of(&snapshot, &SystemKeys::SCOPE)?;
        let keys = keys.and_then(|keys| SystemKeys::new(&keys, phase, &self.vault.uses));
        let keys = keys.ok_or(Error::Internal(Fault::DoesNotOpen))?;
        *self.vault.system.write() = Arc::new(keys);
        Ok(())
    }

    /// [`Error::Unauthenticated`] for a tenant whose deletion has begun: its callers are refused.
    pub(in crate::app) fn tenant_keys(
        self,
        snapshot: &Snapshot,
        tenant: TenantId,
    ) -> Result<TenantKeys, Error> {
        if self.vault.store.is_closed(tenant.bytes()) {
            return Err(Error::Unauthenticated);
        }
        // Another process may have begun the deletion since this process last polled.
        if self.vault.processes().may_be_several()
            && snapshot.value(Table::Meta, &tables::meta::deletion(tenant.bytes()))?.is_some()
        {
            return Err(Error::Unauthenticated);
        }
        let keys = open_keys(snapshot, &*self.vault.masters.of(snapshot)?, tenant.bytes())?
            .ok_or(Error::Internal(Fault::DoesNotOpen))?;
        let phase = phase_of(snapshot, tenant.bytes())?;
        TenantKeys::new(*tenant.bytes(), &keys, phase, &self.vault.uses)
            .ok_or(Error::Internal(Fault::Dangling))
    }

    pub(in crate::app) fn make_tenant_keys(
        self,
        snapshot: &Snapshot,
        tenant: TenantId,
    ) -> Result<Change, Error> {
        let purposes = [KeyPurpose::Seal, KeyPurpose::Index, KeyPurpose::Fingerprint];
        Ok(self.make_keys(snapshot, tenant.bytes(), &purposes, 1)?.0)
    }

    /// Makes keys with this number, and the change that stores them. The change is refused if the
    /// master key is replaced meanwhile.
    pub(in crate::app) fn make_keys(
        self,
        snapshot: &Snapshot,
        scope: &[u8; 16],
        purposes: &[KeyPurpose],
        number: u32,
    ) -> Result<(Change, Vec<KeyMaterial>), Error> {
        let master = self.vault.masters.of(snapshot)?;
        let (keys, made) =
            new_keys(&master, &self.vault.random, scope, purposes, number, self.vault.now());
        let check = master.check().to_vec();
        Ok((keys.expect_value(Table::Meta, tables::meta::MASTER.to_vec(), check), made))
    }
}

pub(in crate::app) fn new_keys(
    master: &MasterKey,
    random: &Random,
    scope: &[u8; 16],
    purposes: &[KeyPurpose],
    number: u32,
    now: Timestamp,
) -> (Change, Vec<KeyMaterial>) {
    let mut change = Change::new();
    let mut made = Vec::with_capacity(purposes.len());
    for purpose in purposes {
        let material = KeyMaterial::generate(*purpose, number, random);
        let key = tables::keys(scope, purpose.code(), material.number);
        let sealed = master.seal(&identity(scope, &key), material.bytes.expose(), random);
        let facts = KeyFacts { made_at: Some(now), destroyed_at: None };
        change = change.expect_absent(Table::Keys, key.clone()).and(facts.put(&key)).put(
            Table::Keys,
            key,
            sealed,
        );
        made.push(material);
    }
    (change, made)
}

pub(in crate::app) fn phase_of(
    snapshot: &Snapshot,
    scope: &[u8; 16],
) -> Result<Phase, StorageFailure> {
    let rotation = Rotation::of(snapshot, scope)?;
    Ok(rotation.map_or(Phase::Settled, |rotation| rotation.phase))
}

/// Opens the keys of one scope that have a known purpose. `None` if one of them does not open.
pub(in crate::app) fn open_keys(
    snapshot: &Snapshot,
    master: &MasterKey,
    scope: &[u8; 16],
) -> Result<Option<Vec<KeyMaterial>>, StorageFailure> {
    let stored = snapshot.first(&tables::keys_of(scope), usize::MAX)?;
    let open = |(key, sealed): &(Vec<u8>, Vec<u8>)| {
        let plain = master.open(&identity(scope, key), sealed).ok()?;
        let (purpose, number) = tables::key_parts(key)?;
        // Skips keys with unknown purposes, and the key of webhooks.
        let purpose = KeyPurpose::from_code(purpose).filter(|it| *it != KeyPurpose::Webhook);
        let Some(purpose) = purpose else { return Some(None) };
        let bytes = Secret::new(plain.expose().as_slice().try_into().ok()?);
        Some(Some(KeyMaterial { purpose, number, bytes }))
    };
    let opened: Option<Vec<_>> = stored.iter().map(open).collect();
    Ok(opened.map(|keys| keys.into_iter().flatten().collect()))
}

pub(in crate::app) const fn identity<'a>(scope: &'a [u8; 16], key: &'a [u8]) -> Identity<'a> {
    Identity { tenant: scope, table: Table::Keys.number(), key }
}
