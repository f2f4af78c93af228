//! Child processes that end with their owner, and the kernel's figures of them. It never signals a process it did not start.

use crate::Outcome;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The kernel reports process times in hundredths of a second on every Linux that Rust supports.
const TICKS_PER_S: f64 = 100.0;
const POLL: Duration = Duration::from_millis(5);
/// A clean stop writes out what is queued; longer than this is a hang.
const STOP_MAX: Duration = Duration::from_mins(1);
/// A backup or a check of a large vault takes minutes; longer than this is a hang.
const COMMAND_MAX: Duration = Duration::from_mins(30);

/// Set by SIGINT and SIGTERM, so that the run unwinds and takes its children and directories along.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

pub(crate) fn check_interrupted() -> Outcome<()> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        return Err("interrupted".into());
    }
    Ok(())
}

pub(crate) fn watch_signals() -> Outcome<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (mut interrupt, mut terminate) = {
        let _entered = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! { _ = interrupt.recv() => (), _ = terminate.recv() => () }
            INTERRUPTED.store(true, Ordering::Relaxed);
        });
    });
    Ok(())
}

/// A child that is killed and reaped when dropped. Its standard output is read line by line, its standard error kept in a file.
pub(crate) struct Process {
    child: Child,
    lines: Receiver<String>,
    log: PathBuf,
}

