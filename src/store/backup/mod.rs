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

mod manifest;
mod reader;
mod writer;

use std::fmt;
use std::io;
use std::path::PathBuf;

pub use manifest::Manifest;
pub use reader::{Chunk, Reader};
pub use writer::{BackupSummary, write};

use crate::store::StorageFailure;

const MAGIC: &[u8; 17] = b"strongroom backup";
const END: &[u8; 8] = b"srbakend";
/// The newest format of backups, and so far the only one.
const FORMAT: u8 = 1;
/// A backup has this after its name until it is whole and durable.
pub(super) const UNFINISHED: &str = ".unfinished";
const CHUNK: u8 = b'R';
const MANIFEST: u8 = b'M';
const HEADER_BYTES: u64 = 17 + 1;
const TRAILER_BYTES: u64 = 8 + 8;
/// Of a chunk, before its rows.
const CHUNK_HEAD_BYTES: usize = 1 + 1 + 4 + 4;
/// Of the manifest, before its JSON.
const MANIFEST_HEAD_BYTES: usize = 1 + 4;
const DIGEST_BYTES: usize = 32;

/// Why no backup was written. Nothing is left of it, and what was there is untouched.
#[derive(Debug)]
pub enum BackupFailure {
    /// There is a file of that name.
    Exists,
    /// It would be on the data file's own disk, and leave it less than its floor.
    NoSpace,
    /// The vault is busy or stopping: it could not write down that a backup is taken.
    NotAudited,
    /// The backup's own file could not be written.
    Target(io::Error),
    /// A file of this name is there: another backup is being written, or one was cut off.
    Unfinished(PathBuf),
    /// The data file could not be read.
    Vault(StorageFailure),
}

/// Why a file is not taken for a backup.
#[derive(Debug)]
pub enum InvalidBackup {
    /// It ends before its manifest.
    CutShort,
    /// From this byte on.
    Damaged(u64, &'static str),
    /// Its manifest was not written under this master key, although it says so.
    Forged,
    Io(io::Error),
    /// Written by a newer program, whose version it may tell.
    Newer(Option<String>),
    NotABackup,
    /// It belongs to another master key.
    WrongMasterKey,
}

impl BackupFailure {
    /// For the log, which takes no other texts.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Exists => "exists",
            Self::NoSpace => "no_space",
            Self::NotAudited => "not_audited",
            Self::Target(_) => "target",
            Self::Unfinished(_) => "unfinished",
            Self::Vault(_) => "vault",
        }
    }
}

impl From<io::Error> for BackupFailure {
    fn from(error: io::Error) -> Self {
        Self::Target(error)
    }
}

impl From<StorageFailure> for BackupFailure {
    fn from(failure: StorageFailure) -> Self {
        Self::Vault(failure)
    }
}

impl fmt::Display for BackupFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists => f.write_str("There is a file of that name, and none is overwritten."),
            Self::NoSpace => f.write_str(
                "It would be on the data file's own disk, which is too full for that: a backup may take \
                 as much as the data file, and disk.floor must stay free.",
            ),
            Self::NotAudited => f.write_str(
                "The vault is busy and cannot write down that it is backed up; try again.",
            ),
            Self::Target(error) => write!(f, "The backup cannot be written: {error}."),
            Self::Unfinished(path) => write!(
                f,
                "{} is there: another backup is being written, or one was cut off; then delete it.",
                path.display()
            ),
            Self::Vault(failure) => write!(f, "The data file cannot be read: {failure}."),
        }
    }
}

impl fmt::Display for InvalidBackup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CutShort => f.write_str("the backup is cut short: its end is missing"),
            Self::Damaged(at, what) => write!(f, "the backup is damaged from byte {at} on: {what}"),
            Self::Forged => f.write_str("the manifest was not written under this master key"),
            Self::Io(error) => write!(f, "the backup cannot be read: {error}"),
            Self::Newer(Some(program)) => {
                write!(f, "the backup was written by a newer strongroom, {program}")
            }
            Self::Newer(None) => f.write_str("the backup was written by a newer strongroom"),
            Self::NotABackup => f.write_str("this is not a strongroom backup"),
            Self::WrongMasterKey => f.write_str("the backup belongs to another master key"),
        }
    }
}
