//! The template of workers: a process that has started the engine and copies itself on order.
//!
//! A copy costs a quarter of the processor time of a start. The template never knows a call, so
//! nothing of a call is in a copy. Copies have the same addresses; a template is replaced after some
//! hundred of them, so that a program learns little about the others.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::Pid;

use crate::bounds::{CODE_COPY_MAX, CODE_START_MAX};
use crate::code::WORKER_COMMAND;

/// The whole environment of a worker: its allocator reserves no memory ahead, which the limit of
/// the worker's data would not allow.
const ALLOCATOR: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "0");

/// The binary and the size of workers, and their number ahead of calls.
#[derive(Debug, Clone)]
pub struct WorkerPlan {
    pub binary: PathBuf,
    pub memory_mib: u64,
    /// Workers that wait for a call.
    pub warm: usize,
}

/// Dropping it ends the process, so each of its workers holds it.
#[derive(Debug)]
pub struct Template {
    orders: UnixStream,
    /// None only while it is dropped.
    child: Option<Child>,
    ended: Sender<Child>,
}

/// A new worker: a copy of the template.
#[derive(Debug)]
pub struct WorkerCopy {
    pub id: Pid,
    /// A descriptor of the process. The number may belong to another process after its end.
    pub process: OwnedFd,
    pub socket: UnixStream,
}

impl Template {
    /// Starts the process with `posix_spawn`, whose cost does not grow with the memory of the vault.
    /// The kernel ends it with the thread that calls this.
    pub fn start(plan: &WorkerPlan, ended: Sender<Child>) -> io::Result<Self> {
        let (orders, theirs) = UnixStream::pair()?;
        orders.set_read_timeout(Some(CODE_START_MAX))?;
        orders.set_write_timeout(Some(CODE_COPY_MAX))?;
        let child = Command::new(&plan.binary)
            .arg0("strongroom")
            .arg(WORKER_COMMAND)
            .arg(std::process::id().to_string())
            .arg(plan.memory_mib.to_string())
            .env_clear()
            .envs([ALLOCATOR])
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { orders, child: Some(child), ended })
    }

    /// Orders a copy and waits for it. A template that fails must not be asked again: its next
    /// answer may be the late one of this order.
    pub fn copy(&self) -> io::Result<WorkerCopy> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        send_descriptor(&self.orders, &[0], &OwnedFd::from(theirs))?;
        let mut id = [0; 4];
        let process = receive_descriptor(&self.orders, &mut id)?;
        // The first answer takes the start of the engine.
        self.orders.set_read_timeout(Some(CODE_COPY_MAX))?;
        let id = Pid::from_raw(i32::from_le_bytes(id)).ok_or(io::ErrorKind::InvalidData)?;
        let process = process.ok_or(io::ErrorKind::InvalidData)?;
        Ok(WorkerCopy { id, process, socket: ours })
    }
}

impl Drop for Template {
    fn drop(&mut self) {
        // It ends when it has read the end of its orders and reaped its workers.
        self.orders.shutdown(std::net::Shutdown::Both).ok();
        let Some(child) = self.child.take() else { return };
        if let Err(std::sync::mpsc::SendError(mut child)) = self.ended.send(child) {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// Sends these bytes, of which there is at least one, with a descriptor.
pub fn send_descriptor(socket: impl AsFd, bytes: &[u8], sent: &OwnedFd) -> io::Result<()> {
    let sent = [sent.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&sent)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let sent = sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    if sent == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Fills the bytes and returns the descriptor that came with them, if one did.
pub fn receive_descriptor(socket: impl AsFd, bytes: &mut [u8]) -> io::Result<Option<OwnedFd>> {
    let wanted = bytes.len();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = loop {
        match recvmsg(&socket, &mut [IoSliceMut::new(bytes)], &mut control, flags) {
            Err(rustix::io::Errno::INTR) => (),
            received => break received?,
        }
    };
    if received.bytes != wanted {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let first = control.drain().find_map(|message| {
        let RecvAncillaryMessage::ScmRights(mut descriptors) = message else { return None };
        descriptors.next()
    });
    Ok(first)
}
