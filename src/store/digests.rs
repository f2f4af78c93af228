//! Digests of the live records: one of each shard and one of each scope. Every change to a record
//! updates both in the same transaction. The digests of all shards have the same sum as the digests
//! of all scopes: the digest of the vault.
//!
//! A sealed record can be opened long after its deletion, so an attacker who can write the file
//! could put a deleted row back. The digests detect this: only the writer updates them, and they
//! are sealed under their own key.
//!
//! The digests count the records of every table that is sealed by a tenant, by the server or by the
//! master key. They do not count card verification codes, whose keys are destroyed. A row is a
//! version byte (1), the generation (8), the number of the next entry of the shard's chain (8) and
//! the digest (40), sealed. The generation is the number of transactions that changed records of the
//! shard. Rows of scopes are in [`Table::Counts`], rows of shards in [`Table::Meta`].
//!
//! A checkpoint of the audit chain signs the generation and the digest of each shard
//! ([`crate::store::chain::ShardStates`]), so that older rows of one shard are found.
//!
//! The rows of the tenants' shards open only with the [`Shards`] that they were written under, so a
//! store whose assignment of tenants was changed behind its back is refused. The vault's own row is
//! older than the assignment of a vault that moved to a database.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::crypto::{DigestKey, Identity, Random, SetDigest, version};
use crate::lock::Lock;
use crate::secret::SecretBuffer;
use crate::store::chain::Heads;
use crate::store::change::Change;
use crate::store::failure::StorageFailure;
use crate::store::shards::Shards;
use crate::store::snapshot::Snapshot;
use crate::store::tables::meta;
use crate::store::tables::{self, Shard, Table};

const WHOLE: [u8; 16] = [0; 16];
const VERSION: u8 = 1;

/// The digest of the records of a scope or of a shard after their last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DigestState {
    /// The generation of the transaction that changed them last.
    pub generation: u64,
    /// The number of the shard's next audit entry after that transaction.
    pub sequence: u64,
    pub digest: SetDigest,
}

type Scopes = BTreeMap<[u8; 16], DigestState>;
type OfShards = BTreeMap<Shard, DigestState>;

/// All digests of a file. The writer holds them in memory; verification compares two sets.
pub struct RecordDigests {
    sealer: Arc<DigestSealer>,
    shards: OfShards,
    scopes: Scopes,
}

pub(super) struct DigestSealer {
    key: DigestKey,
    shards: Shards,
    random: Random,
}

/// The digests that the writer and [`crate::store::Store::amend`] share; `None` until
/// [`crate::store::Store::keep_digests`].
pub(super) type SharedDigests = Arc<Lock<Option<RecordDigests>>>;

/// The digests as a batch updates them.
pub(super) enum DigestKeeper<'t> {
    /// In memory: no other process changes records.
    Own(&'t mut RecordDigests),
    /// In the rows: the digests in memory stay as they were at the start.
    Shared(Arc<DigestSealer>),
}

type DigestRow = (Table, Vec<u8>, Vec<u8>);

/// The shards that a batch touches, with the number of each chain's next entry: it changes their
/// records, or lengthens their chains.
pub(super) type ChangedShards = BTreeMap<Shard, u64>;

#[derive(Debug, Default)]
pub(super) struct DigestChanges(BTreeMap<[u8; 16], SetDigest>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DigestFault {
    /// The digests of the scopes and of the shards have different sums.
    DoNotAddUp,
    /// The digests are missing or do not open.
    Missing,
}

impl DigestKeeper<'_> {
    pub(super) fn key(&self) -> &DigestKey {
        match self {
            Self::Own(digests) => &digests.sealer.key,
            Self::Shared(sealer) => &sealer.key,
        }
    }
}

