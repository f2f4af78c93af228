//! Requests: their lines in the log, their bodies, the counters of the rate limits.

use std::time::Duration;

use super::{BODY_MAX, DRAIN_BODY_MAX};

/// Lines that wait for a slow reader of the log; half a mebibyte.
pub const LOG_LINES_MAX: usize = 4_096;
/// Lines are written together until this many bytes have gathered.
pub const LOG_BATCH_BYTES: usize = 32 * 1024;
/// A trace id that a caller brings along; it is echoed and logged.
pub const TRACE_BYTES_MAX: usize = 128;
/// The shortest card numbers have 12 digits; a trace id with as many in a row is not logged.
pub const TRACE_DIGITS_MAX: usize = 12;

/// One request body. A token's data is a card or a record about a person, not a document.
pub const BODY_BYTES_MAX: usize = 256 * 1024;
/// Nesting of a JSON body, so that what walks it may recurse.
pub const JSON_DEPTH_MAX: usize = 64;
/// Bytes of a refused request's body that are read and thrown away. More than a legal body, since
/// it is the one that is too large that has to be drained.
pub const DRAIN_BODY_BYTES_MAX: usize = 4 * BODY_BYTES_MAX;

/// Mistakes of one body that are reported; a body can hold a hundred thousand.
pub const MISTAKES_MAX: usize = 100;
/// The path of one of them, which may consist of the caller's own names.
pub const MISTAKE_PATH_BYTES_MAX: usize = 256;

const _: () = assert!(DRAIN_BODY_MAX.as_secs() < BODY_MAX.as_secs());

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
/// Requests read the clock before they queue for a counter, so they come slightly out of order. A
/// clock that is further behind a counter than this was set back.
pub const RATE_CLOCK_SKEW_MAX: Duration = Duration::from_secs(1);

const _: () = assert!(RATE_SETS.is_power_of_two());
const _: () = assert!(RATE_SETS * RATE_SET_COUNTERS_MAX == RATE_COUNTERS_MAX);
