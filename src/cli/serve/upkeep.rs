//! Background tasks of a running server: they remove expired records, write the audit entries of
//! reads and the last uses of API keys, continue rotations, take backups and reload files.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::signal::unix::Signal;

use crate::app::{
    Authority, BackupFailure, Backups, DeletionStep, Error, ProofFailure, RefusalPace,
    ScrubProgress, ScrubWalk, Vault, WebhookNews, WrittenRefusals, clear_leftovers,
};
use crate::bounds::{
    BACKUP_LOOK_PERIOD, DELETION_PAUSE, DELETION_PERIOD, LAST_USES_PERIOD, SCRUB_PERIOD,
    SCRUB_REST, SWEEP_PERIOD,
};
use crate::cli::serve::archive::{self, SharedArchiver};
use crate::cli::serve::processes::spawn_led;
use crate::cli::serve::rotation::{RotationPace, rotate};
use crate::cli::serve::{bins, watch};
use crate::cli::support::Result;
use crate::config::Config;
use crate::domain::backup::BackupPlan;
use crate::http::Requests;
use crate::log::{Event, Log, Value};
use crate::server::tasks::Tasks;

/// Starts the tasks, which end with `tasks`. `hangup` is the signal to reload files. Returns the
/// archiver, which must archive the rest at the end.
pub async fn begin(
    vault: &Arc<Vault>,
    config: &Config,
    requests: &Arc<Requests>,
    tasks: &Tasks,
    hangup: Signal,
    log: &Log,
) -> Result<Option<SharedArchiver>> {
    let archiver = archive::begin(vault, config)?;
    if let Some(archiver) = &archiver {
        archive::look(vault, archiver, log).await;
    }
    let vault = || Arc::clone(vault);
    tasks.spawn(watch::disk(vault(), log.clone()));
    tasks.spawn(watch::files(vault()));
    begin_led(&vault(), config, requests, tasks, log);
    tasks.spawn(write_last_uses(vault(), log.clone()));
    tasks.spawn(log_damage(vault(), log.clone()));
    deliver_webhooks(&vault(), tasks, log);
    let reader = vault();
    tasks.spawn(async move { reader.audit().write_reads().await });
    tasks.spawn(write_refusals(vault(), log.clone()));
    if let (Some(archiver), Some(plan)) = (&archiver, &config.archive) {
        tasks.spawn(archive::keep(vault(), Arc::clone(archiver), plan.every, log.clone()));
    }
    if let Some(path) = &config.bin_file {
        tasks.spawn(reload_bins(vault(), path.clone(), hangup, log.clone()));
    }
    Ok(archiver)
}

/// Starts the tasks that only one of the processes on a database runs.
fn begin_led(
    vault: &Arc<Vault>,
    config: &Config,
    requests: &Arc<Requests>,
    tasks: &Tasks,
    log: &Log,
) {
    spawn_led(vault, tasks, log, sweep);
    // The scrub only reads.
    spawn_led(vault, tasks, log, |vault, _, _| scrub(vault));
    spawn_led(vault, tasks, log, delete);
    let (per_second_max, requests) = (config.reencrypt_per_second, Arc::clone(requests));
    let pace = RotationPace { per_second_max, requests };
    spawn_led(vault, tasks, log, move |vault, by, log| rotate(vault, by, pace.clone(), log));
    if let Some(plan) = config.backup.clone() {
        let keep = move |vault, by, log| keep_backups(vault, by, plan.clone(), log);
        spawn_led(vault, tasks, log, keep);
    }
}

async fn sweep(vault: Arc<Vault>, by: Authority, log: Log) {
    loop {
        match vault.upkeep().by(by).sweep_all().await {
            Ok(0) => (),
            Ok(removed) => {
                let count = u64::try_from(removed).unwrap_or(u64::MAX);
                log.event(Event::info("swept").with("removed", Value::Count(count)));
            }
            // The store has failed or is closing: the process is about to end.
            Err(Error::Stopped | Error::Storage(_)) => return,
            Err(_) => log.event(Event::error("sweep_failed")),
        }
        if let Some(finding) = vault.audit().news() {
            log.event(Event::error("audit_damaged").with("why", Value::Name(finding.name())));
        }
        tokio::time::sleep(SWEEP_PERIOD).await;
    }
}

