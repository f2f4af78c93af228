//! Creates and opens the data file of the local engine, and checks its format.

use std::sync::Arc;

use crate::bounds::CACHE_BYTES;
use crate::crypto::Random;
use crate::store::alarm::Alarm;
use crate::store::batch::Batch;
use crate::store::change::Change;
use crate::store::engine::local::database::GuardedDatabase;
use crate::store::engine::local::file::{self, DataFile};
pub use crate::store::engine::local::open::Cleanliness;
use crate::store::engine::local::standby::StandbyMark;
use crate::store::engine::local::view_of_file;
use crate::store::epochs::Epochs;
use crate::store::failure::{OpenFailure, StorageFailure};
use crate::store::meta;
use crate::store::snapshot::Snapshot;
use crate::store::volume::Volume;

/// The version of the schema and of all encodings in the file.
pub const FORMAT: u32 = 6;

/// Creates a data file of the current format with the rows of `first`.
pub(super) fn create(volume: &dyn Volume, first: Change) -> Result<(), OpenFailure> {
    let first = described(first);
    let fill = |database: &GuardedDatabase| write(database, first).map_err(OpenFailure::Storage);
    DataFile::create(volume, fill).map(drop)
}

/// The first change of a new store, with the store's description of itself.
pub(super) fn described(first: Change) -> Change {
    meta::put_file_id(meta::put_format(first, FORMAT), Random::new().bytes())
}

/// Writes a change into a data file that no engine uses.
pub(super) fn write(database: &GuardedDatabase, change: Change) -> Result<(), StorageFailure> {
    let view = view_of_file(database)?;
    let mut batch = Batch::new(view.as_ref(), None);
    batch.take(change)?;
    let rows = batch.rows()?;
    file::commit(database, rows, None)
}

/// Opens a data file of the current format.
pub(super) fn open(volume: &dyn Volume) -> Result<DataFile, OpenFailure> {
    let data = DataFile::open(volume, CACHE_BYTES)?;
    if StandbyMark::read(&data.database).map_err(OpenFailure::Storage)?.is_some() {
        return Err(OpenFailure::Standby);
    }
    check_format(&data.database)?;
    Ok(data)
}

/// Opens a snapshot of a data file that no engine uses.
pub(super) fn first_look(database: &GuardedDatabase) -> Result<Snapshot, StorageFailure> {
    let view = view_of_file(database)?;
    Ok(Snapshot::new(Arc::clone(&view), Alarm::default(), Epochs::new().current()))
}

pub(super) fn check_format(database: &GuardedDatabase) -> Result<(), OpenFailure> {
    check_snapshot(&first_look(database).map_err(OpenFailure::Storage)?)
}

/// Checks that the rows have the format of this program.
pub(super) fn check_snapshot(snapshot: &Snapshot) -> Result<(), OpenFailure> {
    match meta::format(snapshot).map_err(OpenFailure::Storage)? {
        Some(FORMAT) => Ok(()),
        Some(newer) if newer > FORMAT => {
            let program = meta::program(snapshot).map_err(OpenFailure::Storage)?;
            Err(OpenFailure::Newer(newer, program))
        }
        Some(older) if older > 0 => Err(OpenFailure::Older(older)),
        Some(_) | None => Err(OpenFailure::NotOurs),
    }
}
