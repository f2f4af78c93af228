//! Opens the engine: the data file, then the frames of the log that it lacks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::Clock;
use crate::crypto::Random;
use crate::lock::Lock;
use crate::store::alarm::Alarm;
use crate::store::engine::Moment;
use crate::store::engine::local::base::Base;
use crate::store::engine::local::database::GuardedDatabase;
use crate::store::engine::local::file::{self, DataFile};
use crate::store::engine::local::log::end::{EndFile, ExpectedLog, NotedEnd};
use crate::store::engine::local::log::frame::Frame;
use crate::store::engine::local::log::segment::Lineage;
use crate::store::engine::local::log::{Log, Position, reader};
use crate::store::engine::local::merge;
use crate::store::engine::local::merger::Merger;
use crate::store::engine::local::parts::{PARTS, part_of};
use crate::store::engine::local::state::{LogState, NOT_HELD, Origin};
use crate::store::engine::local::view::{Part, View};
use crate::store::engine::local::{Counts, LocalEngine, Shared, Sizes};
use crate::store::failure::StorageFailure;
use crate::store::tables::{Table, meta};
use crate::store::volume::{Volume, remove_left};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleanliness {
    Clean,
    /// The process did not close the files, so the log had to be read.
    NeedsRecovery,
}

impl LocalEngine {
    /// Starts the engine on an open data file of the current format. Reads the rows that the data
    /// file lacks from the log.
    pub(in crate::store) fn start(
        volume: &Arc<dyn Volume>,
        data: DataFile,
        clock: &Clock,
        alarm: &Alarm,
    ) -> Result<(Self, Cleanliness), StorageFailure> {
        Self::start_sized(volume, data, (clock, alarm), Sizes::default())
    }

    /// Starts the engine even if batches are missing at the end of the log. The noted end is kept,
    /// so that later starts refuse this log until a new timeline has begun.
    pub(in crate::store) fn start_accepting_any_end(
        volume: &Arc<dyn Volume>,
        data: DataFile,
        clock: &Clock,
        alarm: &Alarm,
    ) -> Result<Self, StorageFailure> {
        let opened = open(volume, data, (clock, alarm), Sizes::default(), true)?;
        Self::with_merger(opened.0)
    }

    pub(in crate::store) fn start_sized(
        volume: &Arc<dyn Volume>,
        data: DataFile,
        with: (&Clock, &Alarm),
        sizes: Sizes,
    ) -> Result<(Self, Cleanliness), StorageFailure> {
        let (shared, cleanliness) = open(volume, data, with, sizes, false)?;
        Ok((Self::with_merger(shared)?, cleanliness))
    }

    fn with_merger(shared: Arc<Shared>) -> Result<Self, StorageFailure> {
        let merging = Arc::clone(&shared);
        let merger = std::thread::Builder::new().name(String::from("merger"));
        let merger = merger.spawn(move || merge::run(&merging))?;
        Ok(Self { shared, merger: Lock::new(Some(merger)) })
    }

    /// Starts the engine without the merger thread; the test merges.
    #[cfg(test)]
    pub(in crate::store) fn start_without_merger(
        volume: &Arc<dyn Volume>,
        data: DataFile,
        with: (&Clock, &Alarm),
        sizes: Sizes,
    ) -> Result<Self, StorageFailure> {
        let (shared, _) = open(volume, data, with, sizes, false)?;
        Ok(Self { shared, merger: Lock::new(None) })
    }

    #[cfg(test)]
    pub(in crate::store) fn merge_turn(&self, turn: usize) -> Result<(), StorageFailure> {
        self.merge_turn_while(turn, || ())
    }

    /// `meanwhile` runs while the layers are frozen.
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
    (clock, alarm): (&Clock, &Alarm),
    sizes: Sizes,
    accepts_any_end: bool,
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
        None => fresh(Random::new().bytes(), Origin::default(), Moment::default()),
    };
    let vault = vault_id(&base)?;
    let lineage = Lineage { vault, timeline: state.timeline };
    let end = EndFile::find(volume.as_ref())?;
    let expected = match known {
        None => ExpectedLog::None,
        Some(_) if accepts_any_end => ExpectedLog::Closed,
        Some(LogState { is_closed: true, .. }) => ExpectedLog::Closed,
        Some(_) => ExpectedLog::Open,
    };
    let noted = EndFile::expected(end.as_ref(), lineage, expected)?.filter(|_| !accepts_any_end);
    let (log, view, recovered) =
        recover(volume, (lineage, sizes), base, (&state, noted), known.is_none())?;
    // The noted end must be durable before the data file requires it. A later noted end is kept.
    let last = NotedEnd { lineage, sequence: view.sequence, digest: view.digest };
    let end = EndFile::begin(volume.as_ref(), end, last)?;
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
        log: Lock::new(log),
        end: Lock::new(end),
        lineage,
        views: Lock::new(VecDeque::from([(view.sequence, Arc::downgrade(&view))])),
        current: Lock::new(view),
        merger: Merger::new(),
        origin: state.origin,
        counts: Counts {
            recovered: AtomicU64::new(recovered.batches),
            is_cut_off: recovered.is_cut_off,
            ..Counts::default()
        },
        merging: Lock::new(()),
        held: Lock::new(held_from(&state)),
    });
    shared.count(&shared.log());
    if shared.counts.recovered.load(Ordering::Relaxed) > 0 {
        shared.merger.consider(shared.has_many_rows());
    }
    if !was_closed {
        // The last process may have ended before it could forget deleted rows.
        shared.merger.forget_later();
    }
    let cleanliness =
        if was_closed && !was_repaired { Cleanliness::Clean } else { Cleanliness::NeedsRecovery };
    Ok((shared, cleanliness))
}

