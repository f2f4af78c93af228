//! Opens the engine: the data file, then the frames of the log that it lacks.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::clock::Clock;
use crate::crypto::Random;
use crate::store::alarm::Alarm;
use crate::store::engine::Moment;
use crate::store::engine::local::base::Base;
use crate::store::engine::local::database::GuardedDatabase;
use crate::store::engine::local::file::{self, DataFile};
use crate::store::engine::local::log::frame::Frame;
use crate::store::engine::local::log::segment::{FIRST_FRAME, Lineage};
use crate::store::engine::local::log::{Log, Position, reader};
use crate::store::engine::local::merge;
use crate::store::engine::local::merger::Merger;
use crate::store::engine::local::parts::part_of;
use crate::store::engine::local::state::{LogState, NOT_HELD, Origin};
use crate::store::engine::local::view::{Part, View};
use crate::store::engine::local::{Counts, LocalEngine, Shared, Sizes};
use crate::store::failure::StorageFailure;
use crate::store::tables::{Table, meta};
use crate::store::volume::Volume;

/// The state in which the last process left the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleanliness {
    Clean,
    /// The process ended without closing the files, so the log had to be read.
    NeedsRecovery,
}

impl LocalEngine {
    /// Starts the engine on an open data file of the current format. Rows of the log that the data
    /// file lacks are read into memory.
    pub(in crate::store) fn start(
        volume: &Arc<dyn Volume>,
        data: DataFile,
        clock: &Clock,
        alarm: &Alarm,
    ) -> Result<(Self, Cleanliness), StorageFailure> {
        Self::start_sized(volume, data, (clock, alarm), Sizes::default())
    }

    pub(in crate::store) fn start_sized(
        volume: &Arc<dyn Volume>,
        data: DataFile,
        (clock, alarm): (&Clock, &Alarm),
        sizes: Sizes,
    ) -> Result<(Self, Cleanliness), StorageFailure> {
        let (shared, cleanliness) = open(volume, data, clock, alarm, sizes)?;
        let merging = Arc::clone(&shared);
        let merger = std::thread::Builder::new().name(String::from("merger"));
        let merger = merger.spawn(move || merge::run(&merging)).map_err(StorageFailure::from_io)?;
        Ok((Self { shared, merger: Mutex::new(Some(merger)) }, cleanliness))
    }

    /// Starts the engine without its thread: a test merges when it wants to.
    #[cfg(test)]
    pub(in crate::store) fn start_without_merger(
        volume: &Arc<dyn Volume>,
        data: DataFile,
        (clock, alarm): (&Clock, &Alarm),
        sizes: Sizes,
    ) -> Result<Self, StorageFailure> {
        let (shared, _) = open(volume, data, clock, alarm, sizes)?;
        Ok(Self { shared, merger: Mutex::new(None) })
    }

    /// Merges part 0 and one slice.
    #[cfg(test)]
    pub(in crate::store) fn merge_turn(&self, turn: usize) -> Result<(), StorageFailure> {
        self.merge_turn_while(turn, || ())
    }

    /// Merges part 0 and one slice. `meanwhile` runs when their layers are frozen.
    #[cfg(test)]
    pub(in crate::store) fn merge_turn_while(
        &self,
        turn: usize,
        meanwhile: impl FnOnce(),
    ) -> Result<(), StorageFailure> {
        merge::merge_turn(&self.shared, turn, meanwhile)
    }
}

fn open(
    volume: &Arc<dyn Volume>,
    data: DataFile,
    clock: &Clock,
    alarm: &Alarm,
    sizes: Sizes,
) -> Result<(Arc<Shared>, Cleanliness), StorageFailure> {
    let DataFile { database, file, was_repaired } = data;
    let base = Base::open(&database)?;
    if !base.is_complete() {
        file::commit(&database, Vec::new(), None)?;
    }
    let base = Base::open(&database)?;
    let known = LogState::read(&database)?;
    let state = match known {
        Some(state) => state,
        None => fresh(Random::new().bytes(), Origin::default(), 0),
    };
    let vault = vault_id(&base)?;
    let lineage = Lineage { vault, timeline: state.timeline };
    let (log, view, recovered) = recover(volume, (lineage, sizes), base, &state, known.is_none())?;
    let was_closed = state.is_closed && recovered.batches == 0;
    if state.is_closed {
        // From here on the log may have rows that the data file lacks.
        let position = log.end();
        let position = if recovered.batches == 0 { position } else { state.position };
        let open = LogState { is_closed: false, position, ..state };
        file::commit(&database, Vec::new(), Some(&open))?;
    }
    let view = Arc::new(view);
    let shared = Arc::new(Shared {
        sizes,
        database,
        file,
        clock: clock.clone(),
        alarm: alarm.clone(),
        log: Mutex::new(log),
        views: Mutex::new(VecDeque::from([(view.sequence, Arc::downgrade(&view))])),
        current: Mutex::new(view),
        merger: Merger::new(),
        origin: state.origin,
        counts: Counts {
            recovered: AtomicU64::new(recovered.batches),
            is_cut_off: recovered.is_cut_off,
            ..Counts::default()
        },
        merging: Mutex::new(()),
        held: Mutex::new(held_from(&state)),
    });
    shared.count(&shared.log());
    if shared.counts.recovered.load(Ordering::Relaxed) > 0 {
        shared.merger.consider(shared.has_many_rows());
    }
    if !was_closed {
        // The last process may have been ended before it could forget what was deleted.
        shared.merger.forget_later();
    }
    let cleanliness =
        if was_closed && !was_repaired { Cleanliness::Clean } else { Cleanliness::NeedsRecovery };
    Ok((shared, cleanliness))
}

