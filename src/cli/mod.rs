//! The command line. A command that fails reports what failed, where, why, and what to try.
//!
//! No room uses this one, so `pub` makes an item visible to other files of this room.

mod arguments;
mod check;
mod command;
mod commands;
mod dev;
mod offline;
mod operate;
mod serve;
mod support;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use argh::{EarlyExit, FromArgs as _};

use crate::app::originated_by_process;
use crate::domain::origin::Origin;
use crate::lock::Lock;
use arguments::{Prepared, asks_for_json, help_of, prepare, refused};
use command::Run as _;
use commands::Strongroom;
use support::{Exit, Failure, Result, complain, end_if_not_caught, process_user, say};

#[cfg(any(fuzzing, test))]
pub(crate) use operate::import::fuzz;

/// Runs the command of these arguments (without the program's name) and returns its exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Result<Vec<_>, _> = arguments.into_iter().map(OsString::into_string).collect();
    let Ok(arguments) = arguments else {
        // A lossy conversion could name another file.
        let failure = Failure::new(Exit::Usage, "an argument is not UTF-8")
            .try_this("use names of files that are UTF-8");
        complain(&failure.to_string());
        return failure.exit.code();
    };
    // Not a command for people, and quick: none of the work of a command is done.
    if let Some((first, rest)) = arguments.split_first()
        && first == crate::code::WORKER_COMMAND
    {
        return crate::code::worker::main(rest);
    }
    // Large pages take 15 to 30 MiB more and save no time. The workers of programs inherit this. An
    // old kernel that refuses loses only memory.
    rustix::thread::disable_transparent_huge_pages(true).ok();
    match run(&arguments) {
        Ok(exit) => exit.code(),
        Err(failure) => {
            let failure = with_next_step(failure, &arguments);
            if asks_for_json(&arguments) {
                complain(&failure.to_json().to_string());
            } else {
                complain(&failure.to_string());
            }
            failure.exit.code()
        }
    }
}

/// Adds the next step of a failure that names none, where it follows from the exit code alone. A
/// test of the sources lets only failures with these codes leave it out.
fn with_next_step(failure: Failure, arguments: &[String]) -> Failure {
    match failure.exit {
        _ if failure.has_next_step() => failure,
        Exit::Usage => failure.try_this(help_of(arguments)),
        Exit::Software => failure.try_this("report this text; it is a bug of this program"),
        Exit::Config
        | Exit::Data
        | Exit::Permission
        | Exit::Storage
        | Exit::Success
        | Exit::Unavailable => failure,
    }
}

fn run(arguments: &[String]) -> Result<Exit> {
    match prepare(arguments)? {
        Prepared::Command(prepared) => match parse(&prepared) {
            Ok(parsed) => {
                close_memory();
                let origin = Origin::of_user(process_user());
                let work = || originated_by_process(origin, || parsed.command.run());
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

/// Adds `-h`, which argh does not list in its help.
fn help(output: &str) -> String {
    output.trim_end().replacen("  --help, help  ", "  --help, -h    ", 1)
}

/// Prevents core dumps of this process, and prevents other processes of the same user from reading
/// its memory (`/proc/PID/mem`, `ptrace`), which holds keys and card numbers. Root still can.
fn close_memory() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // Only a system call filter can refuse this call, and then on purpose.
    if set_dumpable_behavior(DumpableBehavior::NotDumpable).is_err() {
        complain(
            "warning: the system does not let this process protect its memory from other processes",
        );
    }
}

/// Reports a panic by its location. Its message is dropped because it may hold a secret.
fn guarded(command: impl FnOnce() -> Result<()>) -> Result<()> {
    static PLACE: Lock<Option<String>> = Lock::new(None);
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        *PLACE.lock() = place;
    }));
    end_if_not_caught(|| ());
    catch_unwind(AssertUnwindSafe(command)).unwrap_or_else(|_| {
        let place = PLACE.lock().take();
        Err(Failure::new(Exit::Software, "a bug in this program")
            .line("place", place.unwrap_or_default())
            .try_this("report this place; no acknowledged write is lost"))
    })
}
