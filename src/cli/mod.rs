//! The command line. A command that fails reports what failed, where, why, and what to try.

mod arguments;
mod check;
mod commands;
mod dev;
mod offline;
mod operate;
mod serve;
mod support;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use argh::{EarlyExit, FromArgs as _};
use serde_json::json;

use crate::app::originated_by_process;
use crate::domain::origin::Origin;
use arguments::{Prepared, asks_for_json, prepare, refused};
use commands::{Strongroom, Subcommand, VersionCommand};
use support::failure::{Exit, Failure};
use support::output::{complain, say, show_json};
use support::panics::end_if_not_caught;
use support::user::process_user;

#[cfg(any(fuzzing, test))]
pub(crate) use operate::import::fuzz;

/// Runs the command of these arguments (without the program's name) and returns its exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Result<Vec<_>, _> = arguments.into_iter().map(OsString::into_string).collect();
    let Ok(arguments) = arguments else {
        // A name that is changed to make it readable would name another file.
        let failure = Failure::new(Exit::Usage, "an argument is not UTF-8")
            .try_this("use names of files that are UTF-8");
        complain(&failure.to_string());
        return failure.exit.code();
    };
    match run(&arguments) {
        Ok(exit) => exit.code(),
        Err(failure) => {
            if asks_for_json(&arguments) {
                complain(&failure.to_json().to_string());
            } else {
                complain(&failure.to_string());
            }
            failure.exit.code()
        }
    }
}

fn run(arguments: &[String]) -> Result<Exit, Failure> {
    match prepare(arguments)? {
        Prepared::Command(prepared) => match parse(&prepared) {
            Ok(parsed) => {
                close_memory();
                let origin = Origin::of_user(process_user());
                let work = || originated_by_process(origin, || dispatch(parsed));
                guarded(work).map(|()| Exit::Success)
            }
            Err(EarlyExit { output, status: Ok(()) }) => {
                say(&help(&output));
                Ok(Exit::Success)
            }
            Err(EarlyExit { output, status: Err(()) }) => Err(refused(&output, &prepared)),
        },
        Prepared::Incomplete(mut path) => {
            path.push(String::from("--help"));
            if let Err(EarlyExit { output, .. }) = parse(&path) {
                complain(&help(&output));
            }
            Ok(Exit::Usage)
        }
    }
}

fn parse(arguments: &[String]) -> Result<Strongroom, EarlyExit> {
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    Strongroom::from_args(&["strongroom"], &arguments)
}

/// argh does not know that `-h` shows the help.
fn help(output: &str) -> String {
    output.trim_end().replacen("  --help, help  ", "  --help, -h    ", 1)
}

/// Prevents core dumps of this process, and prevents other processes of the same user from reading
/// its memory (`/proc/PID/mem`, `ptrace`), which holds keys and card numbers. Root still can.
fn close_memory() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // Only a system call filter can refuse this, and its author chose to do so.
    if set_dumpable_behavior(DumpableBehavior::NotDumpable).is_err() {
        complain(
            "warning: the system does not let this process protect its memory from other processes",
        );
    }
}

/// Reports a panic by its location. Its message is dropped because it may hold a secret.
fn guarded(command: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    static PLACE: Mutex<Option<String>> = Mutex::new(None);
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        *PLACE.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }));
    end_if_not_caught(|| ());
    catch_unwind(AssertUnwindSafe(command)).unwrap_or_else(|_| {
        let place = PLACE.lock().unwrap_or_else(PoisonError::into_inner).take();
        Err(Failure::new(Exit::Software, "a bug in this program")
            .line("place", place.unwrap_or_default())
            .try_this("report this place; no acknowledged write is lost"))
    })
}

fn dispatch(parsed: Strongroom) -> Result<(), Failure> {
    match parsed.command {
        Subcommand::Application(command) => operate::application(command),
        Subcommand::Audit(command) => operate::audit::audit(command),
        Subcommand::Backup(command) => operate::backup::backup(&command),
        Subcommand::Check(command) => check::check(&command),
        Subcommand::Dev(command) => dev::dev(&command),
        Subcommand::DevClock(command) => operate::dev_clock(&command),
        Subcommand::DevPreload(command) => dev::preload::preload(&command),
        Subcommand::Erase(command) => operate::erase::erase(&command),
        Subcommand::Export(command) => operate::export::export(&command),
        Subcommand::Follow(command) => offline::standby::follow(&command),
        Subcommand::Import(command) => operate::import::import(&command),
        Subcommand::Init(command) => serve::init(&command),
        Subcommand::Promote(command) => offline::standby::promote(&command),
        Subcommand::Report(command) => operate::report::report(&command),
        Subcommand::Key(command) => operate::key::key(command),
        Subcommand::Compact(command) => offline::compact::compact(&command),
        Subcommand::Restore(command) => offline::restore::restore(&command),
        Subcommand::Serve(command) => serve::serve(&command),
        Subcommand::Status(command) => operate::status::status(&command),
        Subcommand::Tenant(command) => operate::tenant(command),
        Subcommand::Verify(command) => offline::verify::verify(&command),
        Subcommand::Version(command) => {
            version(&command);
            Ok(())
        }
        Subcommand::Webhook(command) => operate::webhook::webhook(command),
    }
}

fn version(command: &VersionCommand) {
    let version = env!("CARGO_PKG_VERSION");
    if command.json {
        show_json(&json!({"version": version}));
    } else {
        say(&format!("strongroom {version}"));
    }
}
