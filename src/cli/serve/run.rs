//! Running a server: what `serve` and `dev` share.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::app::{Error, Vault};
use crate::bounds::LOG_FLUSH_MAX;
use crate::cli::serve::directory;
use crate::cli::serve::service_manager::ServiceManager;
use crate::cli::serve::upkeep::Upkeep;
use crate::cli::serve::watch::{self, Process};
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::{explain_bind, storage};
use crate::config::ThreedsSettings;
use crate::domain::audit::Act;
use crate::formulas::Catalog;
use crate::http::{Answers, Bodies, Deprecated, Http, Requests};
use crate::limits::{Limiter, Network};
use crate::log::{Event, Log, RequestLines, Value, install_panic_hook};
use crate::operator::{Clockwork, Socket, SocketFailure};
use crate::server::tasks::Tasks;
use crate::server::{IncomingRequest, Responder, ResponseFuture, Server, Settings};
use crate::store::{DirectoryDisk, Fatal, StorageFailure};

/// What a server needs besides its vault.
pub(in crate::cli) struct Plan {
    pub(in crate::cli) data_directory: PathBuf,
    pub(in crate::cli) settings: Settings,
    pub(in crate::cli) limiter: Limiter,
    pub(in crate::cli) trusted_proxies: Vec<Network>,
    pub(in crate::cli) deprecated: Deprecated,
    pub(in crate::cli) request_lines: RequestLines,
    pub(in crate::cli) clockwork: Clockwork,
    pub(in crate::cli) upkeep: Upkeep,
    pub(in crate::cli) disk_floor_bytes: u64,
    pub(in crate::cli) operator_listen: Option<SocketAddr>,
    pub(in crate::cli) threeds: ThreedsSettings,
}

/// Where a server can be reached.
pub(in crate::cli) struct Ready {
    pub(in crate::cli) address: SocketAddr,
    /// Of the listener that directory servers call.
    pub(in crate::cli) results: Option<SocketAddr>,
}

/// Serves until a signal or a failure ends it. `ready` is told the first addresses.
pub(in crate::cli) fn run(
    mut app: Vault,
    plan: Plan,
    ready: impl FnOnce(Ready) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| os("start the threads of the server", &error))?;
    let directory = plan.data_directory.clone();
    app.keep_free(plan.disk_floor_bytes, Arc::new(DirectoryDisk(directory)));
    let app = Arc::new(app);
    let ended = runtime.block_on(serve(Arc::clone(&app), plan, ready));
    runtime.shutdown_background();
    app.close();
    ended
}

