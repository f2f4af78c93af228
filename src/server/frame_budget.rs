//! Counts the frames of an HTTP/2 connection that are not part of a request that is served: PING,
//! SETTINGS, resets, window updates, empty DATA, heads that the HTTP/2 library refuses by itself.
//!
//! The library answers or processes all of them for as long as the peer sends them, and has a
//! maximum for few kinds. No rate limit counts them. So a connection has a budget for frames, which
//! its requests, the bytes that it reads and time fill up again. A connection without budget is
//! closed.
//!
//! The peer is a client, or a destination of our own requests. A destination may also send interim
//! heads (1xx) before the head of an answer. The library keeps them, decoded, until the stream is
//! read, so the heads of each stream are counted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::bounds::{OUTBOUND_STREAM_HEADS_MAX, OUTBOUND_STREAMS_MAX};
use crate::server::bounds::Bounds;

/// RFC 9113, 3.4: the client's first bytes.
const PREFACE_BYTES: u32 = 24;
/// RFC 9113, 4.1: length (3), type, flags, stream (4).
const HEAD_BYTES: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const CONTINUATION: u8 = 9;
/// A flag of HEADERS.
const END_STREAM: u8 = 1;

/// The budget that a request adds: for its head, trailers, two window updates and a PING, with
/// heads of up to two KiB.
const REQUEST_GAIN: u32 = 8;
/// A client's reset discards the work for its request, so it costs more than the request added.
const RESET_COST: u32 = 10;
/// Bytes of a compressed head at the cost of one frame. Each byte may encode a whole header.
const HEAD_BYTES_PER_COST: u32 = 1_024;
/// SETTINGS may change the windows of all streams.
const SETTINGS_COST: u32 = 4;
/// Bytes written to the peer for which it may send two window updates.
const BYTES_PER_GAIN: usize = 4_096;
const BYTES_GAIN: u32 = 2;

/// Counts the requests of a connection that are served or sent, for its [`FrameBudget`].
#[derive(Debug, Clone, Default)]
pub struct ServedRequests(Arc<AtomicU32>);

