//! Digests of the live records: one of the whole file and one of each scope. Every change to a
//! record updates them in the same transaction.
//!
//! A sealed record can be opened long after its deletion, so an attacker who can write the file
//! could put a deleted row back. The digests detect this: only the writer updates them, and they
//! are sealed under their own key.
//!
//! The digests count the records of every table that is sealed by a tenant, by the server or by the
//! master key. They do not count card verification codes, whose keys are destroyed. A row is a
//! version byte (1), the generation (8), the chain's length (8) and the digest (40), sealed. The
//! generation is the number of transactions that changed records. The rows of the scopes are in
//! [`Table::Counts`], the row of the whole file is in [`Table::Meta`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::crypto::{DigestKey, Identity, Random, SetDigest, version};
use crate::lock::Lock;
use crate::store::change::Change;
use crate::store::failure::StorageFailure;
use crate::store::snapshot::Snapshot;
use crate::store::tables::meta;
use crate::store::tables::{self, Table};

const WHOLE: [u8; 16] = [0; 16];
const VERSION: u8 = 1;

/// The digest of the records of a scope, or of all records, after their last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DigestState {
    /// The generation of the transaction that changed them last.
    pub generation: u64,
    /// The number of entries of the audit chain after that transaction.
    pub sequence: u64,
    pub digest: SetDigest,
}

/// All digests of a file. The writer holds them in memory; verification compares two sets.
pub struct RecordDigests {
    key: DigestKey,
    random: Random,
    whole: DigestState,
    scopes: BTreeMap<[u8; 16], DigestState>,
}

/// The digests that the writer and [`crate::store::Store::amend`] share; `None` until
/// [`crate::store::Store::keep_digests`].
pub(super) type SharedDigests = Arc<Lock<Option<RecordDigests>>>;

type DigestRow = (Table, Vec<u8>, Vec<u8>);

