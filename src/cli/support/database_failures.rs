//! Messages for failures of a vault whose rows may be in a database.

use crate::app::VaultFailure;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::{explain, storage};
use crate::cli::support::vault_home::VaultHome;
use crate::store::{FORMAT, OpenFailure, StorageFailure};

/// As [`explain`], also for the rows of a data file or of a database.
pub(in crate::cli) fn explain_at(failure: VaultFailure, home: &VaultHome) -> Failure {
    if home.is_local() {
        return explain(failure, &home.directory);
    }
    let failure = match failure {
        VaultFailure::File(OpenFailure::Exists) => {
            Failure::new(Exit::Data, "the database has a vault already")
                .why("a vault is never overwritten, nor the tables of a restore that was ended")
                .try_this(
                    "strongroom serve; or name another database; or delete the tables \
                     strongroom_* of the restore that was ended",
                )
        }
        VaultFailure::File(OpenFailure::Missing) => {
            Failure::new(Exit::Data, "there is no vault in the database")
                .try_this("strongroom init")
        }
        VaultFailure::File(OpenFailure::Newer(format, program)) => {
            let by = program.map(|version| format!(", of strongroom {version}"));
            let by = by.unwrap_or_default();
            Failure::new(Exit::Data, "the vault was written by a newer version of strongroom")
                .why(format!("its format is {format}{by}; this program supports up to {FORMAT}"))
                .try_this("use the newer program; nothing was changed")
        }
        VaultFailure::File(OpenFailure::Older(format)) => {
            Failure::new(Exit::Data, "the vault in the database is of an older format")
                .why(format!("its format is {format}; this program's is {FORMAT}"))
                .try_this(
                    "back it up with the older program, restore that into a data directory with \
                     this one, back it up again, and restore that into an empty database",
                )
        }
        VaultFailure::File(OpenFailure::NotOurs) => {
            Failure::new(Exit::Data, "the tables in the database are not those of a vault")
                .why("nothing was changed")
                .try_this("name a database of the vault's own")
        }
        VaultFailure::File(OpenFailure::Storage(failure)) => database_failed(&failure),
        VaultFailure::WrongMasterKey => {
            Failure::new(Exit::Permission, "this master key belongs to another vault")
                .why("the rows were sealed under a different key; nothing was changed")
                .try_this("use the master key that belongs to this database")
        }
        other @ (VaultFailure::File(
            OpenFailure::AlreadyOpen | OpenFailure::NotStandby | OpenFailure::Standby,
        )
        | VaultFailure::KeysDamaged
        | VaultFailure::NotMigrated(..)
        | VaultFailure::ReplacedMasterKey(_)) => return explain(other, &home.directory),
    };
    failure.line("vault", home)
}

fn database_failed(failure: &StorageFailure) -> Failure {
    let shown = storage(failure);
    Failure::new(shown.exit, "the database failed").why(failure).try_this(failure.advice())
}
