//! The archive of a running server: a round every few seconds, and one at the end.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::app::{ArchiveState, Archiver, Vault};
use crate::bounds::{ARCHIVE_FINISH_MAX, ARCHIVE_LOOK_MAX};
use crate::cli::support::{Exit, Failure, Result, refused};
use crate::config::Config;
use crate::lock::Lock;
use crate::log::{Event, Log, Value};

/// One round at a time: the next one waits for the lock.
pub(in crate::cli) type SharedArchiver = Arc<Lock<Archiver>>;

/// Keeps log segments for the archive of the settings, if there is one. The first round reports a
/// directory that cannot be used; the server starts nevertheless.
pub(in crate::cli) fn begin(vault: &Vault, config: &Config) -> Result<Option<SharedArchiver>> {
    let Some(plan) = &config.archive else {
        vault.upkeep().archive().forgo();
        return Ok(None);
    };
    if is_inside(&plan.directory, &config.data_directory) {
        return Err(Failure::new(Exit::Config, "the archive is in the data directory")
            .file(&plan.directory)
            .why("the loss of the data directory would take the archive with it")
            .try_this("set archive.directory to a directory on another disk"));
    }
    let archiver =
        vault.upkeep().archive().begin(&plan.directory).map_err(|error| refused(&error))?;
    Ok(archiver.map(|archiver| Arc::new(Lock::new(archiver))))
}

/// Resolves links. A directory that does not exist is inside no other one.
fn is_inside(directory: &Path, outer: &Path) -> bool {
    match (directory.canonicalize(), outer.canonicalize()) {
        (Ok(directory), Ok(outer)) => directory.starts_with(outer),
        (Ok(_) | Err(_), Ok(_) | Err(_)) => false,
    }
}

/// Compares the archive with the log before the first request, with a deadline: an old copy of a
/// superseded vault must not confirm changes that will be lost.
pub(in crate::cli) async fn look(vault: &Arc<Vault>, archiver: &SharedArchiver, log: &Log) {
    let (looking, archiver) = (Arc::clone(vault), Arc::clone(archiver));
    let look = tokio::task::spawn_blocking(move || {
        let mut archiver = archiver.lock();
        looking.upkeep().archive().look(&mut archiver)
    });
    if let Ok(looked) = tokio::time::timeout(ARCHIVE_LOOK_MAX, look).await {
        log_state(looked.ok().flatten(), log);
    } else {
        // An archive that fails never stops the vault. The next round waits for this comparison.
        vault.upkeep().archive().note_slow();
        log.event(Event::error("archive_failing").with("why", Value::Name("too_slow")));
    }
}

pub(in crate::cli) async fn keep(
    vault: Arc<Vault>,
    archiver: SharedArchiver,
    every: Duration,
    log: Log,
) {
    loop {
        round(&vault, &archiver, &log).await;
        tokio::time::sleep(every).await;
    }
}

/// Archives the rest after the last write.
pub(in crate::cli) async fn finish(vault: &Arc<Vault>, archiver: &SharedArchiver, log: &Log) {
    let last = round(vault, archiver, log);
    if tokio::time::timeout(ARCHIVE_FINISH_MAX, last).await.is_err() {
        log.event(Event::error("archive_failing").with("why", Value::Name("too_slow")));
    }
}

/// Logs each change of state once.
async fn round(vault: &Arc<Vault>, archiver: &SharedArchiver, log: &Log) {
    let (vault, archiver) = (Arc::clone(vault), Arc::clone(archiver));
    // A file server that hangs must not block a thread that answers requests.
    let round = tokio::task::spawn_blocking(move || {
        let mut archiver = archiver.lock();
        vault.upkeep().archive().round(&mut archiver)
    });
    // The panic hook logs the location of a panic.
    log_state(round.await.ok().flatten(), log);
}

fn log_state(state: Option<ArchiveState>, log: &Log) {
    match state {
        None => (),
        Some(ArchiveState::Working) => log.event(Event::info("archive_working")),
        Some(state) => {
            let event = Event::error("archive_failing");
            log.event(event.with("why", Value::Name(state.as_str())));
        }
    }
}
