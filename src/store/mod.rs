//! The store: rows in an [`engine`]. The store handles sealed bytes; only [`record`], which encodes
//! and decodes, handles plaintext.
//!
//! The rest of the program reads through a [`Snapshot`], or single rows through [`Newest`], writes
//! through a [`Change`], and does not depend on the engine. Only [`engine::local`] and the migration
//! of older files use redb.
mod alarm;
pub mod archive;
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
mod migration;
mod newest;
mod observe;
mod opening;
mod place;
pub mod record;
mod restore;
pub mod shared;
mod snapshot;
mod space;
mod standby;
pub mod tables;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod volume;
mod writer;
mod writer_metrics;

pub use batch::Verdict;
pub use change::{Change, SealedEntries};
pub use compact::CompactSummary;
pub use cvc_keys::{CvcKeyName, CvcKeys};
pub use digests::{DigestState, RecordDigests};
#[cfg(test)]
pub(crate) use engine::local::database::guard_pages;
pub use engine::local::database::panic_cannot_be_caught;
pub use engine::local::log::tail::LogTail;
pub use engine::postgres::{Database, DatabaseUrl};
pub use engine::{LogSource, Upkeep};
pub use epochs::EpochGuard;
pub use failure::{CommitFailure, Fatal, OpenFailure, StorageFailure};
pub use handle::Store;
pub use migration::{MigrationFailure, MigrationSummary};
pub use newest::Newest;
pub use opening::{Cleanliness, FORMAT};
pub use place::StorePlace;
pub use restore::{RestoreFailure, Restored};
pub use shared::Term;
pub use snapshot::{Row, Snapshot};
pub use space::{DataDisk, DirectoryDisk, DiskWithoutRows, Space, free_bytes};
pub use standby::{Standby, StandbyFailure};
pub use tables::Table;