/// The place from which an earlier process held the log for its archive.
fn held_from(state: &LogState) -> Option<Position> {
    let place = Position { segment: state.held_segment, ..Position::default() };
    (state.held_segment != NOT_HELD).then_some(place)
}

/// The state of a file without a log. The first frame follows the batch of this moment.
pub(in crate::store) fn fresh(timeline: [u8; 16], origin: Origin, after: Moment) -> LogState {
    let Moment { sequence, digest, .. } = after;
    let next = sequence.saturating_add(1);
    LogState {
        is_closed: true,
        timeline,
        origin,
        position: Position::first(0, next, digest),
        departed: None,
        held_segment: NOT_HELD,
        merged: Some([sequence; PARTS]),
    }
}

/// Begins a new timeline in a data file that no engine uses. It continues the history up to this
/// moment. Returns the timeline's id.
pub(in crate::store) fn begin_timeline(
    database: &GuardedDatabase,
    origin: Moment,
) -> Result<[u8; 16], StorageFailure> {
    let Moment { timeline, sequence, .. } = origin;
    let next = Random::new().bytes();
    let state = fresh(next, Origin { timeline, sequence }, origin);
    file::commit(database, Vec::new(), Some(&state))?;
    Ok(next)
}

fn vault_id(base: &Base) -> Result<[u8; 16], StorageFailure> {
    let id = base.get(Table::Meta, meta::FILE_ID)?;
    id.and_then(|id| id.try_into().ok())
        .ok_or_else(|| StorageFailure::Damaged(String::from("the file has no id")))
}

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
    (state, noted): (&LogState, Option<NotedEnd>),
    is_fresh: bool,
) -> Result<(Log, View, Recovered), StorageFailure> {
    let mut view = View::of_base(base, state.position, lineage.timeline);
    view.departed = state.departed;
    noted.map_or(Ok(()), |noted| noted.check_digest(view.sequence, view.digest))?;
    let numbers = reader::numbers(volume.as_ref())?;
    let is_there = numbers.contains(&state.position.segment);
    if is_fresh {
        reader::check_no_frames(volume.as_ref(), lineage.vault)?;
    }
    if is_fresh || (state.is_closed && !is_there) {
        reader::check_not_newer(volume.as_ref(), lineage, state.position.sequence)?;
        noted.map_or(Ok(()), |noted| noted.check_reached(view.sequence))?;
        // Later starts would take files of another history for damage.
        for number in &numbers {
            let name = super::log::segment::name(*number);
            remove_left(volume.as_ref(), &name)?;
        }
        let Position { sequence, segment, digest, .. } = state.position;
        let first = Position::first(segment.saturating_add(1), sequence, digest);
        let log = Log::begin(volume, lineage, sizes.segment_bytes, first)?;
        view.parts = std::array::from_fn(|_| Part::new(log.end()));
        return Ok((log, view, Recovered::default()));
    }
    let mut batches: u64 = 0;
    let scan = reader::scan(volume.as_ref(), lineage, state.position, &mut |frame, digest| {
        batches = batches.saturating_add(1);
        noted.map_or(Ok(()), |noted| noted.check_digest(frame.sequence, digest))?;
        replay(&mut view, frame, state)?;
        view.digest = digest;
        Ok(())
    })?;
    let Some(scan) = scan else {
        return Err(StorageFailure::Damaged(String::from("the log is missing")));
    };
    let merged = state.merged.iter().flatten().max();
    if merged.is_some_and(|merged| view.sequence < *merged) {
        return Err(reader::too_short(scan.end()));
    }
    noted.map_or(Ok(()), |noted| noted.check_reached(view.sequence))?;
    let recovered = Recovered { batches, is_cut_off: scan.is_cut_off };
    let mut log = Log::resume(volume, lineage, sizes.segment_bytes, scan)?;
    // An earlier process may have had to forget these segments, so the next merge overwrites them.
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
        active.insert(row, sequence, sequence)?;
    }
    view.sequence = sequence;
    Ok(())
}
