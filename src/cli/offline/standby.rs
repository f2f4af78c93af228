//! `strongroom follow` and `strongroom promote`: a standby that continuously restores the archive
//! of another vault, and its promotion to a vault.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Instant;

use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::app::VaultFailure;
use crate::bounds::{FOLLOW_PERIOD, LOG_FLUSH_MAX, MASTER_KEY_COMMAND_AGAIN};
use crate::cli::command::command;
use crate::cli::offline::restore::{check_origin, explain_restore, refuse_occupied};
use crate::cli::serve::watch::{self, Process};
use crate::cli::support::{
    Exit, Failure, Form, Result, VaultHome, archive_directory, check_directory, complain, explain,
    explain_archive, explain_backup, give_to_owner, log_panics, make_directory, no_resource,
    other_master_key, process_user, read_config, read_keys, refused_pieces, restrict, settings,
    storage, tell, timeline,
};
use crate::clock::Clock;
use crate::config::{Config, MasterKeySource};
use crate::crypto::{MasterKey, Random};
use crate::domain::time::Timestamp;
use crate::http::StandaloneProbes;
use crate::log::{Event, Log, RequestLines, Value};
use crate::metrics::{Checks, Observe, Page, Registry, StatusValue};
use crate::server::IncomingRequest;
use crate::server::tasks::Tasks;
use crate::store::archive::Replay;
use crate::store::backup::Reader;
use crate::store::meta::Restoration;
use crate::store::{Standby, StandbyFailure, Store};

command! {
    /// Keep a standby: restore the archive of another vault continuously into the data directory of the
    /// settings. Serves no clients, only `strongroom status` and metrics. SIGTERM stops it, and the next
    /// start goes on from there.
    "follow" FollowCommand on settings {
        /// archive directory of the other vault (default: the one in the settings)
        archive: Option<PathBuf> = option,
        /// file of a master key, besides the one in the settings or in place of a credential; may be
        /// repeated, if the master key was replaced
        key: Vec<PathBuf> = option,
        /// the backup to begin with; only for the first start
        backup: Option<PathBuf> = positional(arg_name = "BACKUP"),
    } => |it| follow(&it)
}

command! {
    /// Make a vault of a stopped standby: apply the rest of the archive, mark the end of the old vault's
    /// timeline there, and begin a new one. Start it with `strongroom serve`. Stop the old vault first.
    "promote" PromoteCommand on settings {
        /// archive directory of the old vault (default: the one in the settings)
        archive: Option<PathBuf> = option,
        /// file of a master key, besides the one in the settings or in place of a credential; may be
        /// repeated, if the master key was replaced
        key: Vec<PathBuf> = option,
        /// the timeline to end with, if the archive has several that began from the one of the standby
        timeline: Option<String> = option,
        /// the archive directory is lost: promote without it, and without a mark for the old vault
        without_archive: bool = switch,
        /// print JSON
        json: bool = switch,
    } => |it| promote(&it)
}

fn follow(command: &FollowCommand) -> Result<()> {
    let config = read_config(&settings::path(command.config.as_deref())?)?;
    VaultHome::of(&config).require_data_file("strongroom follow")?;
    let archive = archive_directory(command.archive.as_deref(), false, &config)?;
    let archive = archive.as_deref().unwrap_or(Path::new(""));
    let keys = StandbyKeys::read(&config.master_key, &command.key)?;
    let standby = open(&config, command, keys.held())?;
    let clock = Clock::new();
    let watched = StandbyWatch::new(clock.clone());
    let log = Log::start(io::stderr(), RequestLines::Off, Arc::new(move || clock.now()));
    let log = log.map_err(|error| no_resource("start the log", &error))?;
    log_panics(&log);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| no_resource("start the threads", &error))?;
    let (at, time) = standby.place();
    log.event(
        Event::info("following")
            .with("batch", Value::Count(at.sequence))
            .with("up_to", Value::Time(time)),
    );
    watched.set_place(at.sequence, time);
    let ended = runtime.block_on(async {
        let tasks = Tasks::new();
        StandbyWatch::serve(&watched, &config, &tasks, &log)?;
        let ended = keep_following(standby, keys, &config, archive, (&log, &watched)).await;
        tasks.end();
        tasks.finished().await;
        ended
    });
    log.event(Event::info("stopped"));
    log.flush(LOG_FLUSH_MAX);
    ended
}

