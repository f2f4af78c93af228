//! Moves rows from the layers into the data file.
//!
//! A merge freezes some layers: new rows go into new ones. It writes the frozen rows and the new
//! position of the log in one transaction. Then snapshots read these rows from the data file, and
//! the segments before the position are free.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use redb::WriteTransaction;

use crate::bounds::{LOAD_BATCH_BYTES, MERGE_AFTER};
use crate::store::engine::local::Shared;
use crate::store::engine::local::base::{Base, definition};
use crate::store::engine::local::file;
use crate::store::engine::local::layer::Layer;
use crate::store::engine::local::parts::{PARTS, SLICES};
use crate::store::engine::local::state::LogState;
use crate::store::engine::local::view::{Part, View};
use crate::store::engine::{EngineHealth, RowChange, SortedRows, Upkeep};
use crate::store::failure::{Fatal, StorageFailure};
use crate::store::tables::Table;

/// Decides when to merge, and wakes the thread that does.
#[derive(Debug)]
pub(super) struct Merger {
    state: Mutex<MergerState>,
    changed: Condvar,
    merges: AtomicU64,
    last_merge_micros: AtomicU64,
}

#[derive(Debug)]
struct MergerState {
    /// The time by which the rows in memory are merged; `None` without rows.
    due: Option<Instant>,
    is_asked: bool,
    is_merging: bool,
    is_stopping: bool,
    upkeep: Upkeep,
    /// The slice whose turn it is.
    turn: usize,
}

