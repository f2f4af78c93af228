//! Applies several changes in one transaction. Each change is checked against the file and the
//! changes before it. The writes of the accepted changes are collected and inserted in key order.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use redb::{ReadableTable, WriteTransaction};

use crate::crypto;
use crate::store::chain::row::{AuditRow, Head};
use crate::store::change::{Change, Expect, SealedEntries, Write};
use crate::store::digests::{DigestChanges, RecordDigests};
use crate::store::failure::StorageFailure;
use crate::store::snapshot::{damaged_count, decode_count};
use crate::store::tables::{KeyRange, Table, meta};

type OpenTable<'t> = redb::Table<'t, &'static [u8], &'static [u8]>;

/// The new values of keys. `None` deletes the key.
type Pending = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

pub(super) struct Batch<'t> {
    transaction: &'t WriteTransaction,
    /// Each table is opened once, because most changes read the same few tables.
    tables: BTreeMap<Table, OpenTable<'t>>,
    pending: BTreeMap<Table, Pending>,
    /// The end of the audit chain, once a change has added a row to it.
    head: Option<Head>,
    /// Updated with the records. `None` for a file without digests.
    digests: Option<&'t mut RecordDigests>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Applied,
    /// An expectation did not hold, so no part of the change was written.
    Refused,
}

impl<'t> Batch<'t> {
    pub(super) fn new(
        transaction: &'t WriteTransaction,
        digests: Option<&'t mut RecordDigests>,
    ) -> Self {
        let (tables, pending) = (BTreeMap::new(), BTreeMap::new());
        Self { transaction, tables, pending, head: None, digests }
    }

    pub(super) fn take(&mut self, change: Change) -> Result<Verdict, StorageFailure> {
        if let Some(what) = change.impossible {
            return Err(StorageFailure::Impossible(what));
        }
        for expect in &change.expects {
            if !self.holds(expect)? {
                return Ok(Verdict::Refused);
            }
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

    /// Inserts in key order, so that each page is written once: neighbouring keys share pages.
    pub(super) fn insert(mut self) -> Result<(), StorageFailure> {
        if let Some(digests) = self.digests.take() {
            let moves = self.insert_records(digests)?;
            let sequence = self.head()?.next;
            for (table, key, value) in digests.apply(moves, sequence) {
                self.pend(table, key, Some(value));
            }
        }
        if let Some(head) = self.head.take() {
            self.pend(Table::Meta, meta::AUDIT_HEAD.to_vec(), Some(head.encode()));
        }
        for (table, pending) in std::mem::take(&mut self.pending) {
            let table = self.open(table)?;
            for (key, value) in pending {
                match value {
                    Some(value) => drop(table.insert(key.as_slice(), value.as_slice())?),
                    None => drop(table.remove(key.as_slice())?),
                }
            }
        }
        Ok(())
    }

    /// Inserts the rows that the digests count. The engine returns the old value of each insertion,
    /// so the update of the digests needs no extra reads.
    fn insert_records(&mut self, digests: &RecordDigests) -> Result<DigestChanges, StorageFailure> {
        let mut changes = DigestChanges::default();
        for name in Table::ALL.iter().filter(|table| table.is_digested()) {
            let Some(pending) = self.pending.remove(name) else { continue };
            let table = self.open(*name)?;
            for (key, new) in pending {
                let old = match &new {
                    Some(new) => table.insert(key.as_slice(), new.as_slice())?,
                    None => table.remove(key.as_slice())?,
                };
                let old = old.as_ref().map(redb::AccessGuard::value);
                changes.take(digests.key(), *name, &key, old, new.as_deref())?;
            }
        }
        Ok(changes)
    }

    fn head(&mut self) -> Result<Head, StorageFailure> {
        match self.head {
            Some(head) => Ok(head),
            None => Head::decode(self.value(Table::Meta, meta::AUDIT_HEAD)?.as_deref()),
        }
    }

    fn open(&mut self, table: Table) -> Result<&mut OpenTable<'t>, StorageFailure> {
        Ok(match self.tables.entry(table) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(place) => place.insert(self.transaction.open_table(table.definition())?),
        })
    }

    /// Appends a row to the audit chain and assigns its number and its link.
    fn lengthen(&mut self, entries: SealedEntries) -> Result<(), StorageFailure> {
        let head = self.head()?;
        let row = AuditRow::new(head.next, entries);
        // A head whose number would overflow is damage: the next row would overwrite this one.
        head.next.checked_add(u64::from(row.count)).ok_or_else(|| {
            StorageFailure::Damaged(String::from("the audit chain's head makes no sense"))
        })?;
        self.head = Some(head.after(&row));
        self.pend(Table::Audit, row.key(), Some(row.value()));
        Ok(())
    }

    fn pend(&mut self, table: Table, key: Vec<u8>, value: Option<Vec<u8>>) {
        self.pending.entry(table).or_default().insert(key, value);
    }

    fn holds(&mut self, expect: &Expect) -> Result<bool, StorageFailure> {
        Ok(match expect {
            Expect::Absent(table, key) => self.value(*table, key)?.is_none(),
            Expect::CountsAtMost(keys, most) => {
                let mut sum = 0_i64;
                for key in keys {
                    sum = sum.checked_add(self.count(key)?).ok_or_else(damaged_count)?;
                }
                sum <= *most
            }
            Expect::Is(table, key, version) => {
                let value = self.value(*table, key)?;
                value.and_then(|value| crypto::version(&value)) == Some(*version)
            }
            Expect::Present(table, key) => self.value(*table, key)?.is_some(),
            Expect::Keys(range, keys) => {
                self.keys_of(range, keys.len().saturating_add(1))? == *keys
            }
            Expect::Value(table, key, value) => self.value(*table, key)?.as_ref() == Some(value),
        })
    }

    fn count(&mut self, key: &[u8]) -> Result<i64, StorageFailure> {
        decode_count(self.value(Table::Counts, key)?)
    }

    fn value(&mut self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StorageFailure> {
        if let Some(pending) = self.pending.get(&table).and_then(|pending| pending.get(key)) {
            return Ok(pending.clone());
        }
        Ok(self.open(table)?.get(key)?.map(|value| value.value().to_vec()))
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
        self.open(table)?;
        let nothing = Pending::new();
        let pending = self.pending.get(&table).unwrap_or(&nothing);
        let added = pending.range::<[u8], _>(range.bounds());
        let mut keys: Vec<Vec<u8>> = added
            .filter(|(_, value)| value.is_some())
            .map(|(key, _)| key.clone())
            .take(count_max)
            .collect();
        let Some(stored) = self.tables.get(&table) else { return Ok(keys) };
        let mut found = 0;
        for entry in stored.range::<&[u8]>(range.bounds())? {
            let key = entry?.0.value().to_vec();
            if found == count_max {
                break;
            }
            if !pending.contains_key(&key) {
                keys.push(key);
                found = found.saturating_add(1);
            }
        }
        keys.sort_unstable();
        keys.truncate(count_max);
        Ok(keys)
    }
}
