//! Creating and opening a vault: its file, its master key, and the server's keys.

use std::path::Path;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, OnceLock};

use crate::app::Vault;
use crate::app::audit::AuditPolicy;
use crate::app::audit::entry::AuditScope;
use crate::app::audit::reads::ReadQueue;
use crate::app::audit::rows;
use crate::app::audit::watch::{AuditFinding, ChainWatch};
use crate::app::blocking::BlockingPool;
use crate::app::commit::lanes::Lanes;
use crate::app::deletion::state::under_deletion;
use crate::app::error::Error;
use crate::app::fair_pool::FairPool;
use crate::app::generation_cache::GenerationCache;
use crate::app::keys::cvc::OpenCvcKeys;
use crate::app::keys::cvc::ReceivedCvcKeys;
use crate::app::keys::facts;
use crate::app::keys::masters::Masters;
use crate::app::keys::ring::{new_keys, open_keys, phase_of};
use crate::app::threeds::state::ThreedsState;
use crate::app::tokens::evaluations::Evaluations;
use crate::app::upkeep::archive::ArchiveWatch;
use crate::bounds::{
    CONSOLE_WALKS_MAX, CONSOLE_WALKS_WAITING_MAX, CVC_RETENTION_IN_PRODUCTION, WALKS_MAX,
    WALKS_WAITING_MAX,
};
use crate::clock::Clock;
use crate::crypto::{
    DigestKey, KeyPurpose, MasterKey, QuickHash, Random, SigningKey, SystemKeys, Uses,
};
use crate::domain::audit::{Act, Actor, AuditEntry, Entity, EntityKind};
use crate::domain::origin::Origin;
use crate::domain::time::Timestamp;
use crate::lock::SharedLock;
use crate::store::chain::{Checkpoint, Signers};
use crate::store::meta::Restoration;
use crate::store::{
    Change, Cleanliness, CvcKeys, OpenFailure, Snapshot, StorageFailure, Store, StorePlace, Table,
    Verdict, meta, tables,
};

/// Nothing was written under a wrong master key.
#[derive(Debug)]
pub enum VaultFailure {
    File(OpenFailure),
    /// The server's keys do not open although the master key is the right one.
    KeysDamaged,
    /// This vault had this master key until the given time.
    ReplacedMasterKey(Timestamp),
    WrongMasterKey,
}

impl Vault {
    /// Fails if the place has a vault already.
    pub fn create(
        place: &StorePlace,
        master: MasterKey,
        clock: Clock,
    ) -> Result<Self, VaultFailure> {
        let random = Random::new();
        let first = first_change(&master, &random, clock.now());
        let store = place.create(&clock, first).map_err(VaultFailure::File)?;
        start(store, place.cvc_keys(), master, clock, random)
    }

    pub fn open(place: &StorePlace, master: MasterKey, clock: Clock) -> Result<Self, VaultFailure> {
        let database = match place {
            StorePlace::Directory(directory) => return open_directory(directory, master, clock),
            StorePlace::Database(database) => database,
        };
        let store = database.open_store().map_err(VaultFailure::File)?;
        let opened = start(store, place.cvc_keys(), master, clock, Random::new())?;
        if let Err(failure) = note_restore(&opened) {
            opened.close();
            return Err(failed(failure));
        }
        Ok(opened)
    }

    /// Opens the vault for checking, without writing to it.
    pub fn open_unwritten(
        place: &StorePlace,
        master: MasterKey,
        clock: Clock,
    ) -> Result<(Self, Cleanliness), VaultFailure> {
        let database = match place {
            StorePlace::Directory(directory) => {
                return open_directory_unwritten(directory, master, clock);
            }
            StorePlace::Database(database) => database,
        };
        let store = database.open_store_unwritten().map_err(VaultFailure::File)?;
        let opened = start(store, place.cvc_keys(), master, clock, Random::new())?;
        Ok((opened, Cleanliness::Clean))
    }

    /// For tests of failing disks.
    #[cfg(test)]
    pub fn on_disk(
        disk: &crate::store::tests::disk::TestDisk,
        master: MasterKey,
        clock: Clock,
    ) -> Result<Self, VaultFailure> {
        let random = Random::new();
        let first = first_change(&master, &random, clock.now());
        let store = Store::on_disk(disk, first).map_err(VaultFailure::File)?;
        start(store, CvcKeys::on_volume(disk), master, clock, random)
    }

    /// Writes the queued changes and closes the file.
    pub fn close(&self) {
        self.store.clone().close();
    }
}

