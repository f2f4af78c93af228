//! Every maximum of the program, with its reason, and what must hold between them.
//!
//! Nothing grows without a name here. A new bound comes with the test that hits it.

use std::time::Duration;

// --- Connections -------------------------------------------------------------------------------

/// Connections at a time. Each costs some 40 KiB when idle, a few hundred when misused.
pub const CONNECTIONS_MAX: usize = 4_096;
/// Connections of one address (of one /64 in IPv6) at a time. An office behind one address stays
/// below it; one machine cannot take every place.
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 256;
/// Connections that the kernel holds for us before they are accepted.
pub const BACKLOG_MAX: u32 = 1_024;
/// The pause after the first failure to accept for want of files or memory; it doubles up to
/// the maximum. The listener stays readable all the while, so without a pause the loop would spin.
pub const ACCEPT_PAUSE_MIN: Duration = Duration::from_millis(10);
pub const ACCEPT_PAUSE_MAX: Duration = Duration::from_secs(1);
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
/// How long a peer may leave what we wrote unread before the connection is given up. One buffer
/// holds 64 KiB, so this asks for 2 KiB a second.
pub const WRITE_MAX: Duration = Duration::from_secs(30);
/// Between SIGTERM and the end of whatever is still running.
pub const DRAIN_MAX: Duration = Duration::from_secs(20);
/// After that, how long tasks that were told to end are waited for.
pub const END_MAX: Duration = Duration::from_secs(1);
/// All header names and values of one request together, with the request line; the published
/// clients send under 2 KiB.
pub const HEADER_BYTES_MAX: usize = 16 * 1024;
/// Header lines of one request.
pub const HEADERS_COUNT_MAX: usize = 64;
/// What one HTTP/1 connection reads ahead, and what it buffers of answers, at most.
pub const H1_BUFFER_BYTES_MAX: usize = 64 * 1024;
/// Concurrent HTTP/2 streams of one connection.
pub const H2_STREAMS_MAX: u32 = 64;
/// HTTP/2 streams reset by the peer before we close the connection ("rapid reset").
pub const H2_RESETS_MAX: usize = 32;
/// HTTP/2 streams that we reset for the peer's mistakes before we close the connection.
pub const H2_MISTAKES_MAX: usize = 64;
/// From a stream's last header to the last byte of its answer. A peer that opens no window would
/// hold the answer forever; the longest honest request is a slow body and a slow commit.
pub const H2_STREAM_MAX: Duration = Duration::from_secs(90);
/// A connection without streams is closed after one to two of these.
pub const H2_IDLE_MAX: Duration = Duration::from_mins(1);
/// Silence after which we ask whether the peer is there, and how long it has to answer.
pub const H2_PING_AFTER: Duration = Duration::from_secs(20);
pub const H2_PING_MAX: Duration = Duration::from_secs(10);
/// Body bytes that a peer may send ahead of our reading: for one stream and for a connection.
pub const H2_STREAM_WINDOW_BYTES: u32 = 64 * 1024;
pub const H2_CONNECTION_WINDOW_BYTES: u32 = 256 * 1024;
/// The smallest that the protocol allows.
pub const H2_FRAME_BYTES_MAX: u32 = 16 * 1024;
/// Memory for compressing headers; the protocol's default.
pub const H2_HEADER_TABLE_BYTES: u32 = 4 * 1024;
/// Answer bytes buffered for one stream.
pub const H2_SEND_BYTES_MAX: usize = 64 * 1024;
/// Every so often the certificate's files are looked at. A change counts when it was seen twice
/// the same, so that a certificate is not read between its own two files.
pub const CERTIFICATE_CHECK_EVERY: Duration = Duration::from_secs(5);
/// A certificate with less left than this is worth a warning a day.
pub const CERTIFICATE_WARN_BEFORE: Duration = Duration::from_hours(14 * 24);
pub const CERTIFICATE_WARN_EVERY: Duration = Duration::from_hours(24);
/// A certificate file or key file; a chain of ten is 20 KiB.
pub const CERTIFICATE_BYTES_MAX: u64 = 1024 * 1024;
/// Refused connections are counted and logged at most this often.
pub const REFUSALS_LOGGED_EVERY: Duration = Duration::from_secs(10);

