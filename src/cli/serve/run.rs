//! Runs a server for `serve` and `dev`.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::app::{AuditPolicy, Error, Vault};
use crate::bounds::{DATABASE_WORKERS, LOG_FLUSH_MAX};
use crate::cli::serve::archive::{self, SharedArchiver};
use crate::cli::serve::bins;
use crate::cli::serve::code;
use crate::cli::serve::console;
use crate::cli::serve::directory;
use crate::cli::serve::directory_lock::DirectoryLock;
use crate::cli::serve::outbound;
use crate::cli::serve::processes;
use crate::cli::serve::service_manager::ServiceManager;
use crate::cli::serve::upkeep;
use crate::cli::serve::watch::{self, Process};
use crate::cli::support::{Exit, Failure, Result, explain_bind, log_panics, no_resource, storage};
use crate::code::TracePrinter;
use crate::config::{Config, EngineSettings, SecurityText, Switch};
use crate::domain::audit::Act;
use crate::domain::shares::Claimant;
use crate::formulas::Catalog;
use crate::http::{
    Activity, Answers, Background, Bodies, DeprecatedOperations, Http, LIMITED, LIMITED_ON_DEV,
    ProgramService, Requests,
};
use crate::limits::Limiter;
use crate::log::{Event, Log};
use crate::operator::{ClockControl, Socket, SocketFailure};
use crate::outbound::Scope;
use crate::server::tasks::Tasks;
use crate::server::{Hsts, IncomingRequest, Responder, ResponseFuture, Server, Settings};
use crate::store::{DirectoryDisk, DiskWithoutRows, Fatal, StorageFailure};

/// The differences between `serve` and `dev` that are not settings.
pub struct ServerMode {
    pub clock_control: ClockControl,
    pub hsts: Hsts,
    pub inherited: Vec<TcpListener>,
    /// The destinations that proxies and webhooks may call without a setting.
    pub scope: Scope,
    pub settings: Option<PathBuf>,
    /// Prints the calls of programs. Only on a development server.
    pub program_trace: Option<TracePrinter>,
}

pub struct ListenAddresses {
    pub address: SocketAddr,
    /// The address to which directory servers send their results.
    pub results: Option<SocketAddr>,
    /// The listener for people with client certificates.
    pub console: Option<SocketAddr>,
}

impl ListenAddresses {
    /// `None` if the listener of the API has no address.
    fn of(server: &Server, results: Option<&Server>, certified: Option<&Server>) -> Option<Self> {
        let first = |server: &Server| server.addresses().first().copied();
        let (results, console) = (results.and_then(first), certified.and_then(first));
        Some(Self { address: first(server)?, results, console })
    }
}

/// Serves until a signal or a failure ends it. Calls `ready` when all listeners are bound.
pub fn run(
    vault: Vault,
    config: Config,
    mode: ServerMode,
    ready: impl FnOnce(ListenAddresses) -> Result<()>,
) -> Result<()> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if vault.processes().may_be_several() {
        runtime.worker_threads(DATABASE_WORKERS);
    }
    let runtime = runtime.enable_all().build();
    let runtime =
        runtime.map_err(|error| no_resource("start the threads of the server", &error))?;
    let vault = vault.with_cvc_retention_max(config.cvc_retention_max);
    let mut vault = vault.with_audit(audit_policy(&config));
    keep_free(&mut vault, &config);
    let vault = Arc::new(vault);
    let ended = DirectoryLock::take(&config).and_then(|_lock| {
        load_bins(&vault, &config)?;
        runtime.block_on(serve(Arc::clone(&vault), config, mode, ready))
    });
    runtime.shutdown_background();
    vault.close();
    ended
}

/// The floor applies to the disk of the rows. The disk of a database belongs to another program.
fn keep_free(vault: &mut Vault, config: &Config) {
    let directory = config.data_directory.clone();
    match config.engine {
        EngineSettings::Local => {
            vault.keep_free(config.disk_floor_bytes, Arc::new(DirectoryDisk(directory)));
        }
        EngineSettings::Postgres(_) => vault.keep_free(0, Arc::new(DiskWithoutRows(directory))),
    }
}

fn audit_policy(config: &Config) -> AuditPolicy {
    let days = u64::try_from(config.audit_retention_days).unwrap_or(u64::MAX);
    AuditPolicy {
        reads: config.audit_reads,
        retention: Duration::from_hours(days.saturating_mul(24)),
    }
}

fn load_bins(vault: &Vault, config: &Config) -> Result<()> {
    if let Some(path) = &config.bin_file {
        vault.replace_bins(bins::read(path)?);
    }
    Ok(())
}

fn limiter(rate_limits: Switch) -> Limiter {
    match rate_limits {
        Switch::Off => Limiter::off(),
        Switch::On => Limiter::on(),
    }
}

/// The text of 429. Only a development server has a movable clock.
const fn limit_advice(clock_control: ClockControl) -> &'static str {
    match clock_control {
        ClockControl::Fixed => LIMITED,
        ClockControl::Settable => LIMITED_ON_DEV,
    }
}

