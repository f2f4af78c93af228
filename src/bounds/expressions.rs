//! Expressions: masks, fingerprints, search indexes, aliases.

use super::requests::{BODY_BYTES_MAX, JSON_DEPTH_MAX};
use super::tokens::{
    EXPRESSION_CHARS_MAX, MASK_BYTES_MAX, TOKEN_DATA_BYTES_MAX, TOKEN_NAME_CHARS_MAX,
};

/// One mask leaf, index, id or fingerprint expression. The longest published example has 90 bytes.
pub const TEMPLATE_BYTES_MAX: usize = 4 * 1024;
/// One string of a detokenize body, which may be a whole document with a few expressions in it.
pub const REFERENCES_BYTES_MAX: usize = BODY_BYTES_MAX;
/// Expressions in one string; a detokenize call may name five tokens by default.
pub const TEMPLATE_EXPRESSIONS_MAX: usize = 32;
/// Filters of one expression.
pub const FILTERS_MAX: usize = 32;
/// Members and indexes after a variable's name: data is no deeper than this.
pub const VARIABLE_SEGMENTS_MAX: usize = JSON_DEPTH_MAX;
/// Output of one filter, and so of one expression. Every body fits, with room for escaping.
pub const EXPRESSION_OUTPUT_BYTES_MAX: usize = 2 * BODY_BYTES_MAX;
/// Items of a list that a filter makes (`split`, `concat`): an item costs ten times its text.
pub const EXPRESSION_ITEMS_MAX: usize = 16 * 1024;
/// Work that the expressions of one request do on the thread that serves it, in units of about a
/// nanosecond. A request that needs more waits for one of [`EVALUATIONS_MAX`] places on other
/// threads.
pub const EXPRESSION_WORK_INLINE_MAX: usize = 1_000_000;
/// Work of one write, or of the read of one token: mask, search indexes, fingerprint and id
/// together. The largest data of the smallest values fits through its type's own expressions and a
/// simple mask.
pub const EXPRESSION_WORK_WRITE_MAX: usize = 6_000_000;
/// Work of one tokenize call, for any number of tokens: its body holds the data of two
/// tokens of the largest size, or of many small ones.
pub const EXPRESSION_WORK_TOKENIZE_MAX: usize =
    EXPRESSION_WORK_WRITE_MAX * (BODY_BYTES_MAX / TOKEN_DATA_BYTES_MAX);
/// Work of one page of a list, and of one detokenize call: all its tokens together.
pub const EXPRESSION_WORK_PAGE_MAX: usize = 24_000_000;
/// Requests whose expressions are evaluated at the same time beyond the inline part. With one
/// place, each request would delay the next; more than two would leave too few cores to other
/// requests.
///
/// Shares: address as its tenant; no secret key 1/2; key as its tenant; tenant one while others
/// wait.
pub const EVALUATIONS_MAX: usize = 2;
/// Requests that wait for one of [`EVALUATIONS_MAX`] places; beyond them the answer is 503. If all
/// of them are pages, the last one waits for a second.
///
/// Shares: address as its tenant; no secret key 1/2; key as its tenant; tenant 1/4.
pub const EVALUATIONS_WAITING_MAX: usize = 64;
/// Masks and expressions that are cached in parsed form, and their memory.
///
/// No share: a cache; an expression that falls out is parsed again.
pub const PARSED_MAX: usize = 4_096;
/// No share: as above.
pub const PARSED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Separators that a masking filter keeps, as its argument lists them; a card number needs two.
pub const SEPARATORS_BYTES_MAX: usize = 64;
/// Nesting of a mask: twice the depth that a record about a person needs.
pub const MASK_DEPTH_MAX: usize = 16;
/// Objects, lists and leaves of one mask together.
pub const MASK_MEMBERS_MAX: usize = 512;
/// Mistakes of one mask that are reported.
pub const MASK_MISTAKES_MAX: usize = 16;
/// Nesting of filters, parentheses and functions inside a JSON path.
pub const JSON_PATH_DEPTH_MAX: usize = 8;
/// Segments and selectors of one JSON path.
pub const JSON_PATH_PARTS_MAX: usize = 64;
/// Values that a JSON path may hold at one time: all values of the largest body, once.
pub const JSON_PATH_NODES_MAX: usize = BODY_BYTES_MAX;
/// One pattern of `match` or `search`; it may come out of the data.
pub const PATTERN_BYTES_MAX: usize = 1024;
/// States of a compiled pattern of `match` and `search`, counted repetitions unrolled. Matching
/// costs this many steps a character at worst.
pub const PATTERN_STATES_MAX: usize = 256;
/// States of all patterns in one expression, and in one mask: each takes about 150 bytes, and a
/// short text can ask for very many.
pub const TEMPLATE_STATES_MAX: usize = 4 * PATTERN_STATES_MAX;
pub const MASK_STATES_MAX: usize = 4 * TEMPLATE_STATES_MAX;

const _: () = assert!(TEMPLATE_BYTES_MAX >= 4 * EXPRESSION_CHARS_MAX);
const _: () = assert!(REFERENCES_BYTES_MAX > TOKEN_NAME_CHARS_MAX * 4);
const _: () = assert!(EXPRESSION_OUTPUT_BYTES_MAX >= BODY_BYTES_MAX);
const _: () = assert!(EXPRESSION_WORK_WRITE_MAX >= EXPRESSION_OUTPUT_BYTES_MAX);
const _: () = assert!(EXPRESSION_WORK_INLINE_MAX < EXPRESSION_WORK_WRITE_MAX);
const _: () = assert!(EXPRESSION_WORK_WRITE_MAX <= EXPRESSION_WORK_TOKENIZE_MAX);
const _: () = assert!(EXPRESSION_WORK_TOKENIZE_MAX <= EXPRESSION_WORK_PAGE_MAX);
// One parsed mask of the largest size must not fill the cache.
const _: () = assert!(16 * 64 * MASK_BYTES_MAX <= PARSED_BYTES_MAX);
const _: () = assert!(MASK_DEPTH_MAX < JSON_DEPTH_MAX);
