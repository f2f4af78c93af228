//! Requests: their lines in the log, their bodies, the counters of the rate limits.

use std::time::Duration;

use super::connections::{BODY_MAX, DRAIN_BODY_MAX};
use super::shares::{ADDRESS_SHARE, TENANT_SHARE};
use super::tokens::QUERY_BYTES_MAX;

/// Log lines that wait for a slow reader: half a mebibyte.
///
/// No share: a slow reader of the log is the operator's, and lines that find no room are counted
/// and dropped.
pub const LOG_LINES_MAX: usize = 4_096;
/// Lines are written together until this many bytes have gathered.
pub const LOG_BATCH_BYTES: usize = 32 * 1024;
/// A trace id that a caller sends; it is echoed and logged.
pub const TRACE_BYTES_MAX: usize = 128;
/// The shortest card numbers have 12 digits; a trace id with 12 or more in a row is not logged.
pub const TRACE_DIGITS_MAX: usize = 12;

/// One request body. A token's data is a card or a record about a person, not a document.
pub const BODY_BYTES_MAX: usize = 256 * 1024;
/// A form that a browser posts on its way through 3-D Secure. The largest holds a challenge's
/// result and a shop's own kilobyte; forms are taken without a key.
pub const FORM_BYTES_MAX: usize = 16 * 1024;
/// Memory for a body that every request has outside the budget: a card and its parsed form take
/// half of it. It is counted in [`super::connections::REQUEST_BYTES`].
pub const BODY_BYTES_FREE: usize = 16 * 1024;
/// The budget of all bodies in flight beyond that: a hundred of the largest texts, or the parsed
/// form of two costly ones. A body that finds too little left is answered 503.
///
/// Shares: address 1/8; no secret key 1/4; key as its tenant; tenant 1/2.
pub const BODIES_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The most that one body takes: small objects up to the maximum number of values, parsed.
pub const BODY_MEMORY_MAX: usize = BODY_BYTES_MAX + JSON_VALUES_MAX * JSON_OBJECT_BYTES;
/// The same for a caller without a secret key.
pub const BODY_MEMORY_STRANGER_MAX: usize =
    BODY_BYTES_MAX + JSON_VALUES_STRANGER_MAX * JSON_OBJECT_BYTES;
/// A body that takes from the budget must arrive at this many bytes a second, after a grace for the
/// first round trips. A phone on a bad network sends more.
pub const BODY_RATE_MIN: u64 = 16 * 1024;
pub const BODY_RATE_GRACE: Duration = Duration::from_secs(5);
/// Memory of a parsed JSON value, at most: an item of a vector that has doubled, the text of a
/// number or a string, the smallest vector around a single item.
pub const JSON_VALUE_BYTES: usize = 240;
/// Memory of a parsed JSON object beyond its members: the smallest table, which has room for three.
pub const JSON_OBJECT_BYTES: usize = 400;
/// `Retry-After` of a request that found no memory for its body.
pub const BODY_RETRY_AFTER_S: u64 = 1;
/// Nesting of a JSON body. It is small enough for recursive functions.
pub const JSON_DEPTH_MAX: usize = 64;
/// Values of a JSON body, names of members included. Each costs a hundred times its two bytes in
/// memory and time; records about people have hundreds.
pub const JSON_VALUES_MAX: usize = 32 * 1024;
/// The same for a caller without a secret key, whose address has a small share of the memory of all
/// bodies. A form of a page has tens.
pub const JSON_VALUES_STRANGER_MAX: usize = 8 * 1024;
/// Bytes of a refused request's body that are read and thrown away. It is more than a legal body,
/// because bodies that are too large have to be drained.
pub const DRAIN_BODY_BYTES_MAX: usize = 4 * BODY_BYTES_MAX;

/// Mistakes of one body that are reported; a body can hold a hundred thousand.
pub const MISTAKES_MAX: usize = 100;
/// The path of one of them, which may consist of the caller's own names.
pub const MISTAKE_PATH_BYTES_MAX: usize = 256;

const _: () = assert!(DRAIN_BODY_MAX.as_secs() < BODY_MAX.as_secs());
// A form needs no budget, and what can be parsed of it can also be read.
const _: () = assert!(FORM_BYTES_MAX <= BODY_BYTES_FREE && QUERY_BYTES_MAX <= FORM_BYTES_MAX);
// Any single body finds its memory on an idle server, within the share of its tenant or its address.
const _: () = assert!(BODY_MEMORY_MAX <= BODIES_BYTES_MAX / TENANT_SHARE);
const _: () = assert!(BODY_MEMORY_STRANGER_MAX <= BODIES_BYTES_MAX / ADDRESS_SHARE);
// The rate asks for more than the deadline alone.
const _: () = assert!(BODY_RATE_GRACE.as_secs() + 16 < BODY_MAX.as_secs());
const _: () = assert!(BODY_BYTES_MAX <= 16 * 16 * 1024 && BODY_RATE_MIN >= 16 * 1024);

/// Rate-limit counters kept at once. One request keeps a counter alive for at most 1.2 s (the
/// slowest refill of the table), so filling this with live ones takes over 100,000 requests a
/// second, more than the process serves.
///
/// No share: idle counters make room for new ones.
pub const RATE_COUNTERS_MAX: usize = 1 << 17;
/// Counters that share one lock and its slots. One look-up reads at most this many.
pub const RATE_SET_COUNTERS_MAX: usize = 16;
/// Locks of the counter table.
///
/// No share: the same counters by their locks.
pub const RATE_SETS: usize = RATE_COUNTERS_MAX / RATE_SET_COUNTERS_MAX;
/// Memory of the whole counter table.
///
/// No share: the memory of these counters.
pub const RATE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Requests read the clock before they queue for a counter, so they come slightly out of order. A
/// clock that is further behind a counter than this was set back.
pub const RATE_CLOCK_SKEW_MAX: Duration = Duration::from_secs(1);

const _: () = assert!(RATE_SETS.is_power_of_two());
const _: () = assert!(RATE_SETS * RATE_SET_COUNTERS_MAX == RATE_COUNTERS_MAX);

/// Walks over large parts of the file that run at the same time: of requests (pages of logs and of
/// numbered lists), and as many of the operator (exports, inventories, inspections). Each holds a
/// thread, and few leave the disk to other reads.
///
/// Shares: address as its tenant; no secret key 1/2; key as its tenant; tenant one while others
/// wait.
pub const WALKS_MAX: usize = 2;
/// Requests that wait for a walk; beyond them the answer is 503. One that waits costs only its own
/// state, and the longest page of a log takes a few milliseconds.
///
/// Shares: address as its tenant; no secret key 1/2; key as its tenant; tenant 1/4.
pub const WALKS_WAITING_MAX: usize = 256;
