//! What can go wrong with the file. Any of it while running is final: redb refuses further work
//! until the file is opened again, and the service manager sees to that.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why the file could not be read or written.
#[derive(Debug)]
pub enum StorageFailure {
    Damaged(String),
    Full,
    /// A state that the program rules out: a mistake of the program. Nothing was written.
    Impossible(&'static str),
    Io(io::Error),
    ReadOnly,
    /// The file under this path was removed or replaced while it was open.
    Removed(PathBuf),
    /// An earlier failure closed the file.
    Stopped,
}

impl From<redb::Error> for StorageFailure {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest are faults of the file or ours")]
    fn from(error: redb::Error) -> Self {
        match error {
            redb::Error::Io(error) => Self::from_io(error),
            redb::Error::PreviousIo | redb::Error::DatabaseClosed => Self::Stopped,
            // redb's texts name pages and tables, never keys or values.
            other => Self::Damaged(other.to_string()),
        }
    }
}

impl StorageFailure {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the operator learns the rest as it is")]
    pub(super) fn from_io(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            _ => Self::Io(error),
        }
    }

    /// The same failure for a second reader; an IO error keeps its kind.
    pub(super) fn duplicate(&self) -> Self {
        match self {
            Self::Damaged(what) => Self::Damaged(what.clone()),
            Self::Full => Self::Full,
            Self::Impossible(what) => Self::Impossible(what),
            Self::Io(error) => Self::Io(error.kind().into()),
            Self::ReadOnly => Self::ReadOnly,
            Self::Removed(path) => Self::Removed(path.clone()),
            Self::Stopped => Self::Stopped,
        }
    }

    /// What the operator can do about it.
    pub const fn advice(&self) -> &'static str {
        match self {
            Self::Damaged(_) => "restore the newest backup and keep this file for examination",
            Self::Full => {
                "free space on the disk, then start again; nothing that was answered is lost"
            }
            Self::Impossible(_) => "report this text to the program's makers, then start again",
            Self::Io(_) => "check the disk and the system log, then start again",
            Self::ReadOnly => "mount the file system writable, then start again",
            Self::Removed(_) => {
                "if the file was moved, move it back; otherwise restore the newest backup"
            }
            Self::Stopped => "look for the first storage failure in the log",
        }
    }
}

impl fmt::Display for StorageFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(what) => write!(f, "the file is damaged: {what}"),
            Self::Full => f.write_str("the disk is full"),
            Self::Impossible(what) => write!(f, "the program is wrong: {what}"),
            Self::Io(error) => write!(f, "the disk failed: {error}"),
            Self::ReadOnly => f.write_str("the file system is read-only"),
            Self::Removed(path) => write!(
                f,
                "{} was removed or replaced while the server had it open; changes since then may be \
                 lost",
                path.display()
            ),
            Self::Stopped => f.write_str("the store was stopped by an earlier failure"),
        }
    }
}

impl std::error::Error for StorageFailure {}

macro_rules! from_redb {
    ($($error:ident),+) => {$(
        impl From<redb::$error> for StorageFailure {
            fn from(error: redb::$error) -> Self {
                Self::from(redb::Error::from(error))
            }
        }
    )+};
}

from_redb!(CommitError, DatabaseError, StorageError, TableError, TransactionError);