fn open(config: &Config, command: &FollowCommand, keys: &[MasterKey]) -> Result<Standby> {
    let directory = &config.data_directory;
    let is_there = directory.join(Store::FILE).exists();
    let standby = match &command.backup {
        None => {
            refuse_empty(
                directory,
                "strongroom follow BACKUP: a standby begins with a backup of the other vault",
            )?;
            check_directory(directory)?;
            let opened = Standby::open(directory);
            opened.map_err(|failure| explain(VaultFailure::File(failure), directory))?
        }
        Some(_) if is_there => {
            return Err(Failure::new(Exit::Data, "a data file exists already")
                .file(&directory.join(Store::FILE))
                .why("a standby begins with a backup only once")
                .try_this("omit the backup, or move the existing files away"));
        }
        Some(file) => {
            let backup = Reader::open(file).map_err(|it| explain_backup(&it, file))?;
            check_origin(&backup, keys, file)?;
            make_directory(directory)?;
            refuse_occupied(directory)?;
            let made = Standby::begin(directory, backup);
            let made = made.map_err(|failure| explain_restore(failure, file, directory))?;
            restrict(directory, 0o700)?;
            give_to_owner(directory, &directory.join(Store::FILE))?;
            made
        }
    };
    standby.check_keys(keys).map_err(|failure| explain_standby(&failure, directory))?;
    Ok(standby)
}

/// Reads the archive until a signal ends it. A file that cannot be used is reported once and tried
/// again: an intact one may replace it, and files may arrive out of order.
async fn keep_following(
    mut standby: Standby,
    mut keys: StandbyKeys,
    config: &Config,
    archive: &Path,
    (log, watched): (&Log, &StandbyWatch),
) -> Result<()> {
    let failed = |error: io::Error| no_resource("wait for signals", &error);
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let is_stopping = Arc::new(AtomicBool::new(false));
    let mut last_problem = None;
    loop {
        let begun = log.now();
        let (directory, stopping) = (archive.to_path_buf(), Arc::clone(&is_stopping));
        let is_waiting = last_problem.is_some();
        let work = tokio::task::spawn_blocking(move || {
            let caught_up = keys.refresh(is_waiting).map(|()| {
                let replay = Replay {
                    directory: &directory,
                    keys: keys.held(),
                    until: None,
                    timeline: None,
                };
                standby.catch_up(replay, &|| stopping.load(Ordering::Relaxed))
            });
            (standby, keys, caught_up)
        });
        tokio::pin!(work);
        let mut is_asked = false;
        let done = loop {
            tokio::select! {
                done = &mut work => break done,
                _ = terminate.recv() => is_asked = true,
                _ = interrupt.recv() => is_asked = true,
            }
            // The work stops after the current file.
            is_stopping.store(true, Ordering::Relaxed);
        };
        let panicked = || Failure::new(Exit::Software, "the standby panicked");
        let caught_up;
        (standby, keys, caught_up) = done.map_err(|_panicked| panicked())?;
        let (at, time) = standby.place();
        watched.set_place(at.sequence, time);
        let problem = match caught_up {
            Ok(Ok(reached)) => {
                if reached.batches > 0 {
                    let event = Event::info("followed").with("batch", Value::Count(at.sequence));
                    log.event(event.with("up_to", Value::Time(time)));
                }
                Some(refused_pieces(&reached.refused)).filter(|lines| !lines.is_empty())
            }
            Ok(Err(StandbyFailure::Storage(failure))) => return Err(storage(&failure)),
            Ok(Err(failure)) => Some(explain_standby(&failure, &config.data_directory).to_string()),
            Err(failure) => Some(failure.to_string()),
        };
        watched.set_looked(begun, problem.is_some());
        if problem != last_problem {
            let event = if problem.is_some() { "standby_waits" } else { "standby_goes_on" };
            log.event(Event::warn(event).with("batch", Value::Count(at.sequence)));
            if let Some(problem) = &problem {
                complain(problem);
            }
            last_problem = problem;
        }
        if is_asked {
            return Ok(());
        }
        tokio::select! {
            () = tokio::time::sleep(FOLLOW_PERIOD) => (),
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
        }
    }
}

