//! The command line. Every command either does its work or says what, where, why and what to do.

mod commands;
mod dev;
mod offline;
mod operate;
mod serve;
mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use argh::{EarlyExit, FromArgs as _};

use commands::{Strongroom, Subcommand};
use support::failure::{Exit, Failure};
use support::output::{complain, say};

/// Runs the command of these arguments (without the program's name) and returns its exit code.
pub fn main(arguments: &[&str]) -> u8 {
    // A habit of the hand that argh has no way to take.
    let arguments =
        if matches!(arguments, ["--version" | "-V"]) { &["version"] } else { arguments };
    let outcome = match Strongroom::from_args(&["strongroom"], arguments) {
        Ok(parsed) => {
            close_memory();
            guarded(|| dispatch(parsed))
        }
        // argh would exit with 1 by itself; usage is 64.
        Err(EarlyExit { output, status: Ok(()) }) => {
            say(output.trim_end());
            Ok(())
        }
        Err(EarlyExit { output, status: Err(()) }) => {
            complain(output.trim_end());
            return Exit::Usage.code();
        }
    };
    match outcome {
        Ok(()) => Exit::Success.code(),
        Err(failure) => {
            complain(&failure.to_string());
            failure.exit.code()
        }
    }
}

/// Forbids core dumps of this process, and forbids other processes of the same user to read its
/// memory (`/proc/PID/mem`, `ptrace`): there are keys and card numbers in it. Root still can.
fn close_memory() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // Only a filter of system calls can refuse it, and then the filter's author has decided.
    if set_dumpable_behavior(DumpableBehavior::NotDumpable).is_err() {
        complain(
            "warning: the system does not let this process protect its memory from other processes",
        );
    }
}

/// A panic is told by its place; its text may have been made of anything.
fn guarded(command: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    static PLACE: Mutex<Option<String>> = Mutex::new(None);
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        *PLACE.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }));
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
        Subcommand::Check(command) => serve::check(&command.config),
        Subcommand::Dev(command) => dev::dev(&command),
        Subcommand::DevClock(command) => operate::dev_clock(&command),
        Subcommand::DevPreload(command) => dev::preload::preload(&command),
        Subcommand::Init(command) => serve::init(&command),
        Subcommand::Report(command) => operate::report::report(&command),
        Subcommand::Key(command) => operate::key::key(command),
        Subcommand::Restore(command) => offline::restore::restore(&command),
        Subcommand::Serve(command) => serve::serve(&command.config),
        Subcommand::Status(command) => operate::status::status(&command),
        Subcommand::Tenant(command) => operate::tenant(command),
        Subcommand::Verify(command) => offline::verify::verify(&command),
        Subcommand::Version(_) => {
            say(concat!("strongroom ", env!("CARGO_PKG_VERSION")));
            Ok(())
        }
    }
}