async fn serve(
    app: Arc<Vault>,
    plan: Plan,
    ready: impl FnOnce(Ready) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let clock = app.clock().clone();
    let log = Log::start(io::stderr(), plan.request_lines, Arc::new(move || clock.now()))
        .map_err(|error| os("start the log", &error))?;
    install_panic_hook(log.clone());
    tell_migration(&app, &log);
    // Before anything is written: this may be the restart after a full disk.
    if let Some(news) = app.look_at_disk() {
        log.event(watch::event(&news));
    }
    let catalog = Catalog::load();
    let manager = Arc::new(ServiceManager::from_environment()?);
    let server = Server::bind(plan.settings, log.clone()).map_err(|error| explain_bind(&error))?;
    let results = directory::set_up(&app, &plan.threeds, &log)?;
    let socket = Socket::bind(&plan.data_directory).map_err(|it| no_socket(&it))?;
    let listeners = watch::bind(&plan.data_directory, plan.operator_listen, &log)?;
    // Before anyone is told that this is ready: a hangup without a listener ends the process.
    let [mut terminate, mut interrupt, hangup] = signals()?;
    let first = |server: &Server| server.addresses().first().copied();
    let (address, results_address) = (first(&server), results.as_ref().and_then(first));

    let tasks = Tasks::new();
    let requests = Arc::new(Requests::new());
    let process = Arc::new(Process::new(app.clock().clone(), server.addresses()));
    let registry = Arc::new(watch::registry(&app, &server, &requests, &process, &log));
    tasks.spawn(socket.serve(Arc::clone(&app), plan.clockwork));
    tasks.spawn(Arc::clone(&manager).show_life(Arc::clone(&app)));
    // On a full disk there is no room for it; the readiness says so.
    if app.audit().write_lifecycle_entry(Act::Start).await.is_err() {
        log.event(Event::error("start_not_audited"));
    }
    plan.upkeep.begin(&app, &tasks, hangup, &log);
    if results.is_some() {
        tasks.spawn(directory::refresh_ranges(Arc::clone(&app), log.clone()));
    }
    let http = Arc::new(Http {
        app: Arc::clone(&app),
        limiter: plan.limiter,
        log: log.clone(),
        catalog,
        trusted_proxies: plan.trusted_proxies,
        public_url: plan.threeds.directory.map(|it| it.public_url),
        deprecated: plan.deprecated,
        requests,
        bodies: Bodies::new(),
        answers: Answers::default(),
        registry,
    });
    watch::serve(listeners, &http, &tasks, &log);
    let (stop_results, stopped) = oneshot::channel();
    let results = directory::serve_results(results, Arc::clone(&http), stopped);
    let answer = Api(http);
    if let Some(address) = address {
        ready(Ready { address, results: results_address })?;
    }
    manager.ready();
    let mut fatal = None;
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => (),
            _ = interrupt.recv() => (),
            failed = app.store().failed() => fatal = Some(failed),
        }
        manager.stopping();
        process.stop();
        drop(stop_results);
    };
    tokio::join!(server.run(answer, stop), results);
    tasks.end();
    tasks.finished().await;
    finish(&app, fatal, &log).await
}

/// Answers the requests of the API listener.
#[derive(Clone)]
struct Api(Arc<Http>);

impl Responder for Api {
    fn answer(&self, request: IncomingRequest, peer: SocketAddr) -> ResponseFuture {
        let http = Arc::clone(&self.0);
        Box::pin(async move { http.answer(request, peer).await })
    }

    fn knows(&self, request: &IncomingRequest) -> bool {
        self.0.knows(request)
    }
}

/// The reads that were answered last, and a signature under all of it. A disk that fails in that ends
/// the process as it would have before.
async fn finish(app: &Vault, fatal: Option<Fatal>, log: &Log) -> Result<(), Failure> {
    if let Some(Fatal::Storage(StorageFailure::Removed(_))) = &fatal {
        log.event(Event::error("data_file_removed"));
    }
    let mut ended = fatal.map_or_else(|| Ok(()), |fatal| Err(end(&fatal)));
    if ended.is_ok()
        && (app.audit().write_lifecycle_entry(Act::Stop).await.is_err()
            || app.audit().sign().await.is_err()
            || app.rotation().write_uses().await.is_err())
    {
        log.event(Event::error("audit_not_signed"));
        let now = tokio::time::timeout(Duration::ZERO, app.store().failed()).await;
        ended = now.map_or(Ok(()), |fatal| Err(end(&fatal)));
    }
    // Removed between the last look and this moment: what was answered since is lost, so this is no
    // clean stop.
    if ended.is_ok()
        && let Err(Error::Storage(failure)) = app.look_at_files()
    {
        log.event(Event::error("data_file_removed"));
        ended = Err(storage(&failure));
    }
    if ended.is_err() {
        log.event(Event::error("store_failed"));
    }
    log.event(Event::info("stopped"));
    log.flush(LOG_FLUSH_MAX);
    ended
}

fn no_socket(failure: &SocketFailure) -> Failure {
    watch::no_socket("cannot make the operator's socket", &failure.path, &failure.source)
}

fn signals() -> Result<[Signal; 3], Failure> {
    let wait_for = |kind| signal(kind).map_err(|error| os("wait for signals", &error));
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

fn tell_migration(app: &Vault, log: &Log) {
    if let Some(migrated) = app.migrated() {
        let from = Value::Count(u64::from(migrated.from));
        log.event(Event::info("migrated").with("from_format", from));
    }
}

fn os(what: &str, error: &io::Error) -> Failure {
    Failure::new(Exit::Unavailable, format!("cannot {what}")).why(error)
}