fn open_directory(
    directory: &Path,
    master: MasterKey,
    clock: Clock,
) -> Result<Vault, VaultFailure> {
    let store = Store::open(directory, &clock).map_err(VaultFailure::File)?;
    let opened = start(store, CvcKeys::open(directory), master, clock, Random::new())?;
    if let Err(failure) = note_restore(&opened) {
        opened.close();
        return Err(failed(failure));
    }
    Ok(opened)
}

/// As [`open_directory`], without writing to any file.
fn open_directory_unwritten(
    directory: &Path,
    master: MasterKey,
    clock: Clock,
) -> Result<(Vault, Cleanliness), VaultFailure> {
    let opened = Store::open_unwritten(directory, &clock);
    let (store, cleanliness) = opened.map_err(VaultFailure::File)?;
    let cvc_keys = CvcKeys::open_unwritten(directory);
    Ok((start(store, cvc_keys, master, clock, Random::new())?, cleanliness))
}

/// Unlocks an open store with the master key.
pub(in crate::app) fn start(
    store: Store,
    cvc_keys: Result<CvcKeys, StorageFailure>,
    master: MasterKey,
    clock: Clock,
    random: Random,
) -> Result<Vault, VaultFailure> {
    let cvc_keys = cvc_keys.map_err(|failure| VaultFailure::File(OpenFailure::Storage(failure)));
    let uses = Uses::default();
    let opened = cvc_keys.and_then(|keys| {
        let snapshot = unlock(&store, &master, &random, clock.now())?;
        let system = open_system_keys(&snapshot, &master, &uses)?;
        let fault = store.keep_digests(system.digests()).map_err(failed)?;
        store.close_scopes(under_deletion(&snapshot).map_err(failed)?.into_iter());
        Ok((keys, system, fault))
    });
    let (cvc_keys, system, fault) = match opened {
        Ok(opened) => opened,
        Err(failure) => {
            store.close();
            return Err(failure);
        }
    };
    let archive = ArchiveWatch::of(&store).map_err(failed)?;
    let policy = AuditPolicy::default();
    let reads = ReadQueue::new(policy.reads, &store);
    let opened_at = clock.now();
    let swept_at = AtomicI64::new(opened_at.micros());
    let audit_watch = ChainWatch::new(clock.now());
    let app = Vault {
        store,
        masters: Masters::new(master),
        system: SharedLock::new(Arc::new(system)),
        uses,
        rotations: crate::app::rotation::state::Rotations::default(),
        clock,
        random,
        callers: GenerationCache::default(),
        key_texts: QuickHash::new(&Random::new()),
        last_uses: crate::app::caller::last_uses::LastUses::default(),
        walks: FairPool::new(WALKS_MAX, WALKS_WAITING_MAX),
        console_walks: FairPool::new(CONSOLE_WALKS_MAX, CONSOLE_WALKS_WAITING_MAX),
        operator_walks: BlockingPool::new(WALKS_MAX, WALKS_WAITING_MAX),
        evaluations: Evaluations::new(),
        lanes: Lanes::new(),
        in_flight: Arc::default(),
        cvc_keys: Arc::new(cvc_keys),
        open_cvc_keys: OpenCvcKeys::default(),
        received_cvc_keys: ReceivedCvcKeys::default(),
        cvc_retention_max: CVC_RETENTION_IN_PRODUCTION,
        bins: SharedLock::default(),
        reads,
        readings: crate::app::audit::readings::Readings::default(),
        refusals: crate::app::audit::refusals::RefusalTable::default(),
        audit_retention: policy.retention,
        audit_watch,
        floor: None,
        opened_at,
        swept_at,
        threeds: ThreedsState::default(),
        outbound: OnceLock::new(),
        programs: OnceLock::new(),
        hop_name: OnceLock::new(),
        proxy_calls: crate::app::call_counts::CallCounts::default(),
        reactor_calls: crate::app::call_counts::CallCounts::default(),
        webhooks: crate::app::webhooks::state::WebhookState::default(),
        damage: crate::app::damage::Damage::default(),
        archive,
        jobs: Arc::default(),
        scrubs: crate::app::upkeep::scrub::ScrubWatch::default(),
        deletions: crate::app::deletion::state::Deletions::default(),
        processes: crate::app::processes::state::ProcessState::default(),
    };
    check_records(app, fault.is_none())
}

/// Compares the records with the newest checkpoint.
fn check_records(app: Vault, have_digests: bool) -> Result<Vault, VaultFailure> {
    match app.snapshot().and_then(|snapshot| app.audit().rolled_back(&snapshot)) {
        Ok(shards) if have_digests && shards.is_empty() => Ok(app),
        // Serve the vault anyway, and report the finding.
        Ok(_) => {
            app.audit_watch.find(AuditFinding::ForeignRecords);
            Ok(app)
        }
        Err(Error::Storage(failure)) => {
            app.close();
            Err(failed(failure))
        }
        Err(_) => {
            app.close();
            Err(VaultFailure::KeysDamaged)
        }
    }
}