impl Process {
    pub(crate) fn start(command: &mut Command, log: &Path) -> Outcome<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        // The pipe to its standard input closes when this process dies, however it dies.
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(log)?)
            .spawn()
            .map_err(|why| format!("cannot start {program}: {why}"))?;
        let stdout = child.stdout.take().ok_or("the child has no standard output")?;
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // Lines without a receiver are read too: a full pipe would block the child.
                drop(sender.send(line));
            }
        });
        Ok(Self { child, lines, log: log.to_owned() })
    }

    /// Starts this program again as the server of this flag, which reads its order from a file.
    /// Returns it with its ready line.
    pub(crate) fn start_part<R: DeserializeOwned>(
        flag: &str,
        order: &impl Serialize,
        directory: &Path,
    ) -> Outcome<(Self, R)> {
        Self::start_part_under(&[], flag, order, directory)
    }

    pub(crate) fn start_part_under<R: DeserializeOwned>(
        tool: &[OsString],
        flag: &str,
        order: &impl Serialize,
        directory: &Path,
    ) -> Outcome<(Self, R)> {
        fs::create_dir_all(directory)?;
        let file = directory.join("order.json");
        fs::write(&file, serde_json::to_vec(order)?)?;
        let mut command = command_under(tool, &std::env::current_exe()?);
        let process = Self::start(command.arg(flag).arg(&file), &directory.join("log"))?;
        let line = process.line(Duration::from_secs(30))?;
        let line = line.ok_or_else(|| format!("{flag} ended; {}", process.last_words()))?;
        Ok((process, serde_json::from_str(&line)?))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line of its standard output, `None` when it has closed it.
    pub(crate) fn line(&self, wait_max: Duration) -> Outcome<Option<String>> {
        let until = Instant::now() + wait_max;
        loop {
            check_interrupted()?;
            match self.lines.recv_timeout(Duration::from_millis(100)) {
                Ok(line) => return Ok(Some(line)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) if Instant::now() < until => (),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(
                        format!("no line within {wait_max:?}; {}", self.last_words()).into()
                    );
                }
            }
        }
    }

    /// Waits for it to end by itself, and demands success.
    pub(crate) fn finish(&mut self) -> Outcome<()> {
        match self.wait()? {
            status if status.success() => Ok(()),
            status => Err(format!("ended with {status}; {}", self.last_words()).into()),
        }
    }

    fn wait(&mut self) -> Outcome<ExitStatus> {
        let until = Instant::now() + STOP_MAX;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > until {
                return Err(
                    format!("still running after {STOP_MAX:?}; {}", self.last_words()).into()
                );
            }
            thread::sleep(POLL);
        }
    }

    /// SIGTERM, then waits.
    pub(crate) fn stop(&mut self) -> Outcome<()> {
        self.signal("TERM")?;
        self.finish()
    }

    /// SIGINT, then waits. The program may end by the signal.
    pub(crate) fn interrupt(&mut self) -> Outcome<()> {
        self.signal("INT")?;
        self.wait().map(drop)
    }

    /// The standard library sends only SIGKILL, so the shell's own `kill` does it.
    fn signal(&self, name: &str) -> Outcome<()> {
        let sent = Command::new("sh")
            .args(["-c", "kill -\"$0\" \"$1\"", name, &self.pid().to_string()])
            .status()?;
        if !sent.success() {
            return Err(format!("cannot send SIG{name}; {}", self.last_words()).into());
        }
        Ok(())
    }

    /// Waits until its standard error has these words.
    pub(crate) fn logged(&mut self, words: &str) -> Outcome<()> {
        let until = Instant::now() + STOP_MAX;
        while !fs::read_to_string(&self.log)?.contains(words) {
            if self.child.try_wait()?.is_some() || Instant::now() > until {
                return Err(self.last_words().into());
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    pub(crate) fn kill(&mut self) -> Outcome<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// The end of its standard error, for the message of a failed run.
    pub(crate) fn last_words(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let from = lines.len().saturating_sub(5);
        format!("the end of its standard error: {:?}", lines[from..].join("\n"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already; both calls then do nothing.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A command that runs a program under a tool, whose words come first.
pub(crate) fn command_under(tool: &[OsString], program: &Path) -> Command {
    let Some((name, words)) = tool.split_first() else {
        return Command::new(program);
    };
    let mut command = Command::new(name);
    command.args(words).arg(program);
    command
}

/// Runs a command to its end. One that does not end is killed and is a failure.
pub(crate) fn output(command: &mut Command) -> Outcome<Output> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|why| format!("cannot start {command:?}: {why}"))?;
    let stdout = child.stdout.take().map(read_all);
    let stderr = child.stderr.take().map(read_all);
    let until = Instant::now() + COMMAND_MAX;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > until || check_interrupted().is_err() {
            child.kill()?;
            child.wait()?;
            return Err(format!("no end after {COMMAND_MAX:?}: {command:?}").into());
        }
        thread::sleep(POLL);
    };
    let bytes = |pipe: Option<Receiver<Vec<u8>>>| {
        pipe.and_then(|pipe| pipe.recv_timeout(STOP_MAX).ok())
            .ok_or("the command left its pipes open")
    };
    Ok(Output { status, stdout: bytes(stdout)?, stderr: bytes(stderr)? })
}

/// Reads a pipe in a thread of its own: a full pipe would block the child.
fn read_all(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        drop(pipe.read_to_end(&mut bytes));
        drop(sender.send(bytes));
    });
    receiver
}

/// A directory that is removed with everything in it when dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Outcome<Self> {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("load-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// The processor time of a process and of all processes that it has started, which the vault does to run
/// programs.
pub(crate) fn cpu_s(pid: u32) -> Option<f64> {
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // A process may end meanwhile; its parent then has its time.
    let all: Vec<(u32, Times)> = ids.filter_map(|id| Some((id, times(id)?))).collect();
    let mut family = vec![pid];
    let mut next = 0;
    while let Some(parent) = family.get(next).copied() {
        family.extend(all.iter().filter(|(_, it)| it.parent == parent).map(|(id, _)| *id));
        next += 1;
    }
    times(pid)?;
    let ticks: u64 = all.iter().filter(|(id, _)| family.contains(id)).map(|(_, it)| it.ticks).sum();
    Some(ticks as f64 / TICKS_PER_S)
}

struct Times {
    parent: u32,
    /// Of the process and of its children that have ended.
    ticks: u64,
}

fn times(pid: u32) -> Option<Times> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses and may hold anything, so fields are counted from its end.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let ticks =
        fields.get(11..15)?.iter().map(|field| field.parse::<u64>().ok()).sum::<Option<_>>()?;
    Some(Times { parent: fields.get(1)?.parse().ok()?, ticks })
}

pub(crate) fn resident_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// The size of a directory on the disk in allocated blocks, since a database file may have holes.
pub(crate) fn disk_bytes(directory: &Path) -> Outcome<u64> {
    let mut total = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let facts = entry.metadata()?;
        total += if facts.is_dir() { disk_bytes(&entry.path())? } else { facts.blocks() * 512 };
    }
    Ok(total)
}
