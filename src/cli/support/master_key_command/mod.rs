//! Runs the program of `master_key.command`, which prints the master key.
//!
//! The program is as sensitive as the key. It runs only if root and the user of this process alone
//! can change it, and it gets nothing from this process: no variable, no descriptor, no input.

#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, geteuid, kill_process_group, waitid};

use crate::bounds::{
    MASTER_KEY_COMMAND_COMPLAINT_BYTES_MAX, MASTER_KEY_COMMAND_COMPLAINT_LINE_MAX,
    MASTER_KEY_COMMAND_COMPLAINT_LINES_MAX, MASTER_KEY_COMMAND_END_MAX, MASTER_KEY_FILE_BYTES_MAX,
};
use crate::cli::support::{Exit, Failure, Result, complain};
use crate::config::KeyCommand;
use crate::lock::Lock;
use crate::secret::Secret;

/// The whole environment of the program.
const ENVIRONMENT: [(&str, &str); 2] = [("LANG", "C"), ("PATH", "/usr/bin:/bin")];
/// The longest time between two checks of the program. Its exit does not wake the wait for output.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// Symbolic links that are followed to find the program.
const LINKS_MAX: usize = 8;
/// Longer words of letters and digits are not passed on: they may be a key.
const WORD_MAX: usize = 31;
const PIECE_BYTES: usize = 512;

/// Runs the program and returns what it printed, which may or may not be a key.
pub fn run(command: &KeyCommand) -> Result<Secret<Vec<u8>>> {
    let program = check(command)?;
    let failed = |error: io::Error| failure(command).why(error);
    close_inherited().map_err(failed)?;
    let child = Command::new(program)
        .arg0(&command.program)
        .args(&command.arguments)
        .env_clear()
        .envs(ENVIRONMENT)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    let mut running = Running::new(child).map_err(failed)?;
    let ended = running.finish(command.deadline);
    let status = running.end();
    pass_on(command, &running.complaints);
    match (ended.map_err(failed)?, status.map_err(failed)?) {
        (Ending::Ended, Some(status)) if status.success() => {
            Ok(std::mem::replace(&mut running.printed, Secret::new(Vec::new())))
        }
        (Ending::Ended, status) => Err(failure(command).why(end_text(status)).try_this(
            "run the program by hand, as the server's user and with an empty environment",
        )),
        (Ending::TooLong, _) => Err(failure(command)
            .why(format!("it printed more than {MASTER_KEY_FILE_BYTES_MAX} bytes and was killed"))
            .try_this("print the 64 hexadecimal digits of the key and nothing else")),
        (Ending::Late, _) => Err(failure(command)
            .why(format!(
                "it did not end within {} seconds and was killed",
                command.deadline.as_secs()
            ))
            .try_this("check the HSM or KMS, or set master_key.command_timeout")),
    }
}

pub fn failure(command: &KeyCommand) -> Failure {
    Failure::new(Exit::Permission, "cannot get the master key from its command")
        .file(&command.program)
}

fn end_text(status: Option<ExitStatus>) -> String {
    let code = status.and_then(|it| it.code()).map(|code| format!("it ended with the code {code}"));
    let signal = || status.and_then(|it| it.signal()).map(|it| format!("signal {it} ended it"));
    code.or_else(signal).unwrap_or_else(|| String::from("its exit code is unknown"))
}

/// Checks that only root and the user of this process can change the program, and returns its path
/// without symbolic links. Does not run it.
pub fn check(command: &KeyCommand) -> Result<PathBuf> {
    let failed = |path: &Path, error: &io::Error| {
        failure(command).why(format!("{}: {error}", path.display()))
    };
    let mut path = command.program.clone();
    for _ in 0..=LINKS_MAX {
        check_path(command, &path)?;
        let metadata = fs::symlink_metadata(&path).map_err(|error| failed(&path, &error))?;
        if !metadata.is_symlink() {
            break;
        }
        let target = fs::read_link(&path).map_err(|error| failed(&path, &error))?;
        path = path.parent().unwrap_or(Path::new("/")).join(target);
    }
    let program = fs::canonicalize(&path).map_err(|error| failed(&path, &error))?;
    check_path(command, &program)?;
    let metadata = fs::metadata(&program).map_err(|error| failed(&program, &error))?;
    if !metadata.is_file() || metadata.mode() & 0o111 == 0 {
        let why = format!("{} is not a program", program.display());
        return Err(failure(command).why(why).try_this("name an executable file"));
    }
    Ok(program)
}

