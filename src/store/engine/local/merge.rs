//! Moves rows from the layers into the data file.
//!
//! A merge freezes some layers; new rows go into new layers. It writes the frozen rows and the
//! log's new position in one transaction. Then snapshots read these rows from the data file, and
//! the segments before the position are free.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use crate::store::engine::local::Shared;
use crate::store::engine::local::base::Base;
use crate::store::engine::local::database::guard;
use crate::store::engine::local::file;
use crate::store::engine::local::forget;
use crate::store::engine::local::layer::Layer;
use crate::store::engine::local::log::Log;
use crate::store::engine::local::merger::{self, Left, Work};
use crate::store::engine::local::parts::PARTS;
#[cfg(test)]
use crate::store::engine::local::parts::SLICES;
use crate::store::engine::local::state::LogState;
use crate::store::engine::local::view::{Part, View};
use crate::store::failure::{Fatal, StorageFailure};
use crate::store::tables::Table;

/// The merger thread. A failure raises the alarm, which ends the process.
pub(super) fn run(shared: &Shared) {
    let working = || -> Result<(), StorageFailure> {
        let mut merged = Vec::new();
        while let Some(work) = shared.merger.next() {
            carry_out(shared, work, &mut merged, Instant::now())?;
        }
        Ok(())
    };
    match catch_unwind(AssertUnwindSafe(working)) {
        Ok(Ok(())) => (),
        Ok(Err(failure)) => drop(shared.alarm.sound(failure)),
        Err(_) => shared.alarm.end(Fatal::WriterPanicked),
    }
}

/// `merged` keeps the layers of earlier merges that snapshots still use: freeing a layer takes
/// milliseconds, so this thread does it instead of the request that drops the last snapshot.
pub(super) fn carry_out(
    shared: &Shared,
    work: Work,
    merged: &mut Vec<Arc<Layer>>,
    now: Instant,
) -> Result<(), StorageFailure> {
    let turn = match work {
        Work::Forget => return forget::forget(shared, Closing::No),
        Work::Free => return forget::free(shared),
        Work::Note => return note(shared),
        Work::Merge(turn) => turn,
    };
    // Two transactions, so that a kill between them leaves the first part done.
    merged.extend(merge(shared, &|part, _| part == 0)?);
    merged.extend(merge(shared, &|part, layer| {
        merger::is_chosen(turn, part, now.saturating_duration_since(layer.made()))
    })?);
    merged.retain(|layer| Arc::strong_count(layer) > 1);
    let left = Left { has_rows: shared.view().layer_bytes() > 0, is_large: shared.has_many_rows() };
    shared.merger.done(now, Instant::now(), left);
    Ok(())
}

/// Notes the end of the log. Some file systems need space to replace bytes: on a full disk the note
/// is tried again later, and no batch is refused for it.
fn note(shared: &Shared) -> Result<(), StorageFailure> {
    match shared.note_end() {
        Err(StorageFailure::Full) => {
            shared.merger.note_later();
            Ok(())
        }
        done => done,
    }
}

/// Merges part 0 and one slice, as the merger does. `meanwhile` runs while their layers are frozen.
#[cfg(test)]
pub(super) fn merge_turn(
    shared: &Shared,
    turn: usize,
    meanwhile: impl FnOnce(),
) -> Result<(), StorageFailure> {
    let _merging = shared.merging.lock();
    let slice = turn.rem_euclid(SLICES).saturating_add(1);
    let frozen = freeze(shared, &|part, _| part == 0 || part == slice)?;
    meanwhile();
    move_frozen(shared, &frozen, Closing::No)
}

/// Merges the parts that `choose` selects, and returns their layers, which snapshots may still use.
fn merge(
    shared: &Shared,
    choose: &dyn Fn(usize, &Layer) -> bool,
) -> Result<Vec<Arc<Layer>>, StorageFailure> {
    let _merging = shared.merging.lock();
    let frozen = freeze(shared, choose)?;
    move_frozen(shared, &frozen, Closing::No)?;
    Ok(frozen.view.parts.into_iter().filter_map(|part| part.frozen).collect())
}