impl RecordDigests {
    /// Returns `None` if there are no digests, or if a row does not open because it is damaged or
    /// comes from another file.
    pub fn read(snapshot: &Snapshot, key: &DigestKey) -> Result<Option<Self>, StorageFailure> {
        let Some(shards) = Self::shards_of(snapshot, key)? else { return Ok(None) };
        let mut scopes = BTreeMap::new();
        for entry in snapshot.range(&Table::Counts.whole())? {
            let (place, sealed) = entry?;
            let Some(scope) = tables::digest_of_key(&place) else { continue };
            let Some(tally) = open(key, &scope, Table::Counts, &place, &sealed) else {
                return Ok(None);
            };
            scopes.insert(scope, tally);
        }
        let sealer = DigestSealer::new(key, snapshot.shards()?);
        Ok(Some(Self { sealer: Arc::new(sealer), shards, scopes }))
    }

    /// Reads only the digests of the shards; `None` if one is missing or does not open.
    pub fn shards_of(
        snapshot: &Snapshot,
        key: &DigestKey,
    ) -> Result<Option<OfShards>, StorageFailure> {
        let rows = snapshot.first(&meta::audit_records_of_shards(), usize::MAX)?;
        let assignment = snapshot.shards()?;
        let read = rows.iter().map(|(place, sealed)| {
            let shard = meta::shard_of_key(place)?;
            Some((shard, open(key, &owner(shard, assignment), Table::Meta, place, sealed)?))
        });
        let shards: Option<OfShards> = read.collect();
        Ok(shards.filter(|shards| shards.contains_key(&Shard::VAULT)))
    }

    /// Fails if a row of a tenants' shard does not open: it is damaged, or the assignment of tenants
    /// to shards was changed.
    pub(super) fn check_assignment(
        snapshot: &Snapshot,
        key: &DigestKey,
    ) -> Result<(), StorageFailure> {
        let assignment = snapshot.shards()?;
        for (place, sealed) in snapshot.first(&meta::audit_records_of_shards(), usize::MAX)? {
            let shard = meta::shard_of_key(&place).unwrap_or_default();
            let owner = owner(shard, assignment);
            if shard != Shard::VAULT && open(key, &owner, Table::Meta, &place, &sealed).is_none() {
                let what = "the digest of a shard, or the assignment of tenants to shards";
                return Err(StorageFailure::Damaged(String::from(what)));
            }
        }
        Ok(())
    }

    pub fn count(snapshot: &Snapshot, key: &DigestKey) -> Result<Self, StorageFailure> {
        let mut counted = DigestChanges::default();
        for table in Table::ALL.iter().filter(|table| table.is_digested()) {
            for entry in snapshot.range(&table.whole())? {
                let (place, value) = entry?;
                counted.found(key, *table, &place, &value);
            }
        }
        let (shards, heads) = (snapshot.shards()?, Heads::read(snapshot)?);
        let mut touched = ChangedShards::default();
        for scope in counted.scopes() {
            let shard = shards.of_scope(scope);
            touched.insert(shard, heads.of(shard).next);
        }
        let (of_shards, scopes) = (BTreeMap::new(), BTreeMap::new());
        let sealer = Arc::new(DigestSealer::new(key, shards));
        let mut digests = Self { sealer, shards: of_shards, scopes };
        digests.shards.insert(Shard::VAULT, DigestState::default());
        advance(shards, &mut digests.shards, &mut digests.scopes, counted, &touched);
        Ok(digests)
    }

    pub fn whole(&self) -> SetDigest {
        whole_of(&self.shards)
    }

    pub const fn shards(&self) -> &OfShards {
        &self.shards
    }

    pub fn scopes(&self) -> impl Iterator<Item = (&[u8; 16], &DigestState)> {
        self.scopes.iter()
    }

    /// Empty for a scope that never had records.
    pub fn of(&self, scope: &[u8; 16]) -> SetDigest {
        self.scopes.get(scope).map(|tally| tally.digest).unwrap_or_default()
    }

    /// Returns true if the digests of the scopes and of the shards have the same sum.
    pub fn add_up(&self) -> bool {
        let mut sum = SetDigest::default();
        for tally in self.scopes.values() {
            sum.combine(&tally.digest);
        }
        sum == self.whole()
    }

    pub(super) fn sealer(&self) -> Arc<DigestSealer> {
        Arc::clone(&self.sealer)
    }

