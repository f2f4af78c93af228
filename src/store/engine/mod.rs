//! The interface to row storage. Everything above it (records, changes, the audit chain, backups,
//! verification, rotation) uses only [`Engine`] and [`Read`]: no iterator, no database type and no
//! file name crosses it.

pub mod departure;
mod fetch;
pub(super) mod local;
#[cfg(test)]
pub(super) mod memory;
pub mod postgres;
mod processes;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

use crate::store::failure::StorageFailure;
use crate::store::tables::{KeyRange, Shard, Table};
use departure::Departure;
pub use fetch::NewestRows;
pub use local::source::LogSource;

pub type Row = (Vec<u8>, Vec<u8>);

pub trait Engine: fmt::Debug + Send + Sync {
    /// The rows of one moment: the time of this call, or of the first read in an engine that asks
    /// another program. Later changes do not alter the snapshot.
    fn snapshot(&self) -> Result<Arc<dyn Read>, StorageFailure>;

    /// The newest rows, for reads that need no common moment.
    fn newest(&self) -> Result<NewestRows, StorageFailure> {
        Ok(NewestRows::AtOnce(self.snapshot()?))
    }

    /// Passes the newest rows to `decide` and writes the changes that it returns, all or nothing.
    /// Returns when they are durable and snapshots show them. No other change comes between the
    /// reads of `decide` and its changes; a shared engine may call `decide` again to ensure that.
    fn apply(&self, decide: &mut Decide<'_>) -> Result<(), StorageFailure>;

    /// As [`Engine::apply`], for changes of rows in these shards. Batches of other shards may be
    /// written meanwhile, by this process too. `apply` is for the vault's own shard.
    fn apply_in(&self, _shards: &Turns, decide: &mut Decide<'_>) -> Result<(), StorageFailure> {
        self.apply(decide)
    }

    /// Waits for this process's turn in a shard, if processes take turns. Changes that come
    /// meanwhile can join the next batch, which takes the turn itself if necessary.
    fn take_turn(&self, _shard: Shard) {}

    /// Returns true if other processes may write the same rows. [`Engine::apply`] may then call its
    /// function more than once; only the last call's result is written.
    fn is_shared(&self) -> bool {
        false
    }

    /// Notified when another process has changed the generations. `None` if the engine does not
    /// know, or is not shared.
    fn changes(&self) -> Option<Arc<Notify>> {
        None
    }

    /// Checks that the next process will find the writes of this one.
    fn check_place(&self) -> Result<(), StorageFailure>;

    fn health(&self) -> EngineHealth;

    /// The log, for the archive. Engines without a log have no archive.
    fn log_source(&self) -> Option<LogSource> {
        None
    }

    /// Allows or holds back work that only saves time later. It is held on a full disk.
    fn set_upkeep(&self, upkeep: Upkeep);

    /// Returns when no file except the data file has rows that were deleted or replaced before the
    /// call. While upkeep is held, or the archive lacks a part of the log, the engine does this
    /// later.
    fn forget(&self) -> Result<(), StorageFailure> {
        Ok(())
    }

    /// Merges now, if the engine merges, and notes the end of its log. Without a turn no rows are
    /// merged.
    #[cfg(test)]
    fn merge_now(&self, _turn: Option<usize>) -> Result<(), StorageFailure> {
        Ok(())
    }

    /// Returns true while no write of this lane ([`lane_of`]) can succeed until another program
    /// answers. New changes are refused meanwhile, so that callers learn at once that they were not
    /// made.
    fn is_held_up(&self, _lane: Shard) -> bool {
        false
    }

    /// Ends the wait of [`Engine::is_held_up`] because the process is ending.
    fn stop_waiting(&self) {}

    /// Ends all work and closes the files. Without it nothing is lost, but the next start takes
    /// longer.
    fn close(&self) -> Result<(), StorageFailure>;
}

/// The shards that a batch changes. All processes take turns in one order, so that no two wait for
/// each other: by number, and the vault's own last. A batch that waits for a tenant's shard then
/// holds up nothing of the vault.
pub type Turns = BTreeSet<Shard>;

/// The shard whose writer writes a batch with these turns. The vault's own writes what concerns the
/// vault alone, or the tenants of several shards.
pub(super) fn lane_of(turns: &Turns) -> Shard {
    let mut of_tenants = turns.iter().filter(|it| **it != Shard::VAULT);
    match (of_tenants.next(), of_tenants.next()) {
        (Some(only), None) => *only,
        (Some(_), Some(_)) | (None, _) => Shard::VAULT,
    }
}

/// Decides on changes from the newest rows.
pub type Decide<'a> = dyn FnMut(&dyn Read) -> Result<Vec<RowChange>, StorageFailure> + 'a;

/// Rows sorted by [`Table::number`], then by key.
pub type SortedRows<'a> = dyn Iterator<Item = (Table, Row)> + 'a;

pub trait Read: Send + Sync {
    fn moment(&self) -> Result<Moment, StorageFailure>;

