//! A consistent view of the file at one moment. Readers do not wait for the writer, nor it for
//! them.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use redb::{ReadOnlyTable, ReadTransaction, ReadableTableMetadata};
use tokio::sync::watch;

use crate::store::StorageFailure;
use crate::store::tables::Table;
use crate::store::writer::Fatal;

pub struct Snapshot {
    transaction: ReadTransaction,
    /// Told when the disk fails a reader: that ends the process as much as a failed write.
    fatal: Arc<watch::Sender<Option<Fatal>>>,
}

/// One key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

impl Snapshot {
    pub(super) const fn new(
        transaction: ReadTransaction,
        fatal: Arc<watch::Sender<Option<Fatal>>>,
    ) -> Self {
        Self { transaction, fatal }
    }

    pub fn value(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StorageFailure> {
        let read = || Ok(self.table(table)?.get(key)?.map(|value| value.value().to_vec()));
        self.noted(read())
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
        let range = || Ok(self.table(table)?.range::<&[u8]>((from, to))?);
        Ok(self.noted(range())?.map(|entry| {
            let copied = entry.map(|(key, value)| (key.value().to_vec(), value.value().to_vec()));
            self.noted(copied.map_err(StorageFailure::from))
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

    fn noted<T>(&self, read: Result<T, StorageFailure>) -> Result<T, StorageFailure> {
        if let Err(failure) = &read {
            self.fatal.send_if_modified(|fatal| {
                let first = fatal.is_none();
                if first {
                    *fatal = Some(Fatal::Storage(failure.duplicate()));
                }
                first
            });
        }
        read
    }

    fn table(
        &self,
        table: Table,
    ) -> Result<ReadOnlyTable<&'static [u8], &'static [u8]>, StorageFailure> {
        Ok(self.transaction.open_table(table.definition())?)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Snapshot")
    }
}