#[derive(Debug, Default)]
pub(super) struct DigestChanges(BTreeMap<[u8; 16], SetDigest>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DigestFault {
    /// The digests of the scopes do not add up to the digest of the whole file.
    DoNotAddUp,
    /// The digests are missing or do not open.
    Missing,
}

impl RecordDigests {
    /// Returns `None` if there are no digests, or if a row does not open because it is damaged or
    /// comes from another file.
    pub fn read(snapshot: &Snapshot, key: &DigestKey) -> Result<Option<Self>, StorageFailure> {
        let Some(whole) = Self::whole_of(snapshot, key)? else { return Ok(None) };
        let mut scopes = BTreeMap::new();
        for entry in snapshot.range(&Table::Counts.whole())? {
            let (place, sealed) = entry?;
            let Some(scope) = tables::digest_of_key(&place) else { continue };
            let Some(tally) = open(key, &scope, Table::Counts, &place, &sealed) else {
                return Ok(None);
            };
            scopes.insert(scope, tally);
        }
        let key = key.clone();
        Ok(Some(Self { key, random: Random::new(), whole, scopes }))
    }

    /// Reads only the digest of all records; `None` if it is missing or does not open.
    pub fn whole_of(
        snapshot: &Snapshot,
        key: &DigestKey,
    ) -> Result<Option<DigestState>, StorageFailure> {
        let sealed = snapshot.value(Table::Meta, meta::AUDIT_RECORDS)?;
        Ok(sealed.and_then(|sealed| open(key, &WHOLE, Table::Meta, meta::AUDIT_RECORDS, &sealed)))
    }

    pub fn count(snapshot: &Snapshot, key: &DigestKey) -> Result<Self, StorageFailure> {
        let mut counted = DigestChanges::default();
        for table in Table::ALL.iter().filter(|table| table.is_digested()) {
            for entry in snapshot.range(&table.whole())? {
                let (place, value) = entry?;
                counted.found(key, *table, &place, &value);
            }
        }
        let head = crate::store::chain::Head::read(snapshot)?;
        let (key, whole) = (key.clone(), DigestState::default());
        let mut digests = Self { key, random: Random::new(), whole, scopes: BTreeMap::new() };
        advance(&mut digests.whole, &mut digests.scopes, counted, head.next);
        Ok(digests)
    }

    pub const fn whole(&self) -> &DigestState {
        &self.whole
    }

    pub fn scopes(&self) -> impl Iterator<Item = (&[u8; 16], &DigestState)> {
        self.scopes.iter()
    }

    /// Empty for a scope that never had records.
    pub fn of(&self, scope: &[u8; 16]) -> SetDigest {
        self.scopes.get(scope).map(|tally| tally.digest).unwrap_or_default()
    }

    /// Returns true if the digests of the scopes add up to the digest of the whole file.
    pub fn add_up(&self) -> bool {
        let mut sum = SetDigest::default();
        for tally in self.scopes.values() {
            sum.combine(&tally.digest);
        }
        sum == self.whole.digest
    }

    pub(super) const fn key(&self) -> &DigestKey {
        &self.key
    }

    /// Advances the digests and returns the rows to write.
    pub(super) fn apply(&mut self, changes: DigestChanges, sequence: u64) -> Vec<DigestRow> {
        let advanced = advance(&mut self.whole, &mut self.scopes, changes, sequence);
        self.rows_of(&advanced, &self.whole)
    }

    /// The rows to write in a store that other processes write too: `read` gives the newest rows.
    /// The digests in memory stay unchanged, because the rows may be decided again.
    pub(super) fn apply_to_rows(
        &self,
        changes: DigestChanges,
        sequence: u64,
        mut read: impl FnMut(Table, &[u8]) -> Result<Option<Vec<u8>>, StorageFailure>,
    ) -> Result<Vec<DigestRow>, StorageFailure> {
        let damaged = || StorageFailure::Damaged(String::from("the digests of records"));
        let sealed = read(Table::Meta, meta::AUDIT_RECORDS)?.ok_or_else(damaged)?;
        let whole = open(&self.key, &WHOLE, Table::Meta, meta::AUDIT_RECORDS, &sealed);
        let mut whole = whole.ok_or_else(damaged)?;
        let mut scopes = BTreeMap::new();
        for scope in changes.0.keys() {
            let place = tables::digests(scope);
            if let Some(sealed) = read(Table::Counts, &place)? {
                let state = open(&self.key, scope, Table::Counts, &place, &sealed);
                scopes.insert(*scope, state.ok_or_else(damaged)?);
            }
        }
        let advanced = advance(&mut whole, &mut scopes, changes, sequence);
        Ok(self.rows_of(&advanced, &whole))
    }

    fn rows_of(&self, advanced: &[([u8; 16], DigestState)], whole: &DigestState) -> Vec<DigestRow> {
        if advanced.is_empty() {
            return Vec::new();
        }
        let rows = advanced.iter().map(|(scope, state)| self.row(scope, state));
        rows.chain([self.row_of_whole(whole)]).collect()
    }

    pub(super) fn keep(&self) -> Change {
        let rows = self.scopes.iter().map(|(scope, state)| self.row(scope, state));
        let rows = rows.chain([self.row_of_whole(&self.whole)]);
        rows.fold(Change::new(), |change, (table, key, value)| change.put(table, key, value))
    }

    fn row(&self, scope: &[u8; 16], state: &DigestState) -> DigestRow {
        let place = tables::digests(scope);
        let sealed = self.seal(scope, Table::Counts, &place, state);
        (Table::Counts, place, sealed)
    }

    fn row_of_whole(&self, whole: &DigestState) -> DigestRow {
        let sealed = self.seal(&WHOLE, Table::Meta, meta::AUDIT_RECORDS, whole);
        (Table::Meta, meta::AUDIT_RECORDS.to_vec(), sealed)
    }

    fn seal(&self, scope: &[u8; 16], table: Table, place: &[u8], tally: &DigestState) -> Vec<u8> {
        let mut plain = vec![VERSION];
        plain.extend(tally.generation.to_be_bytes());
        plain.extend(tally.sequence.to_be_bytes());
        plain.extend(tally.digest.encode().expose());
        self.key.seal(&identity(scope, table, place), &plain, &self.random)
    }
}

/// Returns the scopes whose records changed, with their new state.
fn advance(
    whole: &mut DigestState,
    scopes: &mut BTreeMap<[u8; 16], DigestState>,
    changes: DigestChanges,
    sequence: u64,
) -> Vec<([u8; 16], DigestState)> {
    let nothing = SetDigest::default();
    let changes: Vec<_> = changes.0.into_iter().filter(|(_, by)| *by != nothing).collect();
    if changes.is_empty() {
        return Vec::new();
    }
    // A 64-bit counter does not overflow at one generation per transaction.
    let generation = whole.generation.saturating_add(1);
    (whole.generation, whole.sequence) = (generation, sequence);
    let mut advanced = Vec::with_capacity(changes.len());
    for (scope, by) in changes {
        whole.digest.combine(&by);
        let state = scopes.entry(scope).or_default();
        state.digest.combine(&by);
        (state.generation, state.sequence) = (generation, sequence);
        advanced.push((scope, *state));
    }
    advanced
}

impl DigestChanges {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
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
        f.debug_struct("RecordDigests").field("whole", &self.whole).finish_non_exhaustive()
    }
}
