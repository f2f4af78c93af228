//! The worker's end of the socket: whole frames, written and read in turn by one thread.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::code::frames::{FromWorker, HEAD_BYTES, ToWorker, content_length};

#[derive(Debug)]
pub struct Link<S> {
    socket: S,
}

pub enum Received {
    Message(ToWorker),
    /// Nothing arrived within the time.
    Nothing,
    /// The vault has closed its end.
    End,
}

impl<S: AsFd> Link<S> {
    pub const fn new(socket: S) -> Self {
        Self { socket }
    }

    pub fn send(&self, message: &FromWorker) -> io::Result<()> {
        let frame = message.encode().or(Err(io::ErrorKind::FileTooLarge))?;
        self.send_frame(&frame)
    }

    pub fn send_frame(&self, frame: &[u8]) -> io::Result<()> {
        let mut rest = frame;
        while !rest.is_empty() {
            match rustix::io::write(&self.socket, rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(Errno::INTR) => (),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits this long for the beginning of a frame, or without an end. The vault sends whole
    /// frames, so the rest follows at once.
    pub fn receive(&self, wait: Option<Duration>) -> io::Result<Received> {
        if let Some(wait) = wait
            && !self.has_bytes(wait)?
        {
            return Ok(Received::Nothing);
        }
        let mut head = [0; HEAD_BYTES];
        if !self.fill(&mut head)? {
            return Ok(Received::End);
        }
        let length = content_length(head).ok_or(io::ErrorKind::InvalidData)?;
        let mut content = vec![0; length];
        if !self.fill(&mut content)? {
            return Ok(Received::End);
        }
        let message = ToWorker::decode(&content).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Received::Message(message))
    }

    fn has_bytes(&self, wait: Duration) -> io::Result<bool> {
        // Rounded up to a millisecond: programs see no finer time, and a shorter wait would spin.
        let millis = wait.as_millis().saturating_add(u128::from(wait.subsec_nanos() > 0));
        let wait = Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX));
        let wait = Timespec::try_from(wait).ok();
        let mut sockets = [PollFd::new(&self.socket, PollFlags::IN)];
        match poll(&mut sockets, wait.as_ref()) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// False if the other end was closed before the bytes were there.
    fn fill(&self, bytes: &mut [u8]) -> io::Result<bool> {
        let mut filled = 0_usize;
        while filled < bytes.len() {
            let Some(rest) = bytes.get_mut(filled..) else { break };
            match rustix::io::read(&self.socket, rest) {
                Ok(0) => return Ok(false),
                Ok(read) => filled = filled.saturating_add(read),
                Err(Errno::INTR) => (),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}
