//! The failures of operations. `http::problem` alone maps them to HTTP statuses.

use crate::crypto::OpenFailed;
use crate::domain::id::{SessionId, TokenId};
use crate::domain::mistakes::Mistakes;
use crate::idempotency::Replay;
use crate::store::record::{BadRecord, EncodeFailed};
use crate::store::{CommitFailure, CvcKeyName, StorageFailure};

#[derive(Debug)]
pub enum Error {
    /// The stored answer of a program is gone with a value that it was made of.
    AnswerGone,
    /// The queue of the writer or of a blocking pool is full, or concurrent requests kept changing
    /// the same record.
    Busy,
    /// A sentence that names the obstacle.
    Conflict(&'static str),
    Forbidden(&'static str),
    /// A request with the same idempotency key is still being processed.
    InFlight,
    /// The answer does not describe the fault.
    Internal(Fault),
    Invalid(Mistakes),
    /// A decision needs the key of a card verification code that does not exist yet. The commit
    /// loop creates the key and decides again, so no caller gets this.
    NeedsCvcKey(CvcKeyName),
    NotFound(&'static str),
    /// No program can run here. The sentence says why.
    NoPrograms(&'static str),
    /// The disk is nearly full, or another vault was promoted. The sentence names the refused
    /// operation.
    ReadOnly(&'static str),
    /// Not a failure: the stored answer to an earlier request with the same idempotency key.
    Replayed(Box<Replay>),
    /// The file failed or was closed; the process is about to end.
    Stopped,
    /// As [`Error::Stopped`], for the operation that saw the failure first.
    Storage(StorageFailure),
    Unauthenticated,
    /// A valid request that its target's state or limits forbid.
    Unprocessable(&'static str),
    /// A 3DS server, directory server or ACS failed.
    Upstream(Box<Upstream>),
}

/// A 3DS failure that another server caused. This program writes all the texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// The code of an HTTP status.
    pub service_status: &'static str,
    pub session: Option<SessionId>,
    pub source: &'static str,
    pub message: &'static str,
    pub detail: String,
}

/// A defect of the data file or of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The parts of an answer to store for an idempotency key contradict each other.
    BadAnswer,
    BadRecord,
    DoesNotOpen,
    /// An index entry, a key or an application refers to a missing record.
    Dangling,
    /// A bug of the program. Nothing was written.
    Impossible(&'static str),
    Token(TokenId, TokenFault),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenFault {
    BadRecord,
    DoesNotOpen,
    /// An index lists the token's id, but its record is missing.
    Missing,
}

impl Fault {
    /// For the log and the operator.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BadAnswer => "an answer does not fit together",
            Self::BadRecord => "a record does not decode",
            Self::DoesNotOpen => "a record does not open under its key",
            Self::Dangling => "a record points to nothing",
            Self::Impossible(what) => what,
            Self::Token(_, TokenFault::BadRecord) => "a token's record does not decode",
            Self::Token(_, TokenFault::DoesNotOpen) => {
                "a token's record does not open under its key"
            }
            Self::Token(_, TokenFault::Missing) => "an index entry leads to no token",
        }
    }

    pub const fn token(self) -> Option<TokenId> {
        if let Self::Token(token, _) = self { Some(token) } else { None }
    }
}

const TOO_LARGE: &str = "This would write too many bytes at once: make fewer tokens with one \
                         request, or tokens with fewer containers and less metadata.";

impl Error {
    pub fn invalid(path: &str, message: impl Into<String>) -> Self {
        Self::Invalid(Mistakes::one(path, message))
    }
}

from_causes!(Error: Mistakes => Self::Invalid);

impl From<StorageFailure> for Error {
    fn from(failure: StorageFailure) -> Self {
        match failure {
            StorageFailure::Stopped => Self::Stopped,
            StorageFailure::Unavailable(_) => Self::Busy,
            StorageFailure::Damaged(_)
            | StorageFailure::Database(..)
            | StorageFailure::Full
            | StorageFailure::Impossible(_)
            | StorageFailure::Io(_)
            | StorageFailure::Log(..)
            | StorageFailure::ReadOnly
            | StorageFailure::Removed(_) => Self::Storage(failure),
        }
    }
}

impl From<CommitFailure> for Error {
    fn from(failure: CommitFailure) -> Self {
        match failure {
            CommitFailure::Impossible(what) => Self::Internal(Fault::Impossible(what)),
            CommitFailure::QueueFull | CommitFailure::Unavailable => Self::Busy,
            CommitFailure::Stopped => Self::Stopped,
            CommitFailure::TooLarge => Self::invalid("$", TOO_LARGE),
        }
    }
}

impl From<OpenFailed> for Error {
    fn from(OpenFailed: OpenFailed) -> Self {
        Self::Internal(Fault::DoesNotOpen)
    }
}

impl From<EncodeFailed> for Error {
    fn from(EncodeFailed: EncodeFailed) -> Self {
        Self::Internal(Fault::Impossible("a record does not encode"))
    }
}

impl From<BadRecord> for Error {
    fn from(BadRecord: BadRecord) -> Self {
        Self::Internal(Fault::BadRecord)
    }
}
