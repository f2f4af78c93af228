//! The audit chain as the file has it: rows that each carry on the link of the one before, its two
//! ends, and the signed checkpoints in between.
//!
//! A row stands under its tenant, so that a tenant's entries are one range; its number says where
//! it stands in the one chain of all. A row is `time (8), number of entries (2), sealed entries`.
//! Its link is SHA-256 over the previous link, scope, number, time, number of entries and the
//! sealed entries ([`crate::crypto::Link`]); the first row follows 32 zeros.
//!
//! A checkpoint says that the link was this when there were so many entries. It is signed with
//! Ed25519 over a label, the file's id, the number of entries, that of the checkpoint before it,
//! the time and the link: a checkpoint that is gone is missed by the next. When old entries are
//! removed, the place where the chain starts from then on is signed in the same way.

mod inspect;
mod rows;

pub use inspect::{ChainReport, Inspection};
pub use rows::{Rows, scopes};

use crate::crypto::{Link, LinkedRow, SIGNATURE_BYTES, SigningKey, is_signed_by};
use crate::domain::time::Timestamp;
use crate::store::change::SealedEntries;
use crate::store::{Change, Snapshot, StorageFailure, Table, tables};

/// The file's id, random, made with the file.
pub const META_FILE: &[u8] = b"file_id";
/// What checkpoints are checked with.
pub const META_PUBLIC_KEY: &[u8] = b"audit_public_key";
const META_START: &[u8] = b"audit_start";
const META_NEWEST: &[u8] = b"audit_newest_checkpoint";

/// Where the chain ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Head {
    /// The number of the next entry, which is how many there ever were.
    pub next: u64,
    pub link: Link,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    pub scope: [u8; 16],
    pub sequence: u64,
    pub at: Timestamp,
    pub count: u16,
    pub sealed: Vec<u8>,
}

/// A signed link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// How many entries there were.
    pub sequence: u64,
    /// The same of the checkpoint before it.
    pub previous: u64,
    pub at: Timestamp,
    pub link: Link,
    pub signature: [u8; SIGNATURE_BYTES],
}

/// What a signature is for, so that none can stand in another's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    Checkpoint,
    /// Where the chain starts, since what was before it has been removed.
    Start,
}

/// A checkpoint that is kept elsewhere, with all that is needed to check it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    pub file: [u8; 16],
    pub public_key: [u8; 32],
    pub checkpoint: Checkpoint,
}

impl Head {
    pub(super) const META: &[u8] = b"audit_head";

    #[must_use]
    pub(super) fn after(self, row: &AuditRow) -> Self {
        Self { next: row.end(), link: row.link_after(&self.link) }
    }

    pub(super) fn encode(self) -> Vec<u8> {
        [self.next.to_be_bytes().as_slice(), self.link.bytes()].concat()
    }

    /// A chain that was never begun has no head.
    pub(super) fn decode(value: Option<&[u8]>) -> Result<Self, StorageFailure> {
        let Some(value) = value else { return Ok(Self::default()) };
        let decoded = value.split_first_chunk().and_then(|(next, link)| {
            let link = Link::from_bytes(link.try_into().ok()?);
            Some(Self { next: u64::from_be_bytes(*next), link })
        });
        decoded.ok_or_else(|| StorageFailure::Damaged(String::from("the audit chain's head")))
    }

    pub fn read(snapshot: &Snapshot) -> Result<Self, StorageFailure> {
        Self::decode(snapshot.value(Table::Meta, Self::META)?.as_deref())
    }
}

impl AuditRow {
    pub(super) fn new(sequence: u64, entries: SealedEntries) -> Self {
        let SealedEntries { scope, at, count, sealed } = entries;
        Self { scope, sequence, at, count, sealed }
    }

    /// The number of the first entry behind this row.
    pub fn end(&self) -> u64 {
        self.sequence.saturating_add(u64::from(self.count))
    }

    pub fn link_after(&self, previous: &Link) -> Link {
        previous.follow(&LinkedRow {
            scope: &self.scope,
            sequence: self.sequence,
            time_micros: self.at.micros(),
            count: self.count,
            sealed: &self.sealed,
        })
    }

    pub fn key(&self) -> Vec<u8> {
        tables::audit(&self.scope, self.sequence)
    }

    pub(super) fn value(&self) -> Vec<u8> {
        [&self.at.micros().to_be_bytes(), self.count.to_be_bytes().as_slice(), &self.sealed]
            .concat()
    }

