//! Connections: places, deadlines, buffers, the certificate.

use std::time::Duration;

use super::requests::{BODIES_BYTES_MAX, BODY_BYTES_FREE};
use super::threeds::{RESULTS_CONNECTIONS_MAX, RESULTS_SHARED_MAX};

/// Connections at a time. Each costs some 60 KiB when idle, and [`CONNECTION_BYTES`] and its requests
/// when misused.
pub const CONNECTIONS_MAX: usize = 4_096;
/// Connections of one address (of one /64 in IPv6) at a time. An office behind one address stays
/// below it; one machine cannot take every place.
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 256;
/// Connections that the kernel holds for us before they are accepted.
pub const BACKLOG_MAX: u32 = 1_024;
/// The pause after the first failure to accept for want of files or memory; it doubles up to
/// the maximum. The listener stays readable all the while, so without a pause the loop would spin.
pub const ACCEPT_PAUSE_MIN: Duration = Duration::from_millis(10);
pub const ACCEPT_PAUSE_MAX: Duration = Duration::from_secs(1);
/// A TLS handshake that takes longer is a scan or an attack; a phone on a bad network needs two
/// round trips and a few retransmissions.
pub const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// From the first byte of a request (or the end of the previous one) to its last header.
pub const HEADERS_MAX: Duration = Duration::from_secs(30);
/// From the last header to the last byte of the body.
pub const BODY_MAX: Duration = Duration::from_secs(30);
/// How long a refused request's body is read and thrown away, so that the client sees the answer
/// instead of a reset.
pub const DRAIN_BODY_MAX: Duration = Duration::from_secs(2);
/// How long a peer may leave what we wrote unread before the connection is given up. One buffer
/// holds 64 KiB, so this asks for 2 KiB a second.
pub const WRITE_MAX: Duration = Duration::from_secs(30);
/// After SIGTERM, how long a connection that was just accepted may take to begin its first request:
/// a handshake and a head from the other side of the world.
pub const FIRST_REQUEST_GRACE_MAX: Duration = Duration::from_secs(1);
/// Between SIGTERM and the end of whatever is still running.
pub const DRAIN_MAX: Duration = Duration::from_secs(20);
/// After that, how long tasks that were told to end are waited for.
pub const END_MAX: Duration = Duration::from_secs(1);
/// All header names and values of one request together, with the request line; the published
/// clients send under 2 KiB.
pub const HEADER_BYTES_MAX: usize = 16 * 1024;
/// Header lines of one request.
pub const HEADERS_COUNT_MAX: usize = 64;
/// What one HTTP/1 connection reads ahead, and what it buffers of answers, at most.
pub const H1_BUFFER_BYTES_MAX: usize = 64 * 1024;
/// Requests of one connection that are refused (4xx) in a row. Then the next one must show a key, or it
/// is the connection's last.
pub const REFUSALS_MAX: u32 = 48;
/// How long an HTTP/2 connection that was asked to go for its refusals may take to write its answers.
pub const SPENT_MAX: Duration = Duration::from_secs(10);
/// Concurrent HTTP/2 streams of one connection.
pub const H2_STREAMS_MAX: u32 = 64;
/// The same until one of its requests has shown a key.
pub const H2_STREAMS_UNKNOWN_MAX: u32 = 16;
/// Streams beyond the first of their connection, of all HTTP/2 connections together. The first one
/// always has its place, as a request of HTTP/1.1 has.
pub const H2_SHARED_MAX: usize = 4_096;
/// The part of these that connections without a key may hold.
pub const H2_SHARED_UNKNOWN_MAX: usize = 512;
/// How long a peer may leave an answer of HTTP/2 where it is. One piece of it is a frame of 16 KiB, so
/// this asks for 1.6 KiB a second.
pub const H2_UNREAD_MAX: Duration = Duration::from_secs(10);
/// HTTP/2 streams reset by the peer before we close the connection ("rapid reset").
pub const H2_RESETS_MAX: usize = 32;
/// HTTP/2 streams that we reset for the peer's mistakes before we close the connection.
pub const H2_MISTAKES_MAX: usize = 64;
/// From a stream's last header to the last byte of its answer. A peer that opens no window would
/// hold the answer forever; the longest honest request is a slow body and a slow commit.
pub const H2_STREAM_MAX: Duration = Duration::from_secs(90);
/// A connection without streams is closed after one to two of these.
pub const H2_IDLE_MAX: Duration = Duration::from_mins(1);
/// Silence after which we ask whether the peer is there, and how long it has to answer.
pub const H2_PING_AFTER: Duration = Duration::from_secs(20);
pub const H2_PING_MAX: Duration = Duration::from_secs(10);
/// Body bytes that a peer may send ahead of our reading: for one stream and for a connection.
pub const H2_STREAM_WINDOW_BYTES: u32 = 64 * 1024;
pub const H2_CONNECTION_WINDOW_BYTES: u32 = 256 * 1024;
/// The smallest that the protocol allows.
pub const H2_FRAME_BYTES_MAX: u32 = 16 * 1024;
/// Memory for compressing headers; the protocol's default.
pub const H2_HEADER_TABLE_BYTES: u32 = 4 * 1024;
/// Answer bytes buffered for one stream.
pub const H2_SEND_BYTES_MAX: usize = 64 * 1024;
/// Every so often the certificate's files are looked at. A change counts when it was seen twice
/// the same, so that a certificate is not read between its own two files.
pub const CERTIFICATE_CHECK_EVERY: Duration = Duration::from_secs(5);
/// A certificate with less left than this is worth a warning a day.
pub const CERTIFICATE_WARN_BEFORE: Duration = Duration::from_hours(14 * 24);
pub const CERTIFICATE_WARN_EVERY: Duration = Duration::from_hours(24);
/// A certificate file or key file; a chain of ten is 20 KiB.
pub const CERTIFICATE_BYTES_MAX: u64 = 1024 * 1024;
/// Refused connections are counted and logged at most this often.
pub const REFUSALS_LOGGED_EVERY: Duration = Duration::from_secs(10);

