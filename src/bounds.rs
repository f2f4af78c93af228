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

// --- Limits ------------------------------------------------------------------------------------

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
