//! The binary: run to its end, or kept running and killed when dropped.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead as _, BufReader, PipeReader, PipeWriter, Read, Write as _};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::harness::wait::{PATIENCE, wait_for, wait_until};

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

    /// The JSON on the standard output of a command that succeeded.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        let done = self.with_code(0);
        serde_json::from_str(&done.stdout).expect("the command prints JSON")
    }

    /// The lines of JSON on the standard output of a command that succeeded.
    #[track_caller]
    pub(crate) fn json_lines(self) -> Vec<Value> {
        json_lines(&self.with_code(0).stdout)
    }
}

#[track_caller]
pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
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

#[track_caller]
pub(crate) fn run(arguments: &[&str]) -> Ended {
    run_with_input(arguments, "")
}

/// The same, with this text on its standard input.
#[track_caller]
pub(crate) fn run_with_input(arguments: &[&str], input: &str) -> Ended {
    finish(&mut command(arguments), input).into()
}

/// Runs any program to its end, without input.
#[track_caller]
pub(crate) fn output_of(command: &mut Command) -> Output {
    finish(command, "")
}

#[track_caller]
fn finish(command: &mut Command, input: &str) -> Output {
    let what = format!("the end of {command:?}");
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = Process(piped.spawn().unwrap_or_else(|error| panic!("{what}: {error}")));
    // A command that does not read it may have closed it already.
    process.0.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    let stdout = read_all(process.0.stdout.take().unwrap());
    let stderr = read_all(process.0.stderr.take().unwrap());
    let received = |pipe: Receiver<Vec<u8>>| {
        let bytes = pipe.recv_timeout(PATIENCE);
        bytes.unwrap_or_else(|why| panic!("waited {PATIENCE:?} in vain: {what}: {why}"))
    };
    let (stdout, stderr) = (received(stdout), received(stderr));
    Output { status: process.wait(&what), stdout, stderr }
}

/// Reads a pipe in a thread of its own, so that the reader of the result can have a deadline.
fn read_all(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).ok();
        sender.send(bytes).ok();
    });
    receiver
}

/// A child process, killed when dropped.
#[derive(Debug)]
struct Process(Child);

impl Process {
    #[track_caller]
    fn wait(&mut self, what: &str) -> ExitStatus {
        wait_for(what, || self.0.try_wait().unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(arguments);
    free_of_systemd(&mut command);
    command
}

thread_local! {
    /// The binary that this thread starts instead of the one under test.
    static OTHER: RefCell<Option<OsString>> = const { RefCell::new(None) };
}

/// The binary under test: the one that was built with the tests, or, for a run by hand, the one that
/// this variable names.
pub(crate) fn program() -> OsString {
    let named = OTHER.with_borrow(Clone::clone);
    let named = named.or_else(|| std::env::var_os("STRONGROOM_TEST_PROGRAM"));
    named.unwrap_or_else(|| OsString::from(env!("CARGO_BIN_EXE_strongroom")))
}

/// Starts programs of another version, which this variable names: another build, such as the last
/// release. Without it, they are the one under test.
pub(crate) fn with_other_program<T>(act: impl FnOnce() -> T) -> T {
    OTHER.set(std::env::var_os("STRONGROOM_OTHER_PROGRAM"));
    let done = act();
    OTHER.set(None);
    done
}

/// A service manager may run the tests themselves.
fn free_of_systemd(command: &mut Command) {
    for name in
        ["CREDENTIALS_DIRECTORY", "LISTEN_FDS", "LISTEN_PID", "NOTIFY_SOCKET", "STRONGROOM_CONFIG"]
    {
        command.env_remove(name);
    }
}

/// A server, killed when dropped.
#[derive(Debug)]
pub(crate) struct Running {
    process: Process,
    /// Lines of its standard output, where they are read. Locked, since threads share a server.
    stdout: Option<Mutex<Receiver<String>>>,
    log: PathBuf,
    /// Copies the log line by line, where its lines are read.
    copying: Option<JoinHandle<()>>,
}

impl Running {
    /// Its standard error goes to the file `log`, after the text that is there.
    pub(crate) fn start(arguments: &[&str], log: &Path) -> Self {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut running = Self::start_on(arguments, log, writer);
        running.read_lines(reader);
        running
    }

    /// The same, with a pipe of the test's own as its standard output.
    pub(crate) fn start_on(arguments: &[&str], log: &Path, stdout: PipeWriter) -> Self {
        let file = File::options().create(true).append(true).open(log).unwrap();
        let mut command = command(arguments);
        let child = command.stdin(Stdio::null()).stdout(stdout).stderr(file).spawn().unwrap();
        Self { process: Process(child), stdout: None, log: log.to_path_buf(), copying: None }
    }

    /// Reads the other end of its standard output from now on.
    pub(crate) fn read_lines(&mut self, stdout: PipeReader) {
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut line = String::new();
            while stdout.read_line(&mut line).is_ok_and(|read| read > 0) {
                // Read on without a receiver too: a full pipe would block the server.
                sender.send(std::mem::take(&mut line)).ok();
            }
        });
        self.stdout = Some(Mutex::new(lines));
    }

