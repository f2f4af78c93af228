//! The published clients drive the binary: programs written for the published interface work by
//! changing their base URL. `tests/clients/install` installs the clients by package name.
//!
//! This is a test program of its own, without libtest, since libtest knows no test that is skipped
//! at run time. Absent clients are "skipped" in its summary, and a failure with
//! `STRONGROOM_CLIENTS_REQUIRED` in the environment, which `.ci/run` sets.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "this program prints its own summary and waits for a child"
)]

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

const NAME: &str = "clients::the_published_clients_work";
const INSTALLED: [&str; 2] = ["python/installed.txt", "node/installed.json"];
/// All suites take a minute or two on a quiet machine; longer than this is a hang.
const SUITES_MAX: Duration = Duration::from_mins(30);

enum Outcome {
    Passed,
    Failed(String),
    Skipped,
    FilteredOut,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    if has("--list") {
        if !has("--ignored") {
            println!("{NAME}: test");
        }
        return ExitCode::SUCCESS;
    }
    let outcome = if is_wanted(&arguments) { run() } else { Outcome::FilteredOut };
    let (word, counts) = match &outcome {
        Outcome::Passed => ("ok", "ok. 1 passed; 0 failed; 0 skipped"),
        Outcome::Failed(_) => ("FAILED", "FAILED. 0 passed; 1 failed; 0 skipped"),
        Outcome::Skipped => (
            "skipped: the published clients are not installed (run tests/clients/install)",
            "ok. 0 passed; 0 failed; 1 skipped",
        ),
        Outcome::FilteredOut => ("filtered out", "ok. 0 passed; 0 failed; 0 skipped"),
    };
    println!("test {NAME} ... {word}\n\ntest result: {counts}\n");
    if let Outcome::Failed(why) = outcome {
        eprintln!("{why}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// By the arguments of libtest: names to look for, `--exact`, and `--skip NAME`.
fn is_wanted(arguments: &[String]) -> bool {
    /// Options of libtest with a value of their own.
    const VALUED: [&str; 6] =
        ["--test-threads", "--format", "--color", "--logfile", "--report-time", "-Z"];
    let (mut filters, mut skipped) = (Vec::new(), Vec::new());
    let mut left = arguments.iter().map(String::as_str);
    while let Some(argument) = left.next() {
        match argument {
            "--skip" => skipped.extend(left.next()),
            _ if VALUED.contains(&argument) => drop(left.next()),
            _ if argument.starts_with('-') => (),
            _ => filters.push(argument),
        }
    }
    let is_exact = arguments.iter().any(|argument| argument == "--exact");
    let names = |filter: &&str| if is_exact { NAME == *filter } else { NAME.contains(filter) };
    (filters.is_empty() || filters.iter().any(names)) && !skipped.iter().any(names)
}

fn run() -> Outcome {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let clients = root.join("target/clients");
    if !INSTALLED.iter().all(|file| clients.join(file).is_file()) {
        if std::env::var_os("STRONGROOM_CLIENTS_REQUIRED").is_some() {
            return Outcome::Failed(String::from("the published clients are not installed"));
        }
        return Outcome::Skipped;
    }
    let mut command = Command::new(root.join("tests/clients/run"));
    // A group of its own: a kill then reaches the servers and the suites too.
    let suites = command.arg(env!("CARGO_BIN_EXE_strongroom")).process_group(0).spawn();
    match suites.and_then(wait) {
        Ok(true) => Outcome::Passed,
        Ok(false) => Outcome::Failed(String::from("a suite failed; its lines are above")),
        Err(error) => Outcome::Failed(format!("tests/clients/run: {error}")),
    }
}

/// Waits for the end of the suites; `true` when all passed.
fn wait(mut suites: Child) -> io::Result<bool> {
    let begun = Instant::now();
    while begun.elapsed() < SUITES_MAX {
        if let Some(status) = suites.try_wait()? {
            return Ok(status.success());
        }
        thread::sleep(Duration::from_millis(50));
    }
    let kill = format!("kill -KILL -- -{}", suites.id());
    Command::new("sh").args(["-c", &kill]).status()?;
    suites.wait()?;
    Err(io::Error::other(format!("waited {SUITES_MAX:?} in vain: the end of the suites")))
}