const _: () = assert!(CONNECTIONS_PER_ADDRESS_MAX <= CONNECTIONS_MAX);
// The protocol's parser must see a whole head before it runs out of buffer, or the answer to a
// large one would be a reset instead of a 431.
const _: () = assert!(HEADER_BYTES_MAX < H1_BUFFER_BYTES_MAX);
const _: () = assert!(H2_STREAM_WINDOW_BYTES <= H2_CONNECTION_WINDOW_BYTES);
const _: () = assert!(BODY_MAX.as_secs() < H2_STREAM_MAX.as_secs());

// --- Log lines ---------------------------------------------------------------------------------

/// Lines that wait for a slow reader of the log; half a mebibyte.
pub const LOG_LINES_MAX: usize = 4_096;
/// Lines are written together until this many bytes have gathered.
pub const LOG_BATCH_BYTES: usize = 32 * 1024;
/// A trace id that a caller brings along; it is echoed and logged.
pub const TRACE_BYTES_MAX: usize = 128;
/// The shortest card numbers have 12 digits; a trace id with as many in a row is not logged.
pub const TRACE_DIGITS_MAX: usize = 12;

// --- Bodies ------------------------------------------------------------------------------------

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

// --- Tenants, applications, keys ---------------------------------------------------------------

/// A container path. It stands in clear in listing keys, so it may not be long.
pub const CONTAINER_BYTES_MAX: usize = 200;
/// Containers of one token; each costs a listing entry for each filter.
pub const CONTAINERS_MAX: usize = 10;
/// The published pattern of key texts.
pub const KEY_TEXT_BYTES_MAX: usize = 100;
/// Shorter texts could be guessed; the oldest published form has 26 characters.
pub const KEY_TEXT_BYTES_MIN: usize = 16;
/// Keys of one application, as published.
pub const KEYS_PER_APPLICATION_MAX: usize = 3;
/// Plain permissions of one application, as published.
pub const PERMISSIONS_MAX: usize = 50;
/// Access rules of one application; each request that reads a token walks them.
pub const RULES_MAX: usize = 50;
/// The name of a tenant or an application, as published.
pub const NAME_CHARS_MAX: usize = 200;
/// A rule's description.
pub const DESCRIPTION_CHARS_MAX: usize = 400;
/// A tenant's settings: names and values are short words.
pub const SETTINGS_MAX: usize = 50;
pub const SETTING_BYTES_MAX: usize = 400;
/// Applications of one tenant.
pub const APPLICATIONS_MAX: usize = 1_000;
/// Tenants of one server.
pub const TENANTS_MAX: usize = 1_000;

// --- Quotas ------------------------------------------------------------------------------------

/// The most that an operator may allow to one tokenize or detokenize call: one transaction.
pub const BULK_TOKENS_MAX: u32 = 1_000;
/// PCI DSS wants card verification codes gone after authorization; a day is the outer limit.
pub const CVC_RETENTION_MAX: Duration = Duration::from_hours(24);
/// As published: an intent lives at most 48 hours.
pub const INTENT_RETENTION_MAX: Duration = Duration::from_hours(48);
pub const LOG_RETENTION_MAX: Duration = Duration::from_hours(400 * 24);
/// The largest factor of a tenant's `rate_limit` quota; up to here the arithmetic is exact.
pub const RATE_LIMIT_FACTOR_MAX: u32 = 1_000;

// --- Tokens ------------------------------------------------------------------------------------

/// Data of one token as JSON text.
pub const TOKEN_DATA_BYTES_MAX: usize = 128 * 1024;
/// The mask of one token as JSON text.
pub const MASK_BYTES_MAX: usize = 16 * 1024;
/// Metadata entries of one token; each costs a listing entry.
pub const METADATA_COUNT_MAX: usize = 50;
pub const METADATA_KEY_BYTES_MAX: usize = 100;
pub const METADATA_VALUE_BYTES_MAX: usize = 1_000;
/// An idempotency key; clients send UUIDs, some with a mark before them.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;
/// A predefined token id, as published.
pub const TOKEN_NAME_CHARS_MIN: usize = 3;
pub const TOKEN_NAME_CHARS_MAX: usize = 400;
/// As published.
pub const SEARCH_INDEXES_MAX: usize = 10;
pub const EXPRESSION_CHARS_MAX: usize = 400;