/// Searches slowly for damaged rows.
async fn scrub(vault: Arc<Vault>) {
    let mut walk = ScrubWalk::default();
    loop {
        tokio::time::sleep(SCRUB_PERIOD).await;
        let looking = Arc::clone(&vault);
        // A disk that hangs must not block a thread that answers requests.
        let step = tokio::task::spawn_blocking(move || {
            let scrubbed = looking.upkeep().scrub_some(&mut walk);
            (walk, scrubbed)
        });
        // The panic hook logs the location of a panic. After the rest, the walk starts from the
        // beginning.
        let (next, scrubbed) =
            step.await.unwrap_or((ScrubWalk::default(), Ok(ScrubProgress::Everything)));
        walk = next;
        match scrubbed {
            Ok(ScrubProgress::Some) => (),
            Ok(ScrubProgress::Everything) => tokio::time::sleep(SCRUB_REST).await,
            // The store has failed or is closing: the process is about to end.
            Err(_) => return,
        }
    }
}

async fn write_last_uses(vault: Arc<Vault>, log: Log) {
    loop {
        tokio::time::sleep(LAST_USES_PERIOD).await;
        match vault.access().write_last_uses().await {
            Ok(()) => (),
            // The store has failed or is closing: the process is about to end.
            Err(Error::Stopped | Error::Storage(_)) => return,
            Err(_) => log.event(Event::error("last_uses_not_written")),
        }
    }
}

/// Writes refused attempts to the audit chain. The log gets one line for all of them.
async fn write_refusals(vault: Arc<Vault>, log: Log) {
    let mut pace = RefusalPace::default();
    loop {
        vault.audit().refusals().due().await;
        match vault.audit().refusals().write().await {
            Ok(written) => {
                pace = pace.after(written.map_or(0, |written| written.entries));
                if let Some(written) = written {
                    log.event(refused_attempts(&written));
                }
            }
            // The store has failed or is closing: the process is about to end.
            Err(Error::Stopped | Error::Storage(_)) => return,
            Err(_) => log.event(Event::error("refusals_not_audited")),
        }
        vault.audit().refusals().rest(pace).await;
    }
}

fn refused_attempts(written: &WrittenRefusals) -> Event {
    Event::warn("refused_attempts")
        .with("count", Value::Count(written.attempts))
        .with("entries", Value::Count(written.entries))
        .with("first_at", Value::Time(written.first_at))
}

async fn log_damage(vault: Arc<Vault>, log: Log) {
    loop {
        let row = vault.upkeep().damage_found().await;
        let event = Event::error("row_damaged").with("table", Value::Name(row.table.name()));
        let event = event.with("tenant", Value::Id(row.tenant)).with("id", Value::Id(row.id));
        log.event(event.with("why", Value::Name(row.why)));
    }
}

/// Reloads the BIN file on SIGHUP. If the file has mistakes, the old table stays in use.
async fn reload_bins(vault: Arc<Vault>, path: PathBuf, mut hangup: Signal, log: Log) {
    while hangup.recv().await.is_some() {
        match bins::read(&path) {
            Ok(table) => {
                let ranges = u64::try_from(table.ranges()).unwrap_or(u64::MAX);
                vault.replace_bins(table);
                log.event(Event::info("bin_file_loaded").with("ranges", Value::Count(ranges)));
            }
            Err(_) => log.event(Event::error("bin_file_refused")),
        }
    }
}

