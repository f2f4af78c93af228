//! The binary: run to its end, or kept running and killed when dropped.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::Value;

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    #[track_caller]
    pub(crate) fn with_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// What a command that did its work printed.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        let done = self.with_code(0);
        serde_json::from_str(&done.stdout).expect("the command prints JSON")
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Runs a command to its end.
pub(crate) fn run(arguments: &[&str]) -> Ended {
    run_with_input(arguments, "")
}

/// The same, with something to read on its standard input.
pub(crate) fn run_with_input(arguments: &[&str], input: &str) -> Ended {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read it may have closed it already.
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    child.wait_with_output().unwrap().into()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strongroom"));
    command.args(arguments).env_remove("CREDENTIALS_DIRECTORY");
    command
}

/// A server, killed when dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
    log: PathBuf,
}

impl Running {
    /// Its standard error goes to the file `log`, after what is there.
    pub(crate) fn start(arguments: &[&str], log: &Path) -> Self {
        let file = File::options().create(true).append(true).open(log).unwrap();
        let mut child = command(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(file)
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().map(BufReader::new);
        Self { child, stdout, log: log.to_path_buf() }
    }

    /// The next line of its standard output; `None` at the end.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.stdout.as_mut()?.read_line(&mut line).unwrap();
        (read > 0).then_some(line)
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// As `kill -9` does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().ok();
        self.child.wait().unwrap();
    }

    /// Asks it to end as a service manager does, and returns its exit code.
    pub(crate) fn terminate(&mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(asked.success());
        self.child.wait().unwrap().code()
    }

    /// Waits for an end that comes by itself, and returns its exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
