//! Constants of the backup format, and failures of writing and reading it.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::store::failure::StorageFailure;

pub(in crate::store) const MAGIC: &[u8; 17] = b"strongroom.backup";
/// The first bytes of backups from before the first release.
pub(in crate::store) const UNRELEASED_MAGIC: &[u8; 17] = b"strongroom backup";
pub(in crate::store) const END: &[u8; 8] = b"srbakend";
/// The only backup format so far.
pub(in crate::store) const FORMAT: u8 = 1;
/// The suffix of a backup's name until the backup is complete and durable.
pub(in crate::store) const UNFINISHED: &str = ".unfinished";
pub(in crate::store) const CHUNK: u8 = b'R';
pub(in crate::store) const MANIFEST: u8 = b'M';
pub(in crate::store) const HEADER_BYTES: u64 = 17 + 1;
pub(in crate::store) const TRAILER_BYTES: u64 = 8 + 8;
/// The length of a chunk's head, which comes before its rows.
pub(in crate::store) const CHUNK_HEAD_BYTES: usize = 1 + 1 + 4 + 4;
/// The length of the manifest's head, which comes before its JSON.
pub(in crate::store) const MANIFEST_HEAD_BYTES: usize = 1 + 4;
pub(in crate::store) const DIGEST_BYTES: usize = 32;

/// No backup was written. The partial backup was removed, and existing files are unchanged.
#[derive(Debug)]
pub enum BackupFailure {
    Exists,
    /// The backup would be on the data file's disk and leave less free space than the minimum.
    NoSpace,
    /// The vault is busy or stopping, so it could not write the audit entry for the backup.
    NotAudited,
    Target(io::Error),
    /// This unfinished file exists: another backup is being written, or one was interrupted.
    Unfinished(PathBuf),
    Vault(StorageFailure),
}

#[derive(Debug)]
pub enum InvalidBackup {
    /// The file ends before its manifest.
    CutShort,
    /// The file is damaged from this byte on.
    Damaged(u64, &'static str),
    /// The manifest names this master key, but its HMAC was made with another one.
    Forged,
    Io(io::Error),
    /// The backup was written by a newer program, with the program's version if the file holds it.
    Newer(Option<String>),
    NotABackup,
    /// The backup was written by a version before the first release.
    Unreleased,
    /// The backup belongs to another master key.
    WrongMasterKey,
}

impl BackupFailure {
    /// The failure's name in the log, which takes only constant texts.
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

from_causes!(BackupFailure: io::Error => Self::Target, StorageFailure => Self::Vault);

impl fmt::Display for BackupFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists => f.write_str("There is a file of that name, and none is overwritten."),
            Self::NoSpace => f.write_str(
                "It would be on the data file's own disk, which is too full for that: a backup may be \
                 as large as the data file, and disk.floor must stay free.",
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
            Self::Unreleased => {
                f.write_str("the backup was written by a version before the first release")
            }
            Self::WrongMasterKey => f.write_str("the backup belongs to another master key"),
        }
    }
}
