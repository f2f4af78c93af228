//! The store: one redb file, and the only user of redb. It takes and gives sealed bytes; plaintext
//! does not enter this module but in [`record`], which only encodes.
//!
//! Reading goes through a [`Snapshot`], writing through a [`Change`]: `get`, `range` and `apply`
//! are all that the rest of the program knows of the engine.
mod alarm;
pub mod backup;
mod batch;
pub mod chain;
mod change;
mod cvc_keys;
mod digests;
mod epochs;
mod failure;
mod file;
mod handle;
pub mod meta;
mod migration;
mod named_file;
mod observe;
mod overlay;
mod read_only;
pub mod record;
mod restore;
mod snapshot;
mod space;
pub mod tables;
#[cfg(test)]
pub(crate) mod tests;
mod writer;
mod writer_metrics;

pub use batch::Verdict;
pub use change::{Change, SealedEntries};
pub use cvc_keys::{CvcKeyName, CvcKeys};
pub use digests::{DigestFault, DigestState, RecordDigests};
pub use epochs::EpochGuard;
pub use failure::{CommitFailure, Fatal, OpenFailure, StorageFailure};
pub use file::FORMAT;
pub use handle::{IdleCommits, Store};
pub use migration::{MigrationFailure, MigrationSummary};
pub use read_only::Cleanliness;
/// What a store can stand on: the seam where tests pull the plug.
pub use redb::StorageBackend as Disk;
pub use restore::RestoreFailure;
pub use snapshot::{Row, Snapshot};
pub use space::{DataDisk, DirectoryDisk, Space};
pub use tables::Table;
