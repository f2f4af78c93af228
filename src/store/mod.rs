//! The store: one redb file. No other module uses redb. The store handles sealed bytes; only
//! [`record`], which encodes and decodes, handles plaintext.
//!
//! The rest of the program reads through a [`Snapshot`] and writes through a [`Change`], and does
//! not depend on the engine.
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
pub use digests::{DigestState, RecordDigests};
pub use epochs::EpochGuard;
pub use failure::{CommitFailure, Fatal, OpenFailure, StorageFailure};
pub use file::FORMAT;
pub use handle::{IdleCommits, Store};
pub use migration::{MigrationFailure, MigrationSummary};
pub use read_only::Cleanliness;
/// The disk under a store. Tests replace it to simulate power failures.
#[cfg(test)]
pub use redb::StorageBackend as Disk;
pub use restore::RestoreFailure;
pub use snapshot::{Row, Snapshot};
pub use space::{DataDisk, DirectoryDisk, Space};
pub use tables::Table;
