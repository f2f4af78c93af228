//! Limits on HTTP/2 streams: for all connections together with the shares of callers, and for one
//! connection that has not shown a known key.
//!
//! The first stream of a connection is always admitted, like a request of HTTP/1.1: the number of
//! connections is bounded, and a flood of streams keeps no new client out. Every further stream
//! takes a permit from the pool of all connections. A part of the pool is for connections that have
//! shown a secret key, and takes no lock. In the rest, an address, all strangers and a tenant have
//! their shares. A stream without a permit is refused with `REFUSED_STREAM`: it was not processed,
//! and clients send it again.
//!
//! A stream holds its permit until the last byte of its answer is written, not only until the
//! answer is ready: otherwise a peer that opens no window could hold any number of answers.

#[cfg(test)]
mod tests;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::bounds::ADDRESS_SHARE;
use crate::domain::shares::{Claimant, Shares};
use crate::server::bounds::Bounds;

/// The permits that all connections share.
#[derive(Debug)]
pub(super) struct StreamPool {
    /// Permits outside of the shares.
    free_taken: AtomicUsize,
    free_max: usize,
    shares: Shares,
    streams_of_unknown_max: u32,
    piece_bytes_max: usize,
}

impl StreamPool {
    pub(super) fn new(bounds: &Bounds) -> Self {
        let free_max = bounds.h2_shared_max / ADDRESS_SHARE;
        Self {
            free_taken: AtomicUsize::new(0),
            free_max,
            shares: Shares::new(bounds.h2_shared_max.saturating_sub(free_max)),
            streams_of_unknown_max: bounds.h2_streams_unknown_max,
            piece_bytes_max: usize::try_from(bounds.h2_frame_bytes_max).unwrap_or(usize::MAX),
        }
    }

    fn take_free(&self) -> Option<PermitKind> {
        let more = |taken: usize| taken.checked_add(1).filter(|sum| *sum <= self.free_max);
        let taken = self.free_taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.is_ok().then_some(PermitKind::Free)
    }

    fn take(&self, claimant: Claimant) -> Option<PermitKind> {
        self.shares.take(claimant, 1).then_some(PermitKind::Shared(claimant))
    }

