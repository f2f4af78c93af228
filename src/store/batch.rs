//! Turns several changes into rows. Each change is checked against the newest rows and the changes
//! before it. The rows of accepted changes are collected in key order.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Bound;

use crate::crypto::{self, DigestKey};
use crate::store::chain::row::{AuditRow, Head};
use crate::store::change::{Change, Expect, SealedEntries, Write};
use crate::store::closed::{ClosedScopes, scope_of};
use crate::store::digests::{ChangedShards, DigestChanges, DigestKeeper};
use crate::store::engine::{Order, Read, RowChange};
use crate::store::failure::StorageFailure;
use crate::store::shards::Shards;
use crate::store::shared::SharedBatch;
use crate::store::snapshot::{damaged_count, decode_count};
use crate::store::tables::{KeyRange, Shard, Table, meta};

/// The place of a row. Look-ups borrow the key.
type Place<'k> = (Table, Cow<'k, [u8]>);

/// Values by their places. A value of `None` deletes the row. One map holds all tables: most batches
/// have few rows in each.
type Values = BTreeMap<Place<'static>, Option<Vec<u8>>>;

const fn place(table: Table, key: &[u8]) -> Place<'_> {
    (table, Cow::Borrowed(key))
}

pub(super) struct Batch<'t> {
    pub(super) stored: &'t dyn Read,
    /// Values read so far: an expectation and the digests may need the same one.
    known: Values,
    pending: Values,
    /// The ends of the audit chains that a change has added a row to.
    heads: BTreeMap<Shard, Head>,
    shards: Shards,
    /// Updated with the records. `None` for a file without digests.
    pub(super) digests: Option<DigestKeeper<'t>>,
    /// `None` where no tenant can be under deletion.
    closed: Option<&'t ClosedScopes>,
    /// `None` for a store of one process.
    pub(super) shared: Option<SharedBatch<'t>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Applied,
    /// The change adds a row to a closed scope, so no part of it was written.
    Closed,
    /// An expectation did not hold, so no part of the change was written.
    Refused,
}

impl<'t> Batch<'t> {
    pub(super) fn new(stored: &'t dyn Read, digests: Option<DigestKeeper<'t>>) -> Self {
        Self {
            stored,
            known: Values::new(),
            pending: Values::new(),
            heads: BTreeMap::new(),
            shards: Shards::default(),
            digests,
            closed: None,
            shared: None,
        }
    }

    pub(super) const fn within(mut self, shards: Shards) -> Self {
        self.shards = shards;
        self
    }

    /// Refuses changes that add rows to these scopes. A change that closes a scope adds to them.
    pub(super) const fn respecting(mut self, closed: &'t ClosedScopes) -> Self {
        self.closed = Some(closed);
        self
    }

    /// Notes a value that was read, or a row that is assumed to be absent.
    pub(super) fn know(&mut self, table: Table, key: Vec<u8>, value: Option<Vec<u8>>) {
        self.known.insert((table, Cow::Owned(key)), value);
    }

    /// Like [`Batch::take`]; `None` if this process may not write the change to a shared store.
    pub(super) fn take_if_allowed(
        &mut self,
        change: Change,
    ) -> Result<Option<Verdict>, StorageFailure> {
        Ok(if self.may_write(&change)? { Some(self.take(change)?) } else { None })
    }

    pub(super) fn take(&mut self, mut change: Change) -> Result<Verdict, StorageFailure> {
        if let Some(what) = change.refusal() {
            return Err(StorageFailure::Impossible(what));
        }
        let closed = self.closed_writes(&change)?;
        if change.passes_over_closed {
            let mut closed = closed.into_iter();
            change.writes.retain(|_| !closed.next().unwrap_or(false));
        } else if closed.contains(&true) {
            return Ok(Verdict::Closed);
        }
        for expect in std::mem::take(&mut change.expects) {
            if !self.holds(expect)? {
                return Ok(Verdict::Refused);
            }
        }
        if let (Some(closed), Some(scope)) = (self.closed, change.closes) {
            closed.insert(scope);
        }
        if self.shared.is_some() {
            self.advance_generations(&change)?;
        }
        for write in change.writes {
            match write {
                Write::Add(key, by) => {
                    let new = self.count(&key)?.checked_add(by).ok_or_else(damaged_count)?;
                    self.pend(Table::Counts, key, Some(new.to_be_bytes().to_vec()));
                }
                Write::Audit(entries) => self.lengthen(entries)?,
                Write::Delete(table, key) => self.pend(table, key, None),
                Write::Put(table, key, value) => self.pend(table, key, Some(value)),
            }
        }
        Ok(Verdict::Applied)
    }

