//! The rows that a step of a migration writes and deletes. They are inserted chunk by chunk into the
//! one transaction of the step.

use std::collections::BTreeMap;

use redb::WriteTransaction;

use crate::bounds::MIGRATION_CHUNK_BYTES;
use crate::store::change::{Change, Write};
use crate::store::engine::local::file::definition;
use crate::store::failure::StorageFailure;
use crate::store::tables::Table;

/// The length that a row counts for beside its own bytes.
const ROW_BYTES: usize = 64;

pub(super) struct StepRows<'t> {
    transaction: &'t WriteTransaction,
    /// The chunk, in the order of keys. `None` deletes a row.
    pending: BTreeMap<Table, BTreeMap<Vec<u8>, Option<Vec<u8>>>>,
    pending_bytes: usize,
}

impl<'t> StepRows<'t> {
    pub(super) const fn new(transaction: &'t WriteTransaction) -> Self {
        Self { transaction, pending: BTreeMap::new(), pending_bytes: 0 }
    }

    pub(super) fn put(
        &mut self,
        table: Table,
        key: Vec<u8>,
        value: Vec<u8>,
    ) -> Result<(), StorageFailure> {
        self.pend(table, key, Some(value))
    }

    pub(super) fn delete(&mut self, table: Table, key: Vec<u8>) -> Result<(), StorageFailure> {
        self.pend(table, key, None)
    }

    /// Adds the rows of a change. A step has no expectations, because it holds the file's lock, and
    /// it neither counts nor audits.
    pub(super) fn take(&mut self, change: Change) -> Result<(), StorageFailure> {
        for write in change.writes {
            match write {
                Write::Delete(table, key) => self.delete(table, key)?,
                Write::Put(table, key, value) => self.put(table, key, value)?,
                Write::Add(..) | Write::Audit(_) => {
                    return Err(StorageFailure::Impossible("a migration counts or audits"));
                }
            }
        }
        Ok(())
    }

    /// Inserts the chunk into the transaction.
    pub(super) fn flush(&mut self) -> Result<(), StorageFailure> {
        self.pending_bytes = 0;
        for (table, pending) in std::mem::take(&mut self.pending) {
            let mut table = self.transaction.open_table(definition(table))?;
            for (key, value) in pending {
                match value {
                    Some(value) => drop(table.insert(key.as_slice(), value.as_slice())?),
                    None => drop(table.remove(key.as_slice())?),
                }
            }
        }
        Ok(())
    }

    fn pend(
        &mut self,
        table: Table,
        key: Vec<u8>,
        value: Option<Vec<u8>>,
    ) -> Result<(), StorageFailure> {
        let bytes = key.len().saturating_add(value.as_ref().map_or(0, Vec::len));
        self.pending_bytes = self.pending_bytes.saturating_add(bytes).saturating_add(ROW_BYTES);
        self.pending.entry(table).or_default().insert(key, value);
        if self.pending_bytes >= MIGRATION_CHUNK_BYTES { self.flush() } else { Ok(()) }
    }
}
