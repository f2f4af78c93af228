//! Backups: every row of one snapshot in a file of our own format, written and read as a stream.
//!
//! The format, byte for byte; numbers are big-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 17 | `strongroom backup` |
//! | 1 | the backup's format, 1 |
//! | ... | chunks of rows, the tables in the order of their numbers |
//! | ... | the manifest |
//! | 8 | where the manifest starts |
//! | 8 | `srbakend` |
//!
//! A chunk is `R`, the table's number (1), how many rows (4), the length of the rows (4), the rows,
//! and the SHA-256 of all that (32). It belongs to one table, and a table has as many as it needs.
//! A row is how many bytes its key has in common with the key before it in the chunk (2), how many
//! bytes of the key follow (2), the length of the value (4), the rest of the key, and the value.
//! Keys ascend within a table.
//!
//! The manifest is `M`, its length (4), JSON (see [`Manifest`]), an HMAC-SHA-256 of the JSON (32)
//! and the SHA-256 of all that (32). Its `digest` is the SHA-256 over the chunks' own, one after the
//! other. The HMAC's key comes from the master key, as `crypto::master` says: who has the master key
//! can tell that the manifest, and so every row, is what was written.
//!
//! Values stand in a backup as they stand in the data file: sealed. Nothing of `cvc.keys` is in it.
pub(in crate::store) mod format;
pub(in crate::store) mod manifest;
pub(in crate::store) mod reader;
mod writer;

pub(in crate::store) use format::UNFINISHED;
pub use format::{BackupFailure, InvalidBackup};
pub use manifest::Manifest;
pub use reader::{Chunk, Reader};
pub use writer::{BackupSummary, write};
