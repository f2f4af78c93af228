//! Running a server: what `serve` and `dev` share.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::app::{App, Error};
use crate::bounds::{LOG_FLUSH_MAX, SWEEP_PERIOD};
use crate::cli::failure::{Exit, Failure};
use crate::cli::vault::storage;
use crate::cli::{bins, directory};
use crate::config::Threeds;
use crate::formulas::Catalog;
use crate::http::{Deprecated, Http};
use crate::limits::{Limiter, Network};
use crate::log::{Event, Log, RequestLines, Value, install_panic_hook};
use crate::operator::{Clockwork, Socket};
use crate::server::tasks::Tasks;
use crate::server::{BindError, Server, Settings};
use crate::store::Fatal;

/// What a server needs besides its vault.
pub(super) struct Plan {
    pub(super) data_directory: PathBuf,
    pub(super) settings: Settings,
    pub(super) limiter: Limiter,
    pub(super) trusted_proxies: Vec<Network>,
    pub(super) deprecated: Deprecated,
    pub(super) request_lines: RequestLines,
    pub(super) clockwork: Clockwork,
    /// Read again on SIGHUP.
    pub(super) bin_file: Option<PathBuf>,
    pub(super) threeds: Threeds,
}

/// Where a server can be reached.
pub(super) struct Ready {
    pub(super) address: std::net::SocketAddr,
    /// Of the listener that directory servers call.
    pub(super) results: Option<std::net::SocketAddr>,
}

/// Serves until a signal or a failure ends it. `ready` is told the first addresses.
pub(super) fn run(
    app: App,
    plan: Plan,
    ready: impl FnOnce(Ready) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| os("start the threads of the server", &error))?;
    let app = Arc::new(app);
    let ended = runtime.block_on(serve(Arc::clone(&app), plan, ready));
    runtime.shutdown_background();
    app.close();
    ended
}

async fn serve(
    app: Arc<App>,
    plan: Plan,
    ready: impl FnOnce(Ready) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let clock = app.clock().clone();
    let log = Log::start(io::stderr(), plan.request_lines, Arc::new(move || clock.now()))
        .map_err(|error| os("start the log", &error))?;
    install_panic_hook(log.clone());
    let catalog = Catalog::load().map_err(|error| {
        Failure::new(Exit::Software, "the catalog of payment connections is damaged").why(error)
    })?;
    let server = Server::bind(plan.settings, log.clone()).map_err(|error| explain(&error))?;
    let results = directory::set_up(&app, &plan.threeds, &log)?;
    let socket = Socket::bind(&plan.data_directory).map_err(|failure| {
        Failure::new(Exit::Config, "cannot make the operator's socket")
            .file(&failure.path)
            .why(failure.source)
            .try_this("use a data directory with a shorter path, on a file system with sockets")
    })?;
    let wait_for = |kind| signal(kind).map_err(|error| os("wait for signals", &error));
    let mut terminate = wait_for(SignalKind::terminate())?;
    let mut interrupt = wait_for(SignalKind::interrupt())?;
    // Before anyone is told that this is ready: a hangup without a listener ends the process.
    let hangup = wait_for(SignalKind::hangup())?;
    let first = |server: &Server| server.addresses().first().copied();
    let results_address = results.as_ref().and_then(first);
    let address = first(&server);

    let tasks = Tasks::new();
    tasks.spawn(socket.serve(Arc::clone(&app), plan.clockwork));
    tasks.spawn(sweep(Arc::clone(&app), log.clone()));
    if results.is_some() {
        tasks.spawn(directory::refresh_ranges(Arc::clone(&app), log.clone()));
    }
    if let Some(path) = plan.bin_file {
        tasks.spawn(reload_bins(Arc::clone(&app), path, hangup, log.clone()));
    }
    let http = Arc::new(Http {
        app: Arc::clone(&app),
        limiter: plan.limiter,
        log: log.clone(),
        catalog,
        trusted_proxies: plan.trusted_proxies,
        deprecated: plan.deprecated,
    });
    let (stop_results, stopped) = oneshot::channel();
    let results = directory::serve_results(results, Arc::clone(&http), stopped);
    let answer = move |request, peer| {
        let http = Arc::clone(&http);
        async move { http.answer(request, peer).await }
    };
    if let Some(address) = address {
        ready(Ready { address, results: results_address })?;
    }
    let mut fatal = None;
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => (),
            _ = interrupt.recv() => (),
            failed = app.store().failed() => fatal = Some(failed),
        }
        drop(stop_results);
    };
    tokio::join!(server.run(answer, stop), results);
    tasks.end();
    tasks.finished().await;
    let ended = fatal.map_or(Ok(()), |fatal| {
        log.event(Event::error("store_failed"));
        Err(ended_by(&fatal))
    });
    log.event(Event::info("stopped"));
    log.flush(LOG_FLUSH_MAX);
    ended
}

fn ended_by(fatal: &Fatal) -> Failure {
    match fatal {
        Fatal::Storage(failure) => storage(failure),
        Fatal::WriterPanicked => Failure::new(Exit::Software, "the writer panicked")
            .why("its place is in the log")
            .try_this("start again; nothing that was answered is lost"),
    }
}

/// Removes what has fallen due, for as long as the server runs.
async fn sweep(app: Arc<App>, log: Log) {
    loop {
        match app.sweep_all().await {
            Ok(0) => (),
            Ok(removed) => {
                let count = u64::try_from(removed).unwrap_or(u64::MAX);
                log.event(Event::info("swept").with("removed", Value::Count(count)));
            }
            // The store has failed or is closing: the process is about to end.
            Err(Error::Stopped | Error::Storage(_)) => return,
            Err(_) => log.event(Event::error("sweep_failed")),
        }
        tokio::time::sleep(SWEEP_PERIOD).await;
    }
}

/// A file with mistakes keeps the old table.
async fn reload_bins(app: Arc<App>, path: PathBuf, mut hangup: Signal, log: Log) {
    while hangup.recv().await.is_some() {
        match bins::read(&path) {
            Ok(table) => {
                let ranges = u64::try_from(table.ranges()).unwrap_or(u64::MAX);
                app.replace_bins(table);
                log.event(Event::info("bin_file_loaded").with("ranges", Value::Count(ranges)));
            }
            Err(_) => log.event(Event::error("bin_file_refused")),
        }
    }
}

pub(super) fn explain(error: &BindError) -> Failure {
    let exit = match error {
        BindError::Address { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
            Exit::Unavailable
        }
        BindError::Address { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            Exit::Permission
        }
        BindError::Address { .. }
        | BindError::Certificate(_)
        | BindError::Inherited(_)
        | BindError::NoAddress => Exit::Config,
    };
    let advice = error.advice();
    let source = std::error::Error::source(error).map(|source| format!("\n{source}"));
    let why = format!("{error}{}", source.unwrap_or_default());
    Failure::new(exit, "cannot start to listen").why(why).try_this(advice)
}

fn os(what: &str, error: &io::Error) -> Failure {
    Failure::new(Exit::Unavailable, format!("cannot {what}")).why(error)
}
