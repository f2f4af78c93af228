//! Makes a data file from a backup.

use std::path::Path;

use redb::Database;

use crate::store::backup::format::InvalidBackup;
use crate::store::backup::manifest::Manifest;
use crate::store::backup::reader::Reader;
use crate::store::change::Change;
use crate::store::engine::local::file::DataFile;
use crate::store::engine::local::load_into;
use crate::store::failure::{OpenFailure, StorageFailure};
use crate::store::handle::Store;
use crate::store::opening;
use crate::store::volume::Directory;

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
        let volume = Directory::new(directory);
        DataFile::create(&volume, |database| load(database, &mut backup, mark))?;
        Ok(backup.manifest().clone())
    }
}

/// Inserts the rows in key order, which is the cheapest order for a B-tree.
fn load(database: &Database, backup: &mut Reader, mark: Change) -> Result<(), RestoreFailure> {
    // The loader knows only failures of storage; that of the backup is kept here.
    let mut invalid = None;
    let mut chunk = None;
    let mut rows = std::iter::from_fn(|| {
        loop {
            if let Some((table, rows)) = &mut chunk {
                let rows: &mut std::vec::IntoIter<_> = rows;
                if let Some(row) = rows.next() {
                    return Some(Ok((*table, row)));
                }
            }
            match backup.next_chunk() {
                Ok(Some(next)) => chunk = Some((next.table, next.rows.into_iter())),
                Ok(None) => return None,
                Err(failure) => {
                    invalid = Some(failure);
                    return Some(Err(StorageFailure::Impossible("the backup is not valid")));
                }
            }
        }
    });
    let loaded = load_into(database, &mut rows);
    if let Some(invalid) = invalid {
        return Err(invalid.into());
    }
    loaded?;
    opening::write(database, mark)?;
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
