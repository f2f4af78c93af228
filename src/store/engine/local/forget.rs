//! Removes deleted and replaced rows from all files of the log.
//!
//! The log continues in an empty segment, a merge moves all rows before it into the data file, and
//! the older segments are overwritten. A segment that the archive still needs is overwritten once
//! the archive has it.

use std::sync::{Arc, MutexGuard};

use crate::store::engine::local::Shared;
use crate::store::engine::local::log::Log;
use crate::store::engine::local::merge::{Closing, freeze_in, move_frozen};
use crate::store::failure::StorageFailure;

/// Batches continue meanwhile, in the new segment.
pub(super) fn forget(shared: &Shared, closing: Closing) -> Result<(), StorageFailure> {
    let _merging = shared.merging.lock();
    let (volume, spare) = {
        let mut log = shared.log();
        if log.is_blank() {
            return Ok(());
        }
        (Arc::clone(log.volume()), log.take_spare())
    };
    // Without the log's lock, so that batches do not wait.
    spare.map_or(Ok(()), |spare| spare.overwrite(volume.as_ref()))?;
    let mut frozen = {
        let mut log = shared.log();
        log.leave_segment()?;
        freeze_in(shared, &log, &|_, _| true)?
    };
    frozen.forgets = true;
    move_frozen(shared, &frozen, closing)
}

/// Forgets the log of a closed engine and notes its end. The rows are in the data file already, so
/// a disk without space for a new segment is no failure.
pub(super) fn forget_closed(shared: &Shared) -> Result<(), StorageFailure> {
    match forget(shared, Closing::Yes).and_then(|()| shared.note_end()) {
        Err(StorageFailure::Full | StorageFailure::ReadOnly | StorageFailure::Stopped) => Ok(()),
        done => done,
    }
}

/// Overwrites the segments that waited for the archive.
pub(super) fn free(shared: &Shared) -> Result<(), StorageFailure> {
    let _merging = shared.merging.lock();
    let log = shared.log();
    let Some(number) = log.forgettable() else { return Ok(()) };
    free_before(shared, log, number)
}

/// Frees the segments before this one that the archive does not need. Their rows are in the data
/// file. The caller holds the merge lock.
pub(super) fn free_before(
    shared: &Shared,
    mut log: MutexGuard<'_, Log>,
    number: u64,
) -> Result<(), StorageFailure> {
    let held = log.bounded_hold(shared.held(), shared.sizes.held_bytes_max);
    log.free_before(number.min(held))?;
    let retired = log.take_retired();
    let volume = Arc::clone(log.volume());
    shared.count(&log);
    drop(log);
    Ok(Log::overwrite(volume.as_ref(), &retired)?)
}
