//! Background tasks of a running server: it removes expired records, writes the audit entries of
//! reads and the last uses of API keys, continues rotations, takes backups and reloads files.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::signal::unix::Signal;

use crate::app::{Error, RefusalPace, ScrubProgress, ScrubWalk, Vault, WrittenRefusals};
use crate::bounds::{LAST_USES_PERIOD, SCRUB_PERIOD, SCRUB_REST, SWEEP_PERIOD};
use crate::cli::serve::archive::{self, SharedArchiver};
use crate::cli::serve::bins;
use crate::cli::serve::deletion;
use crate::cli::serve::processes::spawn_led;
use crate::cli::serve::rotation::rotate;
use crate::cli::serve::schedule;
use crate::cli::serve::watch;
use crate::cli::serve::webhooks;
use crate::cli::support::failure::Failure;
use crate::config::Config;
use crate::log::{Event, Log, Value};
use crate::server::tasks::Tasks;

/// Starts the tasks, which end with `tasks`. `hangup` is the signal to reload files. Returns the
/// archiver, which has to archive the rest at the end.
pub(in crate::cli) fn begin(
    vault: &Arc<Vault>,
    config: &Config,
    tasks: &Tasks,
    hangup: Signal,
    log: &Log,
) -> Result<Option<SharedArchiver>, Failure> {
    let archiver = archive::begin(vault, config)?;
    let vault = || Arc::clone(vault);
    tasks.spawn(watch::disk(vault(), log.clone()));
    tasks.spawn(watch::files(vault()));
    begin_led(&vault(), config, tasks, log);
    tasks.spawn(write_last_uses(vault(), log.clone()));
    tasks.spawn(log_damage(vault(), log.clone()));
    webhooks::begin(&vault(), tasks, log);
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
fn begin_led(vault: &Arc<Vault>, config: &Config, tasks: &Tasks, log: &Log) {
    let of_work = |vault: &Arc<Vault>| (Arc::clone(vault), log.clone());
    let (own, logged) = of_work(vault);
    spawn_led(vault, tasks, move || sweep(Arc::clone(&own), logged.clone()));
    let own = Arc::clone(vault);
    spawn_led(vault, tasks, move || scrub(Arc::clone(&own)));
    let (own, logged) = of_work(vault);
    spawn_led(vault, tasks, move || deletion::delete(Arc::clone(&own), logged.clone()));
    let (own, logged) = of_work(vault);
    let per_second = config.reencrypt_per_second;
    spawn_led(vault, tasks, move || rotate(Arc::clone(&own), per_second, logged.clone()));
    if let Some(plan) = config.backup.clone() {
        let (own, logged) = of_work(vault);
        let keep = move || schedule::keep_backups(Arc::clone(&own), plan.clone(), logged.clone());
        spawn_led(vault, tasks, keep);
    }
}

/// Removes expired records, for as long as the server runs.
async fn sweep(vault: Arc<Vault>, log: Log) {
    loop {
        match vault.upkeep().sweep_all().await {
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

/// Looks for damaged rows, slowly, for as long as the server runs.
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
        // The panic hook logs the location of a panic. The walk starts from the beginning after the
        // rest.
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

/// Writes the last uses of API keys, for as long as the server runs.
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

/// Writes refused attempts to the audit chain, for as long as the server runs. The log gets one line
/// for all of them.
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

/// Logs each damaged row once.
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
