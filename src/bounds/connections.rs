//! Connections: places, deadlines, buffers, the certificate.

use std::time::Duration;

use super::console::{CONSOLE_CONNECTIONS_MAX, CONSOLE_SHARED_MAX};
use super::requests::{BODIES_BYTES_MAX, BODY_BYTES_FREE};
use super::threeds::{RESULTS_CONNECTIONS_MAX, RESULTS_SHARED_MAX};

/// Connections at a time. Each costs about 60 KiB when idle, and at most [`CONNECTION_BYTES`] and
/// the memory of its requests.
///
/// Shares: address 1/16; no secret key all, until others need the places; key as its tenant; tenant
/// 1/2, and more until others need them.
pub const CONNECTIONS_MAX: usize = 4_096;
/// Connections of one address (of one /64 in IPv6) at a time. An office behind one address stays
/// below it; a single machine cannot take all connections.
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 256;
/// While all places are taken, connections in their handshake keep one part in this number of them,
/// and connections that have sent no request yet keep another. Connections beyond these parts are
/// closed first.
pub const CONNECTIONS_BEGINNING_SHARE: usize = 16;
/// Connections that the kernel queues before they are accepted.
///
/// No share: the kernel queues connections for microseconds, before their addresses are counted.
pub const BACKLOG_MAX: u32 = 1_024;
/// The pause after a failure to accept, when files or memory run out; it doubles up to the maximum.
/// The listener stays readable, so without a pause the loop would spin.
pub const ACCEPT_PAUSE_MIN: Duration = Duration::from_millis(10);
pub const ACCEPT_PAUSE_MAX: Duration = Duration::from_secs(1);
/// A TLS handshake that takes longer is a scan or an attack; a phone on a bad network needs two
/// round trips and a few retransmissions.
pub const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// From the first byte of a request (or the end of the previous one) to its last header.
pub const HEADERS_MAX: Duration = Duration::from_secs(30);
/// From the last header to the last byte of the body.
pub const BODY_MAX: Duration = Duration::from_secs(30);
/// The time for which a refused request's body is read and dropped, so that the client sees the
/// answer instead of a reset.
pub const DRAIN_BODY_MAX: Duration = Duration::from_secs(2);
/// The time for which a connection that is closed for its frames may still read the reason.
pub const GOODBYE_MAX: Duration = Duration::from_secs(1);
/// The time for which a peer may leave our output unread before the connection is closed.
pub const WRITE_MAX: Duration = Duration::from_secs(30);
/// Bytes of an answer that a peer must take in a second, with [`WRITE_MAX`] and [`H2_UNREAD_MAX`]
/// as grace. A phone on a bad network takes more.
pub const ANSWER_RATE_MIN: usize = 4 * 1024;
/// After SIGTERM, the time in which a connection that was just accepted may begin its first
/// request: enough for a handshake and a request head over a slow link.
pub const FIRST_REQUEST_GRACE_MAX: Duration = Duration::from_secs(1);
/// From SIGTERM until the tasks that still run are dropped.
pub const DRAIN_MAX: Duration = Duration::from_secs(20);
/// The time after [`DRAIN_MAX`] in which dropped tasks end.
pub const END_MAX: Duration = Duration::from_secs(1);
/// The head of one request: its request line, header names and values. The published clients send
/// under 2 KiB.
pub const HEADER_BYTES_MAX: usize = 16 * 1024;
/// Header lines of one request.
pub const HEADERS_COUNT_MAX: usize = 64;
/// Bytes that one HTTP/1 connection reads ahead, and bytes of answers that it buffers.
pub const H1_BUFFER_BYTES_MAX: usize = 64 * 1024;
/// Requests of one connection that are refused (4xx) in a row. The next one must show a known key,
/// or the connection is closed after it.
pub const REFUSALS_MAX: u32 = 48;
/// The time in which an HTTP/2 connection that is closed for its refusals may still write answers.
pub const SPENT_MAX: Duration = Duration::from_secs(10);
/// Concurrent HTTP/2 streams of one connection.
pub const H2_STREAMS_MAX: u32 = 64;
/// Streams of a connection none of whose requests has shown a known key yet.
pub const H2_STREAMS_UNKNOWN_MAX: u32 = 16;
/// Streams of all HTTP/2 connections together, beyond the first stream of each connection. The
/// first one is always admitted, like a request of HTTP/1.1. An eighth is reserved for connections
/// that have shown a secret key; the shares divide the other seven eighths.
///
/// Shares: address 1/8; no secret key 1/4; key as its tenant; tenant 1/2.
pub const H2_SHARED_MAX: usize = 4_096;
/// The time in which a peer must take the next frame of an HTTP/2 answer.
pub const H2_UNREAD_MAX: Duration = Duration::from_secs(10);
/// The time that half of an HTTP/2 frame takes at [`ANSWER_RATE_MIN`].
pub const H2_HALF_FRAME_MAX: Duration = Duration::from_secs(2);
/// HTTP/2 streams reset by the peer before we close the connection ("rapid reset").
pub const H2_RESETS_MAX: usize = 32;
/// HTTP/2 streams that we reset for the peer's mistakes before we close the connection.
pub const H2_MISTAKES_MAX: usize = 64;
/// HTTP/2 frames that serve no request, such as PING, SETTINGS and resets, before we close the
/// connection, and the time after which it may send the same number again. Requests and the bytes
/// of their answers allow more. Handling them takes about as long as one TLS handshake.
pub const H2_CONTROL_FRAMES_MAX: u32 = 1_000;
pub const H2_CONTROL_REFILL_AFTER: Duration = Duration::from_secs(10);
/// From a stream's last header to the last byte of its answer. A peer that opens no window would
/// hold the answer forever; the longest honest request is a slow body and a slow commit.
pub const H2_STREAM_MAX: Duration = Duration::from_secs(90);
/// A connection without streams is closed after one to two times this.
pub const H2_IDLE_MAX: Duration = Duration::from_mins(1);
/// Silence after which the server sends a PING, and the deadline of the answer to it.
pub const H2_PING_AFTER: Duration = Duration::from_secs(20);
pub const H2_PING_MAX: Duration = Duration::from_secs(10);
/// Flow-control windows: body bytes that a peer may send ahead of our reading.
pub const H2_STREAM_WINDOW_BYTES: u32 = 64 * 1024;
pub const H2_CONNECTION_WINDOW_BYTES: u32 = 256 * 1024;
/// The smallest maximum that the protocol allows.
pub const H2_FRAME_BYTES_MAX: u32 = 16 * 1024;
/// The table of header compression; the protocol's default.
pub const H2_HEADER_TABLE_BYTES: u32 = 4 * 1024;
/// Answer bytes buffered for one stream.
pub const H2_SEND_BYTES_MAX: usize = 64 * 1024;
/// The time between two checks of the certificate's files. A change counts when two checks in a row
/// see the same, so that the certificate is not read while only one of its two files is new.
pub const CERTIFICATE_CHECK_EVERY: Duration = Duration::from_secs(5);
/// A warning is logged once a day when the certificate expires within this time.
pub const CERTIFICATE_WARN_BEFORE: Duration = Duration::from_hours(14 * 24);
pub const CERTIFICATE_WARN_EVERY: Duration = Duration::from_hours(24);
/// A certificate file or key file; a chain of ten is 20 KiB.
pub const CERTIFICATE_BYTES_MAX: u64 = 1024 * 1024;
/// The time between two log lines about refused connections.
pub const REFUSALS_LOGGED_EVERY: Duration = Duration::from_secs(10);

