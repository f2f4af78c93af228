//! Observation of a running server: its metrics and probes, the operator's listeners, and the tasks
//! that check the disk.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::app::{DiskEvent, DiskState, Vault};
use crate::bounds::{DISK_CHECK_EVERY, FILES_CHECK_EVERY};
use crate::cli::serve::files::NamedFiles;
use crate::cli::serve::next_key::NextKey;
use crate::cli::serve::process;
use crate::cli::support::{Exit, Failure, Result};
use crate::clock::Clock;
use crate::code::ProgramsOnWorkers;
use crate::config::Config;
use crate::domain::time::Timestamp;
use crate::http::{Http, Requests};
use crate::log::{Event, Log, Value};
use crate::metrics::{Checks, FamilyKind, Label, Observe, Page, Registry, StatusValue};
use crate::operator::metrics_socket_path;
use crate::outbound::OutboundClient;
use crate::server::tasks::Tasks;
use crate::server::{IncomingRequest, PlainListener, Responder, Server, Traffic};

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The parts of the settings that are observed.
pub type Named = (BackupSchedule, Arc<NamedFiles>, Arc<NextKey>);

pub fn named(
    vault: &Arc<Vault>,
    config: &Config,
    settings: Option<&Path>,
    tasks: &Tasks,
    log: &Log,
) -> Named {
    let files = NamedFiles::begin(config, settings, tasks, log);
    let next_key = NextKey::begin(vault, config.master_key.clone(), tasks);
    (BackupSchedule::of(config), files, next_key)
}

pub fn registry(
    vault: &Arc<Vault>,
    server: &Server,
    (outbound, programs): &(Arc<OutboundClient>, Arc<ProgramsOnWorkers>),
    requests: &Arc<Requests>,
    process: &Arc<Process>,
    (backups, files, next_key): Named,
    log: &Log,
) -> Registry {
    Registry::new(vec![
        Arc::<Process>::clone(process),
        Arc::new(backups),
        files,
        next_key,
        Arc::<Vault>::clone(vault),
        Arc::new(vault.store().clone()),
        Arc::<Requests>::clone(requests),
        Arc::<Traffic>::clone(server.traffic()),
        Arc::<OutboundClient>::clone(outbound),
        Arc::<ProgramsOnWorkers>::clone(programs),
        Arc::new(log.clone()),
    ])
}

pub struct Process {
    clock: Clock,
    started_at: Timestamp,
    /// The addresses of the API listener; a standby has none.
    addresses: Vec<SocketAddr>,
    stopping: AtomicBool,
}

impl Process {
    pub fn new(clock: Clock, addresses: &[SocketAddr]) -> Self {
        let (started_at, addresses) = (clock.now(), addresses.to_vec());
        Self { clock, started_at, addresses, stopping: AtomicBool::new(false) }
    }

    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }
}

impl Observe for Process {
    fn measure(&self, page: &mut Page) {
        let mut family =
            page.family("strongroom_build_info", "The version, as a label.", FamilyKind::Gauge);
        family.sample(&[("version", Label::Name(VERSION))], 1);
        page.gauge(
            "strongroom_start_time_seconds",
            "Start of the process, in seconds since 1970.",
            self.started_at,
        )
        .status("process", "started_at");
        // The name that generic dashboards use.
        page.gauge(
            "process_start_time_seconds",
            "Start of the process, in seconds since 1970.",
            self.started_at,
        );
        page.gauge(
            "strongroom_time_seconds",
            "Time of day of this machine, in seconds since 1970.",
            self.clock.now(),
        );
        process::measure(page);
        let up = self.clock.now().since(self.started_at);
        page.line("process", "up_s", StatusValue::Count(up.as_secs()));
        page.line("process", "version", StatusValue::Name(VERSION));
        if !self.addresses.is_empty() {
            let addresses = StatusValue::Addresses(self.addresses.clone());
            page.line("process", "listening_on", addresses);
        }
    }

    fn check(&self, checks: &mut Checks) {
        let stopping = self.stopping.load(Ordering::Relaxed);
        checks.set("process", stopping.then_some("The server is stopping."));
    }
}

pub struct BackupSchedule {
    every: Option<Duration>,
}

impl BackupSchedule {
    pub fn of(config: &Config) -> Self {
        Self { every: config.backup.as_ref().map(|plan| plan.every) }
    }
}