async fn delete(vault: Arc<Vault>, by: Authority, log: Log) {
    loop {
        match vault.deletion().by(by).step().await {
            Ok(DeletionStep::Idle) => {
                tokio::select! {
                    () = vault.deletion().begun() => (),
                    () = tokio::time::sleep(DELETION_PERIOD) => (),
                }
            }
            Ok(DeletionStep::Removed(_)) | Err(Error::Busy) => {
                tokio::time::sleep(DELETION_PAUSE).await;
            }
            Ok(DeletionStep::Finished(tenant)) => {
                let event = Event::info("tenant_deleted");
                log.event(event.with("tenant", Value::Id(tenant.uuid())));
            }
            // The store has failed or is closing: the process is about to end.
            Err(Error::Stopped | Error::Storage(_)) => return,
            // The deletion continues when the disk has free space again.
            Err(Error::ReadOnly(_)) => tokio::time::sleep(DELETION_PERIOD).await,
            Err(_) => {
                log.event(Event::error("deletion_failed"));
                tokio::time::sleep(DELETION_PERIOD).await;
            }
        }
    }
}

/// Logs a failed backup and continues.
async fn keep_backups(vault: Arc<Vault>, by: Authority, plan: BackupPlan, log: Log) {
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
        match look(vault.backups().by(by), &plan, &log).await {
            // The store has failed or is closing: the process is about to end.
            Err(Error::Stopped | Error::Storage(_)) => return,
            Err(_) => log.event(Event::error("backup_state_lost")),
            Ok(()) => (),
        }
        tokio::time::sleep(BACKUP_LOOK_PERIOD).await;
    }
}

async fn look(backups: Backups<'_>, plan: &BackupPlan, log: &Log) -> Result<(), Error> {
    match backups.take_due(plan).await? {
        None => (),
        Some(Ok(taken)) => log.event(
            Event::info("backup_taken")
                .with("rows", Value::Count(taken.rows))
                .with("bytes", Value::Count(taken.bytes))
                .with("took", Value::Duration(taken.took)),
        ),
        Some(Err(failure)) => {
            let mut event = in_directory(Event::error("backup_failed"), plan, failure.name());
            if let BackupFailure::Target(error) = &failure {
                event = event.with("cause", Value::Name(cause(error)));
            }
            log.event(event);
        }
    }
    match backups.prove_due(plan).await? {
        None => (),
        Some(Ok(proven)) => log.event(
            Event::info("backup_proven")
                .with("backup_at", Value::Time(proven.backup_at))
                .with("rows", Value::Count(proven.rows))
                .with("took", Value::Duration(proven.took)),
        ),
        Some(Err(failure)) => {
            let mut event = in_directory(Event::error("backup_proof_failed"), plan, failure.name());
            if let ProofFailure::Scratch(error) = &failure {
                event = event.with("cause", Value::Name(cause(error)));
            }
            log.event(event);
        }
    }
    Ok(())
}

fn in_directory(event: Event, plan: &BackupPlan, why: &'static str) -> Event {
    event.with("path", Value::Path(plan.directory.clone())).with("why", Value::Name(why))
}

/// A constant for the log, which takes no texts of the operating system.
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

fn deliver_webhooks(vault: &Arc<Vault>, tasks: &Tasks, log: &Log) {
    spawn_led(vault, tasks, log, |vault, by, _| async move { vault.webhooks().deliver(by).await });
    let (watched, log) = (Arc::clone(vault), log.clone());
    tasks.spawn(async move {
        loop {
            log.event(webhook_event(watched.webhooks().news().await));
        }
    });
}

fn webhook_event(news: WebhookNews) -> Event {
    match news {
        WebhookNews::Disabled { tenant, webhook, reason } => Event::error("webhook_disabled")
            .with("tenant", Value::Id(tenant.uuid()))
            .with("webhook", Value::Id(webhook.uuid()))
            .with("reason", Value::Name(reason)),
        WebhookNews::Dropped { tenant, webhook } => Event::error("webhook_events_dropped")
            .with("tenant", Value::Id(tenant.uuid()))
            .with("webhook", Value::Id(webhook.uuid())),
    }
}