    /// The reason why the history has left its archive.
    fn departed(&self) -> Option<Departure> {
        None
    }

    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StorageFailure>;

    /// Identifies the rows that are on the disk, for an engine that has others in memory.
    fn base(&self) -> BaseNumber {
        BaseNumber::default()
    }

    /// As [`Read::get`], for a row that is known to be absent from this base.
    fn get_new(
        &self,
        table: Table,
        key: &[u8],
        _base: BaseNumber,
    ) -> Result<Option<Vec<u8>>, StorageFailure> {
        self.get(table, key)
    }

    /// The values of several keys, in their order.
    fn get_many(&self, keys: &[(Table, &[u8])]) -> Result<Vec<Option<Vec<u8>>>, StorageFailure> {
        keys.iter().map(|(table, key)| self.get(*table, key)).collect()
    }

    /// As [`Read::get_many`] for each of these sets, in one round trip. A set of rows of shards whose
    /// turn the batch does not have is held: until the batch ends, no other one changes them as
    /// [`Hold`] says.
    fn get_sets(&self, [one, two, three]: &[KeySet<'_>; 3]) -> Result<ValueSets, StorageFailure> {
        Ok([self.get_many(&one.0)?, self.get_many(&two.0)?, self.get_many(&three.0)?])
    }

    /// Rows from one end of the range on, at most `count_max`.
    fn page(
        &self,
        range: &KeyRange,
        order: Order,
        count_max: usize,
    ) -> Result<Page, StorageFailure>;

    /// Returns true if a batch may treat rows that it puts unread as absent, in tables that grow
    /// ([`Table::grows`]). If such a row exists, nothing is written, and the batch is decided again
    /// on rows that return false here.
    fn refuses_rows_that_exist(&self) -> bool {
        false
    }

    /// The approximate number of all rows, for progress; 0 if unknown.
    fn rows_about(&self) -> u64 {
        0
    }
}

/// Rows to read together.
pub type KeySet<'a> = (Vec<(Table, &'a [u8])>, Option<Hold>);
pub type ValueSets = [Vec<Option<Vec<u8>>>; 3];

/// The changes of a row that other batches must not make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    Delete,
    Change,
}

/// The number of a base in this process; 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BaseNumber(u64);

impl BaseNumber {
    fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed).saturating_add(1))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// A restored or promoted store begins a new timeline.
    pub timeline: [u8; 16],
    /// The number of the last batch.
    pub sequence: u64,
    /// The digest of the history up to that batch; zeros if the engine has no log.
    pub digest: [u8; 32],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Ascending,
    Descending,
}

#[derive(Debug, Default)]
pub struct Page {
    pub rows: Vec<Row>,
    /// The range has no rows behind these. If false, there may be more, even if the page has fewer
    /// rows than requested.
    pub is_last: bool,
}

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

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EngineHealth {
    /// The number of the last batch.
    pub sequence: u64,
    pub log_bytes: u64,
    pub log_segments: u64,
    /// The memory of rows that are in the log and not yet in the data file.
    pub layer_bytes: u64,
    /// Rows are being moved from the log into the data file.
    pub is_merging: bool,
    /// Merges since the start.
    pub merges: u64,
    /// The duration of the last merge, in microseconds.
    pub last_merge_micros: u64,
    /// Batches that waited because a merge could not keep up.
    pub waits: u64,
    /// Batches that the start found in the log.
    pub recovered: u64,
    /// The start left out the log's last batch, which was incomplete.
    pub is_cut_off: bool,
    /// The database does not sync: a loss of power loses answered writes.
    pub lacks_sync: bool,
    /// Database connections in use by snapshots.
    pub connections_used: u64,
    /// Failed attempts to connect to the database.
    pub connects_failed: u64,
    /// Repeated attempts to write a batch, after a conflict with another process or a lost
    /// connection.
    pub repeats: u64,
}
