//! Scheduled backups, for as long as the server runs.

use std::io;
use std::sync::Arc;

use crate::app::{BackupFailure, Error, ProofFailure, Vault, clear_leftovers};
use crate::bounds::BACKUP_LOOK_PERIOD;
use crate::domain::backup::BackupPlan;
use crate::log::{Event, Log, Value};

/// Logs a backup that fails and continues.
pub(in crate::cli) async fn keep_backups(vault: Arc<Vault>, plan: BackupPlan, log: Log) {
    let directory = plan.directory.clone();
    let cleared = match vault.backups().mark() {
        Ok(mark) => {
            let cleared = move || clear_leftovers(&directory, &mark);
            match tokio::task::spawn_blocking(cleared).await {
                Ok(cleared) => cleared.map_err(|error| cause(&error)),
                Err(_) => Err("panicked"),
            }
        }
        Err(_) => Err("vault"),
    };
    if let Err(why) = cleared {
        log.event(in_directory(Event::error("backup_directory_refused"), &plan, why));
    }
    loop {
        match look(&vault, &plan, &log).await {
            // The store has failed or is closing: the process is about to end.
            Err(Error::Stopped | Error::Storage(_)) => return,
            Err(_) => log.event(Event::error("backup_state_lost")),
            Ok(()) => (),
        }
        tokio::time::sleep(BACKUP_LOOK_PERIOD).await;
    }
}

async fn look(vault: &Vault, plan: &BackupPlan, log: &Log) -> Result<(), Error> {
    match vault.backups().take_due(plan).await? {
        None => (),
        Some(Ok(taken)) => log.event(
            Event::info("backup_taken")
                .with("rows", Value::Count(taken.rows))
                .with("bytes", Value::Count(taken.bytes))
                .with("took", Value::Duration(taken.took)),
        ),
        Some(Err(failure)) => {
            let event = in_directory(Event::error("backup_failed"), plan, failure.name());
            log.event(match &failure {
                BackupFailure::Target(error) => event.with("cause", Value::Name(cause(error))),
                BackupFailure::Exists
                | BackupFailure::NoSpace
                | BackupFailure::NotAudited
                | BackupFailure::Unfinished(_)
                | BackupFailure::Vault(_) => event,
            });
        }
    }
    match vault.backups().prove_due(plan).await? {
        None => (),
        Some(Ok(proven)) => log.event(
            Event::info("backup_proven")
                .with("backup_at", Value::Time(proven.backup_at))
                .with("rows", Value::Count(proven.rows))
                .with("took", Value::Duration(proven.took)),
        ),
        Some(Err(failure)) => {
            let event = in_directory(Event::error("backup_proof_failed"), plan, failure.name());
            log.event(match &failure {
                ProofFailure::Scratch(error) => event.with("cause", Value::Name(cause(error))),
                ProofFailure::Backup(_)
                | ProofFailure::NoBackup
                | ProofFailure::NoSpace
                | ProofFailure::Panicked
                | ProofFailure::Restore(_)
                | ProofFailure::Unclean
                | ProofFailure::Vault(_)
                | ProofFailure::Verify(_) => event,
            });
        }
    }
    Ok(())
}

fn in_directory(event: Event, plan: &BackupPlan, why: &'static str) -> Event {
    event.with("path", Value::Path(plan.directory.clone())).with("why", Value::Name(why))
}

/// A constant for the log, which takes no texts of the system.
#[expect(clippy::wildcard_enum_match_arm, reason = "operators look at all others alike")]
fn cause(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "missing",
        io::ErrorKind::NotADirectory => "no_directory",
        io::ErrorKind::PermissionDenied => "not_allowed",
        io::ErrorKind::QuotaExceeded | io::ErrorKind::StorageFull => "full",
        io::ErrorKind::ReadOnlyFilesystem => "read_only",
        _ => "disk",
    }
}
