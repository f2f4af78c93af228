//! A TCP or Unix connection before TLS. It belongs to no runtime: the thread that waits for an
//! answer moves the bytes itself ([`super::wire`]). A separate task would cost two thread switches
//! per answer.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A non-blocking stream. It calls no waker when it is ready; use [`Socket::wait`].
#[derive(Debug, Clone)]
pub(super) struct Socket(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    stream: OwnedFd,
    /// Bytes may have arrived. Reads are skipped while this is false.
    is_readable: AtomicBool,
    /// A write would have blocked, so [`Socket::wait`] also waits for room to write.
    is_full: AtomicBool,
}

impl Socket {
    pub(super) fn new(stream: OwnedFd) -> io::Result<Self> {
        ioctl_fionbio(&stream, true)?;
        let [is_readable, is_full] = [true, false].map(AtomicBool::new);
        Ok(Self(Arc::new(Inner { stream, is_readable, is_full })))
    }

    pub(super) fn close(&self) {
        // It fails only if the peer has closed the connection.
        shutdown(&self.0.stream, Shutdown::Both).ok();
    }

    /// Blocks until bytes can be moved, or until the timeout.
    pub(super) fn wait(&self, at_most: Duration) {
        let mut events = PollFlags::IN;
        if self.0.is_full.swap(false, Ordering::Relaxed) {
            events |= PollFlags::OUT;
        }
        let mut watched = [PollFd::new(&self.0.stream, events)];
        let at_most = Timespec {
            tv_sec: i64::try_from(at_most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: at_most.subsec_nanos().into(),
        };
        // A failure, such as a signal, ends the wait early, and the caller checks again.
        poll(&mut watched, Some(&at_most)).ok();
        self.0.is_readable.store(true, Ordering::Relaxed);
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.0.is_readable.load(Ordering::Relaxed) {
            return Poll::Pending;
        }
        let free = buffer.initialize_unfilled();
        let room = free.len();
        let read = again(|| {
            Ok(recv(&self.0.stream, &mut *free, RecvFlags::empty()).map(|(read, _)| read)?)
        });
        // A read that returned less than requested has emptied the stream or met its end.
        if !matches!(read, Poll::Ready(Ok(count)) if count == room || count == 0) {
            self.0.is_readable.store(false, Ordering::Relaxed);
        }
        read.map(|read| read.map(|count| buffer.advance(count)))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = again(|| Ok(send(&self.0.stream, bytes, SendFlags::NOSIGNAL)?));
        if written.is_pending() {
            self.0.is_full.store(true, Ordering::Relaxed);
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(shutdown(&self.0.stream, Shutdown::Write).map_err(io::Error::from))
    }
}

/// Retries after interruption by a signal. Pending if it would block.
fn again(mut attempt: impl FnMut() -> io::Result<usize>) -> Poll<io::Result<usize>> {
    loop {
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
            done => return Poll::Ready(done),
        }
    }
}