/// The place from which on an earlier process has kept the log for its archive.
fn held_from(state: &LogState) -> Option<Position> {
    let place = Position { segment: state.held_segment, ..Position::default() };
    (state.held_segment != NOT_HELD).then_some(place)
}

/// The state of a file that has no log yet. Its first frame comes after `sequence`.
pub(in crate::store) fn fresh(timeline: [u8; 16], origin: Origin, sequence: u64) -> LogState {
    let next = sequence.saturating_add(1);
    LogState {
        is_closed: true,
        timeline,
        origin,
        position: Position { sequence: next, segment: 0, offset: FIRST_FRAME },
        held_segment: NOT_HELD,
        merged: Some([sequence; super::PARTS]),
    }
}

/// Makes a data file that no engine uses the first of a new timeline, which continues the history
/// up to this moment.
pub(in crate::store) fn begin_timeline(
    database: &GuardedDatabase,
    origin: Moment,
) -> Result<(), StorageFailure> {
    let Moment { timeline, sequence } = origin;
    let state = fresh(Random::new().bytes(), Origin { timeline, sequence }, sequence);
    file::commit(database, Vec::new(), Some(&state))
}

fn vault_id(base: &Base) -> Result<[u8; 16], StorageFailure> {
    let id = base.get(Table::Meta, meta::FILE_ID)?;
    id.and_then(|id| id.try_into().ok())
        .ok_or_else(|| StorageFailure::Damaged(String::from("the file has no id")))
}

/// The part of the log that a start has read.
#[derive(Debug, Clone, Copy, Default)]
struct Recovered {
    batches: u64,
    is_cut_off: bool,
}

/// Reads the log behind the state's position into layers, and opens it for the next frame.
fn recover(
    volume: &Arc<dyn Volume>,
    (lineage, sizes): (Lineage, Sizes),
    base: Base,
    state: &LogState,
    is_fresh: bool,
) -> Result<(Log, View, Recovered), StorageFailure> {
    let mut view = View::of_base(base, state.position, lineage.timeline);
    let numbers = reader::numbers(volume.as_ref())?;
    let is_there = numbers.contains(&state.position.segment);
    if is_fresh {
        reader::check_no_frames(volume.as_ref(), lineage.vault)?;
    }
    if is_fresh || (state.is_closed && !is_there) {
        reader::check_not_newer(volume.as_ref(), lineage, state.position.sequence)?;
        // Files of another history would be taken for damage later.
        for number in &numbers {
            let name = super::log::segment::name(*number);
            volume.remove(&name).map_err(StorageFailure::from_io)?;
        }
        let number = state.position.segment.saturating_add(1);
        let log =
            Log::begin(volume, lineage, sizes.segment_bytes, (number, state.position.sequence))?;
        view.parts = std::array::from_fn(|_| Part::new(log.end()));
        return Ok((log, view, Recovered::default()));
    }
    let mut batches: u64 = 0;
    let scan = reader::scan(volume.as_ref(), lineage, state.position, &mut |frame| {
        batches = batches.saturating_add(1);
        replay(&mut view, frame, state)?;
        Ok(())
    })?;
    let Some(scan) = scan else {
        return Err(StorageFailure::Damaged(String::from("the log is missing")));
    };
    let merged = state.merged.iter().flatten().max();
    if merged.is_some_and(|merged| view.sequence < *merged) {
        return Err(reader::too_short(scan.end()));
    }
    let recovered = Recovered { batches, is_cut_off: scan.is_cut_off };
    let mut log = Log::resume(volume, lineage, sizes.segment_bytes, scan)?;
    // The next merge overwrites them: an earlier process may have had to forget them.
    log.forget_before(state.position.segment);
    log.free_before(state.position.segment.min(state.held_segment))?;
    Ok((log, view, recovered))
}

/// Inserts the rows of a frame that the data file lacks.
fn replay(view: &mut View, frame: Frame, state: &LogState) -> Result<(), StorageFailure> {
    let Frame { sequence, rows, .. } = frame;
    for row in rows {
        let part = part_of(row.table, &row.key);
        let merged = state.merged.as_ref().and_then(|merged| merged.get(part));
        if merged.is_some_and(|merged| sequence <= *merged) {
            continue;
        }
        let active = &view.part(part)?.active;
        active.insert(row.table, std::iter::once(row), sequence, sequence)?;
    }
    view.sequence = sequence;
    Ok(())
}
