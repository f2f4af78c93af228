//! Requests: their lines in the log, their bodies, the counters of the rate limits.

use std::time::Duration;

use super::connections::{BODY_MAX, DRAIN_BODY_MAX};
use super::shares::{ADDRESS_SHARE, TENANT_SHARE};
use super::tokens::QUERY_BYTES_MAX;

/// Log lines that wait for a slow reader: half a mebibyte.
///
/// No share: the operator reads the log, not a caller; lines that find no room are counted and
/// dropped.
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
/// Memory for a body that every request has outside of the budget: a card and its parsed form take
/// half of it. It is counted in [`super::connections::REQUEST_BYTES`].
pub const BODY_BYTES_FREE: usize = 16 * 1024;
/// The budget of all bodies in flight beyond [`BODY_BYTES_FREE`]: a hundred of the largest texts,
/// or the parsed form of two costly ones. A body that finds too little left is answered 503.
///
/// Shares: address 1/8; no secret key 1/4; key as its tenant; tenant 1/2.
pub const BODIES_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The most that one body takes: small objects up to the maximum number of values, parsed.
pub const BODY_MEMORY_MAX: usize = BODY_BYTES_MAX + JSON_VALUES_MAX * JSON_OBJECT_BYTES;
/// The same as [`BODY_MEMORY_MAX`], for a caller without a secret key.
pub const BODY_MEMORY_STRANGER_MAX: usize =
    BODY_BYTES_MAX + JSON_VALUES_STRANGER_MAX * JSON_OBJECT_BYTES;
/// The rate, in bytes a second, at which a body that takes from the budget must arrive, after a
/// grace for the first round trips. A phone on a bad network sends faster.
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
/// Values of a JSON body, names of members included. Each may take two bytes of text, and costs a
/// hundred times that in memory and time; records about people have hundreds.
pub const JSON_VALUES_MAX: usize = 32 * 1024;
/// Values of a JSON body from a caller without a secret key, whose address has a small share of the
/// memory of all bodies. A form on a page has tens.
pub const JSON_VALUES_STRANGER_MAX: usize = 8 * 1024;
/// Bytes of a refused request's body that are read and thrown away. It is more than a legal body,
/// because bodies that are too large have to be drained.
pub const DRAIN_BODY_BYTES_MAX: usize = 4 * BODY_BYTES_MAX;

/// Mistakes of one body that are reported; a body can hold a hundred thousand.
pub const MISTAKES_MAX: usize = 100;
/// The path of one mistake, which may consist of names that the caller chose.
pub const MISTAKE_PATH_BYTES_MAX: usize = 256;

const _: () = assert!(DRAIN_BODY_MAX.as_secs() < BODY_MAX.as_secs());
// A form needs no budget, and a form of the largest parsed size can also be read.
const _: () = assert!(FORM_BYTES_MAX <= BODY_BYTES_FREE && QUERY_BYTES_MAX <= FORM_BYTES_MAX);
// On an idle server any single body finds its memory, within the share of its tenant or address.
const _: () = assert!(BODY_MEMORY_MAX <= BODIES_BYTES_MAX / TENANT_SHARE);
const _: () = assert!(BODY_MEMORY_STRANGER_MAX <= BODIES_BYTES_MAX / ADDRESS_SHARE);
// The rate is stricter than the deadline alone.
const _: () = assert!(BODY_RATE_GRACE.as_secs() + 16 < BODY_MAX.as_secs());
const _: () = assert!(BODY_BYTES_MAX <= 16 * 16 * 1024 && BODY_RATE_MIN >= 16 * 1024);

/// Rate-limit counters at a time. One request keeps a counter alive for at most 1.2 s (the slowest
/// refill of the table), so filling the table with live ones takes over 100,000 requests a second,
/// more than the process serves.
///
/// No share: idle counters make room for new ones.
pub const RATE_COUNTERS_MAX: usize = 1 << 17;
/// Counters that share one lock and its slots. A look-up reads at most this number.
pub const RATE_SET_COUNTERS_MAX: usize = 16;
/// Locks of the counter table.
///
/// No share: the locks of these counters.
pub const RATE_SETS: usize = RATE_COUNTERS_MAX / RATE_SET_COUNTERS_MAX;
/// Memory of the whole counter table.
///
/// No share: the memory of these counters.
pub const RATE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Requests read the clock before they queue for a counter, so they arrive slightly out of order. A
/// clock that is behind a counter by more than this was set back.
pub const RATE_CLOCK_SKEW_MAX: Duration = Duration::from_secs(1);

const _: () = assert!(RATE_SETS.is_power_of_two());
const _: () = assert!(RATE_SETS * RATE_SET_COUNTERS_MAX == RATE_COUNTERS_MAX);

/// Walks over large parts of the file that run at the same time: of requests (pages of logs and of
/// numbered lists), and the same number of the operator (exports, inventories, inspections). Each
/// holds a thread; a small number leaves the disk to other reads.
///
/// Shares: address as its tenant; no secret key 1/2; key as its tenant; tenant one while others
/// wait.
pub const WALKS_MAX: usize = 2;
/// Requests that wait for a walk; beyond them the answer is 503. A waiting request costs only its
/// own state, and the longest page of a log takes a few milliseconds.
///
/// Shares: address as its tenant; no secret key 1/2; key as its tenant; tenant 1/4.
pub const WALKS_WAITING_MAX: usize = 256;
