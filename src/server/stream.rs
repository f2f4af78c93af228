//! The byte stream under a connection, with four things that hyper does not do: it closes on a peer
//! that does not read, it withholds a head that [`Framing`] refuses, it ends when the
//! [`FrameBudget`] is spent, and it lingers when it closes on a peer that is still sending.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, timeout};
use zeroize::Zeroizing;

use crate::bounds;
use crate::server::frame_budget::FrameBudget;
use crate::server::framing::Framing;
use crate::server::problem::ServerProblem;

#[derive(Debug)]
pub(super) struct Stream<T> {
    inner: T,
    /// HTTP/1 only: HTTP/2 has frames.
    framing: Option<Framing>,
    /// HTTP/2 only.
    budget: Option<FrameBudget>,
    /// Set when the budget is spent.
    is_flooded: bool,
    /// Runs while output waits for the peer; `None` on a healthy connection.
    stalled: Option<Stall>,
    write_max: Duration,
    /// The time for which output may still wait. Waiting uses it up, and the bytes that the peer
    /// reads add to it, so that a peer cannot hold an answer by reading a few bytes now and then.
    patience: Duration,
    /// Set when all output of hyper is flushed.
    is_flushed: bool,
    /// The task whose read waits for the flush.
    reader: Option<Waker>,
    /// Set when the peer was still sending as the stream was closed.
    lingers: bool,
}

/// Output that waits for the peer.
#[derive(Debug)]
struct Stall {
    since: Instant,
    deadline: Pin<Box<Sleep>>,
}

impl<T> Stream<T> {
    pub(super) const fn new(inner: T, framing: Option<Framing>, write_max: Duration) -> Self {
        Self {
            inner,
            framing,
            budget: None,
            is_flooded: false,
            stalled: None,
            write_max,
            patience: write_max,
            is_flushed: true,
            reader: None,
            lingers: false,
        }
    }

    pub(super) fn with_budget(mut self, budget: FrameBudget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Returns whether the stream has ended because the budget is spent.
    pub(super) const fn is_flooded(&self) -> bool {
        self.is_flooded
    }

    /// The problem of the head that was withheld from hyper. From then on the caller answers on the
    /// stream.
    pub(super) fn take_refusal(&mut self) -> Option<ServerProblem> {
        let refusal = self.refusal()?;
        self.framing = None;
        self.lingers = true;
        Some(refusal)
    }

    fn refusal(&self) -> Option<ServerProblem> {
        self.framing.as_ref().and_then(Framing::refusal)
    }

    fn wrote(&mut self, polled: &Poll<io::Result<usize>>) {
        let Poll::Ready(Ok(bytes)) = polled else { return };
        if let Some(budget) = &mut self.budget {
            budget.wrote(*bytes);
        }
        self.end_stall();
        let millis = bytes.saturating_mul(1_000) / bounds::ANSWER_RATE_MIN;
        let earned = Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX));
        self.patience = self.patience.saturating_add(earned).min(self.write_max);
    }

    fn end_stall(&mut self) {
        if let Some(stall) = self.stalled.take() {
            self.patience = self.patience.saturating_sub(stall.since.elapsed());
        }
    }

    /// Starts or checks the deadline of a waiting write, and ends the wait when the write made
    /// progress.
    fn timed<R>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if polled.is_ready() {
            self.end_stall();
            return polled;
        }
        let patience = self.patience;
        let stall = self.stalled.get_or_insert_with(|| Stall {
            since: Instant::now(),
            deadline: Box::pin(sleep(patience)),
        });
        ready!(stall.deadline.as_mut().poll(cx));
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> Stream<T> {
    /// Sends the reason to a peer whose budget is spent, unless hyper's last frame is only partly
    /// written.
    //= RFC 9113, 6.8 and 7: GOAWAY, the last stream unknown, ENHANCE_YOUR_CALM.
    pub(super) async fn say_goodbye(mut self) {
        const GOAWAY: [u8; 17] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 11];
        if !self.is_flushed {
            return;
        }
        let goodbye = async {
            self.inner.write_all(&GOAWAY).await?;
            self.inner.shutdown().await
        };
        // A peer that does not read needs no goodbye.
        if matches!(timeout(bounds::GOODBYE_MAX, goodbye).await, Ok(Ok(()))) {
            drain(&mut self.inner).await;
        }
    }

    /// Reads and drops bytes that the peer still sends after the close: with unread bytes the
    /// kernel would reset the connection, and the peer would lose the answer.
    pub(super) async fn linger(mut self) {
        if !self.lingers {
            return;
        }
        drain(&mut self.inner).await;
    }
}

/// Reads and drops bytes until the peer closes, up to a maximum of bytes and of time.
pub(super) async fn drain(stream: &mut (impl AsyncRead + Unpin)) {
    let all = async {
        let mut scratch = Zeroizing::new(vec![0; 4_096]);
        let mut drained: usize = 0;
        while drained < bounds::DRAIN_BODY_BYTES_MAX {
            match stream.read(&mut scratch).await {
                Ok(0) | Err(_) => return,
                Ok(read) => drained = drained.saturating_add(read),
            }
        }
    };
    timeout(bounds::DRAIN_BODY_MAX, all).await.ok();
}

impl<T: AsyncRead + Unpin> AsyncRead for Stream<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        // After a malformed body hyper sees the end of the stream.
        let is_spoiled = self.framing.as_ref().is_some_and(Framing::is_spoiled);
        if self.refusal().is_none() && !is_spoiled {
            ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
            let new = buffer.filled_mut().get_mut(before..).unwrap_or_default();
            if self.budget.as_mut().is_some_and(|budget| !budget.follow(new)) {
                self.is_flooded = true;
                return Poll::Ready(Err(ErrorKind::QuotaExceeded.into()));
            }
            if let Some(framing) = &mut self.framing {
                let shown = framing.follow(new);
                buffer.set_filled(before.saturating_add(shown));
            }
        }
        let is_end = buffer.filled().len() == before;
        if is_end && self.refusal().is_some() && !self.is_flushed {
            // At the end of the stream hyper drops output that it has not flushed.
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
        self.wrote(&polled);
        self.timed(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.is_flushed = false;
        let polled = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        self.wrote(&polled);
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
        // The answer to the refused head is not written yet.
        if self.refusal().is_some() {
            return Poll::Ready(Ok(()));
        }
        self.lingers |= self.framing.as_ref().is_some_and(Framing::is_inside_message);
        let polled = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.timed(cx, polled)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    #[tokio::test]
    async fn an_answer_must_be_read_at_a_rate() {
        let answer = vec![0; 1024 * 1024];
        let (server, mut client) = duplex(1_024);
        let mut stream = Stream::new(server, None, bounds::WRITE_MAX);
        let mut read = vec![0; answer.len()];
        let (written, _) = tokio::join!(stream.write_all(&answer), client.read_exact(&mut read));
        assert!(written.is_ok());
        // Every byte is progress, and half the rate is too little all the same.
        let mut stream = Stream::new(stream.inner, None, Duration::from_millis(200));
        let read_slowly = async {
            while client.read(&mut [0; 100]).await.is_ok() {
                sleep(Duration::from_secs(1) * 200 / 4_096).await;
            }
        };
        let written = async {
            tokio::select! {
                written = stream.write_all(&answer) => written,
                () = read_slowly => Ok(()),
            }
        };
        let written = timeout(Duration::from_mins(2), written).await;
        let written = written.expect("the stream gives up");
        assert_eq!(written.unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