/// Refuses a directory without a data file. On the host of a standby, advice to make a new vault
/// would be wrong.
fn refuse_empty(directory: &Path, advice: &str) -> Result<()> {
    match directory.join(Store::FILE).try_exists() {
        Ok(false) => Err(Failure::new(Exit::Data, "there is no standby in the data directory")
            .file(directory)
            .why("it has no data file")
            .try_this(advice)),
        // Opening the file reports a directory that cannot be accessed.
        Ok(true) | Err(_) => Ok(()),
    }
}

fn promote(command: &PromoteCommand) -> Result<()> {
    let config = read_config(&settings::path(command.config.as_deref())?)?;
    VaultHome::of(&config).require_data_file("strongroom promote")?;
    let named = command.archive.as_deref();
    let archive = archive_directory(named, command.without_archive, &config)?;
    let directory = &config.data_directory;
    refuse_empty(
        directory,
        "name the settings of the standby with --config FILE; to make a vault \
         of a backup: strongroom restore BACKUP",
    )?;
    check_directory(directory)?;
    let keys = read_keys(Some(&config.master_key), &command.key)?;
    let standby = Standby::open(directory);
    let standby = standby.map_err(|failure| explain(VaultFailure::File(failure), directory))?;
    let timeline = timeline(command.timeline.as_deref())?;
    let replay = archive.as_deref();
    let replay = replay.map(|directory| Replay { directory, keys: &keys, until: None, timeline });
    let promotion = Restoration { at: Clock::new().now(), by: Some(process_user()) };
    let promoted = standby.promote(replay, &keys, &promotion);
    let promoted = promoted.map_err(|failure| explain_standby(&failure, directory))?;
    let file = directory.join(Store::FILE).display().to_string();
    let (time, batch) = (promoted.time, promoted.moment.sequence);
    tell(
        Form::of(command.json),
        || json!({"data_file": file, "up_to": time.to_wire(), "batch": batch}),
        || {
            let time = time.shown();
            format!(
                "The standby is promoted.\n  data file:     {file}\n  up to:         {time} (batch \
                 {batch})\n\nNext: start strongroom serve here, send clients to this host, and take \
                 a backup.\nDo not start the old vault again: its later changes are refused. Card \
                 verification codes of the last hour are gone."
            )
        },
    );
    Ok(())
}

fn explain_standby(failure: &StandbyFailure, directory: &Path) -> Failure {
    match failure {
        StandbyFailure::Archive(problem) => explain_archive(problem),
        StandbyFailure::OtherPromoted(mark) => {
            Failure::new(Exit::Data, "another standby was promoted")
                .file(mark)
                .why("the timeline that this standby follows has ended")
                .try_this("run strongroom follow: it goes on with the promoted vault")
        }
        StandbyFailure::Storage(failed) => storage(failed),
        StandbyFailure::WrongMasterKey(check) => other_master_key("standby", check, directory)
            .try_this(
                "give the file of that key with --key FILE; after a rotation, both the old key and \
                 the new one",
            ),
    }
}

#[derive(Debug)]
struct StandbyKeys {
    source: MasterKeySource,
    further: Vec<PathBuf>,
    held: Vec<MasterKey>,
    read_at: Instant,
}

impl StandbyKeys {
    fn read(source: &MasterKeySource, further: &[PathBuf]) -> Result<Self> {
        let held = read_keys(Some(source), further)?;
        let (source, further) = (source.clone(), further.to_vec());
        Ok(Self { source, further, held, read_at: Instant::now() })
    }

    fn held(&self) -> &[MasterKey] {
        &self.held
    }