/// How often an alias is tried before the token gets an assigned id instead.
pub const ALIAS_TRIES_MAX: usize = 5;
/// Tokens of one fingerprint in one container that a deduplicating create looks at.
pub const DUPLICATES_READ_MAX: usize = 100;

const _: () = assert!(TOKEN_DATA_BYTES_MAX <= BODY_BYTES_MAX);

// --- Pages -------------------------------------------------------------------------------------

pub const PAGE_SIZE_DEFAULT: usize = 20;
pub const PAGE_SIZE_MAX: usize = 100;
/// An opaque cursor, as published.
pub const CURSOR_CHARS_MAX: usize = 500;
/// A query string; the longest legal one lists a hundred ids.
pub const QUERY_BYTES_MAX: usize = 8 * 1024;

// --- Lists -------------------------------------------------------------------------------------

/// Entries of a cursor list that are passed over (expired, or listed under another container) in
/// one request; the rest waits for the next page. A millisecond or two.
pub const LIST_SKIPPED_MAX: usize = 5_000;
/// What a cursor holds of a listing key behind its path: a zero, the time and the id.
pub const LIST_KEY_TAIL_BYTES: usize = 1 + 8 + 16;
/// A cursor's proof that it is ours: 128 bits, since each guess is a request.
pub const CURSOR_TAG_BYTES: usize = 16;
/// Ids that one deprecated list may name; each costs a look-up.
pub const LIST_IDS_MAX: usize = 100;
/// Timeline entries that a deprecated list reads before others get their turn.
pub const TIMELINE_STEPS_MAX: usize = 1_024;
/// A search query, as published.
pub const SEARCH_QUERY_CHARS_MAX: usize = 200;

const _: () =
    assert!(2 * (CONTAINER_BYTES_MAX + LIST_KEY_TAIL_BYTES + CURSOR_TAG_BYTES) <= CURSOR_CHARS_MAX);
const _: () = assert!(LIST_SKIPPED_MAX > PAGE_SIZE_MAX);
// Each of several timelines takes a step before all of them get on.
const _: () = assert!(TIMELINE_STEPS_MAX > METADATA_COUNT_MAX + 1);
const _: () = assert!(TIMELINE_STEPS_MAX > SEARCH_QUERY_CHARS_MAX);

// --- The store ---------------------------------------------------------------------------------

/// redb's own cache. Larger ones cost memory and win nothing (measured: 16 to 1,024 MiB differ by
/// a tenth in gets), since the operating system caches the file as well.
pub const CACHE_BYTES: usize = 48 * 1024 * 1024;
/// Changes that one commit takes. More of them delay the first without making the sync cheaper.
pub const BATCH_CHANGES_MAX: usize = 256;
/// Changes waiting for the writer; beyond this the answer is 503.
pub const QUEUE_CHANGES_MAX: usize = 4_096;
/// How often an operation decides again when others changed what it had read.
pub const DECISIONS_MAX: usize = 16;
/// How long the writer must be idle before it makes the next start cheap.
pub const IDLE_BEFORE_QUICK_REPAIR: Duration = Duration::from_millis(200);
/// Records that one sweep takes in one transaction.
pub const SWEEP_BATCH_MAX: usize = 256;
/// How often the sweeper looks for what has fallen due.
pub const SWEEP_PERIOD: Duration = Duration::from_secs(15);
/// Keys of card verification codes: a day's minutes for a hundred busy tenants.
pub const CVC_KEYS_MAX: usize = 144_000;
/// Findings that `verify` lists; beyond them it only counts.
pub const VERIFY_FINDINGS_MAX: usize = 100;
/// Known callers kept in memory, so that authentication does not read the file each time.
pub const CALLERS_MAX: usize = 10_000;

const _: () = assert!(BATCH_CHANGES_MAX <= QUEUE_CHANGES_MAX);

// --- Expressions -------------------------------------------------------------------------------

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

// --- Limits ------------------------------------------------------------------------------------

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

// --- Cards -------------------------------------------------------------------------------------

