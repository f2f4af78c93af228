//! The audit chain as the file has it: rows that each carry on the link of the one before, its two
//! ends, and the signed checkpoints in between.
//!
//! A row stands under its tenant, so that a tenant's entries are one range; its number says where
//! it stands in the one chain of all. A row is `time (8), number of entries (2), sealed entries`.
//! Its link is SHA-256 over the previous link, scope, number, time, number of entries and the
//! sealed entries ([`crate::crypto::Link`]); the first row follows 32 zeros.
//!
//! A checkpoint says that the link was this when there were so many entries, what the checkpoint
//! before it was, so that one that is gone is missed by the next, and what the live records were. It is
//! signed ([`checkpoint`]). When old entries are removed, the place where the chain starts from then on
//! is signed in the same way. The keys that sign, one after the other, are [`signers`].

pub mod checkpoint;
mod inspect;
mod rows;
pub mod signers;

pub use checkpoint::{Checkpoint, Extent, RecordState, SignatureKind, Statement};
pub use inspect::{ChainReport, Inspection, TrustAnchors};
pub use rows::{ChainRows, scopes};
pub use signers::{Handover, Signer, Signers};

use crate::crypto::{Link, LinkedRow};
use crate::domain::time::Timestamp;
use crate::store::change::SealedEntries;
use crate::store::tables::meta;
use crate::store::{Snapshot, StorageFailure, Table, tables};

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

/// A checkpoint that is kept elsewhere, with all that is needed to check it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    pub file: [u8; 16],
    pub public_key: [u8; 32],
    pub checkpoint: Checkpoint,
}

impl Head {
    #[must_use]
    pub fn after(self, row: &AuditRow) -> Self {
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
        Self::decode(snapshot.value(Table::Meta, meta::AUDIT_HEAD)?.as_deref())
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
