//! What an operation can answer other than success. Whose fault it is decides the status, and that
//! is decided in one place, `http::problem`.

use crate::crypto::OpenFailed;
use crate::domain::id::{SessionId, TokenId};
use crate::domain::mistakes::Mistakes;
use crate::idempotency::Replay;
use crate::store::record::{BadRecord, EncodeFailed};
use crate::store::{CommitFailure, CvcKeyName, StorageFailure};

#[derive(Debug)]
pub enum Error {
    /// The writer's queue is full, or others kept changing the same record.
    Busy,
    /// What stands in the way, as a sentence.
    Conflict(&'static str),
    Forbidden(&'static str),
    /// A request with the same idempotency key is still being processed.
    InFlight,
    /// Ours: the caller learns only that it happened.
    Internal(Fault),
    Invalid(Mistakes),
    /// A decision needs the key of a card verification code that is not made yet. The commit loop
    /// makes it and decides again, so no caller gets this.
    NeedsCvcKey(CvcKeyName),
    NotFound(&'static str),
    /// The disk is nearly full; what is refused until there is space again, as a sentence.
    ReadOnly(&'static str),
    /// Not a failure at all: an earlier request with the same idempotency key was answered so.
    Replayed(Box<Replay>),
    /// The file failed or was closed; the process is about to end.
    Stopped,
    /// As [`Error::Stopped`], noticed first by this operation.
    Storage(StorageFailure),
    Unauthenticated,
    /// Understood, but the limits of the thing itself forbid it.
    Unprocessable(&'static str),
    /// A 3DS server, directory server or ACS failed.
    Upstream(Box<Upstream>),
}

/// Which server failed a 3DS session, and how. All texts are ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// As an HTTP status would say it.
    pub service_status: &'static str,
    pub session: Option<SessionId>,
    pub source: &'static str,
    pub message: &'static str,
    pub detail: String,
}

/// What is wrong with us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An answer that is to be remembered does not fit together.
    BadAnswer,
    /// A record did not decode.
    BadRecord,
    /// A record did not open under its key.
    DoesNotOpen,
    /// An index entry, a key or an application points to nothing.
    Dangling,
    /// A state that the program rules out: a mistake of the program, and nothing was written.
    Impossible(&'static str),
    /// One of these, of this token.
    Token(TokenId, TokenFault),
}

/// A defect of a token's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenFault {
    BadRecord,
    DoesNotOpen,
    /// Its id is in an index, and there is no record.
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

    /// Which token it is about, where it is about one.
    pub const fn token(self) -> Option<TokenId> {
        match self {
            Self::Token(token, _) => Some(token),
            Self::BadAnswer
            | Self::BadRecord
            | Self::Dangling
            | Self::DoesNotOpen
            | Self::Impossible(_) => None,
        }
    }
}

impl Error {
    pub fn invalid(path: &str, message: impl Into<String>) -> Self {
        Self::Invalid(Mistakes::one(path, message))
    }
}

impl From<Mistakes> for Error {
    fn from(mistakes: Mistakes) -> Self {
        Self::Invalid(mistakes)
    }
}

impl From<StorageFailure> for Error {
    fn from(failure: StorageFailure) -> Self {
        match failure {
            StorageFailure::Stopped => Self::Stopped,
            StorageFailure::Damaged(_)
            | StorageFailure::Full
            | StorageFailure::Impossible(_)
            | StorageFailure::Io(_)
            | StorageFailure::ReadOnly
            | StorageFailure::Removed(_) => Self::Storage(failure),
        }
    }
}

impl From<CommitFailure> for Error {
    fn from(failure: CommitFailure) -> Self {
        match failure {
            CommitFailure::Impossible(what) => Self::Internal(Fault::Impossible(what)),
            CommitFailure::QueueFull => Self::Busy,
            CommitFailure::Stopped => Self::Stopped,
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
