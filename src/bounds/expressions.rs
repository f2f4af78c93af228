//! Expressions: masks, fingerprints, search indexes, aliases.

use super::{BODY_BYTES_MAX, EXPRESSION_CHARS_MAX, JSON_DEPTH_MAX, TOKEN_NAME_CHARS_MAX};

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

const _: () = assert!(TEMPLATE_BYTES_MAX >= 4 * EXPRESSION_CHARS_MAX);
const _: () = assert!(REFERENCES_BYTES_MAX > TOKEN_NAME_CHARS_MAX * 4);
const _: () = assert!(EXPRESSION_OUTPUT_BYTES_MAX >= BODY_BYTES_MAX);
const _: () = assert!(EXPRESSION_WORK_MAX >= EXPRESSION_OUTPUT_BYTES_MAX);
const _: () = assert!(MASK_DEPTH_MAX < JSON_DEPTH_MAX);