    fn give_back(&self, kind: PermitKind) {
        match kind {
            PermitKind::First => {}
            PermitKind::Free => {
                self.free_taken.fetch_sub(1, Ordering::Relaxed);
            }
            PermitKind::Shared(claimant) => self.shares.give_back(claimant, 1),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PermitKind {
    First,
    Free,
    Shared(Claimant),
}

/// The streams of one connection. Only the connection's own task admits them, so reading and
/// counting do not race.
#[derive(Debug)]
pub(super) struct ConnectionStreams {
    pool: Arc<StreamPool>,
    open: AtomicU32,
    begun: AtomicU64,
    has_first: AtomicBool,
    is_known: AtomicBool,
    has_shown_secret: AtomicBool,
    /// The number of checks for answers that wait for the peer.
    looks: AtomicU32,
    /// Streams whose answer waits for the peer, by the number of the check before its last
    /// progress, modulo three. An answer without progress for two checks ends the connection, so
    /// three are enough.
    waiting: [AtomicU32; 3],
}

impl ConnectionStreams {
    pub(super) fn new(pool: Arc<StreamPool>) -> Self {
        Self {
            pool,
            open: AtomicU32::new(0),
            begun: AtomicU64::new(0),
            has_first: AtomicBool::new(false),
            is_known: AtomicBool::new(false),
            has_shown_secret: AtomicBool::new(false),
            looks: AtomicU32::new(0),
            waiting: std::array::from_fn(|_| AtomicU32::new(0)),
        }
    }

    /// Takes a permit for one more stream. `claimant` reads the request's key; it is called only if
    /// the result matters.
    pub(super) fn admit(
        self: &Arc<Self>,
        claimant: impl FnOnce() -> Claimant,
    ) -> Option<Arc<StreamPermit>> {
        let kind = if self.has_first.swap(true, Ordering::Relaxed) {
            self.admit_further(claimant)?
        } else {
            PermitKind::First
        };
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        let (pieces, waits_since) = (AtomicU32::new(0), AtomicU32::new(0));
        Some(Arc::new(StreamPermit { streams: Arc::clone(self), kind, pieces, waits_since }))
    }

    fn admit_further(&self, claimant: impl FnOnce() -> Claimant) -> Option<PermitKind> {
        if self.has_shown_secret.load(Ordering::Relaxed)
            && let Some(free) = self.pool.take_free()
        {
            return Some(free);
        }
        let claimant = claimant();
        self.has_shown_secret.fetch_or(claimant.keyed().is_some(), Ordering::Relaxed);
        self.is_known.fetch_or(claimant.tenant().is_some(), Ordering::Relaxed);
        if !self.is_known() && self.open() >= self.pool.streams_of_unknown_max {
            return None;
        }
        self.pool.take(claimant)
    }

    pub(super) fn open(&self) -> u32 {
        self.open.load(Ordering::Relaxed)
    }

    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Returns whether an admitted request has shown a known key.
    pub(super) fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Relaxed)
    }

    /// Call it at regular times. Returns whether an answer has made no progress since the check
    /// before the last.
    pub(super) fn look_is_stalled(&self) -> bool {
        let look = self.looks.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        self.waiting_since(look.wrapping_add(1)).load(Ordering::Relaxed) > 0
    }

    fn waiting_since(&self, look: u32) -> &AtomicU32 {
        let [zero, one, two] = &self.waiting;
        match look % 3 {
            0 => zero,
            1 => one,
            _ => two,
        }
    }
}

/// The permit of one stream, returned when the stream has ended and its answer is written.
#[derive(Debug)]
pub(super) struct StreamPermit {
    streams: Arc<ConnectionStreams>,
    kind: PermitKind,
    /// Incremented when the answer is ready and with each piece that is sent.
    pieces: AtomicU32,
    /// The number of the check before that, plus one; zero before the answer is ready.
    waits_since: AtomicU32,
}

impl StreamPermit {
    /// Records progress: the answer is ready, or a piece of it was sent.
    pub(super) fn moves(&self) {
        self.pieces.fetch_add(1, Ordering::Relaxed);
        let look = self.streams.looks.load(Ordering::Relaxed);
        // Zero means "no answer", also after the counter wraps.
        let now = look.wrapping_add(1).max(1);
        let before = self.waits_since.swap(now, Ordering::Relaxed);
        if before != now {
            self.streams.waiting_since(now.wrapping_sub(1)).fetch_add(1, Ordering::Relaxed);
            self.forget(before);
        }
    }

    pub(super) fn pieces(&self) -> u32 {
        self.pieces.load(Ordering::Relaxed)
    }

    fn forget(&self, waits_since: u32) {
        if let Some(look) = waits_since.checked_sub(1) {
            self.streams.waiting_since(look).fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.forget(self.waits_since.load(Ordering::Relaxed));
        self.streams.pool.give_back(self.kind);
        if self.kind == PermitKind::First {
            self.streams.has_first.store(false, Ordering::Relaxed);
        }
        self.streams.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An answer's body in pieces of one frame each. Every piece holds the stream's permit until it is
/// written, and records progress.
#[derive(Debug)]
pub(super) struct PacedBody<B> {
    inner: B,
    rest: Bytes,
    place: Arc<StreamPermit>,
}

impl<B> PacedBody<B> {
    pub(super) const fn new(inner: B, place: Arc<StreamPermit>) -> Self {
        Self { inner, rest: Bytes::new(), place }
    }
}

/// The bytes of one frame, and the permit that they hold.
struct BodyPiece {
    bytes: Bytes,
    place: Arc<StreamPermit>,
}

impl AsRef<[u8]> for BodyPiece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for BodyPiece {
    fn drop(&mut self) {
        self.place.moves();
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for PacedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.inner).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                other => return Poll::Ready(other),
            }
        }
        let length = self.rest.len().min(self.place.streams.pool.piece_bytes_max);
        let bytes = self.rest.split_to(length);
        let place = Arc::clone(&self.place);
        place.moves();
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(BodyPiece { bytes, place })))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = u64::try_from(self.rest.len()).unwrap_or(u64::MAX);
        let inner = self.inner.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower().saturating_add(rest));
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}
