//! Limits on HTTP/2 streams: for all connections together, and for one connection that has not
//! shown a known key.
//!
//! The first stream of a connection is always admitted, as a request of HTTP/1.1 is: the number of
//! connections is bounded, and a flood of streams keeps no new client out. Every further stream
//! takes a permit from the pool of all connections; few permits are for connections without a known
//! key. A stream without a permit is refused with `REFUSED_STREAM`: it was not processed, and
//! clients send it again.
//!
//! A stream holds its permit until the last byte of its answer is written, not only until the
//! answer is ready: otherwise a peer that opens no window could hold any number of answers.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::server::bounds::Bounds;

/// The permits that all connections share.
#[derive(Debug, Clone)]
pub(super) struct StreamPool(Arc<PoolCounts>);

#[derive(Debug)]
struct PoolCounts {
    taken: AtomicUsize,
    taken_by_unknown: AtomicUsize,
    max: usize,
    unknown_max: usize,
    streams_of_unknown_max: u32,
    piece_bytes_max: usize,
}

impl StreamPool {
    pub(super) fn new(bounds: &Bounds) -> Self {
        Self(Arc::new(PoolCounts {
            taken: AtomicUsize::new(0),
            taken_by_unknown: AtomicUsize::new(0),
            max: bounds.h2_shared_max,
            unknown_max: bounds.h2_shared_unknown_max,
            streams_of_unknown_max: bounds.h2_streams_unknown_max,
            piece_bytes_max: usize::try_from(bounds.h2_frame_bytes_max).unwrap_or(usize::MAX),
        }))
    }

    fn take(&self) -> Option<PermitKind> {
        take(&self.0.taken, self.0.max).then_some(PermitKind::Shared)
    }

    fn take_by_unknown(&self) -> Option<PermitKind> {
        if !take(&self.0.taken_by_unknown, self.0.unknown_max) {
            return None;
        }
        if take(&self.0.taken, self.0.max) {
            return Some(PermitKind::SharedByUnknown);
        }
        self.0.taken_by_unknown.fetch_sub(1, Ordering::Relaxed);
        None
    }

