//! A write as a value: what it expects to find, and what it puts in its place.
//!
//! An operation decides on a snapshot; by the time the writer comes to its change, others may have
//! written. So the change says what the decision rested on, and the writer applies it only if that
//! still holds. Deduplication, predefined ids, merge patches and conversions are all this.

use crate::crypto::Version;
use crate::domain::time::Timestamp;
use crate::store::tables::{KeyRange, Table};

#[derive(Debug, Clone, Default)]
pub struct Change {
    pub(super) expects: Vec<Expect>,
    pub(super) writes: Vec<Write>,
    /// Set by [`Change::impossible`].
    pub(super) impossible: Option<&'static str>,
}

#[derive(Debug, Clone)]
pub(super) enum Expect {
    Absent(Table, Vec<u8>),
    /// Numbers in [`Table::Counts`] that together are at most this.
    CountsAtMost(Vec<Vec<u8>>, i64),
    /// The sealed value is still the one that was read.
    Is(Table, Vec<u8>, Version),
    /// There is something, whatever its version.
    Present(Table, Vec<u8>),
    /// The keys of this range are still exactly these. As many as these and one more are read.
    Keys(KeyRange, Vec<Vec<u8>>),
    /// The value, which is in clear, is still this one.
    Value(Table, Vec<u8>, Vec<u8>),
}

#[derive(Debug, Clone)]
pub(super) enum Write {
    Add(Vec<u8>, i64),
    Audit(SealedEntries),
    Delete(Table, Vec<u8>),
    Put(Table, Vec<u8>, Vec<u8>),
}

/// Entries of the audit chain. Their numbers and their link are the writer's to give, since it
/// alone knows the order of things.
#[derive(Debug, Clone)]
pub struct SealedEntries {
    /// A tenant, or zeros for the server.
    pub scope: [u8; 16],
    pub at: Timestamp,
    pub count: u16,
    pub sealed: Vec<u8>,
}

impl Change {
    pub fn new() -> Self {
        Self::default()
    }

    /// A change that is never written, nor anything that it becomes a part of: the program met a
    /// state that it rules out.
    pub fn impossible(what: &'static str) -> Self {
        Self { impossible: Some(what), ..Self::default() }
    }

    #[must_use]
    pub fn expect_absent(mut self, table: Table, key: Vec<u8>) -> Self {
        self.expects.push(Expect::Absent(table, key));
        self
    }

    /// What these numbers in [`Table::Counts`] are together, before this change adds to them.
    #[must_use]
    pub fn expect_counts_at_most(mut self, keys: Vec<Vec<u8>>, most: i64) -> Self {
        self.expects.push(Expect::CountsAtMost(keys, most));
        self
    }

    #[must_use]
    pub fn expect_version(mut self, table: Table, key: Vec<u8>, version: Version) -> Self {
        self.expects.push(Expect::Is(table, key, version));
        self
    }

    #[must_use]
    pub fn expect_present(mut self, table: Table, key: Vec<u8>) -> Self {
        self.expects.push(Expect::Present(table, key));
        self
    }

    #[must_use]
    pub fn expect_keys(mut self, range: KeyRange, keys: Vec<Vec<u8>>) -> Self {
        self.expects.push(Expect::Keys(range, keys));
        self
    }

    #[must_use]
    pub fn expect_value(mut self, table: Table, key: Vec<u8>, value: Vec<u8>) -> Self {
        self.expects.push(Expect::Value(table, key, value));
        self
    }

    #[must_use]
    pub fn put(mut self, table: Table, key: Vec<u8>, sealed: Vec<u8>) -> Self {
        self.writes.push(Write::Put(table, key, sealed));
        self
    }

    #[must_use]
    pub fn delete(mut self, table: Table, key: Vec<u8>) -> Self {
        self.writes.push(Write::Delete(table, key));
        self
    }

    /// How much the change adds to a number in [`Table::Counts`].
    pub fn added(&self, key: &[u8]) -> i64 {
        self.writes.iter().fold(0, |sum, write| match write {
            Write::Add(known, by) if known == key => sum.saturating_add(*by),
            Write::Add(..) | Write::Audit(_) | Write::Delete(..) | Write::Put(..) => sum,
        })
    }

    /// Adds to a number in [`Table::Counts`]; needs no expectation, since addition commutes.
    #[must_use]
    pub fn count(mut self, key: Vec<u8>, by: i64) -> Self {
        self.writes.push(Write::Add(key, by));
        self
    }

    /// Adds a row to the audit chain: it is there if and only if the rest of the change is.
    #[must_use]
    pub fn audit(mut self, entries: SealedEntries) -> Self {
        self.writes.push(Write::Audit(entries));
        self
    }

    /// Another change's expectations and writes as part of this one.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.expects.extend(other.expects);
        self.writes.extend(other.writes);
        self.impossible = self.impossible.or(other.impossible);
        self
    }

    /// Nothing to expect and nothing to write.
    pub(super) const fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.expects.is_empty() && self.impossible.is_none()
    }

    /// Whether it touches what callers are made of, so that remembered callers must be forgotten.
    pub(super) fn concerns_access(&self) -> bool {
        self.writes.iter().any(|write| match write {
            Write::Add(..) | Write::Audit(_) => false,
            Write::Delete(table, _) | Write::Put(table, ..) => matches!(
                table,
                Table::ApiKeys
                    | Table::ApplicationKeys
                    | Table::Applications
                    | Table::Keys
                    | Table::Tenants
            ),
        })
    }
}
