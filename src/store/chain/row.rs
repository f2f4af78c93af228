//! The rows of a chain and its head.

use crate::crypto::{Link, LinkedRow};
use crate::domain::time::Timestamp;
use crate::store::change::SealedEntries;
use crate::store::failure::StorageFailure;
use crate::store::tables::{self, Shard};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Head {
    /// The number of the next entry: the number of entries ever written.
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

impl Head {
    #[must_use]
    pub fn after(self, row: &AuditRow) -> Self {
        Self { next: row.end(), link: row.link_after(&self.link) }
    }

    pub(in crate::store) fn encode(self) -> Vec<u8> {
        [self.next.to_be_bytes().as_slice(), self.link.bytes()].concat()
    }

    /// The head of a chain without rows, which is not stored.
    pub fn first(shard: Shard) -> Self {
        Self { next: shard.entries().start, link: Link::default() }
    }

    pub(in crate::store) fn decode(shard: Shard, value: &[u8]) -> Result<Self, StorageFailure> {
        let decoded = value.split_first_chunk().and_then(|(next, link)| {
            let link = Link::from_bytes(link.try_into().ok()?);
            Some(Self { next: u64::from_be_bytes(*next), link })
        });
        let entries = shard.entries();
        // The number after the last one is the next shard's first.
        decoded
            .filter(|head| entries.contains(&head.next) || head.next == entries.end)
            .ok_or_else(|| StorageFailure::Damaged(String::from("the audit chain's head")))
    }
}

impl AuditRow {
    pub(in crate::store) fn new(sequence: u64, entries: SealedEntries) -> Self {
        let SealedEntries { scope, at, count, sealed } = entries;
        Self { scope, sequence, at, count, sealed }
    }

    /// The number of the first entry after this row.
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

    pub(in crate::store) fn value(&self) -> Vec<u8> {
        [&self.at.micros().to_be_bytes(), self.count.to_be_bytes().as_slice(), &self.sealed]
            .concat()
    }

    /// Returns `None` for bytes that are not a row.
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