    /// For each write, whether it adds a row to a closed scope. Empty if no write can.
    fn closed_writes(&mut self, change: &Change) -> Result<Vec<bool>, StorageFailure> {
        let Some(closed) = self.closed else { return Ok(Vec::new()) };
        if self.shared.is_none() {
            let is_closed = |write| closed.take_no(write);
            let any = change.writes.iter().any(is_closed);
            return Ok(if any {
                change.writes.iter().map(is_closed).collect()
            } else {
                Vec::new()
            });
        }
        let (mut last, mut found) = (None, Vec::with_capacity(change.writes.len()));
        for write in &change.writes {
            let Some(scope) = scope_of(write) else {
                found.push(false);
                continue;
            };
            let is_closed = match last {
                // Most writes of a change are of one scope.
                Some((known, is_closed)) if known == scope => is_closed,
                _ => closed.contains(&scope) || self.is_of_deleted_tenant(change, scope)?,
            };
            last = Some((scope, is_closed));
            found.push(is_closed);
        }
        Ok(found)
    }

    /// The rows to write, in table and key order.
    pub(super) fn rows(mut self) -> Result<Vec<RowChange>, StorageFailure> {
        if let Some(digests) = self.digests.take() {
            let changes = self.digest_changes(digests.key())?;
            let mut touched = ChangedShards::default();
            touched.extend(self.heads.iter().map(|(shard, head)| (*shard, head.next)));
            for scope in changes.scopes() {
                let shard = self.shards.of_scope(scope);
                touched.insert(shard, self.head(shard)?.next);
            }
            let rows = match digests {
                DigestKeeper::Own(digests) => digests.apply(changes, &touched),
                DigestKeeper::Shared(sealer) => {
                    sealer.apply_to_rows(changes, &touched, |table, key| self.value(table, key))?
                }
            };
            for (table, key, value) in rows {
                self.pend(table, key, Some(value));
            }
        }
        self.pend_generations();
        for (shard, head) in std::mem::take(&mut self.heads) {
            self.pend(Table::Meta, meta::audit_head(shard), Some(head.encode()));
        }
        self.check_turns()?;
        let row = |((table, key), value): (Place<'_>, _)| RowChange {
            table,
            key: key.into_owned(),
            value,
        };
        Ok(self.pending.into_iter().map(row).collect())
    }

    /// A row that is written without the turn of its shard could be lost.
    fn check_turns(&self) -> Result<(), StorageFailure> {
        let Some(turns) = self.shared.as_ref().map(SharedBatch::turns) else { return Ok(()) };
        let mut places =
            self.pending.keys().filter_map(|(table, key)| self.shards.of_row(*table, key));
        if places.all(|shard| turns.contains(&shard)) {
            return Ok(());
        }
        Err(StorageFailure::Impossible("a batch changes a shard without its turn"))
    }

    /// The changes to the digests of records.
    fn digest_changes(&self, digest_key: &DigestKey) -> Result<DigestChanges, StorageFailure> {
        let mut changes = DigestChanges::default();
        for (place @ (table, key), new) in
            self.pending.iter().filter(|((it, _), _)| it.is_digested())
        {
            let stored;
            let old = if let Some(known) = self.known.get(place) {
                known
            } else {
                stored = self.stored.get(*table, key)?;
                &stored
            };
            changes.take(digest_key, *table, key, old.as_deref(), new.as_deref())?;
        }
        Ok(changes)
    }

    pub(super) const fn shards(&self) -> Shards {
        self.shards
    }

    pub(super) fn head(&self, shard: Shard) -> Result<Head, StorageFailure> {
        if let Some(head) = self.heads.get(&shard) {
            return Ok(*head);
        }
        match self.read(Table::Meta, &meta::audit_head(shard))? {
            Some(value) => Head::decode(shard, &value),
            None => Ok(Head::first(shard)),
        }
    }

    /// Appends a row to the audit chain of its shard, and assigns its number and its link.
    fn lengthen(&mut self, entries: SealedEntries) -> Result<(), StorageFailure> {
        let shard = self.shards.of_scope(&entries.scope);
        let head = self.head(shard)?;
        let row = AuditRow::new(head.next, entries);
        // A head whose number would leave the shard is damage: the next row would overwrite
        // another one.
        if row.end() > shard.entries().end {
            return Err(StorageFailure::Damaged(String::from(
                "the audit chain's head makes no sense",
            )));
        }
        // A head that points at an existing row is damaged. The row must stay.
        let key = row.key();
        let found = match self.noted(Table::Audit, &key) {
            Some(known) => known.is_some(),
            None => self.stored.get(Table::Audit, &key)?.is_some(),
        };
        if found {
            return Err(StorageFailure::Damaged(String::from(
                "the audit chain's head is before its last entry",
            )));
        }
        self.heads.insert(shard, head.after(&row));
        self.pend(Table::Audit, key, Some(row.value()));
        Ok(())
    }

