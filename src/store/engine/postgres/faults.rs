//! Faults of statements and connections, by their meaning for the caller.

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::store::failure::{
    MAY_NOT_ACT, MAY_NOT_CONNECT, MAY_NOT_USE_SCHEMA, MAY_NOT_USE_TABLES, NOT_AUTHENTICATED,
    StorageFailure,
};

#[derive(Debug)]
pub(super) enum Fault {
    /// Conflict with another transaction. Nothing was changed; the whole transaction is repeated.
    Conflict,
    /// The connection ended, or its answer timed out. The outcome of a COMMIT that was sent is
    /// unknown.
    Lost(&'static str),
    /// The database refused the statement. The transaction changes nothing.
    Refused(Refusal),
}

#[derive(Debug)]
pub(super) enum Refusal {
    /// The database lacks a statement that PostgreSQL has.
    Unsupported,
    /// The vault's tables are missing.
    NoTables,
    /// A later attempt may succeed.
    ForNow(&'static str),
    /// The SQLSTATE of the refusal. The database's text may quote values, so it is dropped.
    Other(String),
}

pub(super) const ENDED: &str = "the connection to the database ended";
pub(super) const LATE: &str = "the database did not answer in time";

impl Fault {
    pub(super) fn of(error: &Error) -> Self {
        match error.as_db_error() {
            None => Self::Lost(ENDED),
            Some(refusal) if is_end(refusal) => Self::Lost(why_ended(refusal.code())),
            Some(refusal) if is_conflict(refusal.code()) => Self::Conflict,
            Some(refusal) => Self::Refused(refused(refusal)),
        }
    }

    /// The failure for a caller that does not repeat the transaction. Nothing was changed.
    pub(super) fn failure(self) -> StorageFailure {
        match self {
            Self::Conflict => StorageFailure::Unavailable(CONFLICTS),
            Self::Lost(why) => StorageFailure::Unavailable(why),
            Self::Refused(refusal) => refusal.failure(),
        }
    }
}

/// The text after the last repetition.
pub(super) const CONFLICTS: &str = "other processes changed the same rows again and again";

impl Refusal {
    pub(super) fn failure(self) -> StorageFailure {
        match self {
            Self::ForNow(why) => StorageFailure::Unavailable(why),
            Self::NoTables => StorageFailure::Database(
                String::from("the tables of the vault are not there"),
                "if the database was replaced, restore the newest backup into an empty one",
            ),
            Self::Other(code) => StorageFailure::Database(
                format!("it refused a statement with code {code}"),
                "look for the code in the log of the database",
            ),
            Self::Unsupported => StorageFailure::Database(
                String::from("it lacks a statement that the program needs"),
                "use PostgreSQL 15 or newer",
            ),
        }
    }
}

impl From<Fault> for StorageFailure {
    fn from(fault: Fault) -> Self {
        fault.failure()
    }
}

/// Returns true if the database ends the connection with this message.
fn is_end(refusal: &DbError) -> bool {
    matches!(refusal.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
        || refusal.code().code().starts_with("08")
        || refusal.code().code().starts_with("57P")
}

fn is_conflict(code: &SqlState) -> bool {
    // A batch treated an existing row as new.
    *code == SqlState::UNIQUE_VIOLATION
        || [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code)
}

/// Texts for the operator, who sees them in the log and in the readiness probe's answer.
fn why_ended(code: &SqlState) -> &'static str {
    match code.code() {
        "28000" | "28P01" => NOT_AUTHENTICATED,
        "3D000" => "the server has no database of this name",
        "42501" => MAY_NOT_CONNECT,
        "53300" => "the database has no free connections",
        "57P01" | "57P02" => "the database is shutting down",
        "57P03" => "the database is starting up",
        _ => ENDED,
    }
}

fn refused(refusal: &DbError) -> Refusal {
    match refusal.code().code() {
        "0A000" | "42601" => Refusal::Unsupported,
        "25006" => Refusal::ForNow("the database is read-only, as a standby is"),
        "3F000" | "42P01" => Refusal::NoTables,
        "42501" => Refusal::ForNow(lacking(refusal.message())),
        "53100" => Refusal::ForNow("the disk of the database is full"),
        "53300" => Refusal::ForNow("the database has no free connections"),
        "55P03" => Refusal::ForNow("another process holds the turn to write for too long"),
        "57014" => Refusal::ForNow(LATE),
        code if code.starts_with("53") => Refusal::ForNow("the database lacks memory or disk"),
        code => Refusal::Other(String::from(code)),
    }
}

/// The missing right, from the database's message, which names the kind of object first. For
/// messages in another language it falls back to the text for tables.
fn lacking(text: &str) -> &'static str {
    let object = text.strip_prefix("permission denied for ").unwrap_or(text);
    if object.starts_with("schema ") {
        MAY_NOT_USE_SCHEMA
    } else if object.starts_with("database ") {
        MAY_NOT_CONNECT
    } else if object.starts_with("must be ") {
        MAY_NOT_ACT
    } else {
        MAY_NOT_USE_TABLES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_right_is_named_with_its_remedy() {
        for (text, grant) in [
            ("permission denied for schema public", "GRANT USAGE, CREATE ON SCHEMA"),
            ("permission denied for database vault", "GRANT CONNECT ON DATABASE"),
            ("permission denied for table strongroom_rows", "GRANT SELECT, INSERT,"),
            ("must be owner of table strongroom_rows", "OWNER TO user"),
            ("keine Berechtigung", "GRANT SELECT, INSERT,"),
        ] {
            let failure = Refusal::ForNow(lacking(text)).failure();
            assert!(failure.is_transient(), "a running server goes on");
            assert!(failure.advice().contains(grant), "{text}: {}", failure.advice());
        }
        assert_eq!(Fault::Lost(ENDED).failure().denied(), None);
    }
}
