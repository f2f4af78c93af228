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

/// Characters of a fingerprint expression: the published interface's own bound.
pub const FINGERPRINT_EXPRESSION_CHARS_MAX: usize = 400;
/// One mask leaf, index, id or fingerprint expression. The longest published example has 90 bytes;
/// the text is parsed on every masked read.
pub const TEMPLATE_BYTES_MAX: usize = 4 * 1024;
/// One string of a detokenize body, which may be a whole document with a few expressions in it.
pub const REFERENCES_BYTES_MAX: usize = BODY_BYTES_MAX;
/// Expressions in one string; a detokenize call may name five tokens by default.
pub const TEMPLATE_EXPRESSIONS_MAX: usize = 32;
/// Filters of one expression.
pub const FILTERS_MAX: usize = 32;
/// Members and indexes behind a variable's name: data is no deeper than this.
pub const VARIABLE_SEGMENTS_MAX: usize = JSON_DEPTH_MAX;
/// Characters of a token's id, also inside an expression that names it.
pub const TOKEN_ID_CHARS_MIN: usize = 3;
pub const TOKEN_ID_CHARS_MAX: usize = 400;
/// What one filter, and so one expression, may give. Every body fits, with room for escaping.
pub const EXPRESSION_OUTPUT_BYTES_MAX: usize = 2 * BODY_BYTES_MAX;
/// Items of a list that a filter makes (`split`, `concat`): an item costs ten times its text.
pub const EXPRESSION_ITEMS_MAX: usize = 16 * 1024;
/// Bytes and values that one evaluation (of a whole mask, too) may touch. It lets every filter of
/// the longest expression read and write a whole body, and ends in about a tenth of a second at the very worst.
pub const EXPRESSION_WORK_MAX: usize = 2 * FILTERS_MAX * BODY_BYTES_MAX;
/// Characters that a masking filter is told to keep: a card number needs two of them.
pub const SEPARATORS_BYTES_MAX: usize = 64;
/// Nesting of a mask: twice what a record about a person needs.
pub const MASK_DEPTH_MAX: usize = 16;
/// Objects, lists and leaves of one mask together.
pub const MASK_MEMBERS_MAX: usize = 512;
/// Mistakes of one mask that are reported; after so many the caller has the idea.
pub const MASK_MISTAKES_MAX: usize = 16;
/// Nesting of filters, parentheses and functions inside a JSON path.
pub const JSON_PATH_DEPTH_MAX: usize = 8;
/// Segments and selectors of one JSON path.
pub const JSON_PATH_PARTS_MAX: usize = 64;
/// Values that a JSON path may hold at any one moment; the whole of the largest body, once.
pub const JSON_PATH_NODES_MAX: usize = BODY_BYTES_MAX;
/// One pattern of `match` or `search`; it may come out of the data.
pub const PATTERN_BYTES_MAX: usize = 1024;
/// States of a compiled pattern of `match` and `search`, counted repetitions unrolled. Matching
/// costs this many steps a character at worst.
pub const PATTERN_STATES_MAX: usize = 256;

const _: () = assert!(TEMPLATE_BYTES_MAX >= 4 * FINGERPRINT_EXPRESSION_CHARS_MAX);
const _: () = assert!(REFERENCES_BYTES_MAX > TOKEN_ID_CHARS_MAX * 4);
const _: () = assert!(EXPRESSION_OUTPUT_BYTES_MAX >= BODY_BYTES_MAX);
const _: () = assert!(EXPRESSION_WORK_MAX >= EXPRESSION_OUTPUT_BYTES_MAX);
const _: () = assert!(MASK_DEPTH_MAX < JSON_DEPTH_MAX);

// --- Limits ------------------------------------------------------------------------------------

// --- Cards -------------------------------------------------------------------------------------
