//! A write as a value: the rows that it expects and the rows that it writes.
//!
//! An operation decides on a snapshot, and other changes may be committed before the writer applies
//! its change. A change therefore lists the expectations that the decision is based on, and the
//! writer applies it only if they still hold. Deduplication, predefined ids, merge patches and
//! conversions all rely on this.

use serde_json::{Map, Value};
use smallvec::{Array, SmallVec};

use crate::bounds::WRITE_BYTES;
use crate::crypto::Version;
use crate::domain::audit::Actor;
use crate::domain::id::TenantId;
use crate::domain::origin::TraceId;
use crate::domain::time::Timestamp;
use crate::domain::webhook::EventKind;
use crate::store::authority::Authority;
use crate::store::closed::scope_of;
use crate::store::engine::BaseNumber;
use crate::store::tables::{KeyRange, Table, meta, tenant_of_scope};

#[derive(Debug, Clone, Default)]
pub struct Change {
    pub(super) expects: SmallVec<[Expect; 1]>,
    pub(super) writes: SmallVec<[Write; 2]>,
    /// Events that are not rows yet. The change cannot be written before [`Change::take_events`].
    events: Vec<NewEvent>,
    /// Set by [`Change::impossible`].
    impossible: Option<&'static str>,
    /// Set by [`Change::close_scope`].
    pub(super) closes: Option<[u8; 16]>,
    /// Set by [`Change::passing_over_closed`].
    pub(super) passes_over_closed: bool,
    /// Set by [`Change::by`].
    pub(super) authority: Authority,
    /// Set by [`Change::of_process`].
    pub(super) is_of_process: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Expect {
    /// Known to be absent from this base.
    Absent(Table, Vec<u8>, BaseNumber),
    /// The sum of these numbers in [`Table::Counts`] is at most this.
    CountsAtMost(Vec<Vec<u8>>, i64),
    /// The sealed value is still the one that was read.
    Is(Table, Vec<u8>, Version),
    /// The row exists, in any version.
    Present(Table, Vec<u8>),
    /// The range still has exactly these keys. The check reads one key more than the list has.
    Keys(KeyRange, Vec<Vec<u8>>),
    /// The range has at most this many rows. The check reads one row more.
    RowsAtMost(KeyRange, usize),
    /// The value, stored in clear, is still the same.
    Value(Table, Vec<u8>, Vec<u8>),
}

#[derive(Debug, Clone)]
pub(super) enum Write {
    Add(Vec<u8>, i64),
    Audit(SealedEntries),
    Delete(Table, Vec<u8>),
    Put(Table, Vec<u8>, Vec<u8>),
}

impl Write {
    /// At least the bytes that the write adds to a frame of the log.
    fn bytes(&self) -> usize {
        let bytes = match self {
            Self::Add(key, _) | Self::Delete(_, key) => key.len(),
            Self::Audit(entries) => entries.sealed.len(),
            Self::Put(_, key, value) => key.len().saturating_add(value.len()),
        };
        bytes.saturating_add(WRITE_BYTES)
    }
}

/// Entries of the audit chain. The writer assigns their numbers and their link, because it decides
/// the order of changes.
#[derive(Debug, Clone)]
pub struct SealedEntries {
    /// The tenant's id, or zeros for the server.
    pub scope: [u8; 16],
    pub at: Timestamp,
    pub count: u16,
    pub sealed: Vec<u8>,
}

/// An event of webhooks. Before the commit it becomes a row for each webhook that subscribes to it.
#[derive(Clone)]
pub struct NewEvent {
    pub tenant: TenantId,
    pub actor: Actor,
    pub kind: EventKind,
    pub at: Timestamp,
    /// The trace of the request that caused the event.
    pub trace: Option<TraceId>,
    /// The members of `data` without the actor.
    pub data: Map<String, Value>,
}

// `data` holds the caller's names and metadata.
opaque_debug!(NewEvent);

impl Change {
    pub fn new() -> Self {
        Self::default()
    }

    /// A change for a state that the program rules out. It is never written, nor is a change that
    /// contains it.
    pub fn impossible(what: &'static str) -> Self {
        Self { impossible: Some(what), ..Self::default() }
    }

    #[must_use]
    pub fn expect_absent(self, table: Table, key: Vec<u8>) -> Self {
        self.expect_new(table, key, BaseNumber::default())
    }

    /// As [`Change::expect_absent`], for a row that is known to be absent from this base: the writer need not look
    /// there again.
    #[must_use]
    pub fn expect_new(mut self, table: Table, key: Vec<u8>, base: BaseNumber) -> Self {
        self.expects.push(Expect::Absent(table, key, base));
        self
    }

