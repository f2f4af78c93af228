//! The log as the archive reads it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::store::engine::LogSource;
use crate::store::engine::local::Shared;
use crate::store::engine::local::log::Position;
use crate::store::engine::local::log::segment::Lineage;
use crate::store::engine::local::log::tail::LogTail;
use crate::store::engine::local::state::{NOT_HELD, Origin};
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
        let segment = from.map_or(NOT_HELD, |from| from.segment);
        self.held_segment.store(segment, Ordering::Release);
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}
