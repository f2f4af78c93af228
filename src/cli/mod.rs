//! The command line. A command that fails reports what failed, where, why, and what to try.

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
    // argh has no flag without a command, and people expect this one.
    let arguments =
        if matches!(arguments, ["--version" | "-V"]) { &["version"] } else { arguments };
    let outcome = match Strongroom::from_args(&["strongroom"], arguments) {
        Ok(parsed) => {
            close_memory();
            guarded(|| dispatch(parsed))
        }
        // argh would exit with 1; the exit code for wrong usage is 64.
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
        Subcommand::Follow(command) => offline::standby::follow(&command),
        Subcommand::Init(command) => serve::init(&command),
        Subcommand::Promote(command) => offline::standby::promote(&command),
        Subcommand::Report(command) => operate::report::report(&command),
        Subcommand::Key(command) => operate::key::key(command),
        Subcommand::Compact(command) => offline::compact::compact(&command),
        Subcommand::Restore(command) => offline::restore::restore(&command),
        Subcommand::Serve(command) => serve::serve(&command.config),
        Subcommand::Status(command) => operate::status::status(&command),
        Subcommand::Tenant(command) => operate::tenant(command),
        Subcommand::Verify(command) => offline::verify::verify(&command),
        Subcommand::Version(_) => {
            say(concat!("strongroom ", env!("CARGO_PKG_VERSION")));
            Ok(())
        }
        Subcommand::Webhook(command) => operate::webhook::webhook(command),
    }
}
