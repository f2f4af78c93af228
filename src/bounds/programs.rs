//! Programs of tenants: reactors, code transforms, and the requests that they make.

use std::time::Duration;

use super::connections::{ANSWERS_BYTES_MAX, H2_STREAM_MAX};
use super::proxies::{PROXY_CONFIGURATION_BYTES_MAX, PROXY_TRANSFORMS_BYTES_MAX};
use super::proxy_calls::{PROXY_BODY_BYTES_MAX, PROXY_TIMEOUT};
use super::requests::BODY_BYTES_MAX;
use super::shares::TENANT_SHARE;

/// Reactors of one tenant. A page of the list opens all of them, one after the other.
pub const REACTORS_MAX: usize = 250;
/// The code of one program, as published.
pub const CODE_CHARS_MAX: usize = 50_000;
/// The member `runtime` as JSON: dependencies are its largest part.
pub const RUNTIME_BYTES_MAX: usize = 16 * 1024;
/// The permissions of a program by its `runtime`.
pub const RUNTIME_PERMISSIONS_MAX: usize = 50;
/// The body of a call with the values in it, as published (1 MB).
pub const ARGUMENTS_BYTES_MAX: usize = PROXY_BODY_BYTES_MAX;
/// Distinct tokens in the arguments of one call, as published.
pub const REACTOR_TOKENS_MAX: usize = 100;
/// The answer of a program: its result with tokens in it, or a response of its own.
pub const PROGRAM_ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The deadline of a call whose caller waits, as published.
pub const PROGRAM_TIMEOUT: Duration = Duration::from_secs(30);
/// The deadline of the newer contract unless `runtime.timeout` says another, as published.
pub const PROGRAM_TIMEOUT_NODE: Duration = Duration::from_secs(10);
/// The deadline of a call whose caller does not wait, as published.
pub const PROGRAM_TIMEOUT_ASYNC: Duration = Duration::from_mins(5);
/// The most that `runtime.timeout` may say for such a call, as published.
pub const PROGRAM_TIMEOUT_ASYNC_MAX: Duration = Duration::from_mins(15);
/// Calls without a waiting caller that one tenant has under way in this process. Its callers without
/// a secret key have half of them.
pub const REACTOR_PENDING_MAX: usize = 20;
/// The same for all tenants.
///
/// Shares: address and key as their tenant; no secret key half of their tenant; tenant 20 calls.
pub const REACTOR_PENDING_ALL_MAX: usize = 200;
/// The pause before a call without a waiting caller asks for a worker again.
pub const REACTOR_PENDING_PAUSE: Duration = Duration::from_secs(1);
/// Stored results of a tenant. A call under way counts as one. Callers without a secret key have half
/// of them.
pub const REACTOR_RESULTS_MAX: usize = 1_000;
/// The largest result that is kept.
pub const REACTOR_RESULT_BYTES_MAX: usize = 1024 * 1024;
/// Results are kept for this long.
pub const REACTOR_RESULT_RETENTION: Duration = Duration::from_hours(24);
/// A reservation of an idempotency key ends this long after the deadline of its program. Making the
/// tokens of the result and storing the answer takes a part of it, and the clocks of the processes
/// may differ by the rest. A repetition waits for it after a process was killed.
pub const RESERVATION_GRACE: Duration = Duration::from_secs(30);
/// Pauses before the repetitions of a callback, as published: ten in about two and a half hours.
pub const CALLBACK_PAUSES: [Duration; 10] = [
    Duration::from_secs(5),
    Duration::from_secs(15),
    Duration::from_secs(40),
    Duration::from_mins(1),
    Duration::from_mins(3),
    Duration::from_mins(5),
    Duration::from_mins(10),
    Duration::from_mins(20),
    Duration::from_mins(40),
    Duration::from_mins(70),
];
/// Callbacks of one tenant that wait for their next attempt in this process. A further one has no
/// attempt after its first.
pub const REACTOR_CALLBACKS_MAX: usize = 100;
/// The same for all tenants.
///
/// Shares: address and key as their tenant; no secret key half of their tenant; tenant 100 callbacks.
pub const REACTOR_CALLBACKS_ALL_MAX: usize = 1_000;
/// The deadline of one attempt.
pub const CALLBACK_TIMEOUT: Duration = Duration::from_secs(10);
/// The receiver's answer is read for its status alone.
pub const CALLBACK_ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Lines of programs that are kept for one tenant.
pub const PROGRAM_LINES_MAX: usize = 1_000;
/// The same for all tenants: 40 MB of the longest lines.
///
/// Shares: address, no secret key and key as their tenant; tenant 1/10.
pub const PROGRAM_LINES_ALL_MAX: usize = 10_000;
/// One line; the rest is cut off.
pub const PROGRAM_LINE_BYTES_MAX: usize = 4 * 1024;
/// Lines are kept for this long at most, as published.
pub const PROGRAM_LINES_RETENTION: Duration = Duration::from_hours(30 * 24);
/// The most tokens and intents whose values a program may get if its answer is to be kept.
pub const PROGRAM_SOURCES_MAX: usize = 1_000;
/// Requests that a call of a program may send, together with the programs that it calls.
pub const PROGRAM_FETCHES_MAX: usize = 100;
/// Programs that wait for each other: a program, one that it calls, and one that that calls.
pub const PROGRAM_DEPTH_MAX: usize = 3;
/// The body of a request that a program sends.
pub const PROGRAM_REQUEST_BYTES_MAX: usize = 1024 * 1024;
/// The body of an answer that a program reads.
pub const PROGRAM_RESPONSE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Headers of a request that a program sends.
pub const PROGRAM_HEADERS_MAX: usize = 100;
/// Headers that a program sets on an answer.
pub const PROGRAM_ANSWER_HEADERS_MAX: usize = 50;
/// The value of one of them.
pub const PROGRAM_HEADER_BYTES_MAX: usize = 8 * 1024;

// A reactor fits into the body of one request, even if half of its code is escaped.
const _: () = assert!(
    2 * CODE_CHARS_MAX + PROXY_CONFIGURATION_BYTES_MAX + RUNTIME_BYTES_MAX <= BODY_BYTES_MAX
);
const _: () = assert!(CODE_CHARS_MAX + RUNTIME_BYTES_MAX < PROXY_TRANSFORMS_BYTES_MAX);
const _: () = assert!(PROGRAM_ANSWER_BYTES_MAX <= ANSWERS_BYTES_MAX / TENANT_SHARE);
// A caller that waits gets the answer before its stream ends, after the transforms of both sides.
const _: () =
    assert!(2 * PROGRAM_TIMEOUT.as_secs() + PROXY_TIMEOUT.as_secs() < H2_STREAM_MAX.as_secs());
const _: () = assert!(PROGRAM_LINES_MAX * 10 <= PROGRAM_LINES_ALL_MAX);
const _: () = assert!(REACTOR_PENDING_MAX * 10 <= REACTOR_PENDING_ALL_MAX);
const _: () = assert!(REACTOR_CALLBACKS_MAX * 10 <= REACTOR_CALLBACKS_ALL_MAX);
const _: () = assert!(PROGRAM_TIMEOUT_ASYNC.as_secs() <= PROGRAM_TIMEOUT_ASYNC_MAX.as_secs());
