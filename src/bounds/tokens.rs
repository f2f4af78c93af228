//! Tokens, and the pages and lists that show them.

use super::access::CONTAINER_BYTES_MAX;
use super::requests::BODY_BYTES_MAX;
use super::store::CHANGE_BYTES_MAX;

/// Data of one token as JSON text.
pub const TOKEN_DATA_BYTES_MAX: usize = 128 * 1024;
/// The mask of one token as JSON text.
pub const MASK_BYTES_MAX: usize = 16 * 1024;
/// Metadata entries of one token; each costs a listing entry.
pub const METADATA_COUNT_MAX: usize = 50;
pub const METADATA_KEY_BYTES_MAX: usize = 100;
/// All keys and values of the metadata of one token. Index entries hold hashes of them, so a long
/// value costs only its space in the record and in answers.
pub const METADATA_BYTES_MAX: usize = 16 * 1024;
/// Keys and values of all list entries of one token. A token in several containers has an entry for
/// each of them and each filter, with the paths of all containers. This suffices for the most
/// containers, metadata and search indexes with paths of 77 bytes.
pub const TOKEN_ENTRIES_BYTES_MAX: usize = 1024 * 1024;
/// An idempotency key. Clients send UUIDs, some with a prefix.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;
/// A predefined token id, as published.
pub const TOKEN_NAME_CHARS_MIN: usize = 3;
pub const TOKEN_NAME_CHARS_MAX: usize = 400;
/// As published.
pub const SEARCH_INDEXES_MAX: usize = 10;
pub const EXPRESSION_CHARS_MAX: usize = 400;

/// Attempts to find a free alias before the token gets an assigned id. One in ten aliases could be
/// a card number and is not taken, so all attempts fail for that reason once in 10^10.
pub const ALIAS_TRIES_MAX: usize = 10;
/// Tokens of one fingerprint in one container that a deduplicating create looks at.
pub const DUPLICATES_READ_MAX: usize = 100;

const _: () = assert!(TOKEN_DATA_BYTES_MAX <= BODY_BYTES_MAX);
// During a rotation a token has entries under two keys, and an update replaces all of them.
const _: () = assert!(8 * TOKEN_ENTRIES_BYTES_MAX <= CHANGE_BYTES_MAX);

pub const PAGE_SIZE_DEFAULT: usize = 20;
pub const PAGE_SIZE_MAX: usize = 100;
/// Data, masks and metadata of the tokens of one page. A page with more ends early, so that a
/// hundred tokens of the largest kind do not occupy a thread and twelve mebibytes for each reader.
pub const PAGE_BYTES_MAX: usize = 1024 * 1024;
/// An opaque cursor, as published.
pub const CURSOR_CHARS_MAX: usize = 500;
/// A query string; the longest legal one lists a hundred ids.
pub const QUERY_BYTES_MAX: usize = 8 * 1024;

/// Entries of a cursor list that one request skips (expired, or listed under another container): a
/// millisecond or two. The next page continues there.
pub const LIST_SKIPPED_MAX: usize = 5_000;
/// Entries of a cursor list that a session's conditions hide in one request. A record is opened for
/// each, together about ten milliseconds.
pub const LIST_HIDDEN_MAX: usize = 1_000;
/// The part of a listing key after its path, which a cursor holds: a zero, the time and the id.
pub const LIST_KEY_TAIL_BYTES: usize = 1 + 8 + 16;
/// The position in a cursor, padded to its longest form, so that the length of a cursor does not
/// show the length of a path. One byte ends the position.
pub const CURSOR_POSITION_BYTES: usize = CONTAINER_BYTES_MAX + LIST_KEY_TAIL_BYTES + 1;
/// Ids that one deprecated list may name; each costs a look-up.
pub const LIST_IDS_MAX: usize = 100;
/// Entries of a list that a deprecated list reads at a time.
pub const LIST_CHUNK_MAX: usize = 1_024;
/// Tokens that a deprecated list sorts by time in one pass: three megabytes. Each later block of
/// this size takes a further pass.
pub const NUMBERED_PASS_MAX: usize = 64 * 1024;
/// Containers that a deprecated list walks, each by a seek: about half a second. With more, the
/// list is refused, and the answer names the lists with cursors.
pub const NUMBERED_CONTAINERS_MAX: usize = 100_000;
/// Tokens that a usage report counts by type: a walk of a fraction of a second and 20 MiB. A tenant
/// with more gets only the total, which is stored.
pub const USAGE_TOKENS_MAX: u64 = 250_000;
/// A search query, as published.
pub const SEARCH_QUERY_CHARS_MAX: usize = 200;

const _: () = assert!(LIST_SKIPPED_MAX > PAGE_SIZE_MAX && LIST_HIDDEN_MAX > PAGE_SIZE_MAX);
const _: () = assert!(NUMBERED_PASS_MAX > PAGE_SIZE_MAX);
