//! The seam to the storage of rows. Everything above it (records, changes, the audit chain, backups,
//! verification, rotation) uses only [`Engine`] and [`Read`]: no iterator, no type of a database and
//! no file name crosses it.

pub mod departure;
mod fetch;
pub(super) mod local;
#[cfg(test)]
pub(super) mod memory;
pub mod postgres;
mod processes;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::store::failure::StorageFailure;
use crate::store::tables::{KeyRange, Table};
use departure::Departure;
use fetch::AtOnce;
pub use fetch::Fetch;
pub use local::source::LogSource;

/// One key and its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// Durable storage of rows.
pub trait Engine: fmt::Debug + Send + Sync {
    /// The rows of one moment: that of this call, or of the first read, if the engine asks another
    /// program. Later changes do not alter what it reads.
    fn snapshot(&self) -> Result<Arc<dyn Read>, StorageFailure>;

    /// The newest rows, for reads that need no common moment.
    fn newest(&self) -> Result<Arc<dyn Fetch>, StorageFailure> {
        Ok(Arc::new(AtOnce(self.snapshot()?)))
    }

    /// Gives the newest rows to `decide` and writes the changes that it returns, all or none of
    /// them. Returns when they are durable and snapshots show them. No other change comes between
    /// the reads of `decide` and its changes; an engine that several processes share may call it
    /// again to ensure that.
    fn apply(&self, decide: &mut Decide<'_>) -> Result<(), StorageFailure>;

    /// Waits for the turn of this process to write, where several take turns. Changes that come
    /// meanwhile can go with the next [`Engine::apply`], which takes the turn itself if need be.
    fn take_turn(&self) {}

    /// True if other processes may write the same rows. [`Engine::apply`] may then call its function
    /// more than once, and only the result of the last call is written.
    fn is_shared(&self) -> bool {
        false
    }

    /// Is notified when another process has changed the generations. `None` if the engine does not
    /// know, and for an engine of one process.
    fn changes(&self) -> Option<Arc<Notify>> {
        None
    }

    /// Checks that the next process will find what this one writes.
    fn check_place(&self) -> Result<(), StorageFailure>;

    fn health(&self) -> EngineHealth;

    /// The log of the engine, for the archive. Engines without a log have no archive.
    fn log_source(&self) -> Option<LogSource> {
        None
    }

    /// Lets the engine do work that only saves time later, or holds it back, as on a full disk.
    fn set_upkeep(&self, upkeep: Upkeep);

    /// Returns when no file but the data file has rows that were deleted or replaced before the
    /// call. While upkeep is held, or the archive lacks a part of the log, the engine does it later.
    fn forget(&self) -> Result<(), StorageFailure> {
        Ok(())
    }

    /// Merges now, if the engine merges, and notes the end of its log. The turn decides which rows are
    /// merged: none without one.
    #[cfg(test)]
    fn merge_now(&self, _turn: Option<usize>) -> Result<(), StorageFailure> {
        Ok(())
    }

    /// True while nothing can be written until another program answers. New changes are refused
    /// meanwhile, so that their callers know at once that they were not made.
    fn is_held_up(&self) -> bool {
        false
    }

    /// Gives up such a wait. The process is about to end.
    fn stop_waiting(&self) {}

    /// Ends all work and closes the files. Nothing is lost without it, but the next start takes
    /// longer.
    fn close(&self) -> Result<(), StorageFailure>;
}

/// Decides on changes from the newest rows.
pub type Decide<'a> = dyn FnMut(&dyn Read) -> Result<Vec<RowChange>, StorageFailure> + 'a;

/// Rows sorted by [`Table::number`], then by key.
pub type SortedRows<'a> = dyn Iterator<Item = Result<(Table, Row), StorageFailure>> + 'a;

/// Rows at one moment.
pub trait Read: Send + Sync {
    fn moment(&self) -> Result<Moment, StorageFailure>;

    /// The reason why this history is no longer that of its archive.
    fn departed(&self) -> Option<Departure> {
        None
    }

    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StorageFailure>;

    /// The values of several keys, in their order.
    fn get_many(&self, keys: &[(Table, &[u8])]) -> Result<Vec<Option<Vec<u8>>>, StorageFailure> {
        keys.iter().map(|(table, key)| self.get(*table, key)).collect()
    }

    /// Rows from one end of the range on, at most `count_max` of them.
    fn page(
        &self,
        range: &KeyRange,
        order: Order,
        count_max: usize,
    ) -> Result<Page, StorageFailure>;

    /// True if a batch may take rows for absent that it puts without having read them, in tables that
    /// grow ([`Table::grows`]). If one of them exists, nothing is written, and the batch is decided
    /// again on rows that do not say so.
    fn refuses_rows_that_exist(&self) -> bool {
        false
    }

    /// About the number of all rows, for progress; 0 if the engine does not know it.
    fn rows_about(&self) -> u64 {
        0
    }
}

/// A moment in the history of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// The id of the history. A restored or promoted store begins a new one.
    pub timeline: [u8; 16],
    /// The number of the last batch of changes.
    pub sequence: u64,
    /// The digest of the history up to that batch; zeros if the engine has no log.
    pub digest: [u8; 32],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Ascending,
    Descending,
}

/// A part of a range.
#[derive(Debug, Default)]
pub struct Page {
    pub rows: Vec<Row>,
    /// The range has no rows behind these. Without it, there may be more, also if the page has
    /// fewer rows than were asked for.
    pub is_last: bool,
}

/// The new value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowChange {
    pub table: Table,
    pub key: Vec<u8>,
    /// `None` deletes the row.
    pub value: Option<Vec<u8>>,
}

/// Permission for work that only saves time later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upkeep {
    Allowed,
    Held,
}

/// The engine's condition, for metrics and status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EngineHealth {
    /// The number of the last batch of changes.
    pub sequence: u64,
    /// The length of the log's segments.
    pub log_bytes: u64,
    /// The number of segments.
    pub log_segments: u64,
    /// The memory of rows that are in the log and not yet in the data file.
    pub layer_bytes: u64,
    /// True while rows are moved from the log into the data file.
    pub is_merging: bool,
    /// Merges since the start.
    pub merges: u64,
    /// The duration of the last merge, in microseconds.
    pub last_merge_micros: u64,
    /// Batches that waited because a merge could not keep up.
    pub waits: u64,
    /// The number of batches that the start found in the log.
    pub recovered: u64,
    /// The start left out the last batch of the log, which was not whole.
    pub is_cut_off: bool,
    /// The database does not wait for its disk: a loss of power loses answered writes.
    pub lacks_sync: bool,
    /// Connections to the database that snapshots use.
    pub connections_used: u64,
    /// Attempts to connect to the database that failed.
    pub connects_failed: u64,
    /// Attempts to write a batch that were repeated: another process came between, or a connection
    /// ended.
    pub repeats: u64,
}
