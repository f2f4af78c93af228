//! A consistent view of the file at one moment. Readers do not wait for the writer, nor it for
//! them.

use std::fmt;
use std::ops::Bound;

use redb::{ReadOnlyTable, ReadTransaction, ReadableTableMetadata};

use crate::store::StorageFailure;
use crate::store::tables::Table;

pub struct Snapshot(ReadTransaction);

/// One key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

impl Snapshot {
    pub(super) const fn new(transaction: ReadTransaction) -> Self {
        Self(transaction)
    }

    pub fn value(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StorageFailure> {
        Ok(self.table(table)?.get(key)?.map(|value| value.value().to_vec()))
    }

    /// The first entries, in order, whose keys start with the prefix.
    pub fn under(
        &self,
        table: Table,
        prefix: &[u8],
        count_max: usize,
    ) -> Result<Vec<Entry>, StorageFailure> {
        self.range(table, Bound::Included(prefix), Bound::Unbounded)?
            .take_while(|entry| entry.as_ref().map_or(true, |(key, _)| key.starts_with(prefix)))
            .take(count_max)
            .collect()
    }

    /// Entries between two bounds, in order, read as they are asked for.
    pub fn range(
        &self,
        table: Table,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<impl DoubleEndedIterator<Item = Result<Entry, StorageFailure>>, StorageFailure>
    {
        Ok(self.table(table)?.range::<&[u8]>((from, to))?.map(|entry| {
            let (key, value) = entry?;
            Ok((key.value().to_vec(), value.value().to_vec()))
        }))
    }

    /// How many entries a table has; the tree knows it without counting.
    pub fn len(&self, table: Table) -> Result<u64, StorageFailure> {
        Ok(self.table(table)?.len()?)
    }

    /// A number of [`Table::Counts`].
    pub fn count(&self, key: &[u8]) -> Result<i64, StorageFailure> {
        let value = self.value(Table::Counts, key)?;
        Ok(value.and_then(|bytes| bytes.try_into().ok()).map_or(0, i64::from_be_bytes))
    }

    fn table(
        &self,
        table: Table,
    ) -> Result<ReadOnlyTable<&'static [u8], &'static [u8]>, StorageFailure> {
        Ok(self.0.open_table(table.definition())?)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Snapshot")
    }
}
