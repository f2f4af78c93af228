//! The engine of one host: a log, layers in memory, and a data file.
//!
//! A batch is checked against the newest rows, written to the [`log`] and synced. Then its rows go
//! into the active [`layer`], snapshots see them, and the batch is answered. A [`merge`] moves a
//! layer's rows into the data file (redb) in key order, with the log's position in the same
//! transaction, and frees the segments before that position. After a crash, [`open`] reads the
//! frames behind that position into layers again.

mod base;
pub(in crate::store) mod database;
pub(in crate::store) mod file;
mod forget;
mod layer;
pub(in crate::store) mod log;
mod merge;
mod merger;
pub(in crate::store) mod open;
mod parts;
pub(super) mod source;
pub(in crate::store) mod standby;
pub(in crate::store) mod state;
#[cfg(test)]
pub(super) mod tests;
mod view;
mod watched;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, Weak};
use std::thread::JoinHandle;

use crate::bounds::{ARCHIVE_LOG_BYTES_MAX, LAYERS_BYTES_MAX, LOG_SEGMENT_BYTES, MERGE_BYTES};
use crate::clock::Clock;
use crate::lock::Lock;
use crate::store::alarm::Alarm;
use crate::store::engine::local::base::Base;
use crate::store::engine::local::database::GuardedDatabase;
pub(in crate::store) use crate::store::engine::local::file::load_into;
use crate::store::engine::local::log::Log;
use crate::store::engine::local::log::end::{EndFile, NotedEnd};
use crate::store::engine::local::log::segment::Lineage;
use crate::store::engine::local::merge::Closing;
use crate::store::engine::local::merger::Merger;
use crate::store::engine::local::parts::part_of;
use crate::store::engine::local::state::Origin;
use crate::store::engine::local::view::View;
use crate::store::engine::local::watched::WatchedFile;
use crate::store::engine::{Decide, Engine, EngineHealth, Read, RowChange, Upkeep};
use crate::store::failure::StorageFailure;

/// Dropping it without [`Engine::close`] is an unclean stop.
pub(in crate::store) struct LocalEngine {
    shared: Arc<Shared>,
    merger: Lock<Option<JoinHandle<()>>>,
}

/// Sizes of the log and the layers. Tests use small ones.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct Sizes {
    pub(in crate::store) segment_bytes: u64,
    /// The size of rows in memory that starts a merge.
    pub(in crate::store) merge_bytes: usize,
    /// The size of rows in memory above which a batch waits.
    pub(in crate::store) layers_bytes_max: usize,
    /// The size of the log that is kept for the archive.
    pub(in crate::store) held_bytes_max: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            segment_bytes: LOG_SEGMENT_BYTES,
            merge_bytes: MERGE_BYTES,
            layers_bytes_max: LAYERS_BYTES_MAX,
            held_bytes_max: ARCHIVE_LOG_BYTES_MAX,
        }
    }
}

struct Shared {
    sizes: Sizes,
    database: GuardedDatabase,
    file: Arc<WatchedFile>,
    clock: Clock,
    alarm: Alarm,
    /// Held while a batch is applied and while a layer is frozen.
    log: Lock<Log>,
    end: Lock<EndFile>,
    lineage: Lineage,
    /// The rows that new snapshots see.
    current: Lock<Arc<View>>,
    /// The views that snapshots may still use, oldest first.
    views: Lock<VecDeque<(u64, Weak<View>)>>,
    merger: Merger,
    origin: Origin,
    counts: Counts,
    /// Held while rows are moved into the data file.
    merging: Lock<()>,
    /// The archive lacks the log from this place on; `None` without an archive.
    held: Lock<Option<log::Position>>,
}

#[derive(Debug, Default)]
struct Counts {
    log_bytes: AtomicU64,
    log_segments: AtomicU64,
    waits: AtomicU64,
    recovered: AtomicU64,
    /// The start left out an incomplete batch.
    is_cut_off: bool,
}