impl Observe for BackupSchedule {
    fn measure(&self, page: &mut Page) {
        page.gauge(
            "strongroom_backup_scheduled",
            "1 if the settings have a schedule of backups, else 0.",
            u64::from(self.every.is_some()),
        );
        page.line("backups", "scheduled", StatusValue::Flag(self.every.is_some()));
        page.known_gauge(
            "strongroom_backup_every_seconds",
            "Time between two scheduled backups.",
            self.every,
        )
        .status("backups", "every_s");
    }
}

/// The operator's listeners: the socket, and an address if the settings name one.
pub fn bind(
    data_directory: &Path,
    listen: Option<SocketAddr>,
    log: &Log,
) -> Result<Vec<PlainListener>> {
    let path = metrics_socket_path(data_directory);
    let socket = PlainListener::bind_socket(&path, log.clone())
        .map_err(|error| no_socket("cannot make the socket for metrics", &path, &error))?;
    let mut listeners = vec![socket];
    if let Some(address) = listen {
        listeners.push(PlainListener::bind_address(address, log.clone()).map_err(|error| {
            Failure::new(Exit::Unavailable, "cannot listen for the operator")
                .line("where", address)
                .why(error)
                .try_this("choose another operator.listen in the settings, or remove it")
        })?);
    }
    Ok(listeners)
}

pub fn no_socket(what: &str, path: &Path, why: &io::Error) -> Failure {
    // A stale socket is replaced, so the file with this name is of another kind.
    let advice = if why.kind() == io::ErrorKind::AddrInUse {
        "move the file with this name elsewhere: it is not a socket"
    } else {
        "use a data directory with a shorter path, on a file system with sockets"
    };
    Failure::new(Exit::Config, what).file(path).why(why).try_this(advice)
}

pub fn serve(listeners: Vec<PlainListener>, http: &Arc<Http>, tasks: &Tasks, log: &Log) {
    let http = Arc::clone(http);
    serve_with(listeners, tasks, log, &move |request: IncomingRequest, _: SocketAddr| {
        let http = Arc::clone(&http);
        async move { http.answer_operator(request).await }
    });
}

/// Serves the operator's listeners with the given function.
pub fn serve_with(
    listeners: Vec<PlainListener>,
    tasks: &Tasks,
    log: &Log,
    answer: &impl Responder,
) {
    for listener in listeners {
        if let Some(address) = listener.address() {
            let event = Event::info("operator_listening");
            log.event(event.with("address", Value::Address(address)));
        }
        tasks.spawn(listener.serve(answer.clone()));
    }
}

/// Checks the free space of the disk periodically and logs each change of state once.
pub async fn disk(vault: Arc<Vault>, log: Log) {
    loop {
        tokio::time::sleep(DISK_CHECK_EVERY).await;
        let looking = Arc::clone(&vault);
        // A disk that hangs must not block a thread that answers requests.
        if let Ok(Some(news)) =
            tokio::task::spawn_blocking(move || looking.upkeep().look_at_disk()).await
        {
            log.event(event(&news));
        }
    }
}

/// Checks periodically that the open files are those of the data directory. If one was removed or
/// replaced, the store fails, which ends the process.
pub async fn files(vault: Arc<Vault>) {
    loop {
        tokio::time::sleep(FILES_CHECK_EVERY).await;
        let looking = Arc::clone(&vault);
        if let Ok(Err(_)) =
            tokio::task::spawn_blocking(move || looking.upkeep().look_at_files()).await
        {
            return;
        }
    }
}

pub fn event(news: &DiskEvent) -> Event {
    let (event, space) = match news {
        DiskEvent::State(DiskState::Writable, space) => (Event::info("disk_recovered"), space),
        DiskEvent::State(DiskState::ReadOnly, space) => (Event::error("disk_nearly_full"), space),
        DiskEvent::State(DiskState::Full, space) => (Event::error("disk_full"), space),
        DiskEvent::Unreadable => return Event::error("disk_unreadable"),
    };
    event.with("free_bytes", Value::Count(space.free_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Readiness;

    #[test]
    fn a_process_that_stops_is_not_ready_and_says_why() {
        let process = Arc::new(Process::new(Clock::new(), &[]));
        let registry = Registry::new(vec![Arc::<Process>::clone(&process)]);
        assert!(registry.checks().are_right());
        process.stop();
        let checks = registry.checks().to_json(Readiness::Writes).to_string();
        assert!(checks.contains("The server is stopping."), "{checks}");
    }
}