/// Moves the frozen rows into the data file and frees their part of the log.
pub(super) fn move_frozen(
    shared: &Shared,
    frozen: &Frozen,
    closing: Closing,
) -> Result<(), StorageFailure> {
    // In a file whose content was replaced, this process's pages would be damage.
    shared.file.check_head()?;
    let transaction = file::begin(&shared.database)?;
    let state = frozen.state(shared, closing);
    guard(move || -> Result<(), StorageFailure> {
        for table in Table::ALL {
            for part in frozen.view.parts.iter().filter_map(|part| part.frozen.as_deref()) {
                file::move_rows(&transaction, *table, part)?;
            }
        }
        state.write(&transaction)?;
        transaction.commit()?;
        Ok(())
    })?;
    let base = Arc::new(Base::open(&shared.database)?);
    {
        let mut current = shared.current();
        let mut next = View::clone(&current);
        next.base = base;
        for part in &mut next.parts {
            part.frozen = None;
        }
        shared.replace(&mut current, next);
    }
    let mut log = shared.log();
    if frozen.forgets {
        log.forget_before(state.position.segment);
    }
    forget::free_before(shared, log, state.position.segment)
}

/// Only the last merge marks the log as closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    No,
    Yes,
}

pub(super) struct Frozen {
    view: View,
    /// The log before the merge is overwritten.
    pub(super) forgets: bool,
    /// For each part, the last batch whose rows the data file has after the merge.
    merged: [u64; PARTS],
}

impl Frozen {
    fn state(&self, shared: &Shared, closing: Closing) -> LogState {
        let active = self.view.parts.iter().map(|part| part.active.start());
        LogState {
            is_closed: closing == Closing::Yes,
            timeline: self.view.timeline,
            origin: shared.origin,
            position: active.min().unwrap_or_default(),
            departed: self.view.departed,
            held_segment: shared.log().first_held(shared.held()),
            merged: Some(self.merged),
        }
    }
}

/// Fails if the rows of an earlier merge did not reach the data file: a new merge would replace
/// them, and the log must keep them for the next start.
fn freeze(
    shared: &Shared,
    choose: &dyn Fn(usize, &Layer) -> bool,
) -> Result<Frozen, StorageFailure> {
    freeze_in(shared, &shared.log(), choose)
}

/// Like [`freeze`], for a caller that holds the log's lock.
pub(super) fn freeze_in(
    shared: &Shared,
    log: &Log,
    choose: &dyn Fn(usize, &Layer) -> bool,
) -> Result<Frozen, StorageFailure> {
    let end = log.end();
    let mut current = shared.current();
    let mut view = View::clone(&current);
    if view.parts.iter().any(|part| part.frozen.is_some()) {
        return Err(StorageFailure::Stopped);
    }
    let mut merged = [0; PARTS];
    for ((number, part), merged) in view.parts.iter_mut().enumerate().zip(&mut merged) {
        // An empty layer starts over at the end of the log, so that it does not hold older
        // segments.
        if choose(number, &part.active) || part.active.is_empty() {
            let active = std::mem::replace(part, Part::new(end)).active;
            part.frozen = Some(active).filter(|layer| !layer.is_empty());
        }
        *merged = part.active.start().sequence.saturating_sub(1);
    }
    shared.replace(&mut current, view.clone());
    Ok(Frozen { view, forgets: false, merged })
}

/// Merges everything and marks the log as closed, in one transaction. A batch that comes meanwhile
/// is behind the position that the transaction writes.
pub(super) fn close(shared: &Shared) -> Result<(), StorageFailure> {
    let _merging = shared.merging.lock();
    let frozen = freeze(shared, &|_, _| true)?;
    move_frozen(shared, &frozen, Closing::Yes)
}
