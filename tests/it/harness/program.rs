//! The binary: run to its end, or kept running and killed when dropped.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

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
    command.args(arguments);
    free_of_systemd(&mut command);
    command
}

/// Tests may themselves be run by a service.
fn free_of_systemd(command: &mut Command) {
    for name in ["CREDENTIALS_DIRECTORY", "LISTEN_FDS", "LISTEN_PID", "NOTIFY_SOCKET"] {
        command.env_remove(name);
    }
}

/// A server, killed when dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
    log: PathBuf,
    /// Copies the log while it comes, where its lines are waited for.
    copying: Option<JoinHandle<()>>,
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
        Self { child, stdout, log: log.to_path_buf(), copying: None }
    }

    /// `strongroom serve`, and the address that its log says it listens on; `None` when it ended
    /// before it did.
    pub(crate) fn serve(config: &Path, log: &Path) -> (Self, Option<SocketAddr>) {
        let mut command = command(&["serve", "--config", config.to_str().unwrap()]);
        Self::serve_by(command.stdin(Stdio::null()), log)
    }

    /// The same, started by a shell that does first what a service manager would: `script` finds
    /// the socket as its standard input and ends with `exec "$@"`.
    pub(crate) fn serve_under(
        script: &str,
        socket: OwnedFd,
        variables: &[(&str, &str)],
        config: &Path,
        log: &Path,
    ) -> (Self, Option<SocketAddr>) {
        let mut command = Command::new("sh");
        let program = env!("CARGO_BIN_EXE_strongroom");
        command.args(["-c", script, "sh", program, "serve", "--config", config.to_str().unwrap()]);
        free_of_systemd(&mut command);
        command.envs(variables.iter().copied());
        Self::serve_by(command.stdin(socket), log)
    }

    fn serve_by(command: &mut Command, log: &Path) -> (Self, Option<SocketAddr>) {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut file = File::options().create(true).append(true).open(log).unwrap();
        let (sender, receiver) = mpsc::channel();
        let copying = thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                writeln!(file, "{line}").unwrap();
                let event: Value = serde_json::from_str(&line).unwrap_or_default();
                if event["event"] == "listening" {
                    sender.send(event["address"].as_str().unwrap().parse().unwrap()).ok();
                }
            }
        });
        let address = receiver.recv().ok();
        let log = log.to_path_buf();
        (Self { child, stdout: None, log, copying: Some(copying) }, address)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
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

    pub(crate) fn resident_kib(&self) -> u64 {
        let status = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(status).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// As `kill -9` does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().ok();
        self.wait();
    }

    /// Asks it to end as a service manager does, and returns its exit code.
    pub(crate) fn terminate(&mut self) -> Option<i32> {
        self.signal("TERM");
        self.wait()
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        // The shell's own `kill`: a small machine may have no program of that name.
        let kill = format!("kill -{name} {id}");
        let sent = Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for an end that comes by itself; fails when it does not come in time.
    #[track_caller]
    pub(crate) fn wait_within(&mut self, time: Duration) -> Option<i32> {
        let (_open, ticks) = mpsc::channel::<()>();
        let begun = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < time, "it did not end within {time:?}: {}", self.log());
            ticks.recv_timeout(Duration::from_millis(20)).ok();
        }
        self.wait()
    }

    /// Waits for its end and returns its exit code, `None` when a signal ended it.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        let code = self.child.wait().unwrap().code();
        if let Some(copying) = self.copying.take() {
            copying.join().unwrap();
        }
        code
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