/// A user who can write to a directory on the path can put another program there.
fn check_path(command: &KeyCommand, path: &Path) -> Result<()> {
    for place in path.ancestors() {
        let metadata = fs::metadata(place)
            .map_err(|error| failure(command).why(format!("{}: {error}", place.display())))?;
        let (mode, owner) = (metadata.mode() & 0o7777, metadata.uid());
        // In a directory with the sticky bit, such as /tmp, users cannot replace files of others.
        let is_sticky = metadata.is_dir() && mode & 0o1000 != 0;
        if mode & 0o022 != 0 && !is_sticky {
            return Err(failure(command)
                .why(format!("other users can write to {} (mode {mode:04o})", place.display()))
                .try_this(format!("chmod go-w {}", place.display())));
        }
        if owner != 0 && owner != geteuid().as_raw() {
            return Err(failure(command)
                .why(format!("{} belongs to another user (uid {owner})", place.display()))
                .try_this(format!("chown root {}", place.display())));
        }
    }
    Ok(())
}

/// Closes the descriptors that the program would inherit. This process opens all of its own with
/// close-on-exec, so the others come from the program that started it and nothing here uses them.
fn close_inherited() -> io::Result<()> {
    const CLOSE_ON_EXEC: u32 = 0o2_000_000;
    /// Two threads could close the same number, the second one after it was reused.
    static CLOSING: Lock<()> = Lock::new(());
    let _closing = CLOSING.lock();
    let mut inherited = Vec::new();
    for entry in fs::read_dir("/proc/self/fdinfo")? {
        let entry = entry?;
        let number: Option<RawFd> = entry.file_name().to_str().and_then(|it| it.parse().ok());
        let Some(number) = number.filter(|&number| number > 2) else { continue };
        let facts = match fs::read_to_string(entry.path()) {
            // Another thread has closed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            facts => facts?,
        };
        let flags = facts.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        if flags.ok_or(io::ErrorKind::InvalidData)? & CLOSE_ON_EXEC == 0 {
            inherited.push(number);
        }
    }
    for number in inherited {
        nix::unistd::close(number).map_err(io::Error::from)?;
    }
    Ok(())
}

enum Ending {
    Ended,
    Late,
    TooLong,
}

/// The program and the process group that it leads. The whole group ends with the program: a child
/// that goes on would hold the pipe open.
struct Running {
    child: Child,
    out: Option<ChildStdout>,
    err: Option<ChildStderr>,
    printed: Secret<Vec<u8>>,
    complaints: Secret<Vec<u8>>,
    is_over: bool,
}

impl Running {
    fn new(mut child: Child) -> io::Result<Self> {
        let (out, err) = (child.stdout.take(), child.stderr.take());
        // Allocate the whole buffer at once: growing would leave copies of the key in memory.
        let room = usize::try_from(MASTER_KEY_FILE_BYTES_MAX).unwrap_or(usize::MAX);
        let printed = Secret::new(Vec::with_capacity(room.saturating_add(PIECE_BYTES)));
        let complaints = Secret::new(Vec::new());
        let running = Self { child, out, err, printed, complaints, is_over: false };
        for pipe in running.pipes() {
            fcntl_setfl(pipe, OFlags::NONBLOCK)?;
        }
        Ok(running)
    }

