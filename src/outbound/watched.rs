//! The byte streams under TLS and under HTTP. They record whether HTTP has tried to write, count
//! open connections, and end one whose server sends bytes or frames that are not part of an answer.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::bounds::OUTBOUND_TLS_BYTES_MAX;
use crate::metrics::Gauge;
use crate::server::frame_budget::FrameBudget;

/// The attempts to write on a connection so far. TLS may have sent a part of an attempt that
/// failed, so the attempt is counted before it is made. While the number stays the same, no byte
/// from HTTP has left; [`WriteAttempts::seal`] makes sure that none will.
#[derive(Debug, Clone, Default)]
pub(super) struct WriteAttempts(Arc<AtomicU64>);

impl WriteAttempts {
    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Forbids all further writes, unless there was one since `before`. Returns false if there was
    /// one.
    pub(super) fn seal(&self, before: u64) -> bool {
        let sealed = before | SEALED;
        self.0.compare_exchange(before, sealed, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    fn count(&self) -> io::Result<()> {
        let next = |count: u64| (count & SEALED == 0).then(|| count.saturating_add(1));
        let counted = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next);
        counted.map(drop).map_err(|_sealed| io::ErrorKind::BrokenPipe.into())
    }
}

const SEALED: u64 = 1 << 63;

/// The bytes that may still be read on a connection before it breaks.
#[derive(Debug, Clone)]
pub(super) struct ReadAllowance(Arc<AtomicU64>);

impl ReadAllowance {
    pub(super) fn allow(&self, bytes: u64) {
        self.0.store(bytes, Ordering::SeqCst);
    }

    /// Allows more for a delivered piece of a body, including the size of its chunk.
    pub(super) fn allow_piece(&self, bytes: usize) {
        const CHUNK_BYTES: u64 = 16;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let more = bytes.saturating_mul(2).saturating_add(CHUNK_BYTES);
        let sum = |left: u64| Some(left.saturating_add(more));
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, sum).ok();
    }

    pub(super) fn allow_all(&self) {
        self.allow(u64::MAX);
    }

    fn spend(&self, bytes: usize) -> io::Result<()> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let left = |left: u64| if left == u64::MAX { Some(left) } else { left.checked_sub(bytes) };
        let spent = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left);
        spent.map(drop).map_err(|_none_left| io::ErrorKind::FileTooLarge.into())
    }
}

impl Default for ReadAllowance {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(u64::MAX)))
    }
}

/// A stream that passes its bytes to a [`Tap`].
#[derive(Debug)]
pub struct Watched<T, P> {
    inner: T,
    pub(super) tap: P,
}

impl<T, P> Watched<T, P> {
    pub(super) const fn new(inner: T, tap: P) -> Self {
        Self { inner, tap }
    }
}

/// An error of a tap ends the stream.
pub trait Tap: Unpin {
    fn read(&mut self, bytes: &[u8]) -> io::Result<()>;

    fn before_write(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn wrote(&mut self, _bytes: usize) {}
}

/// The bytes under TLS. The stream ends when its server sends TLS messages without a byte of HTTP,
/// such as session tickets, which the TLS library processes for as long as they arrive.
#[derive(Debug)]
pub struct TlsTap(ReadAllowance);

impl TlsTap {
    pub(super) fn new() -> Self {
        let reads = ReadAllowance::default();
        reads.allow(OUTBOUND_TLS_BYTES_MAX);
        Self(reads)
    }
}

impl Tap for TlsTap {
    fn read(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.spend(bytes.len())
    }
}

/// The bytes of HTTP.
#[derive(Debug)]
pub(super) struct HttpTap {
    pub(super) attempts: WriteAttempts,
    /// The allowance of the stream under TLS: each byte of HTTP resets it to
    /// [`OUTBOUND_TLS_BYTES_MAX`].
    below: ReadAllowance,
    pub(super) reads: ReadAllowance,
    /// HTTP/2 only.
    frames: Option<FrameBudget>,
    open: Arc<Gauge>,
}

impl HttpTap {
    pub(super) fn new(below: &TlsTap, frames: Option<FrameBudget>, open: Arc<Gauge>) -> Self {
        open.add(1);
        let (attempts, reads) = (WriteAttempts::default(), ReadAllowance::default());
        Self { attempts, below: below.0.clone(), reads, frames, open }
    }
}

impl Drop for HttpTap {
    fn drop(&mut self) {
        self.open.add(-1);
    }
}

impl Tap for HttpTap {
    fn read(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.below.allow(OUTBOUND_TLS_BYTES_MAX);
        self.reads.spend(bytes.len())?;
        let is_allowed = self.frames.as_mut().is_none_or(|frames| frames.follow(bytes));
        if is_allowed { Ok(()) } else { Err(io::ErrorKind::QuotaExceeded.into()) }
    }

    fn before_write(&mut self) -> io::Result<()> {
        self.attempts.count()
    }

    fn wrote(&mut self, bytes: usize) {
        if let Some(frames) = &mut self.frames {
            frames.wrote(bytes);
        }
    }
}

impl<T: AsyncRead + Unpin, P: Tap> AsyncRead for Watched<T, P> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buffer);
        let new = buffer.filled().get(before..).unwrap_or_default();
        if !new.is_empty() {
            self.tap.read(new)?;
        }
        polled
    }
}

impl<T: AsyncWrite + Unpin, P: Tap> Watched<T, P> {
    fn write(
        &mut self,
        write: impl FnOnce(Pin<&mut T>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        self.tap.before_write()?;
        let polled = write(Pin::new(&mut self.inner));
        if let Poll::Ready(Ok(bytes)) = polled {
            self.tap.wrote(bytes);
        }
        polled
    }
}

impl<T: AsyncWrite + Unpin, P: Tap> AsyncWrite for Watched<T, P> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(|inner| inner.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(|inner| inner.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[test]
    fn a_seal_holds_only_before_a_write_and_forbids_all_after_it() {
        let attempts = WriteAttempts::default();
        let before = attempts.get();
        attempts.count().unwrap();
        assert!(!attempts.seal(before));
        attempts.count().unwrap();
        let before = attempts.get();
        assert!(attempts.seal(before));
        assert!(attempts.count().is_err());
        assert!(!attempts.seal(attempts.get() + 1));
    }

    #[tokio::test]
    async fn a_stream_ends_after_too_many_bytes_of_tls_without_one_of_http() {
        let most = usize::try_from(OUTBOUND_TLS_BYTES_MAX).unwrap();
        let sent = vec![0; 4 * most];
        let mut stream = Watched::new(sent.as_slice(), TlsTap::new());
        let mut half = vec![0; most / 2];
        // A byte of HTTP comes with each of them.
        for _ in 0..4 {
            stream.read_exact(&mut half).await.unwrap();
            HttpTap::new(&stream.tap, None, Arc::default()).read(b"x").unwrap();
        }
        stream.read_exact(&mut half).await.unwrap();
        stream.read_exact(&mut half).await.unwrap();
        assert!(stream.read_u8().await.is_err());
    }
}