    /// Limits the sum of these numbers in [`Table::Counts`] before this change adds to them.
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

    /// Limits the number of rows in the range before this change adds to them.
    #[must_use]
    pub fn expect_rows_at_most(mut self, range: KeyRange, most: usize) -> Self {
        self.expects.push(Expect::RowsAtMost(range, most));
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

    /// The amount that the change adds to a number in [`Table::Counts`].
    pub fn added(&self, key: &[u8]) -> i64 {
        self.writes.iter().fold(0, |sum, write| match write {
            Write::Add(known, by) if known == key => sum.saturating_add(*by),
            Write::Add(..) | Write::Audit(_) | Write::Delete(..) | Write::Put(..) => sum,
        })
    }

    /// Adds to a number in [`Table::Counts`]. It needs no expectation, because addition commutes.
    #[must_use]
    pub fn count(mut self, key: Vec<u8>, by: i64) -> Self {
        self.writes.push(Write::Add(key, by));
        self
    }

    /// Adds a row to the audit chain. It is written if and only if the rest of the change is.
    #[must_use]
    pub fn audit(mut self, entries: SealedEntries) -> Self {
        self.writes.push(Write::Audit(entries));
        self
    }

    #[must_use]
    pub fn event(mut self, event: NewEvent) -> Self {
        self.events.push(event);
        self
    }

    pub fn take_events(&mut self) -> Vec<NewEvent> {
        std::mem::take(&mut self.events)
    }

    pub(super) fn refusal(&self) -> Option<&'static str> {
        let events = (!self.events.is_empty()).then_some("events of webhooks are no rows yet");
        self.impossible.or(events)
    }

    /// Closes the scope of a deleted tenant: from this change on, the writer refuses changes that
    /// add a row to it, with [`crate::store::Verdict::Closed`]. Rows can still be deleted.
    #[must_use]
    pub fn close_scope(mut self, scope: [u8; 16], at: Timestamp) -> Self {
        self.closes = Some(scope);
        self.put(Table::Meta, meta::deletion(&scope), meta::deletion_value(at))
    }

    /// Leaves out rows of closed scopes instead of refusing the change, for changes with rows of
    /// many tenants. [`Change::and`] does not take this over from the other change.
    #[must_use]
    pub const fn passing_over_closed(mut self) -> Self {
        self.passes_over_closed = true;
        self
    }

    /// Limits the processes that may write the change to a shared store.
    #[must_use]
    pub const fn by(mut self, authority: Authority) -> Self {
        self.authority = authority;
        self
    }

    /// Marks a change to [`Table::Processes`]. A process writes it even while it is not a live
    /// process.
    #[must_use]
    pub(super) const fn of_process(mut self) -> Self {
        self.is_of_process = true;
        self
    }

    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        append(&mut self.expects, other.expects);
        append(&mut self.writes, other.writes);
        self.events.extend(other.events);
        self.impossible = self.impossible.or(other.impossible);
        self.closes = self.closes.or(other.closes);
        self.authority = self.authority.and(other.authority);
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.expects.is_empty() && self.refusal().is_none()
    }

    /// The bytes of all writes, which the bounds of a change, a batch and the queue count.
    pub fn bytes(&self) -> usize {
        self.writes.iter().map(Write::bytes).fold(0, usize::saturating_add)
    }

    /// The tenant whose share of the queue the change takes. The vault's own changes, some with
    /// rows of many tenants, have the share of the server's scope.
    pub(super) fn payer(&self) -> TenantId {
        let is_of_vault = self.passes_over_closed || self.authority != Authority::Anyone;
        let scope = self.writes.iter().find_map(scope_of).filter(|_| !is_of_vault);
        tenant_of_scope(&scope.unwrap_or_default())
    }

    /// Returns true if the change affects tenants, applications or API keys: cached callers become
    /// invalid.
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

    /// Returns true if the change affects webhooks: cached subscriptions become invalid.
    pub(super) fn concerns_webhooks(&self) -> bool {
        self.writes.iter().any(|write| match write {
            Write::Add(..) | Write::Audit(_) => false,
            Write::Delete(table, _) | Write::Put(table, ..) => *table == Table::Webhooks,
        })
    }
}

/// An empty list takes the other one over.
fn append<A: Array>(list: &mut SmallVec<A>, mut more: SmallVec<A>) {
    if list.is_empty() {
        *list = more;
    } else {
        list.append(&mut more);
    }
}
