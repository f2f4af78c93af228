//! The byte stream under a connection, with what hyper has no word for: a peer that does not read
//! is given up after a while, and a request that could not be parsed gets an answer that says so
//! and that arrives.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::bounds;
use crate::server::framing::Framing;
use crate::server::problem::{self, ProblemReporter};

/// What to do with hyper's own answers to requests that it cannot parse.
#[derive(Debug, Clone)]
pub(super) enum BareRefusals {
    /// HTTP/1: they are recognised and get a body.
    Explain(Arc<ProblemReporter>),
    /// HTTP/2: bytes are frames, there is nothing to recognise.
    Pass,
}

#[derive(Debug)]
pub(super) struct Stream<T> {
    inner: T,
    bare_refusals: BareRefusals,
    /// HTTP/1 only: HTTP/2 has frames.
    framing: Option<Framing>,
    /// Runs while something written waits for the peer; absent on a healthy connection.
    stalled: Option<Pin<Box<Sleep>>>,
    write_max: Duration,
    refused: Option<Refused>,
}

/// An answer that replaces hyper's, and how far it is written.
#[derive(Debug)]
struct Refused {
    answer: Vec<u8>,
    written: usize,
    /// Bytes thrown away after the answer, until the peer closes.
    drained: usize,
    linger: Option<Pin<Box<Sleep>>>,
}

impl<T> Stream<T> {
    pub(super) const fn new(inner: T, bare_refusals: BareRefusals, write_max: Duration) -> Self {
        let framing = match &bare_refusals {
            BareRefusals::Explain(_) => Some(Framing::new()),
            BareRefusals::Pass => None,
        };
        Self { inner, bare_refusals, framing, stalled: None, write_max, refused: None }
    }

    /// Starts or checks the clock of a write that waits, stops it when the write moved.
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
    /// Writes the replacement if `bytes` are an answer that needs one. hyper offers the same bytes
    /// until they are taken, so they are reported as taken when the replacement is through.
    fn poll_refusal(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Option<io::Result<usize>>> {
        if self.refused.is_none() {
            let answer = match &self.bare_refusals {
                BareRefusals::Explain(refusals) => {
                    problem::with_body(bytes, refusals.hsts, |refusal| refusals.note(refusal, None))
                }
                BareRefusals::Pass => None,
            };
            let Some(answer) = answer else {
                return Poll::Ready(None);
            };
            self.refused = Some(Refused { answer, written: 0, drained: 0, linger: None });
        }
        let Some(refused) = &mut self.refused else {
            return Poll::Ready(None);
        };
        while let Some(rest @ [_, ..]) = refused.answer.get(refused.written..) {
            match ready!(Pin::new(&mut self.inner).poll_write(cx, rest)) {
                Ok(0) => return Poll::Ready(Some(Err(ErrorKind::WriteZero.into()))),
                Ok(written) => refused.written = refused.written.saturating_add(written),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
        Poll::Ready(Some(Ok(bytes.len())))
    }

    /// Reads and throws away what a refused peer is still sending: closing on unread bytes would
    /// reset the connection, and the peer would lose the answer.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(refused) = &mut self.refused else {
            return Poll::Ready(());
        };
        let clock = refused.linger.get_or_insert_with(|| Box::pin(sleep(bounds::DRAIN_BODY_MAX)));
        if clock.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        let mut scratch = [0; 4_096];
        while refused.drained < bounds::DRAIN_BODY_BYTES_MAX {
            let mut buffer = ReadBuf::new(&mut scratch);
            match ready!(Pin::new(&mut self.inner).poll_read(cx, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {
                    refused.drained = refused.drained.saturating_add(buffer.filled().len());
                }
                Ok(()) | Err(_) => return Poll::Ready(()),
            }
        }
        Poll::Ready(())
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Stream<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buffer);
        if let (Some(framing), Some(new)) =
            (&mut self.framing, buffer.filled_mut().get_mut(before..))
        {
            framing.follow(new);
        }
        read
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = match self.poll_refusal(cx, bytes) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(taken)) => Poll::Ready(taken),
            Poll::Ready(None) => Pin::new(&mut self.inner).poll_write(cx, bytes),
        };
        self.timed(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // An answer with a body comes as two slices; one alone may be a bare refusal.
        if let [bytes] = slices {
            return self.poll_write(cx, bytes);
        }
        let polled = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        self.timed(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_flush(cx);
        self.timed(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let lingering = self.refused.as_ref().is_some_and(|refused| refused.linger.is_some());
        if !lingering {
            let polled = Pin::new(&mut self.inner).poll_shutdown(cx);
            ready!(self.timed(cx, polled))?;
        }
        self.poll_linger(cx).map(Ok)
    }
}
