//! The byte stream under an HTTP connection. It records whether HTTP has tried to write, and counts
//! open connections.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::metrics::Gauge;

/// The attempts to write on a connection so far. TLS may have sent a part of an attempt that failed,
/// so the attempt is counted before it is made. As long as the number stays the same, nothing of what
/// HTTP was given has left; [`WriteAttempts::seal`] makes sure that nothing will.
#[derive(Debug, Clone, Default)]
pub(super) struct WriteAttempts(Arc<AtomicU64>);

impl WriteAttempts {
    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Forbids all further writes, if there was none since `before`. False if there was one.
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

#[derive(Debug)]
pub(super) struct Watched<T> {
    inner: T,
    attempts: WriteAttempts,
    reads: ReadAllowance,
    open: Arc<Gauge>,
}

impl<T> Watched<T> {
    pub(super) fn new(
        inner: T,
        attempts: WriteAttempts,
        reads: ReadAllowance,
        open: Arc<Gauge>,
    ) -> Self {
        open.add(1);
        Self { inner, attempts, reads, open }
    }
}

impl<T> Drop for Watched<T> {
    fn drop(&mut self) {
        self.open.add(-1);
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buffer);
        self.reads.spend(buffer.filled().len().saturating_sub(before))?;
        polled
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.attempts.count()?;
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.attempts.count()?;
        Pin::new(&mut self.inner).poll_write_vectored(cx, slices)
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
}
