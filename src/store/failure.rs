//! Failures of the storage. A failure of a local disk is final: the process ends and the service
//! manager restarts it. A transient failure only fails its request, with a 503.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Clone)]
pub enum StorageFailure {
    Damaged(String),
    /// The database cannot be used: the reason, and advice for the operator.
    Database(String, &'static str),
    Full,
    /// A state that the program rules out: a bug. Nothing was written.
    Impossible(&'static str),
    Io(Arc<io::Error>),
    /// The log does not fit this data file or this program: the reason, and advice for the
    /// operator. Nothing was changed.
    Log(String, &'static str),
    ReadOnly,
    /// The file under this path was removed or replaced while it was open.
    Removed(PathBuf),
    /// An earlier failure closed the file.
    Stopped,
    /// The storage is unreachable now. Nothing was changed, and a later attempt may succeed.
    Unavailable(&'static str),
}

/// The file is unchanged.
#[derive(Debug)]
pub enum OpenFailure {
    AlreadyOpen,
    Exists,
    Missing,
    /// The file's format is newer than this program's; with the program version that set it, if the
    /// file names it.
    Newer(u32, Option<String>),
    NotOurs,
    NotStandby,
    /// A standby's data file that was not promoted.
    Standby,
    Storage(StorageFailure),
    /// A version before the first release wrote the rows; no program reads its formats.
    Unreleased,
}

/// The change was not committed, or its outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitFailure {
    /// The change was made by [`crate::store::Change::impossible`].
    Impossible(&'static str),
    QueueFull,
    Stopped,
    /// The change alone has more than [`crate::bounds::CHANGE_BYTES_MAX`].
    TooLarge,
    /// The storage is unreachable now. Nothing was changed.
    Unavailable,
}

/// The store no longer works. The process must end.
#[derive(Debug, Clone)]
pub enum Fatal {
    Storage(StorageFailure),
    WriterPanicked,
}

impl From<io::Error> for StorageFailure {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the operator learns the rest as it is")]
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            _ => Self::Io(Arc::new(error)),
        }
    }
}

impl From<redb::Error> for StorageFailure {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest are faults of the file or ours")]
    fn from(error: redb::Error) -> Self {
        match error {
            redb::Error::Io(error) => error.into(),
            redb::Error::PreviousIo | redb::Error::DatabaseClosed => Self::Stopped,
            // redb's messages name pages and tables, never keys or values.
            other => Self::Damaged(other.to_string()),
        }
    }
}

/// Texts of [`StorageFailure::Unavailable`] for a database that refuses the user, each with its
/// remedy. A running server continues, because the operator may correct the cause meanwhile.
const DENIED: &[(&str, &str)] = &[
    (NOT_AUTHENTICATED, "correct the user and the password in the URL, or pg_hba.conf"),
    (MAY_NOT_CONNECT, "GRANT CONNECT ON DATABASE name TO user"),
    (MAY_NOT_USE_SCHEMA, "GRANT USAGE, CREATE ON SCHEMA public TO user"),
    (MAY_NOT_USE_TABLES, USE_TABLES),
    (MAY_NOT_ACT, "let the user own the tables strongroom_*: ALTER TABLE name OWNER TO user"),
];

const USE_TABLES: &str =
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO user";
pub(super) const NOT_AUTHENTICATED: &str = "the database refused the user or the password";
pub(super) const MAY_NOT_CONNECT: &str = "the user may not connect to the database";
pub(super) const MAY_NOT_USE_SCHEMA: &str = "the user may not use the schema of the vault";
pub(super) const MAY_NOT_USE_TABLES: &str = "the user may not use the tables of the vault";
pub(super) const MAY_NOT_ACT: &str = "the user may not change the tables of the vault";

impl StorageFailure {
    /// The remedy, if a database refuses the user.
    pub fn denied(&self) -> Option<&'static str> {
        let Self::Unavailable(why) = self else { return None };
        DENIED.iter().find(|(denied, _)| denied == why).map(|(_, remedy)| *remedy)
    }

    /// Returns true if the process can continue and a later attempt may succeed.
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }

    pub fn advice(&self) -> &'static str {
        match self {
            Self::Damaged(_) => "restore the newest backup and keep this file for examination",
            Self::Full => {
                "free space on the disk, then start again; nothing that was answered is lost"
            }
            Self::Impossible(_) => "report this text to the program's makers, then start again",
            Self::Io(_) => "check the disk and the system log, then start again",
            Self::Database(_, advice) | Self::Log(_, advice) => advice,
            Self::ReadOnly => "mount the file system writable, then start again",
            Self::Removed(_) => {
                "if the file was moved, move it back; otherwise restore the newest backup"
            }
            Self::Stopped => "look for the first storage failure in the log",
            Self::Unavailable(_) => {
                self.denied().unwrap_or("the program goes on by itself when the storage is back")
            }
        }
    }
}

impl fmt::Display for StorageFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(what) => write!(f, "the file is damaged: {what}"),
            Self::Database(what, _) => write!(f, "the database cannot be used: {what}"),
            Self::Full => f.write_str("the disk is full"),
            Self::Impossible(what) => write!(f, "the program is wrong: {what}"),
            Self::Io(error) => write!(f, "the disk failed: {error}"),
            Self::Log(what, _) => write!(f, "the log cannot be used: {what}"),
            Self::ReadOnly => f.write_str("the file system is read-only"),
            Self::Removed(path) => write!(
                f,
                "{} was removed or replaced while the server had it open; changes since then may be \
                 lost",
                path.display()
            ),
            Self::Stopped => f.write_str("the store was stopped by an earlier failure"),
            Self::Unavailable(why) => write!(f, "the storage cannot be reached: {why}"),
        }
    }
}

impl std::error::Error for StorageFailure {}

impl From<redb::DatabaseError> for OpenFailure {
    #[expect(clippy::wildcard_enum_match_arm, reason = "redb may add more; they are failures all")]
    fn from(error: redb::DatabaseError) -> Self {
        match error {
            redb::DatabaseError::DatabaseAlreadyOpen => Self::AlreadyOpen,
            // redb reports a foreign file format as an IO error of this kind.
            redb::DatabaseError::Storage(redb::StorageError::Io(error))
                if matches!(
                    error.kind(),
                    // `UnexpectedEof`: the file is too short for a header.
                    io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
                ) =>
            {
                Self::NotOurs
            }
            other => Self::Storage(other.into()),
        }
    }
}

macro_rules! from_redb {
    ($($error:ident),+) => {$(
        impl From<redb::$error> for StorageFailure {
            fn from(error: redb::$error) -> Self {
                Self::from(redb::Error::from(error))
            }
        }
    )+};
}

from_redb!(CommitError, CompactionError, DatabaseError, StorageError, TableError, TransactionError);

from_causes!(OpenFailure: io::Error => Self::Storage, StorageFailure => Self::Storage);
