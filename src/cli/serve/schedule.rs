//! Scheduled backups, for as long as the server runs.

use std::sync::Arc;

use crate::app::{Error, Vault, clear_leftovers};
use crate::bounds::BACKUP_LOOK_PERIOD;
use crate::domain::backup::BackupPlan;
use crate::log::{Event, Log, Value};

/// Logs a backup that fails and continues.
pub(in crate::cli) async fn keep_backups(vault: Arc<Vault>, plan: BackupPlan, log: Log) {
    let directory = plan.directory.clone();
    let cleared = match vault.backups().mark() {
        Ok(mark) => {
            let cleared = move || clear_leftovers(&directory, &mark).is_ok();
            tokio::task::spawn_blocking(cleared).await.is_ok_and(|cleared| cleared)
        }
        Err(_) => false,
    };
    if !cleared {
        log.event(Event::error("backup_directory_refused"));
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
            log.event(Event::error("backup_failed").with("why", Value::Name(failure.name())));
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
            log.event(Event::error("backup_proof_failed").with("why", Value::Name(failure.name())));
        }
    }
    Ok(())
}