/// Requests in flight at a time: one for each connection, and the further streams of HTTP/2.
pub const REQUESTS_MAX: usize =
    CONNECTIONS_MAX + H2_SHARED_MAX + RESULTS_CONNECTIONS_MAX + RESULTS_SHARED_MAX;
/// What one request in flight holds at most, beyond the budget for large bodies and its own answer:
/// its head, the free part of its body, and the state of its operation (a test measures that).
pub const REQUEST_BYTES: usize = 2 * HEADER_BYTES_MAX + BODY_BYTES_FREE + OPERATION_BYTES_MAX;
/// The state of one request while it is answered, with its operation; and without it, as for one that
/// is refused.
pub const OPERATION_BYTES_MAX: usize = 16 * 1024;
pub const ANSWER_BYTES_MAX: usize = 8 * 1024;
/// The most that a connection holds beside its requests: the buffers of TLS and HTTP.
pub const CONNECTION_BYTES: usize = H1_BUFFER_BYTES_MAX + 32 * 1024;
/// An answer to a read that every request may have while it is written out.
pub const ANSWER_BYTES_FREE: usize = 32 * 1024;
/// Memory for all larger answers to reads together, until the clients have read them.
pub const ANSWERS_BYTES_MAX: usize = 32 * 1024 * 1024;
/// `Retry-After` of a read that finds this memory taken.
pub const ANSWERS_RETRY_AFTER_S: u64 = 1;
/// What all requests in flight and their connections hold at most, together, with their answers. The
/// shipped unit lets the process have twice as much (`MemoryMax=`).
pub const MEMORY_IN_FLIGHT_MAX: usize = 1024 * 1024 * 1024;

const _: () = assert!(
    REQUESTS_MAX * REQUEST_BYTES
        + BODIES_BYTES_MAX
        + ANSWERS_BYTES_MAX
        + (CONNECTIONS_MAX + RESULTS_CONNECTIONS_MAX) * CONNECTION_BYTES
        <= MEMORY_IN_FLIGHT_MAX
);
// A request whose answer is ready has given back its head, its body and its state.
const _: () = assert!(ANSWER_BYTES_FREE <= REQUEST_BYTES);
const _: () = assert!(H2_SHARED_UNKNOWN_MAX < H2_SHARED_MAX);
const _: () = assert!(H2_STREAMS_UNKNOWN_MAX < H2_STREAMS_MAX);
// A connection may use all its streams at once, and still not be the only one.
const _: () = assert!(64 * 8 <= H2_SHARED_MAX && H2_STREAMS_MAX <= 64);
const _: () = assert!(H2_UNREAD_MAX.as_secs() < H2_STREAM_MAX.as_secs());
const _: () = assert!(CONNECTIONS_PER_ADDRESS_MAX <= CONNECTIONS_MAX);
const _: () = assert!(FIRST_REQUEST_GRACE_MAX.as_secs() < DRAIN_MAX.as_secs());
// The protocol's parser must see a whole head before it runs out of buffer, or the answer to a
// large one would be a reset instead of a 431.
const _: () = assert!(HEADER_BYTES_MAX < H1_BUFFER_BYTES_MAX);
const _: () = assert!(H2_STREAM_WINDOW_BYTES <= H2_CONNECTION_WINDOW_BYTES);
const _: () = assert!(BODY_MAX.as_secs() < H2_STREAM_MAX.as_secs());