impl Merger {
    pub(super) fn new() -> Self {
        let state = MergerState {
            due: None,
            is_asked: false,
            is_merging: false,
            is_stopping: false,
            upkeep: Upkeep::Held,
            turn: 0,
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            merges: AtomicU64::new(0),
            last_merge_micros: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, MergerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_upkeep(&self, upkeep: Upkeep) {
        self.lock().upkeep = upkeep;
        self.changed.notify_all();
    }

    pub(super) fn stop(&self) {
        self.lock().is_stopping = true;
        self.changed.notify_all();
    }

    pub(super) fn health(&self) -> EngineHealth {
        EngineHealth {
            is_merging: self.lock().is_merging,
            merges: self.merges.load(Ordering::Relaxed),
            last_merge_micros: self.last_merge_micros.load(Ordering::Relaxed),
            ..EngineHealth::default()
        }
    }

    /// Asks for a merge if the layers are large enough, and sees to it that one comes in time.
    pub(super) fn consider(&self, shared: &Shared) {
        let is_large = is_large(shared);
        let mut state = self.lock();
        let is_new = state.due.is_none();
        if is_new {
            state.due = Instant::now().checked_add(MERGE_AFTER);
        }
        if (is_large && !state.is_asked) || is_new {
            state.is_asked |= is_large;
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Waits until the layers have room for another batch. Returns true if it had to wait.
    pub(super) fn wait_for_room(&self, shared: &Shared) -> bool {
        let is_full = || shared.view().layer_bytes() > shared.sizes.layers_bytes_max;
        if !is_full() {
            return false;
        }
        let mut state = self.lock();
        // After a failure no merge comes; the batch fails then, or the process ends.
        while is_full() && !state.is_stopping && !shared.alarm.has_sounded() {
            state.is_asked = true;
            self.changed.notify_all();
            let waited = self.changed.wait_timeout(state, WAIT);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Waits for the next merge. Returns the slice whose turn it is, or `None` at the end.
    fn next(&self) -> Option<usize> {
        let mut state = self.lock();
        loop {
            if state.is_stopping {
                return None;
            }
            let now = Instant::now();
            let is_due = state.upkeep == Upkeep::Allowed && state.due.is_some_and(|due| due <= now);
            if state.is_asked || is_due {
                state.is_asked = false;
                state.due = None;
                state.is_merging = true;
                let turn = state.turn;
                state.turn = turn.saturating_add(1).rem_euclid(SLICES);
                return Some(turn);
            }
            let left = state.due.map(|due| due.saturating_duration_since(now));
            let left = left.filter(|_| state.upkeep == Upkeep::Allowed).unwrap_or(WAIT_LONG);
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn done(&self, begun: Instant, has_rows: bool) {
        let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.last_merge_micros.store(micros, Ordering::Relaxed);
        self.merges.fetch_add(1, Ordering::Relaxed);
        let mut state = self.lock();
        state.is_merging = false;
        if has_rows && state.due.is_none() {
            state.due = Instant::now().checked_add(MERGE_AFTER);
        }
        drop(state);
        self.changed.notify_all();
    }
}

/// The longest wait before a condition is looked at again.
const WAIT: Duration = Duration::from_millis(50);
const WAIT_LONG: Duration = Duration::from_mins(1);

fn is_large(shared: &Shared) -> bool {
    let view = shared.view();
    let ordered = view.parts.first().map_or(0, |part| part.active.bytes());
    ordered >= shared.sizes.merge_bytes
        || view.active_bytes() >= shared.sizes.layers_bytes_max.div_euclid(2)
}

/// The merger thread. A failure raises the alarm, which ends the process.
pub(super) fn run(shared: &Shared) {
    let merging = || -> Result<(), StorageFailure> {
        // Freeing the rows of a layer takes milliseconds. This thread does it, not the request that
        // happens to drop the last snapshot of the layer.
        let mut merged: Vec<Arc<Layer>> = Vec::new();
        while let Some(turn) = shared.merger.next() {
            let begun = Instant::now();
            // Two transactions, so that after a kill the next process finds the first part done.
            merged.extend(merge(shared, &|part, _| part == 0)?);
            merged.extend(merge(shared, &|part, layer| {
                let is_old = part > 0 && layer.made().elapsed() >= MERGE_AFTER;
                part == turn.saturating_add(1) || is_old
            })?);
            merged.retain(|layer| Arc::strong_count(layer) > 1);
            shared.merger.done(begun, shared.view().layer_bytes() > 0);
            if is_large(shared) {
                shared.merger.lock().is_asked = true;
            }
        }
        Ok(())
    };
    match catch_unwind(AssertUnwindSafe(merging)) {
        Ok(Ok(())) => (),
        Ok(Err(failure)) => drop(shared.alarm.sound(failure)),
        Err(_) => shared.alarm.end(Fatal::WriterPanicked),
    }
}

/// Merges part 0 and one slice, as the merger does. `meanwhile` runs when their layers are frozen.
#[cfg(test)]
pub(super) fn merge_turn(
    shared: &Shared,
    turn: usize,
    meanwhile: impl FnOnce(),
) -> Result<(), StorageFailure> {
    let _merging = shared.merging.lock().unwrap_or_else(PoisonError::into_inner);
    let slice = turn.rem_euclid(SLICES).saturating_add(1);
    let frozen = freeze(shared, &|part, _| part == 0 || part == slice)?;
    meanwhile();
    move_frozen(shared, &frozen, false)
}

/// Merges the parts that `choose` names, and returns their layers, which snapshots may still use.
fn merge(
    shared: &Shared,
    choose: &dyn Fn(usize, &Layer) -> bool,
) -> Result<Vec<Arc<Layer>>, StorageFailure> {
    let _merging = shared.merging.lock().unwrap_or_else(PoisonError::into_inner);
    let frozen = freeze(shared, choose)?;
    move_frozen(shared, &frozen, false)?;
    Ok(frozen.view.parts.into_iter().filter_map(|part| part.frozen).collect())
}

/// Moves the frozen rows into the data file and frees their part of the log.
fn move_frozen(shared: &Shared, frozen: &Frozen, is_closed: bool) -> Result<(), StorageFailure> {
    let transaction = file::begin(&shared.database)?;
    for table in Table::ALL {
        for part in frozen.view.parts.iter().filter_map(|part| part.frozen.as_deref()) {
            move_rows(&transaction, *table, part)?;
        }
    }
    let state = frozen.state(shared, is_closed);
    state.write(&transaction)?;
    transaction.commit()?;
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
    let held = shared.held_segment.load(Ordering::Acquire);
    let mut log = shared.log();
    let held = log.bounded_hold(held, shared.sizes.held_bytes_max);
    log.free_before(state.position.segment.min(held))?;
    shared.count(&log);
    Ok(())
}

/// The layers of a merge.
struct Frozen {
    view: View,
    /// For each part, the last batch whose rows the data file has after the merge.
    merged: [u64; PARTS],
}

impl Frozen {
    fn state(&self, shared: &Shared, is_closed: bool) -> LogState {
        let active = self.view.parts.iter().map(|part| part.active.start());
        LogState {
            is_closed,
            timeline: self.view.timeline,
            origin: shared.origin,
            position: active.min().unwrap_or_default(),
            held_segment: shared.held_segment.load(Ordering::Acquire),
            merged: Some(self.merged),
        }
    }
}

/// Fails if the rows of an earlier merge did not reach the data file: a new one would take their
/// place, and the log must keep them for the next start.
fn freeze(
    shared: &Shared,
    choose: &dyn Fn(usize, &Layer) -> bool,
) -> Result<Frozen, StorageFailure> {
    let log = shared.log();
    let end = log.end();
    let mut current = shared.current();
    let mut view = View::clone(&current);
    if view.parts.iter().any(|part| part.frozen.is_some()) {
        return Err(StorageFailure::Stopped);
    }
    let mut merged = [0; PARTS];
    for ((number, part), merged) in view.parts.iter_mut().enumerate().zip(&mut merged) {
        // An empty layer can begin again here, so that it does not hold the log.
        if choose(number, &part.active) || part.active.is_empty() {
            let active = std::mem::replace(part, Part::new(end)).active;
            part.frozen = Some(active).filter(|layer| !layer.is_empty());
        }
        *merged = part.active.start().sequence.saturating_sub(1);
    }
    shared.replace(&mut current, view.clone());
    drop(log);
    Ok(Frozen { view, merged })
}

fn move_rows(
    transaction: &WriteTransaction,
    table: Table,
    layer: &Layer,
) -> Result<(), StorageFailure> {
    let mut open = None;
    layer.for_each(table, |key, value| {
        let open = match &mut open {
            Some(open) => open,
            none => none.insert(transaction.open_table(definition(table))?),
        };
        match value {
            Some(value) => drop(open.insert(key, value)?),
            None => drop(open.remove(key)?),
        }
        Ok(())
    })
}

/// Merges everything and marks the log as closed, in one transaction: a batch that comes meanwhile
/// is behind the position that the transaction writes.
pub(super) fn close(shared: &Shared) -> Result<(), StorageFailure> {
    let _merging = shared.merging.lock().unwrap_or_else(PoisonError::into_inner);
    let frozen = freeze(shared, &|_, _| true)?;
    move_frozen(shared, &frozen, true)
}

/// Writes sorted rows into a data file that no engine uses, in transactions of bounded size. Without
/// a log and in the order of keys, this is several times faster than batches of changes.
pub(in crate::store) fn load_into(
    database: &redb::Database,
    rows: &mut SortedRows<'_>,
) -> Result<(), StorageFailure> {
    let mut rows = rows.peekable();
    while rows.peek().is_some() {
        let mut bytes: usize = 0;
        let transaction = database.begin_write()?;
        while bytes < LOAD_BATCH_BYTES
            && let Some(table) = rows.peek().and_then(|row| row.as_ref().ok()).map(|row| row.0)
        {
            let mut open = transaction.open_table(definition(table))?;
            while bytes < LOAD_BATCH_BYTES
                && let Some(row) = rows.next_if(|row| row.as_ref().is_ok_and(|row| row.0 == table))
            {
                let (_, (key, value)) = row?;
                bytes = bytes.saturating_add(key.len()).saturating_add(value.len());
                open.insert(key.as_slice(), value.as_slice())?;
            }
        }
        if let Some(Err(failure)) = rows.next_if(Result::is_err) {
            return Err(failure);
        }
        transaction.commit()?;
    }
    // Creates the empty tables, and saves the next start from checking the file.
    file::commit(database, Vec::<RowChange>::new(), None)
}
