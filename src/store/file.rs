//! The data file: creates it, opens it, checks its format and creates its tables.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use redb::{Builder, Database, WriteTransaction};

use crate::bounds::CACHE_BYTES;
use crate::crypto::Random;
use crate::store::alarm::Alarm;
use crate::store::batch::{Batch, Verdict};
use crate::store::change::Change;
use crate::store::digests::RecordDigests;
use crate::store::epochs::Epochs;
use crate::store::failure::{OpenFailure, StorageFailure};
use crate::store::meta;
use crate::store::snapshot::Snapshot;
use crate::store::tables::Table;

/// The version of the schema and of all encodings in the file.
pub const FORMAT: u32 = 3;

/// The data file's name in its directory.
pub(super) const NAME: &str = "strongroom.redb";

/// The path of a new file until it is complete.
pub(super) fn unfinished(directory: &Path) -> PathBuf {
    directory.join("strongroom.redb.unfinished")
}

pub(super) fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

/// Creates a data file, which gets its name only when the result of `fill` is durable. On failure
/// the file is removed.
pub(super) fn grow<E: From<OpenFailure>>(
    directory: &Path,
    fill: impl FnOnce(&Database) -> Result<(), E>,
) -> Result<Database, E> {
    let path = directory.join(NAME);
    if path.exists() {
        return Err(OpenFailure::Exists.into());
    }
    let unfinished = unfinished(directory);
    if let Err(error) = std::fs::remove_file(&unfinished)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(OpenFailure::io(error).into());
    }
    let new = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&unfinished)
        .map_err(OpenFailure::io)?;
    let filled = || -> Result<Database, E> {
        let database = builder().create_file(new).map_err(OpenFailure::from)?;
        fill(&database)?;
        std::fs::rename(&unfinished, &path).map_err(OpenFailure::io)?;
        std::fs::File::open(directory).and_then(|it| it.sync_all()).map_err(OpenFailure::io)?;
        Ok(database)
    };
    filled().inspect_err(|_| {
        std::fs::remove_file(&unfinished).ok();
    })
}

pub(super) fn open_database(directory: &Path) -> Result<Database, OpenFailure> {
    Ok(builder().open(existing(directory)?)?)
}

/// The path of the data file. Fails if the file is missing or empty.
pub(super) fn existing(directory: &Path) -> Result<PathBuf, OpenFailure> {
    let path = directory.join(NAME);
    // redb would turn an empty file into a database, but a data file is never empty.
    match std::fs::metadata(&path) {
        Ok(metadata) if metadata.len() > 0 => (),
        Ok(_) => return Err(OpenFailure::NotOurs),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(OpenFailure::Missing);
        }
        Err(error) => return Err(OpenFailure::io(error)),
    }
    Ok(path)
}

pub(super) fn prepare(database: &Database, first: Change) -> Result<(), OpenFailure> {
    let id = Random::new().bytes();
    let first = meta::put_file_id(meta::put_format(first, FORMAT), id);
    commit_whole(database, None, |_| Ok(first)).map_err(OpenFailure::Storage)?;
    Ok(())
}

/// Commits one transaction that creates every missing table, so that readers never miss one, and
/// writes what `change` returns. The commit also saves the next start from checking the file.
pub(super) fn commit_whole(
    database: &Database,
    digests: Option<&mut RecordDigests>,
    change: impl FnOnce(&WriteTransaction) -> Result<Change, StorageFailure>,
) -> Result<Verdict, StorageFailure> {
    let mut transaction = database.begin_write()?;
    transaction.set_two_phase_commit(true);
    transaction.set_quick_repair(true);
    for table in Table::ALL {
        drop(transaction.open_table(table.definition())?);
    }
    let mut batch = Batch::new(&transaction, digests);
    let verdict = batch.take(change(&transaction)?)?;
    batch.insert()?;
    transaction.commit()?;
    Ok(verdict)
}

/// Opens a snapshot of a database that has no store yet.
pub(super) fn first_look(database: &Database) -> Result<Snapshot, StorageFailure> {
    use redb::ReadableDatabase as _;
    Ok(Snapshot::new(database.begin_read()?, Alarm::default(), Epochs::new().current()))
}

pub(super) fn check_format(database: &Database) -> Result<(), OpenFailure> {
    let snapshot = first_look(database).map_err(OpenFailure::Storage)?;
    let format = match meta::format(&snapshot) {
        // A redb file of another program has no such table.
        Err(StorageFailure::Damaged(_)) => None,
        other => other.map_err(OpenFailure::Storage)?,
    };
    match format {
        Some(FORMAT) => complete(database, &snapshot).map_err(OpenFailure::Storage),
        Some(newer) if newer > FORMAT => {
            let program = meta::program(&snapshot).map_err(OpenFailure::Storage)?;
            Err(OpenFailure::Newer(newer, program))
        }
        Some(older) if older > 0 => Err(OpenFailure::Older(older)),
        Some(_) | None => Err(OpenFailure::NotOurs),
    }
}

/// Creates the tables that were added without a new format.
fn complete(database: &Database, snapshot: &Snapshot) -> Result<(), StorageFailure> {
    let names = snapshot.table_names()?;
    if Table::ALL.iter().all(|table| names.contains(table.name())) {
        return Ok(());
    }
    commit_whole(database, None, |_| Ok(Change::new()))?;
    Ok(())
}
