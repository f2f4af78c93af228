//! The byte stream under a connection, with three things that hyper does not do: it gives up a peer
//! that does not read, it withholds a head that [`Framing`] refuses, and it lingers when it closes
//! on a peer that is still sending.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep, timeout};
use zeroize::Zeroizing;

use crate::bounds;
use crate::server::framing::Framing;
use crate::server::problem::ServerProblem;

#[derive(Debug)]
pub(super) struct Stream<T> {
    inner: T,
    /// HTTP/1 only: HTTP/2 has frames.
    framing: Option<Framing>,
    /// Runs while something written waits for the peer; absent on a healthy connection.
    stalled: Option<Pin<Box<Sleep>>>,
    write_max: Duration,
    /// Set when all output of hyper is flushed.
    is_flushed: bool,
    /// The task whose read waits for the flush.
    reader: Option<Waker>,
    /// Set when the peer was still sending as the stream was closed.
    lingers: bool,
}

impl<T> Stream<T> {
    pub(super) const fn new(inner: T, framing: Option<Framing>, write_max: Duration) -> Self {
        Self {
            inner,
            framing,
            stalled: None,
            write_max,
            is_flushed: true,
            reader: None,
            lingers: false,
        }
    }

    /// The problem of the head that was withheld from hyper. From then on the stream is the caller's
    /// to answer on.
    pub(super) fn take_refusal(&mut self) -> Option<ServerProblem> {
        let refusal = self.refusal()?;
        self.framing = None;
        self.lingers = true;
        Some(refusal)
    }

    fn refusal(&self) -> Option<ServerProblem> {
        self.framing.as_ref().and_then(Framing::refusal)
    }

    /// Starts or checks the deadline of a write that waits, and clears it when the write made
    /// progress.
    fn timed<R>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if polled.is_ready() {
            self.stalled = None;
            return polled;
        }
        let write_max = self.write_max;
        let clock = self.stalled.get_or_insert_with(|| Box::pin(sleep(write_max)));
        ready!(clock.as_mut().poll(cx));
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> Stream<T> {
    /// Reads and drops what the peer is still sending after the stream was closed: with unread bytes
    /// the kernel would reset the connection, and the peer would lose the answer.
    pub(super) async fn linger(mut self) {
        if !self.lingers {
            return;
        }
        let all = async {
            let mut scratch = Zeroizing::new(vec![0; 4_096]);
            let mut drained: usize = 0;
            while drained < bounds::DRAIN_BODY_BYTES_MAX {
                match self.inner.read(&mut scratch).await {
                    Ok(0) | Err(_) => return,
                    Ok(read) => drained = drained.saturating_add(read),
                }
            }
        };
        timeout(bounds::DRAIN_BODY_MAX, all).await.ok();
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Stream<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        if self.refusal().is_none() {
            ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
            let new = buffer.filled_mut().get_mut(before..).unwrap_or_default();
            if let Some(framing) = &mut self.framing {
                let shown = framing.follow(new);
                buffer.set_filled(before.saturating_add(shown));
            }
        }
        let is_end = buffer.filled().len() == before;
        if is_end && self.refusal().is_some() && !self.is_flushed {
            // At the end of the stream hyper drops what it has not flushed.
            self.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Stream<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.is_flushed = false;
        let polled = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.timed(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.is_flushed = false;
        let polled = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        self.timed(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_flush(cx);
        if matches!(polled, Poll::Ready(Ok(()))) {
            self.is_flushed = true;
            if let Some(reader) = self.reader.take() {
                reader.wake();
            }
        }
        self.timed(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // An answer to the refused head is still to be written.
        if self.refusal().is_some() {
            return Poll::Ready(Ok(()));
        }
        self.lingers |= self.framing.as_ref().is_some_and(Framing::is_inside_message);
        let polled = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.timed(cx, polled)
    }
}
