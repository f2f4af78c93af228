//! Making and opening a vault: the file, the master key, the server's own keys.

use std::path::Path;
use std::sync::{Arc, RwLock};

use crate::app::App;
use crate::app::callers::Callers;
use crate::app::error::{Error, Fault};
use crate::app::threeds::ThreedsState;
use crate::app::turns::Turns;
use crate::clock::Clock;
use crate::crypto::{Identity, KeyMaterial, KeyPurpose, MasterKey, Random, SystemKeys, TenantKeys};
use crate::domain::id::TenantId;
use crate::secret::Secret;
use crate::store::{Change, CvcKeys, OpenFailure, Snapshot, StorageFailure, Store, Table, tables};

/// The keys of the server itself stand under this scope in place of a tenant.
pub(super) const SYSTEM: [u8; 16] = [0; 16];
const META_MASTER: &[u8] = b"master";

/// Why a vault could not be made or opened. Nothing was changed.
#[derive(Debug)]
pub enum VaultFailure {
    File(OpenFailure),
    /// The file's own keys do not open although the master key is the right one.
    KeysDamaged,
    WrongMasterKey,
}

impl App {
    /// A new vault in an existing directory.
    pub fn create(directory: &Path, master: MasterKey, clock: Clock) -> Result<Self, VaultFailure> {
        let random = Random::new();
        let first = first_change(&master, &random);
        let store = Store::create(directory, first).map_err(VaultFailure::File)?;
        let cvc_keys = CvcKeys::open(directory);
        Self::start(store, cvc_keys, master, clock, random)
    }

    pub fn open(directory: &Path, master: MasterKey, clock: Clock) -> Result<Self, VaultFailure> {
        let store = Store::open(directory).map_err(VaultFailure::File)?;
        let cvc_keys = CvcKeys::open(directory);
        Self::start(store, cvc_keys, master, clock, Random::new())
    }

    /// A vault on a disk of the caller's own making, for tests of failing disks.
    pub fn on_backend(
        backend: impl crate::store::Disk,
        master: MasterKey,
        clock: Clock,
    ) -> Result<Self, VaultFailure> {
        let random = Random::new();
        let first = first_change(&master, &random);
        let store = Store::on_backend(backend, first).map_err(VaultFailure::File)?;
        Self::start(store, CvcKeys::unlinked(), master, clock, random)
    }

    pub(super) fn start(
        store: Store,
        cvc_keys: Result<CvcKeys, StorageFailure>,
        master: MasterKey,
        clock: Clock,
        random: Random,
    ) -> Result<Self, VaultFailure> {
        let cvc_keys =
            cvc_keys.map_err(|failure| VaultFailure::File(OpenFailure::Storage(failure)));
        let opened = cvc_keys.and_then(|keys| Ok((keys, open_system_keys(&store, &master)?)));
        let (cvc_keys, system) = match opened {
            Ok(opened) => opened,
            Err(failure) => {
                store.close();
                return Err(failure);
            }
        };
        Ok(Self {
            store,
            master,
            system,
            clock,
            random,
            callers: Callers::new(),
            turns: Turns::new(),
            flights: Arc::default(),
            cvc_keys,
            bins: RwLock::default(),
            threeds: ThreedsState::default(),
        })
    }

    /// Writes what has queued and closes the file.
    pub fn close(&self) {
        self.store.clone().close();
    }

    pub(super) const fn system(&self) -> &SystemKeys {
        &self.system
    }

    pub(super) fn tenant_keys(
        &self,
        snapshot: &Snapshot,
        tenant: TenantId,
    ) -> Result<TenantKeys, Error> {
        let keys = open_keys(snapshot, &self.master, tenant.bytes())?
            .ok_or(Error::Internal(Fault::DoesNotOpen))?;
        TenantKeys::new(*tenant.bytes(), &keys).ok_or(Error::Internal(Fault::Dangling))
    }

    /// The keys of a new tenant, and the change that keeps them.
    pub(super) fn make_tenant_keys(&self, tenant: TenantId) -> (Change, Vec<KeyMaterial>) {
        let purposes = [KeyPurpose::Seal, KeyPurpose::Index, KeyPurpose::Fingerprint];
        make_keys(&self.master, &self.random, tenant.bytes(), &purposes)
    }
}

fn first_change(master: &MasterKey, random: &Random) -> Change {
    let (keys, _) = make_keys(master, random, &SYSTEM, &[KeyPurpose::Seal, KeyPurpose::Index]);
    keys.put(Table::Meta, META_MASTER.to_vec(), master.check().to_vec())
}

fn make_keys(
    master: &MasterKey,
    random: &Random,
    scope: &[u8; 16],
    purposes: &[KeyPurpose],
) -> (Change, Vec<KeyMaterial>) {
    let mut change = Change::new();
    let mut keys = Vec::with_capacity(purposes.len());
    for purpose in purposes {
        let material = KeyMaterial::generate(*purpose, 1, random);
        let key = tables::keys(scope, purpose.code(), material.number);
        let sealed = master.sealing().seal(&identity(scope, &key), material.bytes.expose(), random);
        change = change.expect_absent(Table::Keys, key.clone()).put(Table::Keys, key, sealed);
        keys.push(material);
    }
    (change, keys)
}

fn open_system_keys(store: &Store, master: &MasterKey) -> Result<SystemKeys, VaultFailure> {
    let failed = |failure| VaultFailure::File(OpenFailure::Storage(failure));
    let snapshot = store.snapshot().map_err(failed)?;
    match snapshot.value(Table::Meta, META_MASTER).map_err(failed)? {
        Some(check) if check == master.check() => (),
        Some(_) => return Err(VaultFailure::WrongMasterKey),
        None => return Err(VaultFailure::File(OpenFailure::NotOurs)),
    }
    open_keys(&snapshot, master, &SYSTEM)
        .map_err(failed)?
        .and_then(|keys| SystemKeys::new(&keys))
        .ok_or(VaultFailure::KeysDamaged)
}

/// All keys of one scope; `None` when one does not open.
fn open_keys(
    snapshot: &Snapshot,
    master: &MasterKey,
    scope: &[u8; 16],
) -> Result<Option<Vec<KeyMaterial>>, StorageFailure> {
    let stored = snapshot.under(Table::Keys, scope, usize::MAX)?;
    let open = |(key, sealed): &(Vec<u8>, Vec<u8>)| {
        let plain = master.sealing().open(&identity(scope, key), sealed).ok()?;
        let purpose = KeyPurpose::from_code(*key.get(16)?)?;
        let number = u32::from_be_bytes(key.get(17..21)?.try_into().ok()?);
        let bytes = Secret::new(plain.expose().as_slice().try_into().ok()?);
        Some(KeyMaterial { purpose, number, bytes })
    };
    Ok(stored.iter().map(open).collect())
}

const fn identity<'a>(scope: &'a [u8; 16], key: &'a [u8]) -> Identity<'a> {
    Identity { tenant: scope, table: Table::Keys.number(), key }
}