fn deprecated(operations: Switch) -> DeprecatedOperations {
    match operations {
        Switch::Off => DeprecatedOperations::Refused,
        Switch::On => DeprecatedOperations::Served,
    }
}

fn listener(config: &Config, mode: ServerMode) -> Settings {
    let (certificate, key) = (config.certificate.clone(), config.private_key.clone());
    let mut settings = Settings::new(config.listen.clone(), certificate, key);
    settings.inherited = mode.inherited;
    settings.hsts = mode.hsts;
    let proxies = config.trusted_proxies.clone();
    settings.trusted = Arc::new(move |address| {
        address.is_loopback() || proxies.iter().any(|network| network.contains(address))
    });
    settings.bounds.connections_max = config.connections_max;
    settings.bounds.connections_per_address_max = Some(config.connections_per_address_max);
    settings
}

async fn serve(
    vault: Arc<Vault>,
    config: Config,
    mode: ServerMode,
    ready: impl FnOnce(ListenAddresses) -> Result<()>,
) -> Result<()> {
    let log = begin_log(&vault, &config)?;
    let manager = Arc::new(ServiceManager::from_environment()?);
    let (clock_control, scope, settings) = (mode.clock_control, mode.scope, mode.settings.clone());
    let trace = mode.program_trace;
    let (tasks, requests) = (Tasks::new(), Arc::new(Requests::default()));
    let server =
        Server::bind(listener(&config, mode), log.clone()).map_err(|it| explain_bind(&it))?;
    let results = directory::set_up(&vault, &config.threeds, &tasks, &log)?;
    let (people, certified) = console::set_up(&config, &log)?;
    let outbound = outbound::set_up(&vault, scope, &config.outbound, &tasks, &log)?;
    let outside = (outbound, code::set_up(&vault, &config.code, trace, &log).await?);
    let socket = Socket::bind(&config.data_directory).map_err(|it| no_socket(&it))?;
    let listeners = watch::bind(&config.data_directory, config.operator_listen, &log)?;
    // Handle signals before reporting readiness: SIGHUP without a handler ends the process.
    let [mut terminate, mut interrupt, hangup] = signals()?;
    let addresses = ListenAddresses::of(&server, results.as_ref(), certified.as_ref());

    let process = Arc::new(Process::new(vault.clock().clone(), server.addresses()));
    let named = watch::named(&vault, &config, settings.as_deref(), &tasks, &log);
    let registry = watch::registry(&vault, &server, &outside, &requests, &process, named, &log);
    tasks.spawn(socket.serve(Arc::clone(&vault), clock_control));
    let limiter = Arc::new(limiter(config.rate_limits));
    let is_divided = config.engine.postgres().is_some_and(|it| it.divide_rate_limits);
    processes::begin(&vault, &tasks, &log, is_divided.then(|| Arc::clone(&limiter))).await?;
    audit_start(&vault, &log).await;
    let archiver = upkeep::begin(&vault, &config, &requests, &tasks, hangup, &log).await?;
    directory::keep_ranges(results.as_ref(), &vault, &tasks, &log);
    let http = Arc::new_cyclic(|myself| Http {
        app: Arc::clone(&vault),
        limiter,
        limit_advice: limit_advice(clock_control),
        log: log.clone(),
        catalog: Catalog::load(),
        trusted_proxies: config.trusted_proxies,
        public_url: config.threeds.directory.map(|it| it.public_url),
        deprecated: deprecated(config.deprecated_operations),
        pages: config.pages,
        elements_hosts: config.elements_hosts,
        security_text: config.security_text.as_ref().map(SecurityText::render),
        console: people,
        requests,
        activity: Activity::new(vault.now()),
        bodies: Bodies::default(),
        answers: Answers::new(),
        registry: Arc::new(registry),
        programs: ProgramService::new(myself, background(&tasks)),
    });
    watch::serve(listeners, &http, &tasks, &log);
    let (stop_others, stopped) = oneshot::channel();
    let others = serve_others(results, certified, Arc::clone(&http), stopped);
    addresses.map_or(Ok(()), ready)?;
    manager.ready();
    // Notifications before READY=1 could fill the socket, and systemd expects none.
    tasks.spawn(Arc::clone(&manager).notify_watchdog(Arc::clone(&vault)));
    let mut fatal = None;
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => (),
            _ = interrupt.recv() => (),
            failed = vault.store().failed() => fatal = Some(failed),
        }
        manager.stopping();
        process.stop();
        drop(stop_others);
    };
    tokio::join!(server.run(Api(http), stop), others);
    tasks.end();
    tasks.finished().await;
    finish(&vault, archiver.as_ref(), fatal, &log).await
}

/// A full disk has no space for the entry; the readiness probe reports that.
async fn audit_start(vault: &Vault, log: &Log) {
    if vault.audit().write_lifecycle_entry(Act::Start).await.is_err() {
        log.event(Event::error("start_not_audited"));
    }
}

