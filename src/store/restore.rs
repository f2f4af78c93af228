//! Makes a data file from a backup.

use std::path::Path;

use redb::{Database, WriteTransaction};

use crate::bounds::RESTORE_BATCH_BYTES;
use crate::store::backup::format::InvalidBackup;
use crate::store::backup::manifest::Manifest;
use crate::store::backup::reader::{Chunk, Reader};
use crate::store::change::Change;
use crate::store::failure::{OpenFailure, StorageFailure};
use crate::store::file::{commit_whole, grow};
use crate::store::handle::Store;

/// The reason why no data file was made. The partial file was removed.
#[derive(Debug)]
pub enum RestoreFailure {
    Backup(InvalidBackup),
    File(OpenFailure),
}

impl Store {
    /// Makes the data file in an existing directory. It gets its name only when every row was read,
    /// checked and made durable. It has the format of the file that the backup was made of, and the
    /// rows of `mark`.
    pub fn restore(
        directory: &Path,
        mut backup: Reader,
        mark: Change,
    ) -> Result<Manifest, RestoreFailure> {
        drop(grow(directory, |database| load(database, &mut backup, mark))?);
        Ok(backup.manifest().clone())
    }
}

/// Inserts the rows in key order, which is the cheapest order for a B-tree.
fn load(database: &Database, backup: &mut Reader, mark: Change) -> Result<(), RestoreFailure> {
    let mut transaction = database.begin_write().map_err(StorageFailure::from)?;
    let mut pending: usize = 0;
    while let Some(chunk) = backup.next_chunk()? {
        pending = pending.saturating_add(chunk.bytes);
        insert(&transaction, chunk)?;
        if pending >= RESTORE_BATCH_BYTES {
            transaction.commit().map_err(StorageFailure::from)?;
            transaction = database.begin_write().map_err(StorageFailure::from)?;
            pending = 0;
        }
    }
    transaction.commit().map_err(StorageFailure::from)?;
    // This also creates the empty tables and saves the first start from checking the file.
    commit_whole(database, None, |_| Ok(mark))?;
    Ok(())
}

fn insert(transaction: &WriteTransaction, chunk: Chunk) -> Result<(), StorageFailure> {
    let mut table = transaction.open_table(chunk.table.definition())?;
    for (key, value) in chunk.rows {
        table.insert(key.as_slice(), value.as_slice())?;
    }
    Ok(())
}

impl From<InvalidBackup> for RestoreFailure {
    fn from(invalid: InvalidBackup) -> Self {
        Self::Backup(invalid)
    }
}

impl From<OpenFailure> for RestoreFailure {
    fn from(failure: OpenFailure) -> Self {
        Self::File(failure)
    }
}

impl From<StorageFailure> for RestoreFailure {
    fn from(failure: StorageFailure) -> Self {
        Self::File(OpenFailure::Storage(failure))
    }
}
