//! Requests to destinations outside: proxies, webhooks and directory servers.

use std::time::Duration;

use super::connections::{CONNECTION_BYTES, H1_BUFFER_BYTES_MAX};
use super::names::NAME_LOOKUP_MAX;

/// Requests to destinations in flight at a time. A destination may take half a minute to answer, so
/// a thousand slow ones must leave room for others.
///
/// Shares: address and key as their tenant; no secret key 1/2; tenant half of the places that other
/// tenants have left, its callers with no secret key half of those that such callers have left.
pub const OUTBOUND_REQUESTS_MAX: usize = 2_048;
/// Requests that wait for one of these places.
///
/// Shares: address and key as their tenant; no secret key 1/2; tenant 1/4.
pub const OUTBOUND_WAITING_MAX: usize = 8_192;
/// Requests in flight to one destination (tenant, host, port and client certificate): a slow one
/// takes no more than an eighth of all places.
pub const OUTBOUND_REQUESTS_PER_DESTINATION_MAX: usize = 256;
/// The time for which a request waits for a place. Longer waits would only move the queue of a slow
/// destination into this process.
pub const OUTBOUND_WAIT_MAX: Duration = Duration::from_secs(3);
/// The name, the connection and the TLS handshake together. Each address has a share of it.
pub const OUTBOUND_CONNECT_MAX: Duration = Duration::from_secs(5);
/// From the request to the head of its answer, for callers that allow more time for the whole
/// answer.
pub const OUTBOUND_FIRST_BYTE_MAX: Duration = Duration::from_mins(1);
/// The time in which a connection without requests may write its last bytes before it is dropped.
pub const OUTBOUND_CLOSE_MAX: Duration = Duration::from_secs(2);
/// Idle connections that are kept, in total and for each destination. Of 64 requests at a time up to
/// 64 end in the same moment: with 32 kept, handshakes took 6% of the processor time of the calls.
///
/// Shares: address as its tenant; no secret key as its tenant; key as its tenant; tenant 1/4 for
/// each destination; a request without an idle connection makes a new one.
pub const OUTBOUND_IDLE_MAX: usize = 256;
pub const OUTBOUND_IDLE_PER_DESTINATION_MAX: usize = 64;
/// The time for which an idle connection is kept. Common servers close idle ones after 60 seconds
/// or more, or announce a shorter time, which is then used. A request that is sent as the server
/// closes is lost.
pub const OUTBOUND_IDLE_TIME_MAX: Duration = Duration::from_secs(30);
/// An announced time is shortened by this, since the announcement and the next request take time
/// too.
pub const OUTBOUND_IDLE_MARGIN: Duration = Duration::from_secs(1);
/// The time between two sweeps of idle connections.
pub const OUTBOUND_SWEEP_PERIOD: Duration = Duration::from_secs(5);
/// The time in which a kept connection must be ready for its next request. It may still be sending
/// the rest of its last one.
pub const OUTBOUND_READY_MAX: Duration = Duration::from_millis(100);
/// Concurrent requests on one HTTP/2 connection, if the destination allows them.
pub const OUTBOUND_STREAMS_MAX: usize = 64;
/// HTTP/2 connections of one destination that are shared by its requests.
pub const OUTBOUND_SHARED_MAX: usize = 8;
/// The head of an answer, and its header lines.
pub const OUTBOUND_HEADER_BYTES_MAX: usize = 32 * 1024;
pub const OUTBOUND_HEADERS_COUNT_MAX: usize = 128;
/// Bytes of TLS without a byte of HTTP: a handshake has 64 KiB of certificates at most.
pub const OUTBOUND_TLS_BYTES_MAX: u64 = 256 * 1024;
/// Heads of one HTTP/2 stream: the answer's head, its trailers and a few interim answers (1xx),
/// which a server could send without end. Each head may take six times
/// [`OUTBOUND_HEADER_BYTES_MAX`] when it is decoded, until the answer is read.
pub const OUTBOUND_STREAM_HEADS_MAX: usize = 6;
/// Bytes that are read on HTTP/1.1 before the head of an answer is complete. They include interim
/// answers (1xx), which a server could send without end.
pub const OUTBOUND_BEFORE_HEAD_BYTES_MAX: u64 = 128 * 1024;
/// Bytes that are read on HTTP/1.1 beyond twice the delivered body: buffers that are read ahead,
/// and the sizes of chunks, which may have any number of zeros.
pub const OUTBOUND_BODY_BYTES_AHEAD: u64 = 512 * 1024;
/// The pieces in which an answer may arrive: chunks of HTTP/1.1, frames of HTTP/2. Each costs more
/// than a microsecond, so an answer of 4 MiB costs a tenth of a second at worst. Servers that send
/// an answer line by line have longer pieces, or fewer of them.
pub const OUTBOUND_ANSWER_FRAMES_FREE: usize = 4_096;
pub const OUTBOUND_ANSWER_BYTES_PER_FRAME: usize = 64;
/// Memory of an answer that every request has outside of the budget.
pub const OUTBOUND_ANSWER_BYTES_FREE: usize = 16 * 1024;
/// The budget of all larger answers while they arrive.
///
/// Shares: address as its tenant; no secret key 1/2; key as its tenant; tenant 1/4.
pub const OUTBOUND_ANSWERS_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The part of it that one tenant may take, so that its slow and large answers leave room for
/// others. Callers without a secret key have half of both.
pub const OUTBOUND_TENANT_ANSWERS_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Entries of `outbound.allow`.
pub const OUTBOUND_ALLOWED_MAX: usize = 256;
/// Memory of all connections to destinations and of their answers, at most. It comes in addition to
/// [`super::MEMORY_IN_FLIGHT_MAX`]; the shipped unit allows both.
///
/// No share: the sum of parts that have theirs.
pub const MEMORY_OUTBOUND_MAX: usize = 384 * 1024 * 1024;

const _: () = assert!(
    (OUTBOUND_REQUESTS_MAX + OUTBOUND_IDLE_MAX) * CONNECTION_BYTES
        + OUTBOUND_REQUESTS_MAX * (OUTBOUND_HEADER_BYTES_MAX + OUTBOUND_ANSWER_BYTES_FREE)
        + OUTBOUND_ANSWERS_BYTES_MAX
        <= MEMORY_OUTBOUND_MAX
);
const _: () = assert!(OUTBOUND_REQUESTS_PER_DESTINATION_MAX * 8 <= OUTBOUND_REQUESTS_MAX);
const _: () = assert!(OUTBOUND_TENANT_ANSWERS_BYTES_MAX * 4 <= OUTBOUND_ANSWERS_BYTES_MAX);
const _: () = assert!(
    OUTBOUND_BEFORE_HEAD_BYTES_MAX >= 4 * 32 * 1024 && OUTBOUND_HEADER_BYTES_MAX <= 32 * 1024
);
const _: () =
    assert!(OUTBOUND_BODY_BYTES_AHEAD >= 4 * 64 * 1024 && H1_BUFFER_BYTES_MAX <= 64 * 1024);
const _: () = assert!(OUTBOUND_IDLE_PER_DESTINATION_MAX * 4 <= OUTBOUND_IDLE_MAX);
const _: () = assert!(NAME_LOOKUP_MAX.as_secs() < OUTBOUND_CONNECT_MAX.as_secs());
const _: () = assert!(super::names::NAME_LOOKUPS_MAX >= OUTBOUND_REQUESTS_MAX);
