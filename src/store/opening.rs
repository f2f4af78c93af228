//! Creates and opens the local engine's data file, and checks its format.

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
pub const FORMAT: u32 = 1;

/// The change that upgrades a file to the next format.
type Step = fn(&Snapshot) -> Result<Change, StorageFailure>;

/// The first step leads from format 1 to 2. `CONTRIBUTING.md` describes adding one.
const STEPS: &[Step] = &[];

const _: () = assert!(STEPS.is_empty() && FORMAT == 1, "every older format has its step");

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

/// Opens a vault's data file and upgrades it to the current format.
pub(super) fn open(volume: &dyn Volume) -> Result<DataFile, OpenFailure> {
    let data = DataFile::open(volume, CACHE_BYTES)?;
    if StandbyMark::read(&data.database)?.is_some() {
        return Err(OpenFailure::Standby);
    }
    migrate(&data.database, STEPS)?;
    check_format(&data.database)?;
    Ok(data)
}

/// Opens the data file of a vault or of a standby and upgrades it to the current format.
pub(super) fn open_any(volume: &dyn Volume) -> Result<DataFile, OpenFailure> {
    let data = DataFile::open(volume, CACHE_BYTES)?;
    migrate(&data.database, STEPS)?;
    check_format(&data.database)?;
    Ok(data)
}

/// Runs the steps that a file of an older format needs. Each is one transaction that also sets the
/// next format, so a crash never leaves a file between two formats.
pub(super) fn migrate(database: &GuardedDatabase, steps: &[Step]) -> Result<(), StorageFailure> {
    let Some(format @ 1..) = meta::format(&first_look(database)?)? else { return Ok(()) };
    for (from, step) in (1..).zip(steps).skip_while(|(from, _)| *from < format) {
        let change = step(&first_look(database)?)?;
        write(database, meta::put_format(change, from + 1))?;
    }
    Ok(())
}

/// Opens a snapshot of a data file that no engine uses.
pub(super) fn first_look(database: &GuardedDatabase) -> Result<Snapshot, StorageFailure> {
    let view = view_of_file(database)?;
    Ok(Snapshot::new(Arc::clone(&view), Alarm::default(), Epochs::new().current()))
}

pub(super) fn check_format(database: &GuardedDatabase) -> Result<(), OpenFailure> {
    check_snapshot(&first_look(database)?)
}

pub(super) fn check_snapshot(snapshot: &Snapshot) -> Result<(), OpenFailure> {
    match meta::format(snapshot)? {
        Some(FORMAT) => Ok(()),
        Some(newer) if newer > FORMAT => {
            let program = meta::program(snapshot)?;
            Err(OpenFailure::Newer(newer, program))
        }
        None if meta::is_unreleased(snapshot)? => Err(OpenFailure::Unreleased),
        Some(_) | None => Err(OpenFailure::NotOurs),
    }
}