/// Starts tasks of programs, which end with the server.
fn background(tasks: &Tasks) -> Background {
    let tasks = tasks.clone();
    Background::new(move |task| tasks.spawn(task))
}

/// Serves the listeners for results and for people with certificates, until the sender of `stopped`
/// is dropped.
async fn serve_others(
    results: Option<Server>,
    certified: Option<Server>,
    http: Arc<Http>,
    stopped: oneshot::Receiver<()>,
) {
    let (stop_results, results_stopped) = oneshot::channel();
    let (stop_certified, certified_stopped) = oneshot::channel();
    let stop = async {
        drop(stopped.await);
        drop((stop_results, stop_certified));
    };
    let results = directory::serve_results(results, Arc::clone(&http), results_stopped);
    tokio::join!(stop, results, console::serve(certified, http, certified_stopped));
}

#[derive(Clone)]
struct Api(Arc<Http>);

impl Responder for Api {
    fn answer(&self, request: IncomingRequest, peer: SocketAddr) -> ResponseFuture {
        Box::pin(Arc::clone(&self.0).answer(request, peer, None))
    }

    fn claimant(&self, request: &IncomingRequest, peer: SocketAddr) -> Claimant {
        self.0.claimant(request, peer)
    }
}

/// Writes the audit entries of the last reads and signs the chain. A disk that fails here gives the
/// same exit code as one that fails while serving.
async fn finish(
    vault: &Arc<Vault>,
    archiver: Option<&SharedArchiver>,
    fatal: Option<Fatal>,
    log: &Log,
) -> Result<()> {
    if let Some(Fatal::Storage(StorageFailure::Removed(_))) = &fatal {
        log.event(Event::error("data_file_removed"));
    }
    let mut ended = fatal.map_or_else(|| Ok(()), |fatal| Err(end(&fatal)));
    // If the disk fails here, the audit entry fails too, and that decides the exit code.
    if ended.is_ok() && vault.access().write_last_uses().await.is_err() {
        log.event(Event::error("last_uses_not_written"));
    }
    if ended.is_ok() && vault.upkeep().destroy_due_codes().is_err() {
        log.event(Event::error("sweep_failed"));
    }
    if ended.is_ok() && vault.audit().refusals().write().await.is_err() {
        log.event(Event::error("refusals_not_audited"));
    }
    if ended.is_ok()
        && (vault.audit().write_lifecycle_entry(Act::Stop).await.is_err()
            || vault.audit().sign().await.is_err()
            || vault.rotation().write_uses().await.is_err())
    {
        log.event(Event::error("audit_not_signed"));
        let now = tokio::time::timeout(Duration::ZERO, vault.store().failed()).await;
        ended = now.map_or(Ok(()), |fatal| Err(end(&fatal)));
    }
    // The file may have been removed since the last check. Writes after that are lost, so this is
    // not a clean stop.
    if ended.is_ok()
        && let Err(Error::Storage(failure)) = vault.upkeep().look_at_files()
    {
        log.event(Event::error("data_file_removed"));
        ended = Err(storage(&failure));
    }
    if ended.is_err() {
        log.event(Event::error("store_failed"));
    } else if let Some(archiver) = archiver {
        archive::finish(vault, archiver, log).await;
    }
    if vault.processes().leave().await.is_err() {
        // The other processes will declare this one dead.
        log.event(Event::warn("process_not_left"));
    }
    log.event(Event::info("stopped"));
    log.flush(LOG_FLUSH_MAX);
    ended
}

fn no_socket(failure: &SocketFailure) -> Failure {
    watch::no_socket("cannot make the operator's socket", &failure.path, &failure.source)
}

fn signals() -> Result<[Signal; 3]> {
    let wait_for = |kind| signal(kind).map_err(|error| no_resource("wait for signals", &error));
    Ok([
        wait_for(SignalKind::terminate())?,
        wait_for(SignalKind::interrupt())?,
        wait_for(SignalKind::hangup())?,
    ])
}

fn end(fatal: &Fatal) -> Failure {
    match fatal {
        Fatal::Storage(failure) => storage(failure),
        Fatal::WriterPanicked => Failure::new(Exit::Software, "the writer panicked")
            .why("the log has its location")
            .try_this("start again; no acknowledged write is lost"),
    }
}

fn begin_log(vault: &Vault, config: &Config) -> Result<Log> {
    let clock = vault.clock().clone();
    let log = Log::start(io::stderr(), config.request_lines, Arc::new(move || clock.now()))
        .map_err(|error| no_resource("start the log", &error))?;
    log_panics(&log);
    let health = vault.store().health();
    if health.lacks_sync {
        log.event(Event::warn("database_without_fsync"));
    }
    if health.is_cut_off {
        // A power failure leaves a part of a write that was not answered; so does damage.
        log.event(Event::warn("log_cut_off"));
    }
    // Check the disk before the first write: it may be full since before the restart.
    if let Some(news) = vault.upkeep().look_at_disk() {
        log.event(watch::event(&news));
    }
    Ok(log)
}
