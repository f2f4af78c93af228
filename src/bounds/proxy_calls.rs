//! Calls through proxies: bodies, tokens, time.

use std::time::Duration;

use super::connections::{ANSWERS_BYTES_MAX, H2_STREAM_MAX, HEADER_BYTES_MAX};
use super::proxies::{PROXY_HEADER_BYTES_MAX, PROXY_TRANSFORMED_BYTES_MAX};
use super::requests::{BODIES_BYTES_MAX, BODY_BYTES_MAX, DRAIN_BODY_BYTES_MAX};
use super::shares::ADDRESS_SHARE;
use super::tokens::TOKEN_NAME_CHARS_MAX;

/// The body of a call, and what becomes of it when values stand in place of expressions. The
/// published limit where transforms run is a megabyte; a payment has a few kilobytes.
pub const PROXY_BODY_BYTES_MAX: usize = 1024 * 1024;
/// Memory of a body in a multiple of its length: as it came, with values, and the texts in it that
/// have expressions.
pub const PROXY_BODY_COPIES: usize = 3;
/// The answer of a destination. A page of a PSP's report has a few hundred kilobytes.
pub const PROXY_ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The published limit of distinct tokens in one call.
pub const PROXY_TOKENS_MAX: usize = 20;
/// The published time for a destination: name, connection, request and answer together.
pub const PROXY_TIMEOUT: Duration = Duration::from_secs(25);
/// Bytes of the header names that a browser asks for in a preflight and that are allowed back.
pub const PREFLIGHT_BYTES_MAX: usize = 2 * 1024;

// The largest call finds its memory on an idle server, also without an API key.
const _: () = assert!(PROXY_BODY_COPIES * PROXY_BODY_BYTES_MAX <= BODIES_BYTES_MAX / ADDRESS_SHARE);
const _: () = assert!(PROXY_ANSWER_BYTES_MAX <= ANSWERS_BYTES_MAX / ADDRESS_SHARE);
const _: () = assert!(PROXY_BODY_BYTES_MAX >= BODY_BYTES_MAX);
// A body that is too large by little is read to its end, so that the client sees the answer.
const _: () = assert!(PROXY_BODY_BYTES_MAX <= DRAIN_BODY_BYTES_MAX);
const _: () = assert!(PROXY_TIMEOUT.as_secs() < H2_STREAM_MAX.as_secs());
const _: () = assert!(PROXY_HEADER_BYTES_MAX < HEADER_BYTES_MAX);
const _: () = assert!(PROXY_TRANSFORMED_BYTES_MAX <= PROXY_ANSWER_BYTES_MAX);
// The ids of all tokens of a call fit into the text of an error.
const _: () = assert!(PROXY_TOKENS_MAX * TOKEN_NAME_CHARS_MAX * 4 <= 64 * 1024);