    /// Reads the keys again: a file may have been replaced, as after a rotation on the other host.
    /// A command runs again only while the standby waits for a key, not at each round.
    fn refresh(&mut self, is_waiting: bool) -> Result<()> {
        let is_due = match self.source {
            MasterKeySource::Command(_) => {
                is_waiting && self.read_at.elapsed() >= MASTER_KEY_COMMAND_AGAIN
            }
            MasterKeySource::Credential(_) | MasterKeySource::File(_) => true,
        };
        if is_due {
            self.read_at = Instant::now();
            self.held = read_keys(Some(&self.source), &self.further)?;
        }
        Ok(())
    }
}

/// The position of a standby in the history of the vault that it follows. Times are in microseconds
/// since 1970.
struct StandbyWatch {
    clock: Clock,
    batch: AtomicU64,
    up_to: AtomicI64,
    /// The last time at which everything in the archive was applied.
    caught_up_at: AtomicI64,
    is_waiting: AtomicBool,
}

impl StandbyWatch {
    fn new(clock: Clock) -> Arc<Self> {
        let started_at = clock.now().micros();
        Arc::new(Self {
            clock,
            batch: AtomicU64::new(0),
            up_to: AtomicI64::new(0),
            caught_up_at: AtomicI64::new(started_at),
            is_waiting: AtomicBool::new(false),
        })
    }

    fn set_place(&self, batch: u64, up_to: Timestamp) {
        self.batch.store(batch, Ordering::Relaxed);
        self.up_to.store(up_to.micros(), Ordering::Relaxed);
    }

    /// Records the outcome of a round that began at this time.
    fn set_looked(&self, begun: Timestamp, is_waiting: bool) {
        self.is_waiting.store(is_waiting, Ordering::Relaxed);
        if !is_waiting {
            self.caught_up_at.store(begun.micros(), Ordering::Relaxed);
        }
    }

    /// Serves the operator's listeners. Must be called inside a Tokio runtime.
    fn serve(watched: &Arc<Self>, config: &Config, tasks: &Tasks, log: &Log) -> Result<()> {
        let listeners = watch::bind(&config.data_directory, config.operator_listen, log)?;
        let process = Process::new(watched.clock.clone(), &[]);
        let registry = Registry::new(vec![
            Arc::new(process),
            Arc::<Self>::clone(watched),
            Arc::new(log.clone()),
        ]);
        let random = Random::new();
        let traces = Box::new(move || random.bytes());
        let probes = Arc::new(StandaloneProbes::new(registry, traces));
        watch::serve_with(
            listeners,
            tasks,
            log,
            &move |request: IncomingRequest, _: SocketAddr| {
                let probes = Arc::clone(&probes);
                async move { probes.answer(request).await }
            },
        );
        Ok(())
    }
}

impl Observe for StandbyWatch {
    fn measure(&self, page: &mut Page) {
        let time = |at: &AtomicI64| Timestamp::from_micros(at.load(Ordering::Relaxed));
        page.gauge(
            "strongroom_standby_batch",
            "The number of the last batch of changes that the standby has.",
            self.batch.load(Ordering::Relaxed),
        )
        .status("standby", "batch");
        page.gauge(
            "strongroom_standby_up_to_timestamp_seconds",
            "The time of that batch, in seconds since 1970.",
            time(&self.up_to),
        )
        .status("standby", "up_to");
        page.gauge(
            "strongroom_standby_lag_seconds",
            "Seconds since the standby had everything that was in the archive.",
            self.clock.now().since(time(&self.caught_up_at)),
        )
        .status("standby", "lag_s");
        let is_waiting = self.is_waiting.load(Ordering::Relaxed);
        page.gauge(
            "strongroom_standby_waiting",
            "1 if a file of the archive cannot be used, else 0.",
            u64::from(is_waiting),
        );
        page.line("standby", "waiting", StatusValue::Flag(is_waiting));
    }

    fn check(&self, checks: &mut Checks) {
        let wrong = "The standby cannot use a file of the archive; its log names the file.";
        checks.set("standby", self.is_waiting.load(Ordering::Relaxed).then_some(wrong));
    }
}