    /// Advances the digests and returns the rows to write.
    pub(super) fn apply(
        &mut self,
        changes: DigestChanges,
        touched: &ChangedShards,
    ) -> Vec<DigestRow> {
        let assignment = self.sealer.shards;
        let advanced = advance(assignment, &mut self.shards, &mut self.scopes, changes, touched);
        self.sealer.rows_of(&advanced, touched, &self.shards)
    }

    pub(super) fn keep(&self) -> Change {
        let Self { sealer, shards, scopes } = self;
        let rows = scopes.iter().map(|(scope, state)| sealer.row(scope, state));
        let rows =
            rows.chain(shards.iter().map(|(shard, state)| sealer.row_of_shard(*shard, state)));
        rows.fold(Change::new(), |change, (table, key, value)| change.put(table, key, value))
    }
}

/// The digest of all records.
pub fn whole_of(shards: &OfShards) -> SetDigest {
    let mut whole = SetDigest::default();
    for state in shards.values() {
        whole.combine(&state.digest);
    }
    whole
}

impl DigestSealer {
    fn new(key: &DigestKey, shards: Shards) -> Self {
        Self { key: key.clone(), shards, random: Random::new() }
    }

    /// The rows to write in a store that other processes write too: `read` gives the newest rows.
    pub(super) fn apply_to_rows(
        &self,
        changes: DigestChanges,
        touched: &ChangedShards,
        mut read: impl FnMut(Table, &[u8]) -> Result<Option<Vec<u8>>, StorageFailure>,
    ) -> Result<Vec<DigestRow>, StorageFailure> {
        let damaged = || StorageFailure::Damaged(String::from("the digests of records"));
        if changes.0.is_empty() {
            return Ok(Vec::new());
        }
        let mut shards = BTreeMap::new();
        for shard in touched.keys() {
            let place = meta::audit_records(*shard);
            let state = match read(Table::Meta, &place)? {
                Some(sealed) => {
                    open(&self.key, &owner(*shard, self.shards), Table::Meta, &place, &sealed)
                }
                // The row of the vault's own shard is there from the start.
                None => Some(DigestState::default()).filter(|_| *shard != Shard::VAULT),
            };
            shards.insert(*shard, state.ok_or_else(damaged)?);
        }
        let mut scopes = BTreeMap::new();
        for scope in changes.0.keys() {
            let place = tables::digests(scope);
            if let Some(sealed) = read(Table::Counts, &place)? {
                let state = open(&self.key, scope, Table::Counts, &place, &sealed);
                scopes.insert(*scope, state.ok_or_else(damaged)?);
            }
        }
        let advanced = advance(self.shards, &mut shards, &mut scopes, changes, touched);
        Ok(self.rows_of(&advanced, touched, &shards))
    }

    fn rows_of(
        &self,
        advanced: &[([u8; 16], DigestState)],
        touched: &ChangedShards,
        shards: &OfShards,
    ) -> Vec<DigestRow> {
        if advanced.is_empty() {
            return Vec::new();
        }
        let rows = advanced.iter().map(|(scope, state)| self.row(scope, state));
        let of_shards = shards.iter().filter(|(shard, _)| touched.contains_key(shard));
        rows.chain(of_shards.map(|(shard, state)| self.row_of_shard(*shard, state))).collect()
    }

    fn row(&self, scope: &[u8; 16], state: &DigestState) -> DigestRow {
        let place = tables::digests(scope);
        let sealed = self.seal(scope, Table::Counts, &place, state);
        (Table::Counts, place, sealed)
    }

    fn row_of_shard(&self, shard: Shard, state: &DigestState) -> DigestRow {
        let place = meta::audit_records(shard);
        let sealed = self.seal(&owner(shard, self.shards), Table::Meta, &place, state);
        (Table::Meta, place, sealed)
    }