    /// `None` for what is no row.
    pub fn decode(key: &[u8], value: &[u8]) -> Option<Self> {
        let (scope, sequence) = tables::audit_of_key(key)?;
        let (at, rest) = value.split_first_chunk()?;
        let (count, sealed) = rest.split_first_chunk()?;
        Some(Self {
            scope,
            sequence,
            at: Timestamp::from_micros(i64::from_be_bytes(*at)),
            count: u16::from_be_bytes(*count),
            sealed: sealed.to_vec(),
        })
    }
}

impl Checkpoint {
    pub fn sign(
        key: &SigningKey,
        signed: Signed,
        file: &[u8; 16],
        head: Head,
        previous: u64,
        at: Timestamp,
    ) -> Self {
        let Head { next: sequence, link } = head;
        let unsigned = Self { sequence, previous, at, link, signature: [0; SIGNATURE_BYTES] };
        Self { signature: key.sign(&unsigned.message(signed, file)), ..unsigned }
    }

    pub fn is_signed_by(&self, public: &[u8; 32], signed: Signed, file: &[u8; 16]) -> bool {
        is_signed_by(public, &self.message(signed, file), &self.signature)
    }

    fn message(&self, signed: Signed, file: &[u8; 16]) -> Vec<u8> {
        let label: &[u8] = match signed {
            Signed::Checkpoint => b"strongroom audit checkpoint 1\0",
            Signed::Start => b"strongroom audit start 1\0",
        };
        [label, file, &self.sequence.to_be_bytes(), &self.body()].concat()
    }

    fn body(&self) -> Vec<u8> {
        let (previous, at) = (self.previous.to_be_bytes(), self.at.micros().to_be_bytes());
        [previous.as_slice(), &at, self.link.bytes()].concat()
    }

    fn value(&self) -> Vec<u8> {
        [self.body(), self.signature.to_vec()].concat()
    }

    fn decode(sequence: &[u8], value: &[u8]) -> Option<Self> {
        let (previous, rest) = value.split_first_chunk()?;
        let (at, rest) = rest.split_first_chunk()?;
        let (link, signature) = rest.split_first_chunk()?;
        Some(Self {
            sequence: u64::from_be_bytes(sequence.try_into().ok()?),
            previous: u64::from_be_bytes(*previous),
            at: Timestamp::from_micros(i64::from_be_bytes(*at)),
            link: Link::from_bytes(*link),
            signature: signature.try_into().ok()?,
        })
    }

    /// The newest one.
    pub fn newest(snapshot: &Snapshot) -> Result<Option<Self>, StorageFailure> {
        use std::ops::Bound::Unbounded;
        let last = snapshot.range(Table::AuditCheckpoints, Unbounded, Unbounded)?.next_back();
        Ok(last.transpose()?.and_then(|(key, value)| Self::decode(&key, &value)))
    }

    /// The oldest ones, in order.
    pub fn oldest(snapshot: &Snapshot, count_max: usize) -> Result<Vec<Self>, StorageFailure> {
        let stored = snapshot.under(Table::AuditCheckpoints, &[], count_max)?;
        Ok(stored.iter().filter_map(|(key, value)| Self::decode(key, value)).collect())
    }

    /// Where the chain starts, if not at its first entry.
    pub fn start(snapshot: &Snapshot) -> Result<Option<Self>, StorageFailure> {
        let value = snapshot.value(Table::Meta, META_START)?;
        Ok(value.as_deref().and_then(|value| {
            let (sequence, value) = value.split_at_checked(8)?;
            Self::decode(sequence, value)
        }))
    }

    /// The change that keeps it.
    pub fn keep(&self) -> Change {
        let key = tables::audit_checkpoints(self.sequence);
        Change::new()
            .expect_absent(Table::AuditCheckpoints, key.clone())
            .put(Table::Meta, META_NEWEST.to_vec(), key.clone())
            .put(Table::AuditCheckpoints, key, self.value())
    }

    /// The change after which the chain starts here: what is before it may go.
    pub fn keep_as_start(&self) -> Change {
        let value = [self.sequence.to_be_bytes().as_slice(), &self.value()].concat();
        Change::new().put(Table::Meta, META_START.to_vec(), value)
    }
}

/// The file's id and its public key; `None` before they were made.
pub fn identity(snapshot: &Snapshot) -> Result<Option<([u8; 16], [u8; 32])>, StorageFailure> {
    let file = snapshot.value(Table::Meta, META_FILE)?.and_then(|it| it.try_into().ok());
    let public = snapshot.value(Table::Meta, META_PUBLIC_KEY)?.and_then(|it| it.try_into().ok());
    Ok(file.zip(public))
}
