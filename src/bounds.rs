//! Every maximum of the program, with its reason, and what must hold between them.
//!
//! Nothing grows without a name here. A new bound comes with the test that hits it.

use std::time::Duration;

// --- Connections -------------------------------------------------------------------------------

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
/// Between SIGTERM and the end of whatever is still running.
pub const DRAIN_MAX: Duration = Duration::from_secs(20);
/// All header names and values of one request together; the published clients send under 2 KiB.
pub const HEADER_BYTES_MAX: usize = 16 * 1024;
/// Header lines of one request.
pub const HEADERS_COUNT_MAX: usize = 64;
/// Concurrent HTTP/2 streams of one connection.
pub const H2_STREAMS_MAX: u32 = 64;
/// HTTP/2 streams reset by the peer before we close the connection ("rapid reset").
pub const H2_RESETS_MAX: usize = 32;

// --- Bodies ------------------------------------------------------------------------------------

/// One request body. A token's data is a card or a record about a person, not a document.
pub const BODY_BYTES_MAX: usize = 256 * 1024;
/// Bytes of a refused request's body that are read and thrown away.
pub const DRAIN_BODY_BYTES_MAX: usize = BODY_BYTES_MAX;
/// Nesting of a JSON body; `serde_json` itself stops at 128.
pub const JSON_DEPTH_MAX: usize = 64;

const _: () = assert!(DRAIN_BODY_BYTES_MAX <= BODY_BYTES_MAX);
const _: () = assert!(DRAIN_BODY_MAX.as_secs() < BODY_MAX.as_secs());

// --- Expressions -------------------------------------------------------------------------------

// --- Limits ------------------------------------------------------------------------------------

/// Rate-limit counters kept at once. One request keeps a counter alive for at most 1.2 s (the
/// slowest refill of the table), so filling this with live ones takes over 100,000 requests a
/// second, more than the process serves.
pub const RATE_COUNTERS_MAX: usize = 1 << 17;
/// Counters that share one lock and compete for its places; what one look-up may have to read.
pub const RATE_SET_COUNTERS_MAX: usize = 16;
/// Locks of the counter table.
pub const RATE_SETS: usize = RATE_COUNTERS_MAX / RATE_SET_COUNTERS_MAX;
/// The whole counter table, however many addresses come.
pub const RATE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The largest factor of a tenant's `rate_limit` quota; up to here the arithmetic is exact.
pub const RATE_SCALE_MAX: u32 = 1_000;
/// Requests read the clock before they queue for a counter, so they come slightly out of order. A
/// clock that is further behind a counter than this was set back.
pub const RATE_CLOCK_SKEW_MAX: Duration = Duration::from_secs(1);

const _: () = assert!(RATE_SETS.is_power_of_two());
const _: () = assert!(RATE_SETS * RATE_SET_COUNTERS_MAX == RATE_COUNTERS_MAX);

// --- Cards -------------------------------------------------------------------------------------