impl ServedRequests {
    pub fn add(&self) {
        // It cannot wrap: the budget takes the count with every frame.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn take(&self) -> u32 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

#[derive(Debug)]
pub struct FrameBudget {
    /// Bytes of the preface or of a payload that have not arrived yet.
    skipped: u32,
    head: [u8; HEAD_BYTES],
    head_bytes: usize,
    left: u32,
    max: u32,
    refill_after: Duration,
    full_at: Instant,
    served: ServedRequests,
    /// Written bytes that have not added to the budget yet.
    written: usize,
    /// Only for a destination.
    heads: Option<StreamHeads>,
}

/// The heads of each stream that has not ended, by its number.
#[derive(Debug, Default)]
struct StreamHeads(BTreeMap<u32, usize>);

impl StreamHeads {
    /// Returns whether the stream may have one more head.
    fn add(&mut self, stream: u32, flags: u8) -> bool {
        let heads = self.0.entry(stream).or_default();
        *heads = heads.saturating_add(1);
        let is_allowed = *heads <= OUTBOUND_STREAM_HEADS_MAX;
        if flags & END_STREAM != 0 {
            self.0.remove(&stream);
        }
        // Streams that were reset are never removed. The library ignores frames on old ones.
        if self.0.len() > 2 * OUTBOUND_STREAMS_MAX {
            self.0.pop_first();
        }
        is_allowed
    }
}

impl FrameBudget {
    /// The budget of a client.
    pub(super) fn new(bounds: &Bounds, served: ServedRequests) -> Self {
        Self {
            skipped: PREFACE_BYTES,
            head: [0; HEAD_BYTES],
            head_bytes: 0,
            left: bounds.h2_control_frames_max,
            max: bounds.h2_control_frames_max,
            refill_after: bounds.h2_control_refill_after,
            full_at: Instant::now(),
            served,
            written: 0,
            heads: None,
        }
    }

    /// The budget of a destination that we send requests to. Only clients send a preface.
    pub fn of_destination(sent: ServedRequests) -> Self {
        let heads = Some(StreamHeads::default());
        Self { skipped: 0, heads, ..Self::new(&Bounds::default(), sent) }
    }

    /// Follows bytes of the peer. Returns whether the connection may continue.
    pub fn follow(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            if self.skipped > 0 {
                let skipped = usize::try_from(self.skipped).unwrap_or(usize::MAX).min(bytes.len());
                bytes = bytes.get(skipped..).unwrap_or_default();
                let skipped = u32::try_from(skipped).unwrap_or(u32::MAX);
                self.skipped = self.skipped.saturating_sub(skipped);
                continue;
            }
            let missing = HEAD_BYTES.saturating_sub(self.head_bytes).min(bytes.len());
            let (new, rest) = bytes.split_at_checked(missing).unwrap_or((bytes, &[]));
            for (to, from) in self.head.iter_mut().skip(self.head_bytes).zip(new) {
                *to = *from;
            }
            self.head_bytes = self.head_bytes.saturating_add(new.len());
            bytes = rest;
            if self.head_bytes == HEAD_BYTES && !self.count_frame() {
                return false;
            }
        }
        true
    }

    pub fn wrote(&mut self, bytes: usize) {
        self.written = self.written.saturating_add(bytes);
        while self.written >= BYTES_PER_GAIN {
            self.written = self.written.saturating_sub(BYTES_PER_GAIN);
            self.gain(BYTES_GAIN);
        }
    }

    fn count_frame(&mut self) -> bool {
        let [one, two, three, kind, flags, stream @ ..] = self.head;
        self.head_bytes = 0;
        self.skipped = u32::from_be_bytes([0, one, two, three]);
        if kind == HEADERS
            && let Some(heads) = &mut self.heads
            && !heads.add(u32::from_be_bytes(stream), flags)
        {
            return false;
        }
        let cost = match kind {
            // The HTTP/2 library has a maximum for small frames.
            DATA if self.skipped > 0 => return true,
            HEADERS | CONTINUATION => {
                let more = self.skipped.checked_div(HEAD_BYTES_PER_COST).unwrap_or(0);
                more.saturating_add(1)
            }
            RST_STREAM if self.heads.is_none() => RESET_COST,
            SETTINGS => SETTINGS_COST,
            _ => 1,
        };
        self.spend(cost)
    }

    fn gain(&mut self, gain: u32) {
        self.left = self.left.saturating_add(gain).min(self.max);
    }

    fn spend(&mut self, cost: u32) -> bool {
        self.gain(self.served.take().saturating_mul(REQUEST_GAIN));
        if self.left < cost {
            self.refill();
        }
        let left = self.left.checked_sub(cost);
        self.left = left.unwrap_or(0);
        left.is_some()
    }

    /// Fills the budget if enough time has passed since it was full. The clock is read only when
    /// the budget is spent.
    fn refill(&mut self) {
        let now = Instant::now();
        if now.duration_since(self.full_at) >= self.refill_after {
            self.full_at = now;
            self.left = self.max;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u32 = 100;
    const PING: u8 = 6;

    fn budget() -> FrameBudget {
        let bounds = Bounds {
            h2_control_frames_max: MAX,
            // Longer than the test takes, on any machine.
            h2_control_refill_after: Duration::from_secs(1_000),
            ..Bounds::default()
        };
        let mut budget = FrameBudget::new(&bounds, ServedRequests::default());
        assert!(budget.follow(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
        budget
    }

    fn frame(kind: u8, payload: usize) -> Vec<u8> {
        let length = u32::try_from(payload).unwrap().to_be_bytes();
        let mut frame = vec![length[1], length[2], length[3], kind, 0, 0, 0, 0, 1];
        // Payloads hold the heads of resets, which count only if they are taken for frames.
        frame.extend([0, 0, 4, RST_STREAM, 0, 0, 0, 0, 1].iter().cycle().take(payload));
        frame
    }

    /// Checks how often a new budget lets these frames through, in pieces of this many bytes. A
    /// request is served before them, or not.
    #[track_caller]
    fn check(frames: &[Vec<u8>], served: bool, piece: usize, admitted: usize) {
        let mut budget = budget();
        let admits = |budget: &mut FrameBudget| {
            if served {
                budget.served.add();
            }
            frames.concat().chunks(piece).all(|part| budget.follow(part))
        };
        let found = (0..10_000).take_while(|_| admits(&mut budget)).count();
        assert_eq!(found, admitted, "{frames:?} in pieces of {piece}");
    }

    #[test]
    fn frames_without_a_request_are_counted_by_their_cost_however_they_are_cut() {
        for piece in [1, 2, 8, 9, 10, 16, 17, 4_096] {
            check(&[frame(PING, 8)], false, piece, 100);
            check(&[frame(SETTINGS, 6)], false, piece, 25);
            check(&[frame(SETTINGS, 0)], false, piece, 25);
            check(&[frame(RST_STREAM, 4)], false, piece, 10);
            check(&[frame(8, 4)], false, piece, 100);
            check(&[frame(2, 5)], false, piece, 100);
            check(&[frame(0x77, 300)], false, piece, 100);
            check(&[frame(DATA, 0)], false, piece, 100);
            // Heads that the library refuses.
            check(&[frame(HEADERS, 30)], false, piece, 100);
            check(&[frame(HEADERS, 16_000)], false, piece, 6);
            check(&[frame(CONTINUATION, 16_000)], false, piece, 6);
            // Rapid reset: a request and its reset, before and after it is served.
            let reset = [frame(HEADERS, 30), frame(RST_STREAM, 4)];
            check(&reset, false, piece, 9);
            check(&reset, true, piece, 30);
        }
    }

    #[test]
    fn requests_and_their_answers_never_use_a_budget_up() {
        let more = [frame(8, 4), frame(8, 4), frame(PING, 8), frame(HEADERS, 20)];
        let request = [vec![frame(HEADERS, 2_000), frame(DATA, 200)], more.to_vec()].concat();
        check(&request, true, 64, 10_000);
        check(&[frame(DATA, 20_000)], false, 4_096, 10_000);
        let mut budget = budget();
        for _ in 0..10_000 {
            budget.wrote(1_000);
            budget.wrote(3_096);
            assert!(budget.follow(&frame(8, 4)) && budget.follow(&frame(8, 4)));
        }
    }

    /// The budget of a destination to which one request was sent.
    fn destination() -> FrameBudget {
        let sent = ServedRequests::default();
        sent.add();
        FrameBudget::of_destination(sent)
    }

    #[test]
    fn a_stream_of_a_destination_has_few_heads_and_others_have_their_own() {
        let head = |stream: u8, flags: u8| vec![0, 0, 1, HEADERS, flags, 0, 0, 0, stream, 0x88];
        let mut budget = destination();
        for stream in [1, 3, 5] {
            assert!((0..OUTBOUND_STREAM_HEADS_MAX).all(|_| budget.follow(&head(stream, 4))));
        }
        assert!(!budget.follow(&head(3, 4)));
        // Streams that end are forgotten, whatever their number.
        let mut budget = destination();
        for _ in 0..200 {
            budget.served.add();
            assert!(budget.follow(&head(1, 4)) && budget.follow(&head(1, 5)));
        }
        assert!(budget.heads.unwrap().0.is_empty());
        let mut budget = destination();
        for stream in 0..=255 {
            assert!(budget.follow(&head(stream, 4)));
        }
        assert_eq!(budget.heads.unwrap().0.len(), 2 * OUTBOUND_STREAMS_MAX);
    }

    #[test]
    fn frames_of_a_destination_that_belong_to_no_answer_are_counted() {
        let admitted = |kind: u8, payload: usize| {
            let mut budget = destination();
            (0..10_000).take_while(|_| budget.follow(&frame(kind, payload))).count()
        };
        for (kind, payload, expected) in [
            (PING, 8, 1_000),
            (SETTINGS, 6, 250),
            (2, 5, 1_000),
            (8, 4, 1_000),
            (0x77, 16_000, 1_000),
            (RST_STREAM, 4, 1_000),
            (CONTINUATION, 1, 1_000),
            (DATA, 0, 1_000),
            (DATA, 1, 10_000),
            (HEADERS, 30, OUTBOUND_STREAM_HEADS_MAX),
        ] {
            assert_eq!(admitted(kind, payload), expected, "{kind}");
        }
    }

    #[test]
    fn time_fills_a_budget_up_once() {
        let mut budget = budget();
        let spend = |budget: &mut FrameBudget| {
            // A frame that was refused is not followed to its end.
            budget.skipped = 0;
            (0..1_000).take_while(|_| budget.follow(&frame(PING, 8))).count()
        };
        assert_eq!(spend(&mut budget), 100);
        budget.full_at = budget.full_at.checked_sub(Duration::from_secs(500)).unwrap();
        assert_eq!(spend(&mut budget), 0);
        budget.full_at = budget.full_at.checked_sub(Duration::from_secs(500)).unwrap();
        assert_eq!(spend(&mut budget), 100);
        assert_eq!(spend(&mut budget), 0);
    }
}