impl Shared {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock()
    }

    fn held(&self) -> Option<log::Position> {
        *self.held.lock()
    }

    fn note_end(&self) -> Result<(), StorageFailure> {
        let (view, lineage) = (self.view(), self.lineage);
        let noted = NotedEnd { lineage, sequence: view.sequence, digest: view.digest };
        Ok(self.end.lock().note(noted)?)
    }

    fn current(&self) -> MutexGuard<'_, Arc<View>> {
        self.current.lock()
    }

    fn view(&self) -> Arc<View> {
        Arc::clone(&self.current())
    }

    /// Makes durable rows visible as the batch after the current one, with the digest of the
    /// history up to it. The caller holds the log's lock, so no layer is frozen meanwhile.
    fn publish(&self, rows: Vec<RowChange>, digest: [u8; 32]) -> Result<(), StorageFailure> {
        let view = self.view();
        let sequence = view.sequence.saturating_add(1);
        self.insert(&view, rows, sequence)?;
        let mut current = self.current();
        let next = View { sequence, digest, ..View::clone(&current) };
        self.replace(&mut current, next);
        Ok(())
    }

    /// Replaces the view that new snapshots see, and tracks it, because snapshots may use every
    /// view that was current.
    fn replace(&self, current: &mut Arc<View>, next: View) {
        let next = Arc::new(next);
        let mut views = self.views.lock();
        views.push_back((next.sequence, Arc::downgrade(&next)));
        *current = next;
    }

    fn insert(
        &self,
        view: &View,
        rows: Vec<RowChange>,
        sequence: u64,
    ) -> Result<(), StorageFailure> {
        let oldest_live = self.oldest_live(view.sequence);
        rows.into_iter().try_for_each(|row| {
            let part = view.part(part_of(row.table, &row.key))?;
            part.active.insert(row, sequence, oldest_live)
        })
    }

    /// Updates the counters that metrics read without the log's lock.
    fn count(&self, log: &Log) {
        self.counts.log_bytes.store(log.bytes(), Ordering::Relaxed);
        let segments = u64::try_from(log.segments()).unwrap_or(u64::MAX);
        self.counts.log_segments.store(segments, Ordering::Relaxed);
    }

    fn has_many_rows(&self) -> bool {
        let view = self.view();
        let ordered = view.parts.first().map_or(0, |part| part.active.bytes());
        ordered >= self.sizes.merge_bytes
            || view.active_bytes() >= self.sizes.layers_bytes_max.div_euclid(2)
    }

    fn is_full(&self) -> bool {
        self.view().layer_bytes() > self.sizes.layers_bytes_max
    }

    /// The sequence number of the oldest view that a snapshot may use.
    fn oldest_live(&self, newest: u64) -> u64 {
        let mut views = self.views.lock();
        while views.pop_front_if(|(_, view)| view.strong_count() == 0).is_some() {}
        // Behind an old snapshot in use, dead views would pile up.
        if views.len() > VIEWS_MAX {
            views.retain(|(_, view)| view.strong_count() > 0);
        }
        views.front().map_or(newest, |(sequence, _)| *sequence)
    }
}

/// The number of views above which dead ones are removed.
const VIEWS_MAX: usize = 1024;

/// The rows of a data file that no engine uses.
pub(in crate::store) fn view_of_file(
    database: &GuardedDatabase,
) -> Result<Arc<dyn Read>, StorageFailure> {
    let base = Base::open(database)?;
    Ok(Arc::new(View::of_base(base, log::Position::default(), [0; 16])))
}

impl Engine for LocalEngine {
    fn snapshot(&self) -> Result<Arc<dyn Read>, StorageFailure> {
        Ok(self.shared.view())
    }

    fn apply(&self, decide: &mut Decide<'_>) -> Result<(), StorageFailure> {
        let shared = &self.shared;
        if shared.merger.wait_for_room(|| shared.is_full(), || shared.alarm.has_sounded()) {
            shared.counts.waits.fetch_add(1, Ordering::Relaxed);
        }
        let mut log = shared.log();
        let rows = decide(shared.view().as_ref())?;
        if rows.is_empty() {
            return Ok(());
        }
        log.append(shared.clock.now(), &rows)?;
        // A batch in a file that was moved away would be lost to the next process, so it is not
        // answered. The two checks of names cost a few microseconds, a sync much more.
        shared.file.check_place()?;
        log.check_newest_place()?;
        shared.publish(rows, log.end().digest)?;
        shared.count(&log);
        drop(log);
        shared.merger.consider(shared.has_many_rows());
        Ok(())
    }

    fn check_place(&self) -> Result<(), StorageFailure> {
        self.shared.file.check_place()?;
        self.shared.file.check_head()?;
        self.shared.end.try_lock().map_or(Ok(()), |end| end.check_place())?;
        // `try_lock`: on a disk that hangs, a batch holds the log's lock.
        self.shared.log.try_lock().map_or(Ok(()), |log| log.check_place())
    }

    fn health(&self) -> EngineHealth {
        let view = self.shared.view();
        let counts = &self.shared.counts;
        EngineHealth {
            sequence: view.sequence,
            log_bytes: counts.log_bytes.load(Ordering::Relaxed),
            log_segments: counts.log_segments.load(Ordering::Relaxed),
            layer_bytes: u64::try_from(view.layer_bytes()).unwrap_or(u64::MAX),
            waits: counts.waits.load(Ordering::Relaxed),
            recovered: counts.recovered.load(Ordering::Relaxed),
            is_cut_off: counts.is_cut_off,
            ..self.shared.merger.health()
        }
    }

    fn log_source(&self) -> Option<source::LogSource> {
        Some(source::LogSource(Arc::clone(&self.shared)))
    }

    fn set_upkeep(&self, upkeep: Upkeep) {
        self.shared.merger.set_upkeep(upkeep);
    }

    fn forget(&self) -> Result<(), StorageFailure> {
        if self.shared.merger.may_forget() {
            forget::forget(&self.shared, Closing::No)?;
        }
        Ok(())
    }

    #[cfg(test)]
    fn merge_now(&self, turn: Option<usize>) -> Result<(), StorageFailure> {
        turn.map_or(Ok(()), |turn| self.merge_turn(turn))?;
        self.shared.note_end()
    }

    fn close(&self) -> Result<(), StorageFailure> {
        self.shared.merger.stop();
        let thread = self.merger.lock().take();
        if let Some(thread) = thread {
            // A panic of the merger has raised the alarm.
            thread.join().ok();
        }
        merge::close(&self.shared)?;
        forget::forget_closed(&self.shared)
    }
}

impl Drop for LocalEngine {
    fn drop(&mut self) {
        // A file that is not closed is recovered at the next start.
        self.shared.merger.stop();
        let thread = self.merger.lock().take();
        if let Some(thread) = thread {
            thread.join().ok();
        }
    }
}

opaque_debug!(LocalEngine);