    fn pipes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.out.iter().map(AsFd::as_fd).chain(self.err.iter().map(AsFd::as_fd))
    }

    /// Reads until the program has ended. Does not wait for its children.
    fn finish(&mut self, deadline: Duration) -> io::Result<Ending> {
        let begun = Instant::now();
        loop {
            // Check before reading the pipes: by then the output of an ended program is in the
            // pipe.
            let has_ended = self.has_ended()?;
            self.read()?;
            let length = u64::try_from(self.printed.expose().len()).unwrap_or(u64::MAX);
            if length > MASTER_KEY_FILE_BYTES_MAX {
                return Ok(Ending::TooLong);
            }
            if has_ended {
                return Ok(Ending::Ended);
            }
            if begun.elapsed() >= deadline {
                return Ok(Ending::Late);
            }
            self.wait_a_little()?;
        }
    }

    /// Does not reap the program, which [`Running::end`] does: its process id stays taken, so the
    /// kill of its group reaches no other group.
    fn has_ended(&self) -> io::Result<bool> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(Pid::from_child(&self.child)), look)?.is_some())
    }

    fn wait_a_little(&self) -> io::Result<()> {
        let mut pipes: Vec<_> =
            self.pipes().map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN)).collect();
        match poll(&mut pipes, Some(&LOOK_EVERY)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn read(&mut self) -> io::Result<()> {
        let most = usize::try_from(MASTER_KEY_FILE_BYTES_MAX).unwrap_or(usize::MAX);
        if drain(self.out.as_mut(), &mut self.printed, most)? {
            self.out = None;
        }
        if drain(self.err.as_mut(), &mut self.complaints, MASTER_KEY_COMMAND_COMPLAINT_BYTES_MAX)? {
            self.err = None;
        }
        Ok(())
    }

    /// Kills the group and waits for the program. `None` if it does not end.
    fn end(&mut self) -> io::Result<Option<ExitStatus>> {
        // An error is ignored: the program may have ended, alone in its group.
        kill_process_group(Pid::from_child(&self.child), Signal::KILL).ok();
        self.is_over = true;
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if begun.elapsed() >= MASTER_KEY_COMMAND_END_MAX {
                return Ok(None);
            }
            // An empty list, so that only the time ends the wait: a ready pipe would end it at
            // once.
            poll(&mut [], Some(&LOOK_EVERY)).ok();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_over {
            self.end().ok();
        }
    }
}

/// Reads the available bytes, and returns true at the end of the output. Keeps slightly more than
/// `most` bytes and drops the rest. Each call reads a bounded amount, so that the deadline also
/// holds for a program that never pauses.
fn drain(
    pipe: Option<&mut impl Read>,
    into: &mut Secret<Vec<u8>>,
    most: usize,
) -> io::Result<bool> {
    let Some(pipe) = pipe else { return Ok(false) };
    let mut piece = Secret::new([0_u8; PIECE_BYTES]);
    for _ in 0..=most.div_ceil(PIECE_BYTES) {
        match pipe.read(piece.expose_mut()) {
            Ok(0) => return Ok(true),
            Ok(count) if into.expose().len() <= most => {
                let read = piece.expose().get(..count).unwrap_or_default();
                into.expose_mut().extend_from_slice(read);
            }
            Ok(_) => (),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// Writes the first lines of the program's standard error to ours, each with the program's name.
fn pass_on(command: &KeyCommand, complaints: &Secret<Vec<u8>>) {
    let name = command.program.display();
    for line in lines_of(complaints.expose()) {
        complain(&format!("strongroom: {name}: {line}"));
    }
}

fn lines_of(complaints: &[u8]) -> Vec<String> {
    let mut lines: Vec<_> = complaints
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty())
        .take(MASTER_KEY_COMMAND_COMPLAINT_LINES_MAX.saturating_add(1))
        .map(shown)
        .collect();
    if lines.len() > MASTER_KEY_COMMAND_COMPLAINT_LINES_MAX {
        lines.truncate(MASTER_KEY_COMMAND_COMPLAINT_LINES_MAX);
        lines.push(String::from("... and more"));
    }
    lines
}

/// The line in printable characters, without words that are long enough to be a key: a script with
/// `set -x` writes the key to standard error.
fn shown(line: &[u8]) -> String {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let mut text = String::new();
    for part in line.chunk_by(|left, right| is_word(left) == is_word(right)) {
        if part.len() > WORD_MAX && part.first().is_some_and(is_word) {
            text.push_str("[hidden]");
        } else {
            let plain =
                |&byte: &u8| if matches!(byte, 0x20..=0x7e) { char::from(byte) } else { '?' };
            text.extend(part.iter().map(plain));
        }
    }
    text.truncate(MASTER_KEY_COMMAND_COMPLAINT_LINE_MAX);
    text
}
