//! The store: rows in an [`engine`]. It handles sealed bytes; only [`record`], which encodes and
//! decodes, handles plaintext.
//!
//! The rest of the program reads through a [`Snapshot`], or single rows through [`Newest`], writes
//! through a [`Change`], and never uses an engine. Only [`engine::local`] uses redb.

mod alarm;
pub mod archive;
mod authority;
pub mod backup;
mod batch;
pub mod chain;
mod change;
mod closed;
mod compact;
mod cvc_keys;
mod digests;
pub mod engine;
mod epochs;
mod failure;
#[cfg(any(fuzzing, test))]
pub(crate) mod fuzz;
mod handle;
pub mod meta;
mod newest;
mod observe;
mod opening;
mod place;
pub mod record;
mod restore;
mod shards;
pub mod shared;
mod shared_rows;
mod snapshot;
mod space;
mod standby;
pub mod tables;
#[cfg(test)]
pub(crate) mod tests;
mod timeline;
pub(crate) mod volume;
mod writer;
mod writer_metrics;

pub use authority::{Authority, Term};
pub use batch::Verdict;
pub use change::{Change, NewEvent, SealedEntries};
pub use compact::{CompactForecast, CompactSummary};
pub use cvc_keys::{CvcKeyName, CvcKeys};
pub use digests::{RecordDigests, whole_of};
pub use engine::departure::Departure;
#[cfg(test)]
pub(crate) use engine::local::database::guard_pages;
pub use engine::local::database::panic_cannot_be_caught;
pub use engine::local::log::tail::LogTail;
pub use engine::postgres::{Database, DatabaseUrl};
pub use engine::{LogSource, Row, Upkeep};
pub use epochs::EpochGuard;
pub use failure::{CommitFailure, Fatal, OpenFailure, StorageFailure};
pub use handle::Store;
pub use newest::Newest;
pub use opening::{Cleanliness, FORMAT};
pub use place::StorePlace;
pub use restore::{RestoreFailure, Restored};
pub use shards::Shards;
pub use shared_rows::SharedRows;
pub use snapshot::Snapshot;
pub use space::{DataDisk, DirectoryDisk, DiskWithoutRows, Space, free_bytes};
pub use standby::{Standby, StandbyFailure};
pub use tables::{Shard, Table};
pub use timeline::{NewTimeline, TimelineFailure, TimelineMark, begin_timeline};