    /// `strongroom serve`, and the address that it listens on by its log; `None` when it ended before
    /// it listened.
    #[track_caller]
    pub(crate) fn serve(config: &Path, log: &Path) -> (Self, Option<SocketAddr>) {
        let mut command = command(&["serve", "--config", config.to_str().unwrap()]);
        Self::serve_by(command.stdin(Stdio::null()), log)
    }

    /// The same, started by a shell that prepares the process as a service manager does: `script`
    /// has the socket as its standard input and ends with `exec "$@"`.
    #[track_caller]
    pub(crate) fn serve_under(
        script: &str,
        socket: OwnedFd,
        variables: &[(&str, &str)],
        config: &Path,
        log: &Path,
    ) -> (Self, Option<SocketAddr>) {
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).arg(program());
        command.args(["serve", "--config", config.to_str().unwrap()]);
        free_of_systemd(&mut command);
        command.envs(variables.iter().copied());
        Self::serve_by(command.stdin(socket), log)
    }

    #[track_caller]
    fn serve_by(command: &mut Command, log: &Path) -> (Self, Option<SocketAddr>) {
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut process = Process(child);
        let lines = BufReader::new(process.0.stderr.take().unwrap()).lines();
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
        let running =
            Self { process, stdout: None, log: log.to_path_buf(), copying: Some(copying) };
        let address = running.received(&receiver, "the line that says where it listens");
        (running, address)
    }

    /// `None` when the sender is gone, which is when the process has closed its output.
    #[track_caller]
    fn received<T>(&self, receiver: &Receiver<T>, what: &str) -> Option<T> {
        match receiver.recv_timeout(PATIENCE) {
            Ok(value) => Some(value),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!("waited {PATIENCE:?} in vain: {what}; its log: {}", self.log())
            }
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.0.id()
    }

    /// The next line of its standard output; `None` at the end.
    #[track_caller]
    pub(crate) fn line(&mut self) -> Option<String> {
        let lines = self.stdout.as_ref()?.lock().unwrap();
        self.received(&lines, "a line of its standard output")
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    pub(crate) fn resident_kib(&self) -> u64 {
        let status = format!("/proc/{}/status", self.id());
        let status = std::fs::read_to_string(status).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// The processor time of all its threads so far. Unlike elapsed time, it does not grow with
    /// the other work of a busy machine.
    pub(crate) fn cpu_time(&self) -> Duration {
        /// The unit of the kernel's figures on every Linux that Rust supports.
        const TICK: Duration = Duration::from_millis(10);
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap();
        // The name of the program is in parentheses and may hold spaces.
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let ticks = fields.split_ascii_whitespace().skip(11).take(2);
        ticks.map(|ticks| TICK * ticks.parse::<u32>().unwrap()).sum()
    }

    /// As `kill -9` does.
    #[track_caller]
    pub(crate) fn kill(&mut self) {
        self.process.0.kill().ok();
        self.wait();
    }

    /// Sends SIGTERM, as a service manager does, and returns its exit code.
    #[track_caller]
    pub(crate) fn terminate(&mut self) -> Option<i32> {
        self.signal("TERM");
        self.wait()
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.id();
        // The shell's own `kill`: a small machine may have no program of that name.
        let kill = format!("kill -{name} {id}");
        let sent = Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for its end and returns its exit code, `None` when a signal ended it.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> Option<i32> {
        let log = self.log.display();
        let code = self.process.wait(&format!("the end of the server with the log {log}")).code();
        if let Some(copying) = self.copying.take() {
            wait_until("the last line of the log", || copying.is_finished());
            copying.join().unwrap();
        }
        code
    }
}