/// Requests in flight at a time: one for each connection, and the further streams of HTTP/2.
///
/// No share: the sum of connections and streams, which have theirs.
pub const REQUESTS_MAX: usize = CONNECTIONS_MAX
    + H2_SHARED_MAX
    + RESULTS_CONNECTIONS_MAX
    + RESULTS_SHARED_MAX
    + CONSOLE_CONNECTIONS_MAX
    + CONSOLE_SHARED_MAX;
/// Memory of one request in flight, at most, without the budget for large bodies and without its
/// answer: its head, the free part of its body, and the state of its operation (a test measures
/// that).
pub const REQUEST_BYTES: usize = 2 * HEADER_BYTES_MAX + BODY_BYTES_FREE + OPERATION_BYTES_MAX;
/// Memory of the future that answers a request: with its operation, and without it for a refused
/// request.
pub const OPERATION_BYTES_MAX: usize = 16 * 1024;
pub const ANSWER_BYTES_MAX: usize = 4 * 1024;
/// Memory of a connection beside its requests, at most: the buffers of TLS and HTTP.
pub const CONNECTION_BYTES: usize = H1_BUFFER_BYTES_MAX + 32 * 1024;
/// Memory for the answer to a read that every request has outside of the budget.
pub const ANSWER_BYTES_FREE: usize = 32 * 1024;
/// The budget of all larger answers to reads, until the clients have read them. Bytes are given
/// back in pieces as they are written.
///
/// Shares: address 1/8; no secret key 1/4; key as its tenant; tenant 1/2.
pub const ANSWERS_BYTES_MAX: usize = 32 * 1024 * 1024;
/// A piece of a large answer. Each is its own allocation, so that a part of the answer can be
/// freed.
pub const ANSWER_PIECE_BYTES: usize = 64 * 1024;
/// `Retry-After` of a read that finds no room in [`ANSWERS_BYTES_MAX`].
pub const ANSWERS_RETRY_AFTER_S: u64 = 1;
/// Memory of all requests in flight, their connections and their answers, at most. The shipped unit
/// allows the process twice this (`MemoryMax=`).
///
/// No share: the sum of parts that have theirs.
pub const MEMORY_IN_FLIGHT_MAX: usize = 1024 * 1024 * 1024;