    pub(super) fn pend(&mut self, table: Table, key: Vec<u8>, value: Option<Vec<u8>>) {
        self.pending.insert((table, Cow::Owned(key)), value);
    }

    fn holds(&mut self, expect: Expect) -> Result<bool, StorageFailure> {
        Ok(match expect {
            Expect::Absent(table, key, base) => {
                if let Some(value) = self.noted(table, &key) {
                    return Ok(value.is_none());
                }
                let value = self.stored.get_new(table, &key, base)?;
                let is_absent = value.is_none();
                self.know(table, key, value);
                is_absent
            }
            Expect::CountsAtMost(keys, most) => {
                let mut sum = 0_i64;
                for key in keys {
                    sum = sum.checked_add(self.count(&key)?).ok_or_else(damaged_count)?;
                }
                sum <= most
            }
            Expect::Is(table, key, version) => {
                let value = self.value(table, &key)?;
                value.and_then(|value| crypto::version(&value)) == Some(version)
            }
            Expect::Present(table, key) => self.value(table, &key)?.is_some(),
            Expect::Keys(range, keys) => {
                self.keys_of(&range, keys.len().saturating_add(1))? == keys
            }
            Expect::RowsAtMost(range, most) => {
                self.keys_of(&range, most.saturating_add(1))?.len() <= most
            }
            Expect::Value(table, key, value) => self.value(table, &key)? == Some(value),
        })
    }

    fn count(&self, key: &[u8]) -> Result<i64, StorageFailure> {
        decode_count(self.read(Table::Counts, key)?)
    }

    /// A value that the batch has written or read; `None` for other keys.
    fn noted<'k>(&'k self, table: Table, key: &'k [u8]) -> Option<&'k Option<Vec<u8>>> {
        let values: [&BTreeMap<Place<'_>, _>; 2] = [&self.pending, &self.known];
        values.into_iter().find_map(|values| values.get(&place(table, key)))
    }

    /// A value that nothing else in the batch needs.
    fn read<'k>(
        &'k self,
        table: Table,
        key: &'k [u8],
    ) -> Result<Option<Cow<'k, [u8]>>, StorageFailure> {
        Ok(match self.noted(table, key) {
            Some(value) => value.as_deref().map(Cow::Borrowed),
            None => self.stored.get(table, key)?.map(Cow::Owned),
        })
    }

    pub(super) fn value(
        &mut self,
        table: Table,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>, StorageFailure> {
        if let Some(value) = self.noted(table, key) {
            return Ok(value.clone());
        }
        let stored = self.stored.get(table, key)?;
        self.know(table, key.to_vec(), stored.clone());
        Ok(stored)
    }

    fn keys_of(
        &mut self,
        range: &KeyRange,
        count_max: usize,
    ) -> Result<Vec<Vec<u8>>, StorageFailure> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let table = range.table();
        let from = match range.bounds().0 {
            Bound::Unbounded => Bound::Included(place(table, &[])),
            from @ (Bound::Excluded(_) | Bound::Included(_)) => from.map(|key| place(table, key)),
        };
        let pending: &BTreeMap<Place<'_>, _> = &self.pending;
        let added = pending.range((from, Bound::Unbounded));
        let added = added.take_while(|((of, key), _)| *of == table && range.contains(key));
        let mut keys: Vec<Vec<u8>> = added
            .filter(|(_, value)| value.is_some())
            .map(|((_, key), _)| key.to_vec())
            .take(count_max)
            .collect();
        let mut found = 0;
        let mut rest = Some(range.clone());
        while let Some(range) = rest.take().filter(|_| found < count_max) {
            let page = self.stored.page(&range, Order::Ascending, count_max)?;
            rest = page
                .rows
                .last()
                .filter(|_| !page.is_last)
                .map(|(last, _)| range.starting_after(last));
            for (key, _) in page.rows {
                if found < count_max && !pending.contains_key(&place(table, &key)) {
                    keys.push(key);
                    found = found.saturating_add(1);
                }
            }
        }
        keys.sort_unstable();
        keys.truncate(count_max);
        Ok(keys)
    }
}
