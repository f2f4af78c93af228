//! Calls through proxies: bodies, tokens, time.

use std::time::Duration;

use super::connections::{ANSWERS_BYTES_MAX, H2_STREAM_MAX, HEADER_BYTES_MAX};
use super::proxies::{PROXY_HEADER_BYTES_MAX, PROXY_TRANSFORMED_BYTES_MAX};
use super::requests::{BODIES_BYTES_MAX, BODY_BYTES_MAX, DRAIN_BODY_BYTES_MAX};
use super::shares::ADDRESS_SHARE;
use super::tokens::TOKEN_NAME_CHARS_MAX;

/// The body of a call, before and after expressions are replaced by values. The published limit for
/// bodies with transforms is a megabyte; a payment has a few kilobytes.
pub const PROXY_BODY_BYTES_MAX: usize = 1024 * 1024;
/// Memory of a body as a multiple of its length: as received, with values, and its texts that
/// contain expressions.
pub const PROXY_BODY_COPIES: usize = 3;
/// The answer of a destination. A page of a PSP's report has a few hundred kilobytes.
pub const PROXY_ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Distinct tokens in one call, as published.
pub const PROXY_TOKENS_MAX: usize = 20;
/// The deadline of a destination, as published: name, connection, request and answer together.
pub const PROXY_TIMEOUT: Duration = Duration::from_secs(25);
/// Bytes of the header names that a browser requests in a preflight and that the answer allows.
pub const PREFLIGHT_BYTES_MAX: usize = 2 * 1024;

// On an idle server the largest call finds its memory, even without an API key.
const _: () = assert!(PROXY_BODY_COPIES * PROXY_BODY_BYTES_MAX <= BODIES_BYTES_MAX / ADDRESS_SHARE);
const _: () = assert!(PROXY_ANSWER_BYTES_MAX <= ANSWERS_BYTES_MAX / ADDRESS_SHARE);
const _: () = assert!(PROXY_BODY_BYTES_MAX >= BODY_BYTES_MAX);
// A body that is slightly too large is read to its end, so that the client sees the answer.
const _: () = assert!(PROXY_BODY_BYTES_MAX <= DRAIN_BODY_BYTES_MAX);
const _: () = assert!(PROXY_TIMEOUT.as_secs() < H2_STREAM_MAX.as_secs());
const _: () = assert!(PROXY_HEADER_BYTES_MAX < HEADER_BYTES_MAX);
const _: () = assert!(PROXY_TRANSFORMED_BYTES_MAX <= PROXY_ANSWER_BYTES_MAX);
// The ids of all tokens of a call fit into an error text.
const _: () = assert!(PROXY_TOKENS_MAX * TOKEN_NAME_CHARS_MAX * 4 <= 64 * 1024);
