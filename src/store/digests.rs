//! The digests of live records: for the whole file and for each scope, one value that every change of
//! a record moves on in the same transaction.
//!
//! A sealed record opens wherever its key, its table and its place are right, also long after it was
//! deleted: a row that is put back into the file works again. Its digest does not fit any more, since
//! only the writer moves the digests on, and they are sealed under a key of their own.
//!
//! Counted are the records of every table that a tenant, the server or the master key seals; card
//! verification codes are not, since their keys are destroyed. A row is a version byte (1), the
//! generation (8), the chain's length (8) and the digest (40), sealed. A generation is one transaction
//! that changed records. The rows of scopes are in [`Table::Counts`], that of the whole in
//! [`Table::Meta`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use crate::crypto::{DigestKey, Identity, Random, SetDigest, version};
use crate::store::change::Change;
use crate::store::failure::StorageFailure;
use crate::store::snapshot::Snapshot;
use crate::store::tables::meta;
use crate::store::tables::{self, Table};

const WHOLE: [u8; 16] = [0; 16];
const VERSION: u8 = 1;

/// A scope's records, or all of them, after the last change of any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DigestState {
    /// Of the transaction that changed them last.
    pub generation: u64,
    /// How many entries the audit chain had after it.
    pub sequence: u64,
    pub digest: SetDigest,
}

/// What the writer keeps in memory, and what a check compares with.
pub struct RecordDigests {
    key: DigestKey,
    random: Random,
    whole: DigestState,
    scopes: BTreeMap<[u8; 16], DigestState>,
}

/// The writer's, and that of [`crate::store::Store::amend`]; `None` until [`crate::store::Store::keep_digests`].
pub(super) type SharedDigests = Arc<Mutex<Option<RecordDigests>>>;

/// What one transaction does to the records of each scope.
#[derive(Debug, Default)]
pub(super) struct DigestChanges(BTreeMap<[u8; 16], SetDigest>);

/// What is wrong with the digests of a file when it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DigestFault {
    /// Those of the scopes do not add up to that of the whole.
    DoNotAddUp,
    /// They are gone, or do not open.
    Missing,
}

impl RecordDigests {
    /// As the file has them. `None` when there are none, or when a row does not open: it is of another
    /// file, or damaged.
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

    /// That of all records alone; `None` where it is missing or does not open.
    pub fn whole_of(
        snapshot: &Snapshot,
        key: &DigestKey,
    ) -> Result<Option<DigestState>, StorageFailure> {
        let sealed = snapshot.value(Table::Meta, meta::AUDIT_RECORDS)?;
        Ok(sealed.and_then(|sealed| open(key, &WHOLE, Table::Meta, meta::AUDIT_RECORDS, &sealed)))
    }

    /// By looking at every record.
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
        digests.advance(counted, head.next);
        Ok(digests)
    }

    pub const fn whole(&self) -> &DigestState {
        &self.whole
    }

    pub fn scopes(&self) -> impl Iterator<Item = (&[u8; 16], &DigestState)> {
        self.scopes.iter()
    }

    /// The scope's records; none where none ever were.
    pub fn of(&self, scope: &[u8; 16]) -> SetDigest {
        self.scopes.get(scope).map(|tally| tally.digest).unwrap_or_default()
    }

    /// Whether the scopes together have the records of the whole.
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
    pub(super) fn apply(
        &mut self,
        changes: DigestChanges,
        sequence: u64,
    ) -> Vec<(Table, Vec<u8>, Vec<u8>)> {
        let advanced = self.advance(changes, sequence);
        if advanced.is_empty() {
            return Vec::new();
        }
        let rows = advanced.iter().map(|(scope, state)| self.row(scope, state));
        rows.chain([self.row_of_whole()]).collect()
    }

    /// The change that writes all of them.
    pub(super) fn keep(&self) -> Change {
        let rows = self.scopes.iter().map(|(scope, state)| self.row(scope, state));
        let rows = rows.chain([self.row_of_whole()]);
        rows.fold(Change::new(), |change, (table, key, value)| change.put(table, key, value))
    }

    /// The scopes whose records changed, with their new state.
    fn advance(&mut self, changes: DigestChanges, sequence: u64) -> Vec<([u8; 16], DigestState)> {
        let nothing = SetDigest::default();
        let changes: Vec<_> = changes.0.into_iter().filter(|(_, by)| *by != nothing).collect();
        if changes.is_empty() {
            return Vec::new();
        }
        // One per transaction: 64 bits outlast every file.
        let generation = self.whole.generation.saturating_add(1);
        (self.whole.generation, self.whole.sequence) = (generation, sequence);
        let mut advanced = Vec::with_capacity(changes.len());
        for (scope, by) in changes {
            self.whole.digest.combine(&by);
            let state = self.scopes.entry(scope).or_default();
            state.digest.combine(&by);
            (state.generation, state.sequence) = (generation, sequence);
            advanced.push((scope, *state));
        }
        advanced
    }

    fn row(&self, scope: &[u8; 16], state: &DigestState) -> (Table, Vec<u8>, Vec<u8>) {
        let place = tables::digests(scope);
        let sealed = self.seal(scope, Table::Counts, &place, state);
        (Table::Counts, place, sealed)
    }

    fn row_of_whole(&self) -> (Table, Vec<u8>, Vec<u8>) {
        let sealed = self.seal(&WHOLE, Table::Meta, meta::AUDIT_RECORDS, &self.whole);
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

impl DigestChanges {
    /// A row of a table got this value in place of that one.
    pub(super) fn take(
        &mut self,
        key: &DigestKey,
        table: Table,
        place: &[u8],
        old: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<(), StorageFailure> {
        let Some(scope) = table.digest_scope(place) else {
            // Damage may have left such a row, which `verify` reports. A change never makes one.
            return match new {
                Some(_) => Err(StorageFailure::Impossible("a record has no scope")),
                None => Ok(()),
            };
        };
        let digest = self.0.entry(scope).or_default();
        if let Some(old) = old {
            // A damaged value may be too short to have a version. [`Self::found`] counted it so.
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

    /// A row that is in the file, damaged or not.
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