    fn give_back(&self, kind: PermitKind) {
        match kind {
            PermitKind::First => return,
            PermitKind::Shared => {}
            PermitKind::SharedByUnknown => {
                self.0.taken_by_unknown.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

fn take(taken: &AtomicUsize, max: usize) -> bool {
    let more = |taken: usize| taken.checked_add(1).filter(|sum| *sum <= max);
    taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
}

/// The origin of a permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PermitKind {
    First,
    Shared,
    SharedByUnknown,
}

/// The streams of one connection. Only the connection's own task admits them, so reading and
/// counting do not race.
#[derive(Debug)]
pub(super) struct ConnectionStreams {
    pool: StreamPool,
    open: AtomicU32,
    begun: AtomicU64,
    has_first: AtomicBool,
    is_known: AtomicBool,
    /// The number of checks for answers that wait for the peer.
    looks: AtomicU32,
    /// Streams whose answer waits for the peer, by the number of the check before its last
    /// progress, modulo three. An answer without progress for two checks ends the connection, so
    /// three are enough.
    waiting: [AtomicU32; 3],
}

impl ConnectionStreams {
    pub(super) fn new(pool: StreamPool) -> Self {
        Self {
            pool,
            open: AtomicU32::new(0),
            begun: AtomicU64::new(0),
            has_first: AtomicBool::new(false),
            is_known: AtomicBool::new(false),
            looks: AtomicU32::new(0),
            waiting: std::array::from_fn(|_| AtomicU32::new(0)),
        }
    }

    /// Takes a permit for one more stream. `knows` says whether its request shows a known key; it
    /// is called only if that makes a difference.
    pub(super) fn admit(
        self: &Arc<Self>,
        knows: impl FnOnce() -> bool,
    ) -> Option<Arc<StreamPermit>> {
        let kind = if self.has_first.swap(true, Ordering::Relaxed) {
            if self.is_known() || knows() {
                self.is_known.store(true, Ordering::Relaxed);
                self.pool.take()?
            } else if self.open() < self.pool.0.streams_of_unknown_max {
                self.pool.take_by_unknown()?
            } else {
                return None;
            }
        } else {
            PermitKind::First
        };
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        let (pieces, waits_since) = (AtomicU32::new(0), AtomicU32::new(0));
        Some(Arc::new(StreamPermit { streams: Arc::clone(self), kind, pieces, waits_since }))
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
    /// Grows when the answer is ready and with each piece that is sent.
    pieces: AtomicU32,
    /// The number of the check before that, plus one; zero before there is an answer.
    waits_since: AtomicU32,
}

impl StreamPermit {
    /// Records progress: the answer is ready, or a piece of it was sent.
    pub(super) fn moves(&self) {
        self.pieces.fetch_add(1, Ordering::Relaxed);
        let look = self.streams.looks.load(Ordering::Relaxed);
        // Zero stands for "no answer", also after the counter wraps.
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
        let length = self.rest.len().min(self.place.streams.pool.0.piece_bytes_max);
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

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt as _, Full};

    use super::*;

    fn pool() -> StreamPool {
        StreamPool::new(&Bounds {
            h2_shared_max: 5,
            h2_shared_unknown_max: 3,
            h2_streams_unknown_max: 3,
            h2_frame_bytes_max: 4,
            ..Bounds::default()
        })
    }

    fn streams(pool: &StreamPool) -> Arc<ConnectionStreams> {
        Arc::new(ConnectionStreams::new(pool.clone()))
    }

    fn admitted(
        streams: &Arc<ConnectionStreams>,
        tries: usize,
        knows: bool,
    ) -> Vec<Arc<StreamPermit>> {
        (0..tries).filter_map(|_| streams.admit(|| knows)).collect()
    }

    #[test]
    fn a_connection_has_its_first_stream_whatever_others_hold() {
        let pool = pool();
        let [greedy, other, last] = std::array::from_fn(|_| streams(&pool));
        let held = admitted(&greedy, 100, true);
        assert_eq!(held.len(), 6);
        let first = admitted(&other, 100, true);
        assert_eq!(first.len(), 1);
        drop(first);
        assert_eq!(admitted(&other, 1, false).len(), 1, "its first place is free again");
        drop(held);
        assert_eq!(admitted(&last, 100, true).len(), 6);
        assert_eq!(pool.0.taken.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn without_a_key_a_connection_has_few_streams_and_all_together_a_part() {
        let pool = pool();
        let [one, other, known] = std::array::from_fn(|_| streams(&pool));
        let held = admitted(&one, 100, false);
        assert_eq!(held.len(), 3, "of one connection");
        let more = admitted(&other, 100, false);
        assert_eq!(more.len(), 2, "of all connections");
        assert_eq!(admitted(&known, 100, true).len(), 3, "the rest is for those with a key");
        drop((held, more));
        assert_eq!(pool.0.taken_by_unknown.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_key_that_was_shown_once_counts_for_the_connection() {
        let streams = streams(&pool());
        let held = admitted(&streams, 2, true);
        assert!(streams.is_known());
        assert_eq!(admitted(&streams, 100, false).len(), 4);
        drop(held);
    }

    #[test]
    fn an_answer_that_does_not_move_for_two_looks_is_stalled() {
        let streams = streams(&pool());
        let place = streams.admit(|| false).unwrap();
        assert!(!(0..9).any(|_| streams.look_is_stalled()), "there is no answer yet");
        for _ in 0..9 {
            place.moves();
            assert!(!streams.look_is_stalled());
        }
        assert!(streams.look_is_stalled());
        drop(place);
        assert!(!(0..9).any(|_| streams.look_is_stalled()));
        assert_eq!(streams.open(), 0);
    }

    #[tokio::test]
    async fn pieces_keep_the_place_until_they_are_gone() {
        let streams = streams(&pool());
        let place = streams.admit(|| false).unwrap();
        let mut body = PacedBody::new(Full::new(Bytes::from_static(b"ten bytes.")), place);
        assert_eq!(body.size_hint().exact(), Some(10));
        let mut pieces = Vec::new();
        while let Some(frame) = body.frame().await {
            pieces.push(frame.unwrap().into_data().unwrap());
        }
        assert!(body.is_end_stream());
        drop(body);
        assert_eq!(pieces, ["ten ", "byte", "s."]);
        pieces.pop();
        assert_eq!(streams.open(), 1);
        drop(pieces);
        assert_eq!(streams.open(), 0);
    }
}
