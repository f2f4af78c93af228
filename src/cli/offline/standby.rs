//! `strongroom follow` and `strongroom promote`: a standby that restores the archive of another
//! vault continuously, and the vault that is made of it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::app::VaultFailure;
use crate::bounds::{FOLLOW_PERIOD, LOG_FLUSH_MAX};
use crate::cli::commands::{FollowCommand, PromoteCommand};
use crate::cli::offline::restore::{check_origin, explain_restore, refuse_occupied};
use crate::cli::offline::standby_keys::StandbyKeys;
use crate::cli::offline::standby_watch::StandbyWatch;
use crate::cli::support::archive_keys::{
    archive_directory, explain_archive, read_keys, refused_pieces,
};
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::{explain, explain_backup, storage};
use crate::cli::support::files::{check_directory, give_to_owner, make_directory, restrict};
use crate::cli::support::output::{complain, say, show_json};
use crate::cli::support::panics::log_panics;
use crate::cli::support::settings::{self, read_config};
use crate::cli::support::user::process_user;
use crate::cli::support::vault_home::VaultHome;
use crate::clock::Clock;
use crate::config::Config;
use crate::crypto::MasterKey;
use crate::domain::hex;
use crate::log::{Event, Log, RequestLines, Value};
use crate::server::tasks::Tasks;
use crate::store::archive::Replay;
use crate::store::backup::Reader;
use crate::store::meta::Restoration;
use crate::store::{Standby, StandbyFailure, Store};

pub(in crate::cli) fn follow(command: &FollowCommand) -> Result<(), Failure> {
    let config = read_config(&settings::path(command.config.as_deref())?)?;
    VaultHome::of(&config).require_data_file("strongroom follow")?;
    let archive = archive_directory(command.archive.as_deref(), &config)?;
    let keys = StandbyKeys::read(&config.master_key, &command.key)?;
    let standby = open(&config, command, keys.held())?;
    let clock = Clock::new();
    let watched = StandbyWatch::new(clock.clone());
    let log = Log::start(io::stderr(), RequestLines::Off, Arc::new(move || clock.now()));
    let log =
        log.map_err(|error| Failure::new(Exit::Unavailable, "cannot start the log").why(error))?;
    log_panics(&log);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build();
    let runtime = runtime
        .map_err(|error| Failure::new(Exit::Unavailable, "cannot start the threads").why(error))?;
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
        let ended = keep_following(standby, keys, &config, &archive, (&log, &watched)).await;
        tasks.end();
        tasks.finished().await;
        ended
    });
    log.event(Event::info("stopped"));
    log.flush(LOG_FLUSH_MAX);
    ended
}

/// Opens the standby, or makes it from the backup.
fn open(config: &Config, command: &FollowCommand, keys: &[MasterKey]) -> Result<Standby, Failure> {
    let directory = &config.data_directory;
    let is_there = directory.join(Store::FILE).exists();
    let standby = match &command.backup {
        None => {
            refuse_empty(
                directory,
                "strongroom follow BACKUP: a standby begins with a backup of \
                 the other vault",
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

/// Looks into the archive until a signal ends it. A file that cannot be used is reported once, and
/// looked at again: an intact one may take its place, and files may arrive in another order.
async fn keep_following(
    mut standby: Standby,
    mut keys: StandbyKeys,
    config: &Config,
    archive: &Path,
    (log, watched): (&Log, &StandbyWatch),
) -> Result<(), Failure> {
    let failed =
        |error: io::Error| Failure::new(Exit::Unavailable, "cannot wait for signals").why(error);
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
                let replay = Replay { directory: &directory, keys: keys.held(), until: None };
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
            // The work ends after the current file.
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

/// Refuses a directory without a data file. Advice to make a new vault there would be wrong on the
/// host of a standby.
fn refuse_empty(directory: &Path, advice: &str) -> Result<(), Failure> {
    match directory.join(Store::FILE).try_exists() {
        Ok(false) => Err(Failure::new(Exit::Data, "there is no standby in the data directory")
            .file(directory)
            .why("it has no data file")
            .try_this(advice)),
        // Opening the file reports a directory that cannot be entered.
        Ok(true) | Err(_) => Ok(()),
    }
}

pub(in crate::cli) fn promote(command: &PromoteCommand) -> Result<(), Failure> {
    let config = read_config(&settings::path(command.config.as_deref())?)?;
    VaultHome::of(&config).require_data_file("strongroom promote")?;
    let archive = if command.without_archive {
        None
    } else {
        Some(archive_directory(command.archive.as_deref(), &config)?)
    };
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
    let replay = archive.as_deref().map(|directory| Replay { directory, keys: &keys, until: None });
    let promotion = Restoration { at: Clock::new().now(), by: Some(process_user()) };
    let promoted = standby.promote(replay, &keys, &promotion);
    let promoted = promoted.map_err(|failure| explain_standby(&failure, directory))?;
    if command.json {
        show_json(&json!({
            "data_file": directory.join(Store::FILE).display().to_string(),
            "up_to": promoted.time.to_wire(),
            "batch": promoted.moment.sequence,
        }));
        return Ok(());
    }
    say(&format!(
        "The standby is promoted.\n  data file:     {}\n  up to:         {} (batch {})\n\n\
         Next: start strongroom serve here, send clients to this host, and take a backup.\n\
         Do not start the old vault again: its later changes are refused. Card verification codes \
         of the last hour are gone.",
        directory.join(Store::FILE).display(),
        promoted.time.to_wire(),
        promoted.moment.sequence,
    ));
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
        StandbyFailure::WrongMasterKey(check) => {
            let id = hex::encode(check);
            Failure::new(Exit::Permission, "the master key is not that of the standby")
                .file(&directory.join(Store::FILE))
                .why(format!("its keys are sealed under the master key {id}"))
                .try_this(
                    "give the file of that key with --key FILE; after a rotation, both the old key \
                     and the new one",
                )
        }
    }
}
