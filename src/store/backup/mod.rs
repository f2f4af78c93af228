//! Backups: every row of one snapshot in a file of its own format, written and read as a stream.
//!
//! The format, byte for byte; numbers are big-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 17 | `strongroom.backup` |
//! | 1 | the backup's format, 1 |
//! | ... | chunks of rows, the tables in the order of their numbers |
//! | ... | the manifest |
//! | 8 | offset of the manifest |
//! | 8 | `srbakend` |
//!
//! A chunk is `R`, the table's number (1), the number of rows (4), the length of the rows (4), the
//! rows, and the SHA-256 of all these (32). All rows of a chunk belong to one table; a table has
//! any number of chunks. A row is the length of the prefix that its key shares with the key before
//! it in the chunk (2), the length of the rest of the key (2), the length of the value (4), the
//! rest of the key, and the value. Keys ascend within a table.
//!
//! The manifest is `M`, its length (4), JSON (see [`Manifest`]), an HMAC-SHA-256 of the JSON (32)
//! and the SHA-256 of all these (32). Its `digest` is the SHA-256 over the digests of the chunks,
//! in order. The HMAC's key is derived from the master key, as `crypto::master` describes: a holder
//! of the master key can check that the manifest, and so every row, is unchanged.
//!
//! Values are sealed in a backup as in the data file. A backup contains nothing of `cvc.keys`.
pub(in crate::store) mod format;
pub(in crate::store) mod manifest;
pub(in crate::store) mod reader;
pub(in crate::store) mod writer;

pub use format::{BackupFailure, InvalidBackup};
pub use manifest::Manifest;
pub use reader::Reader;
pub use writer::{BackupSummary, SnapshotTimes, write};
