//! A consistent view of the file at one moment. Readers and the writer do not block each other.

use std::collections::BTreeSet;
use std::fmt;

use redb::{ReadOnlyTable, ReadTransaction, ReadableTableMetadata, TableHandle as _};

use crate::store::alarm::Alarm;
use crate::store::epochs::EpochGuard;
use crate::store::failure::StorageFailure;
use crate::store::tables::{KeyRange, Table};

pub struct Snapshot {
    transaction: ReadTransaction,
    alarm: Alarm,
    epoch: EpochGuard,
}

/// One key and its value.
pub type Row = (Vec<u8>, Vec<u8>);

impl Snapshot {
    /// Every read failure raises `alarm`, because redb refuses further work after it.
    pub(super) const fn new(transaction: ReadTransaction, alarm: Alarm, epoch: EpochGuard) -> Self {
        Self { transaction, alarm, epoch }
    }

    /// The epoch of the snapshot, for values that are derived from it and outlive it.
    pub fn epoch(&self) -> EpochGuard {
        self.epoch.clone()
    }

    pub fn value(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StorageFailure> {
        let value = self.table(table)?.get(key).map_err(|error| self.alarm.sound(error.into()))?;
        Ok(value.map(|value| value.value().to_vec()))
    }

    /// The first rows of a range, in order.
    pub fn first(&self, range: &KeyRange, count_max: usize) -> Result<Vec<Row>, StorageFailure> {
        self.range(range)?.take(count_max).collect()
    }

    /// The rows of a range, in order. The iterator reads them lazily.
    pub fn range(
        &self,
        range: &KeyRange,
    ) -> Result<impl DoubleEndedIterator<Item = Result<Row, StorageFailure>> + use<>, StorageFailure>
    {
        let rows = if range.is_empty() {
            None
        } else {
            let rows = self.table(range.table())?.range::<&[u8]>(range.bounds());
            Some(rows.map_err(|error| self.alarm.sound(error.into()))?)
        };
        let alarm = self.alarm.clone();
        Ok(rows.into_iter().flatten().map(move |entry| {
            let (key, value) = entry.map_err(|error| alarm.sound(error.into()))?;
            Ok((key.value().to_vec(), value.value().to_vec()))
        }))
    }

    /// The number of rows of a table. The engine stores it, so this does not scan the table.
    pub fn len(&self, table: Table) -> Result<u64, StorageFailure> {
        self.table(table)?.len().map_err(|error| self.alarm.sound(error.into()))
    }

    /// A number in [`Table::Counts`].
    pub fn count(&self, key: &[u8]) -> Result<i64, StorageFailure> {
        decode_count(self.value(Table::Counts, key)?)
    }

    /// The tables of the file. A file of an older format lacks some.
    pub(super) fn table_names(&self) -> Result<BTreeSet<String>, StorageFailure> {
        let tables = self.transaction.list_tables();
        let tables = tables.map_err(|error| self.alarm.sound(error.into()))?;
        Ok(tables.map(|table| String::from(table.name())).collect())
    }

    fn table(
        &self,
        table: Table,
    ) -> Result<ReadOnlyTable<&'static [u8], &'static [u8]>, StorageFailure> {
        let table = self.transaction.open_table(table.definition());
        table.map_err(|error| self.alarm.sound(error.into()))
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Snapshot")
    }
}

/// A number that was never written is 0. One that does not decode is damage: reading it as 0 would
/// write a wrong number back.
pub(super) fn decode_count(value: Option<Vec<u8>>) -> Result<i64, StorageFailure> {
    let Some(value) = value else { return Ok(0) };
    value.try_into().map(i64::from_be_bytes).map_err(|_bytes: Vec<u8>| damaged_count())
}

pub(super) fn damaged_count() -> StorageFailure {
    StorageFailure::Damaged(String::from("a number in the table of counts makes no sense"))
}