    fn seal(&self, scope: &[u8; 16], table: Table, place: &[u8], tally: &DigestState) -> Vec<u8> {
        let (generation, sequence) = (tally.generation.to_be_bytes(), tally.sequence.to_be_bytes());
        let digest = tally.digest.encode();
        let mut plain = SecretBuffer::with_capacity(1 + 8 + 8 + SetDigest::BYTES);
        plain.extend_all([&[VERSION], &generation, &sequence, digest.expose()]);
        self.key.seal(&identity(scope, table, place), plain.bytes(), &self.random)
    }
}

/// Returns the scopes whose records changed, with their new state.
fn advance(
    assignment: Shards,
    shards: &mut OfShards,
    scopes: &mut Scopes,
    DigestChanges(mut changes): DigestChanges,
    touched: &ChangedShards,
) -> Vec<([u8; 16], DigestState)> {
    changes.retain(|_, by| *by != SetDigest::default());
    if changes.is_empty() {
        return Vec::new();
    }
    for (shard, next) in touched {
        let state = shards.entry(*shard).or_default();
        // A 64-bit counter does not overflow at one generation per transaction.
        state.generation = state.generation.saturating_add(1);
        state.sequence = *next;
    }
    let mut advanced = Vec::with_capacity(changes.len());
    for (scope, by) in changes {
        let of_shard = shards.entry(assignment.of_scope(&scope)).or_default();
        of_shard.digest.combine(&by);
        let state = scopes.entry(scope).or_default();
        state.digest.combine(&by);
        (state.generation, state.sequence) = (of_shard.generation, of_shard.sequence);
        advanced.push((scope, *state));
    }
    advanced
}

impl DigestChanges {
    pub(super) fn scopes(&self) -> impl Iterator<Item = &[u8; 16]> {
        self.0.keys()
    }

    /// Records that the row at `place` changed from the old value to the new one.
    pub(super) fn take(
        &mut self,
        key: &DigestKey,
        table: Table,
        place: &[u8],
        old: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<(), StorageFailure> {
        let Some(scope) = table.digest_scope(place) else {
            // A damaged file may have such a row, and `verify` reports it. No change writes one.
            return match new {
                Some(_) => Err(StorageFailure::Impossible("a record has no scope")),
                None => Ok(()),
            };
        };
        let digest = self.0.entry(scope).or_default();
        if let Some(old) = old {
            // A damaged value may be too short for a version; `found` counts it in the same way.
            let version = version(old).unwrap_or_default();
            digest.remove(&key.element(table.number(), place, &version));
        }
        if let Some(new) = new {
            let version = version(new);
            let version = version.ok_or(StorageFailure::Impossible("a record is not sealed"))?;
            digest.insert(&key.element(table.number(), place, &version));
        }
        Ok(())
    }

    /// Counts a row of the file, damaged or not.
    fn found(&mut self, key: &DigestKey, table: Table, place: &[u8], value: &[u8]) {
        if let Some(scope) = table.digest_scope(place) {
            let version = version(value).unwrap_or_default();
            let element = key.element(table.number(), place, &version);
            self.0.entry(scope).or_default().insert(&element);
        }
    }
}

/// The owner in the identity of a shard's row.
fn owner(shard: Shard, shards: Shards) -> [u8; 16] {
    if shard == Shard::VAULT { WHOLE } else { shards.fingerprint() }
}

const fn identity<'a>(scope: &'a [u8; 16], table: Table, place: &'a [u8]) -> Identity<'a> {
    Identity { tenant: scope, table: table.number(), key: place }
}

fn open(
    key: &DigestKey,
    scope: &[u8; 16],
    table: Table,
    place: &[u8],
    sealed: &[u8],
) -> Option<DigestState> {
    let plain = key.open(&identity(scope, table, place), sealed).ok()?;
    let (&VERSION, rest) = plain.expose().split_first()? else { return None };
    let (generation, rest) = rest.split_first_chunk()?;
    let (sequence, digest) = rest.split_first_chunk()?;
    Some(DigestState {
        generation: u64::from_be_bytes(*generation),
        sequence: u64::from_be_bytes(*sequence),
        digest: SetDigest::decode(digest)?,
    })
}

impl fmt::Debug for RecordDigests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordDigests").field("shards", &self.shards).finish_non_exhaustive()
    }
}
