//! A server among other processes on one database: its heartbeats, its checks for changes of the
//! others, and its tasks while it leads. With a local file none of this runs.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use crate::app::{Authority, Beat, Error, Vault};
use crate::bounds::{
    CODE_KEYS_WAIT, CODE_KEYS_WAIT_MAX, PROCESS_BEAT, PROCESS_POLL, PROCESS_POLL_PAUSE,
    SWEEP_PERIOD,
};
use crate::cli::support::{Result, host_name};
use crate::domain::process::{ListedProcess, ProcessRole};
use crate::limits::Limiter;
use crate::log::{Event, Log, Value};
use crate::server::tasks::Tasks;

/// Joins the other processes and starts the tasks of this membership, which end with `tasks`. The
/// rates of `limiter`, if there is one, are divided by the number of live processes.
pub async fn begin(
    vault: &Arc<Vault>,
    tasks: &Tasks,
    log: &Log,
    limiter: Option<Arc<Limiter>>,
) -> Result<()> {
    if !vault.processes().may_be_several() {
        return Ok(());
    }
    let joined = vault.processes().join(&host_name(), ProcessRole::Server).await?;
    divide(limiter.as_deref(), vault);
    tell(&joined, log);
    tasks.spawn(poll(Arc::clone(vault)));
    tasks.spawn(beat(Arc::clone(vault), log.clone(), limiter));
    if !receive_codes(vault).await? {
        log.event(Event::warn("card_codes_missing"));
    }
    tasks.spawn(watch_term(Arc::clone(vault), log.clone()));
    tasks.spawn(destroy_codes(Arc::clone(vault), log.clone()));
    Ok(())
}

/// Waits for the keys of card verification codes of the other servers. A server that was killed
/// sends nothing, and the wait for it is no longer than a live one needs.
async fn receive_codes(vault: &Vault) -> Result<bool, Error> {
    let before = vault.processes().list()?;
    let mut waited = Duration::ZERO;
    loop {
        let silent = vault.processes().not_heard()?;
        let is_dead = |it: &ListedProcess| {
            before.iter().any(|old| old.id == it.id && old.beat_at == it.beat_at)
        };
        if silent.is_empty() || (waited >= CODE_KEYS_WAIT && silent.iter().all(is_dead)) {
            return Ok(true);
        }
        if waited >= CODE_KEYS_WAIT_MAX {
            return Ok(false);
        }
        tokio::time::sleep(PROCESS_POLL).await;
        waited = waited.saturating_add(PROCESS_POLL);
    }
}

/// Runs a background task while this process leads.
pub fn spawn_led<F>(
    vault: &Arc<Vault>,
    tasks: &Tasks,
    log: &Log,
    work: impl Fn(Arc<Vault>, Authority, Log) -> F + Send + Sync + 'static,
) where
    F: Future<Output = ()> + Send,
{
    let (vault, log) = (Arc::clone(vault), log.clone());
    let own = Arc::clone(&vault);
    let work = move |by| work(Arc::clone(&own), by, log.clone());
    tasks.spawn(async move { vault.processes().lead(work).await });
}

/// Checks for changes of other processes, at once if the store notifies of them. A failed check
/// shows in the age of the last one.
async fn poll(vault: Arc<Vault>) {
    let changes = vault.processes().changes();
    loop {
        // The store has failed or is closing: the process is about to end.
        if let Err(Error::Stopped | Error::Storage(_)) = vault.processes().poll() {
            return;
        }
        tokio::time::sleep(PROCESS_POLL_PAUSE).await;
        let notified = async {
            match &changes {
                Some(changes) => changes.notified().await,
                None => std::future::pending().await,
            }
        };
        let rest = PROCESS_POLL.saturating_sub(PROCESS_POLL_PAUSE);
        tokio::time::timeout(rest, notified).await.ok();
    }
}

async fn beat(vault: Arc<Vault>, log: Log, limiter: Option<Arc<Limiter>>) {
    loop {
        tokio::time::sleep(PROCESS_BEAT).await;
        match vault.processes().beat().await {
            Ok(beat) => {
                tell(&beat, &log);
                divide(limiter.as_deref(), &vault);
            }
            // The store has failed or is closing: the process is about to end.
            Err(Error::Stopped | Error::Storage(_)) => return,
            // The next heartbeat comes soon: others declare the process dead after ten missing
            // ones.
            Err(_) => (),
        }
    }
}

/// Ends the term of a leader that cannot reach the database, even while a check hangs, and logs
/// each beginning and end of a term.
async fn watch_term(vault: Arc<Vault>, log: Log) {
    let mut led = vault.processes().leads();
    loop {
        tokio::time::sleep(PROCESS_BEAT).await;
        vault.processes().doubt();
        let leads = vault.processes().leads();
        if led && !leads {
            log.event(Event::warn("leader_stepped_down"));
        }
        led = leads;
    }
}

/// Each process holds the keys of the codes that it took, so each destroys them in time.
async fn destroy_codes(vault: Arc<Vault>, log: Log) {
    loop {
        tokio::time::sleep(SWEEP_PERIOD).await;
        match vault.upkeep().destroy_due_codes() {
            Ok(()) => (),
            Err(Error::Stopped | Error::Storage(_)) => return,
            Err(_) => log.event(Event::error("sweep_failed")),
        }
    }
}

fn divide(limiter: Option<&Limiter>, vault: &Vault) {
    let live = u32::try_from(vault.processes().live()).unwrap_or(u32::MAX);
    if let (Some(limiter), Some(live)) = (limiter, NonZeroU32::new(live)) {
        limiter.divide_by(live);
    }
}

fn tell(beat: &Beat, log: &Log) {
    if beat.has_joined_again {
        log.event(Event::warn("process_joined_again"));
    }
    for id in &beat.counted_out {
        log.event(Event::warn("process_counted_out").with("process", Value::Id(*id)));
    }
    if beat.leads {
        log.event(Event::info("leader"));
    }
}
