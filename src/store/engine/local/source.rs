//! The log as the archive reads it.

use std::sync::{Arc, PoisonError};

use crate::store::engine::LogSource;
use crate::store::engine::local::Shared;
use crate::store::engine::local::log::Position;
use crate::store::engine::local::log::segment::Lineage;
use crate::store::engine::local::log::tail::LogTail;
use crate::store::engine::local::state::Origin;
use crate::store::failure::StorageFailure;

impl LogSource for Shared {
    fn lineage(&self) -> Lineage {
        self.log().lineage()
    }

    fn origin(&self) -> Origin {
        self.origin
    }

    fn end(&self) -> Position {
        self.log().end()
    }

    fn tail(&self, from: Option<u64>) -> Result<Option<LogTail>, StorageFailure> {
        let (volume, lineage, first, end) = {
            let log = self.log();
            (Arc::clone(log.volume()), log.lineage(), log.first_segment(), log.end())
        };
        match from {
            Some(sequence) => LogTail::seek(&volume, lineage, (first, end), sequence),
            None => LogTail::oldest(&volume, lineage, first),
        }
    }

    fn hold(&self, from: Option<Position>) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = from;
        let log = self.log();
        let is_waiting = log.forgettable().is_some() && log.first_held(from) > log.first_segment();
        drop(log);
        if is_waiting {
            self.merger.free();
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}
