//! A command that writes to a database which servers on other hosts may use at the same time.

use std::time::Duration;
use std::{fs, thread};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::app::{Error, Vault};
use crate::bounds::{HOST_NAME_MAX, PROCESS_BEAT, PROCESS_DEAD_AFTER, PROCESS_POLL};
use crate::cli::support::{Result, complain, no_resource};
use crate::domain::origin::SystemUser;
use crate::domain::process::{ListedProcess, ProcessRole};
use crate::operator::user_of_process;

/// The time in which a process that has just joined finds out that another one is dead.
const COUNTED_OUT_AFTER: Duration = PROCESS_DEAD_AFTER.saturating_add(PROCESS_DEAD_AFTER);

/// Does the work as one of the processes of the database, so that a rotation of keys waits until
/// the command has the new ones, and dead processes are removed. A command that is stopped for long
/// is removed itself, and its changes are refused. With a local file this only does the work.
pub fn as_member<T>(vault: &Vault, work: impl FnOnce() -> Result<T>) -> Result<T> {
    if !vault.processes().may_be_several() {
        return work();
    }
    let runtime = runtime()?;
    let host = host_name();
    let joining = vault.processes().join(&host, ProcessRole::Command);
    runtime.block_on(joining)?;
    let done = while_alive(vault, &runtime, work);
    if runtime.block_on(vault.processes().leave()).is_err() {
        complain(
            "strongroom: warning: the database did not answer at the end; servers list this \
             command for ten more seconds",
        );
    }
    done
}

/// Sends heartbeats on a separate thread: the work may block its own for long.
fn while_alive<T>(vault: &Vault, runtime: &Runtime, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let (end, ended) = oneshot::channel::<()>();
        scope.spawn(|| {
            runtime.block_on(async {
                tokio::select! {
                    _ = ended => (),
                    () = stay_alive(vault) => (),
                }
            });
        });
        let done = work();
        drop(end);
        done
    })
}

async fn stay_alive(vault: &Vault) {
    let polls_per_beat = times(PROCESS_BEAT);
    for poll in 1_u128.. {
        tokio::time::sleep(PROCESS_POLL).await;
        let mut alive = vault.processes().poll();
        if poll.is_multiple_of(polls_per_beat) {
            alive = alive.and(vault.processes().beat().await.map(drop));
        }
        // The store has failed, which the work notices too. Other errors may pass.
        if let Err(Error::Stopped | Error::Storage(_)) = alive {
            return;
        }
    }
}

/// Returns when each other process has sent a heartbeat or was declared dead: a killed one leaves
/// its row, and counts as alive for ten seconds.
pub async fn find_living(vault: &Vault) -> Result<(), Error> {
    let before = vault.processes().list()?;
    for _ in 0..times(COUNTED_OUT_AFTER) {
        let now = vault.processes().list()?;
        let is_known = |old: &ListedProcess| {
            let mut same = now.iter().filter(|it| it.id == old.id);
            old.is_own || same.all(|it| it.beat_at != old.beat_at)
        };
        if before.iter().all(is_known) {
            break;
        }
        tokio::time::sleep(PROCESS_POLL).await;
    }
    Ok(())
}

const fn times(time: Duration) -> u128 {
    time.as_millis() / PROCESS_POLL.as_millis()
}

pub fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().chars().take(HOST_NAME_MAX).collect()
}

pub fn runtime() -> Result<Runtime> {
    let built = Builder::new_current_thread().enable_time().build();
    built.map_err(|error| no_resource("start", &error))
}

pub fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    runtime()?.block_on(work)
}

pub fn process_user() -> SystemUser {
    user_of_process(rustix::process::geteuid().as_raw(), None)
}