const _: () = assert!(
    REQUESTS_MAX * REQUEST_BYTES
        + BODIES_BYTES_MAX
        + ANSWERS_BYTES_MAX
        + (CONNECTIONS_MAX + RESULTS_CONNECTIONS_MAX + CONSOLE_CONNECTIONS_MAX) * CONNECTION_BYTES
        <= MEMORY_IN_FLIGHT_MAX
);
// A request whose answer is ready has freed its head, its body and its future.
const _: () = assert!(ANSWER_BYTES_FREE <= REQUEST_BYTES);
const _: () = assert!(H2_STREAMS_UNKNOWN_MAX < H2_STREAMS_MAX);
// A connection may use all its streams at once, and still not be the only one.
const _: () = assert!(64 * 8 <= H2_SHARED_MAX && H2_STREAMS_MAX <= 64);
const _: () = assert!(H2_UNREAD_MAX.as_secs() < H2_STREAM_MAX.as_secs());
const _: () = assert!(H2_HALF_FRAME_MAX.as_secs() == 2 && ANSWER_RATE_MIN * 4 == 16 * 1024);
const _: () = assert!(H2_FRAME_BYTES_MAX == 16 * 1024);
const _: () = assert!(CONNECTIONS_PER_ADDRESS_MAX <= CONNECTIONS_MAX);
const _: () = assert!(FIRST_REQUEST_GRACE_MAX.as_secs() < DRAIN_MAX.as_secs());
// hyper must see a whole head before its buffer is full.
const _: () = assert!(HEADER_BYTES_MAX < H1_BUFFER_BYTES_MAX);
const _: () = assert!(H2_STREAM_WINDOW_BYTES <= H2_CONNECTION_WINDOW_BYTES);
const _: () = assert!(BODY_MAX.as_secs() < H2_STREAM_MAX.as_secs());
