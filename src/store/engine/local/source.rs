//! The log as the archive reads it.

use std::sync::Arc;

use crate::store::engine::departure::Departure;
use crate::store::engine::local::Shared;
use crate::store::engine::local::file;
use crate::store::engine::local::log::Position;
use crate::store::engine::local::log::segment::Lineage;
use crate::store::engine::local::log::tail::LogTail;
use crate::store::engine::local::state::{LogState, Origin};
use crate::store::engine::local::view::View;
use crate::store::failure::StorageFailure;

/// The log of an open engine, readable while it is written.
#[derive(Debug, Clone)]
pub struct LogSource(pub(super) Arc<Shared>);

impl LogSource {
    pub fn lineage(&self) -> Lineage {
        self.0.lineage
    }

    pub fn origin(&self) -> Origin {
        self.0.origin
    }

    pub fn end(&self) -> Position {
        self.0.log().end()
    }

    /// Reads from the batch with this number, or from the oldest one in the log. `None` if the log
    /// no longer has that batch.
    pub fn tail(&self, from: Option<u64>) -> Result<Option<LogTail>, StorageFailure> {
        let (volume, lineage, first, end) = {
            let log = self.0.log();
            (Arc::clone(log.volume()), log.lineage(), log.first_segment(), log.end())
        };
        match from {
            Some(sequence) => LogTail::seek(&volume, lineage, (first, end), sequence),
            None => LogTail::oldest(&volume, lineage, first),
        }
    }

    /// Records that the history has left the archive. Only a new timeline ends this.
    pub fn depart(&self, departure: Departure) -> Result<(), StorageFailure> {
        let shared = &self.0;
        // A merge writes the state too, from its frozen view.
        let _merging = shared.merging.lock();
        let departed = Some(departure);
        {
            let mut current = shared.current();
            if current.departed >= departed {
                return Ok(());
            }
            let next = View { departed, ..View::clone(&current) };
            shared.replace(&mut current, next);
        }
        shared.file.check_head()?;
        let state = LogState::read(&shared.database)?
            .ok_or(StorageFailure::Impossible("the data file has no state of the log"))?;
        file::commit(&shared.database, Vec::new(), Some(&LogState { departed, ..state }))
    }

    /// Keeps the log from this place on, within a bound. `None` keeps only the batches that the
    /// engine itself needs.
    pub fn hold(&self, from: Option<Position>) {
        *self.0.held.lock() = from;
        let log = self.0.log();
        let is_waiting = log.forgettable().is_some() && log.first_held(from) > log.first_segment();
        drop(log);
        if is_waiting {
            self.0.merger.free();
        }
    }

    /// Keeps the log from this place on, also for the next process if this one is killed.
    pub fn hold_durably(&self, from: Position) -> Result<(), StorageFailure> {
        let shared = &self.0;
        self.hold(Some(from));
        // A merge writes the state too.
        let _merging = shared.merging.lock();
        let held_segment = shared.log().first_held(Some(from));
        let state = LogState::read(&shared.database)?
            .ok_or(StorageFailure::Impossible("the data file has no state of the log"))?;
        // A durable hold on older segments suffices until the next merge.
        if state.held_segment <= held_segment {
            return Ok(());
        }
        shared.file.check_head()?;
        file::commit(&shared.database, Vec::new(), Some(&LogState { held_segment, ..state }))
    }
}

opaque_debug!(Shared);