/// A card number: the published rule for `card_number`, and the range of ISO/IEC 7812.
pub const CARD_NUMBER_DIGITS_MIN: usize = 13;
pub const CARD_NUMBER_DIGITS_MAX: usize = 19;
/// A bank account number, by the published rules.
pub const ACCOUNT_NUMBER_DIGITS_MAX: usize = 17;
/// Rows of the operator's BIN file. The whole world has under a million ranges; a row costs under
/// 100 bytes of memory while loading and under 50 afterwards.
pub const BIN_RANGES_MAX: usize = 2_000_000;
/// The operator's BIN file as a whole; whoever reads it stops here.
pub const BIN_FILE_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// One line of it: nine short columns and an issuer's name.
pub const BIN_LINE_BYTES_MAX: usize = 1_024;
/// An issuer's name, a product code or an additional brand.
pub const BIN_TEXT_BYTES_MAX: usize = 128;
/// Different texts in the file: some tens of thousands of banks exist.
pub const BIN_TEXTS_MAX: usize = 500_000;
/// Further brands of one range; co-badged cards carry two or three.
pub const BIN_ADDITIONAL_MAX: usize = 8;
/// Mistakes of the file that are reported before reading stops.
pub const BIN_FILE_MISTAKES_MAX: usize = 20;

const _: () = assert!(CARD_NUMBER_DIGITS_MIN <= CARD_NUMBER_DIGITS_MAX);
// Card numbers are compared as 64-bit numbers, which hold any 19 digits.
const _: () = assert!(CARD_NUMBER_DIGITS_MAX <= 19);
const _: () = assert!(BIN_TEXT_BYTES_MAX < BIN_LINE_BYTES_MAX);
// Rows and texts are counted in 32 bits.
const _: () = assert!(BIN_RANGES_MAX < 1 << 32 && BIN_TEXTS_MAX < 1 << 32);

// --- The operator's socket ---------------------------------------------------------------------

/// One command; the largest is an application with all its rules.
pub const OPERATOR_COMMAND_BYTES_MAX: u64 = 256 * 1024;
/// From connecting to the answer. Moving a clock may sweep a great many tokens.
pub const OPERATOR_COMMAND_MAX: Duration = Duration::from_mins(10);
/// How far a development server's clock moves at once: a hundred years.
pub const CLOCK_ADVANCE_MAX: Duration = Duration::from_hours(100 * 365 * 24);

// --- Files -------------------------------------------------------------------------------------

/// A master key's file: 64 digits, a line end, and a little patience with editors.
pub const MASTER_KEY_FILE_BYTES_MAX: u64 = 4_096;
/// How long the end of the program waits for its last log lines.
pub const LOG_FLUSH_MAX: Duration = Duration::from_secs(1);

// --- 3-D Secure --------------------------------------------------------------------------------

/// Message extensions of one message, and their JSON text, as the protocol says.
pub const THREEDS_EXTENSIONS_MAX: usize = 10;
pub const THREEDS_EXTENSIONS_BYTES_MAX: usize = 81_920;
/// From sending a request to keeping its answer; a directory server has ten seconds of it.
pub const THREEDS_ANSWER_MAX: Duration = Duration::from_mins(1);
/// A session whose card has no expiry of its own can be authenticated for so long.
pub const THREEDS_SESSION_MAX: Duration = Duration::from_hours(1);
/// Sessions and their results are kept so long.
pub const THREEDS_RETENTION: Duration = Duration::from_hours(90 * 24);
/// A challenge whose result nobody told by then ended without one. An ACS gives up ten minutes
/// after the cardholder's last answer, and tells so within one more.
pub const THREEDS_CHALLENGE_MAX: Duration = Duration::from_hours(1);
/// What is added to the time that a decoupled challenge was given, as the protocol asks.
pub const THREEDS_DECOUPLED_GRACE: Duration = Duration::from_secs(30);
/// The built-in ACS answers a decoupled challenge after so long.
pub const THREEDS_SIMULATED_DECOUPLED: Duration = Duration::from_secs(2);
/// One text of a session or of an authenticate body; most are shorter by far.
pub const THREEDS_TEXT_CHARS_MAX: usize = 2_048;
/// The encrypted device data of an app, as the protocol says.
pub const THREEDS_DEVICE_DATA_CHARS_MAX: usize = 64_000;
/// The caller's own data in a session, and what is broadcast, as JSON text.
pub const THREEDS_METADATA_BYTES_MAX: usize = 16 * 1024;
