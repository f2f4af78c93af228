//! Card numbers, bank account numbers and the operator's BIN file.

/// A card number: the published rule for `card_number`, and the range of ISO/IEC 7812.
pub const CARD_NUMBER_DIGITS_MIN: usize = 13;
pub const CARD_NUMBER_DIGITS_MAX: usize = 19;
/// A bank account number, by the published rules.
pub const ACCOUNT_NUMBER_DIGITS_MAX: usize = 17;
/// Rows of the operator's BIN file. The whole world has under a million ranges; a row costs under
/// 100 bytes of memory while loading and under 50 afterwards.
pub const BIN_RANGES_MAX: usize = 2_000_000;
/// The operator's BIN file. Reading stops at this length.
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