/// Writes the audit entry of a restore when the restored file is opened for the first time.
fn note_restore(vault: &Vault) -> Result<(), StorageFailure> {
    let Some(Restoration { at, by }) = meta::restoration(&vault.store.snapshot()?)? else {
        return Ok(());
    };
    let entity = Entity::of_server(EntityKind::Vault);
    let mut entry = AuditEntry::new(at, Actor::Operator, Act::Restore, entity);
    entry.origin = by.map(|user| Arc::new(Origin::of_user(user)));
    let audit = rows(vault, AuditScope::Server, &[entry]);
    vault.store.amend(meta::forget_restored().and(audit))?;
    Ok(())
}

pub(in crate::app) fn first_change(master: &MasterKey, random: &Random, now: Timestamp) -> Change {
    let purposes = [KeyPurpose::Seal, KeyPurpose::Index];
    let (keys, _) = new_keys(master, random, &SystemKeys::SCOPE, &purposes, 1, now);
    meta::put_master_check(keys, master.check())
        .and(facts::put_master_made(now))
        .and(begin_chain(master, random, now))
}

/// Checks the master key against the file before anything is written. A new file then gets its
/// digest key.
fn unlock(
    store: &Store,
    master: &MasterKey,
    random: &Random,
    now: Timestamp,
) -> Result<Snapshot, VaultFailure> {
    let snapshot = store.snapshot().map_err(failed)?;
    match meta::master_check(&snapshot).map_err(failed)? {
        Some(check) if check == master.check() => (),
        Some(_) => {
            let replaced = facts::master_replaced(&snapshot, master).map_err(failed)?;
            return Err(
                replaced.map_or(VaultFailure::WrongMasterKey, VaultFailure::ReplacedMasterKey)
            );
        }
        None => return Err(VaultFailure::File(OpenFailure::NotOurs)),
    }
    if Signers::read(&snapshot).map_err(failed)?.is_none() {
        return Err(VaultFailure::KeysDamaged);
    }
    let digests = tables::keys_of_purpose(&SystemKeys::SCOPE, KeyPurpose::Digest.code());
    if !snapshot.first(&digests, 1).map_err(failed)?.is_empty() {
        return Ok(snapshot);
    }
    // Only a vault with a digest key signs checkpoints, so the digest key was removed.
    if Checkpoint::newest(&snapshot).map_err(failed)?.is_some() {
        return Err(VaultFailure::KeysDamaged);
    }
    let (keys, made) = new_keys(master, random, &SystemKeys::SCOPE, &[KeyPurpose::Digest], 1, now);
    let key = made.first().ok_or(VaultFailure::KeysDamaged)?;
    match store.begin_digests(&DigestKey::new(&key.bytes), keys).map_err(failed)? {
        Verdict::Applied => store.snapshot().map_err(failed),
        Verdict::Closed | Verdict::Refused => Err(VaultFailure::KeysDamaged),
    }
}

/// The keys of the audit chain, sealed, and its public key in clear.
fn begin_chain(master: &MasterKey, random: &Random, now: Timestamp) -> Change {
    let purposes = [KeyPurpose::Audit, KeyPurpose::Sign];
    let (change, made) = new_keys(master, random, &SystemKeys::SCOPE, &purposes, 1, now);
    let signing = made.iter().find(|key| key.purpose == KeyPurpose::Sign);
    let Some(signing) = signing.and_then(|key| SigningKey::from_seed(&key.bytes)) else {
        return Change::impossible("the audit chain has no signing key");
    };
    let public = signing.public().to_vec();
    change.put(Table::Meta, tables::meta::AUDIT_PUBLIC_KEY.to_vec(), public)
}

fn open_system_keys(
    snapshot: &Snapshot,
    master: &MasterKey,
    uses: &Uses,
) -> Result<SystemKeys, VaultFailure> {
    let phase = phase_of(snapshot, &SystemKeys::SCOPE).map_err(failed)?;
    open_keys(snapshot, master, &SystemKeys::SCOPE)
        .map_err(failed)?
        .and_then(|keys| SystemKeys::new(&keys, phase, uses))
        .ok_or(VaultFailure::KeysDamaged)
}

const fn failed(failure: StorageFailure) -> VaultFailure {
    VaultFailure::File(OpenFailure::Storage(failure))
}
