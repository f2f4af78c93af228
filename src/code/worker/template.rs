//! The template's loop: a copy for each order.

use std::io::{self, stdin};
use std::os::fd::OwnedFd;

use fork::{Fork, fork};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitOptions, getpid, pidfd_open, wait};

use crate::code::frames::Confinement;
use crate::code::template::{receive_descriptor, send_descriptor};
use crate::code::worker::sandbox;

/// While there are workers, the template looks for ended ones this often.
const REAP_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
/// The answer to an order that got no copy. No process has this number.
const NO_COPY: [u8; 4] = [0; 4];

/// Serves the orders on the standard input. Returns the walls in each copy, which is behind them and
/// has its own socket as the standard input. Returns `None` in the template when the vault has hung
/// up and all copies have ended.
pub fn become_worker(landlock: bool, memory_mib: u64) -> io::Result<Option<Confinement>> {
    let template = getpid();
    let filter = sandbox::filter();
    loop {
        let Some(socket) = next_order()? else {
            while wait(WaitOptions::empty()).is_ok() {}
            return Ok(None);
        };
        match fork() {
            Ok(Fork::Child) => {
                rustix::stdio::dup2_stdin(&socket)?;
                drop(socket);
                let seccomp = sandbox::enter(template, memory_mib, filter.as_ref().ok())?;
                return Ok(Some(Confinement { landlock, seccomp }));
            }
            Ok(Fork::Parent(id)) => answer(id)?,
            // The system may have no room for a process now. The copies that run go on.
            Err(_) => refuse()?,
        }
    }
}

/// Waits for the socket of the next worker. `None` if the vault has hung up.
fn next_order() -> io::Result<Option<OwnedFd>> {
    loop {
        let has_workers = reap();
        let input = stdin();
        let mut polled = [PollFd::new(&input, PollFlags::IN)];
        match poll(&mut polled, has_workers.then_some(&REAP_EVERY)) {
            Ok(0) | Err(Errno::INTR) => (),
            Ok(_) => break,
            Err(error) => return Err(error.into()),
        }
    }
    match receive_descriptor(stdin(), &mut [0]) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        received => Ok(received?),
    }
}

/// Reaps the copies that have ended. False if there are no others.
fn reap() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => (),
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// A copy that has ended already is not reaped yet, so the number is its own.
fn answer(id: i32) -> io::Result<()> {
    let process = Pid::from_raw(id).map(|id| pidfd_open(id, PidfdFlags::empty()));
    match process {
        Some(Ok(process)) => send_descriptor(stdin(), &id.to_le_bytes(), &process),
        Some(Err(_)) | None => refuse(),
    }
}

fn refuse() -> io::Result<()> {
    let sent = rustix::net::send(stdin(), &NO_COPY, rustix::net::SendFlags::NOSIGNAL)?;
    if sent == NO_COPY.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}
