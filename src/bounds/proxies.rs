//! Pre-configured proxies and their transforms.

use super::requests::{BODY_BYTES_MAX, JSON_DEPTH_MAX};

/// Proxies of one tenant. A page of the list opens all of them, one after the other.
pub const PROXIES_MAX: usize = 250;
/// The destination of a stored proxy, as published.
pub const PROXY_URL_CHARS_MAX: usize = 400;
/// The key of a proxy, as published.
pub const PROXY_KEY_CHARS_MAX: usize = 100;
/// Entries of a configuration, as published.
pub const PROXY_CONFIGURATION_MAX: usize = 25;
/// The name of an entry: a word.
pub const PROXY_CONFIGURATION_NAME_CHARS_MAX: usize = 200;
/// All names and values: private keys in PEM are the largest values.
pub const PROXY_CONFIGURATION_BYTES_MAX: usize = 32 * 1024;
/// A chain of certificates and their key in PEM: four certificates of 2 KiB, and an RSA key.
pub const PROXY_CERTIFICATE_BYTES_MAX: usize = 16 * 1024;
/// Transforms of one side. Each may read the whole body.
pub const PROXY_TRANSFORMS_MAX: usize = 10;
/// The transforms of one side as JSON: the code of a program is the largest part.
pub const PROXY_TRANSFORMS_BYTES_MAX: usize = 100 * 1024;
/// The name by which a later transform refers to a new token, as published.
pub const PROXY_IDENTIFIER_CHARS_MAX: usize = 100;
/// The name of a header that a transform sets.
pub const PROXY_HEADER_NAME_CHARS_MAX: usize = 100;
/// The value of such a header, after its expressions are evaluated.
pub const PROXY_HEADER_BYTES_MAX: usize = 8 * 1024;
/// The location of a JSON member, and its steps.
pub const PROXY_LOCATION_CHARS_MAX: usize = 400;
pub const PROXY_LOCATION_STEPS_MAX: usize = JSON_DEPTH_MAX / 2;
/// A body that a transform reads or makes, as published (1 MB).
pub const PROXY_TRANSFORMED_BYTES_MAX: usize = 1_000_000;

/// The text of a mask's pattern, and its nesting.
pub const PROXY_PATTERN_BYTES_MAX: usize = 1024;
pub const PROXY_PATTERN_DEPTH_MAX: usize = 16;
/// The groups of a pattern. Every thread of the automaton copies their positions.
pub const PROXY_PATTERN_GROUPS_MAX: usize = 16;
/// States of a pattern, counted repetitions unrolled.
pub const PROXY_PATTERN_STATES_MAX: usize = 512;
/// Steps of all masks of one call, each about twenty nanoseconds. A pattern of a card number takes
/// about five steps for a character of the largest body.
pub const PROXY_MASK_STEPS_MAX: usize = 20 * PROXY_TRANSFORMED_BYTES_MAX;
/// Steps of a mask on the thread that serves the request. A mask that needs more waits for one of
/// [`PROXY_MASKS_MAX`] places on other threads.
pub const PROXY_MASK_STEPS_INLINE_MAX: usize = 50_000;
/// Masks that run at the same time on other threads. A place is held for the steps of one call at
/// most.
///
/// Shares: address as its tenant; no secret key 1/2; key as its tenant; tenant one while others
/// wait.
pub const PROXY_MASKS_MAX: usize = 2;
/// Calls that wait for one of [`PROXY_MASKS_MAX`] places; beyond them the answer is 503.
///
/// Shares: address as its tenant; no secret key 1/2; key as its tenant; tenant 1/4.
pub const PROXY_MASKS_WAITING_MAX: usize = 32;
/// The masks of a proxy are measured when it is stored: over this many bytes of a sample, with the
/// steps that leave [`PROXY_MASK_STEPS_MAX`] enough for an answer of 128 KiB.
pub const PROXY_MASK_SAMPLE_BYTES: usize = 4 * 1024;
pub const PROXY_MASK_SAMPLE_STEPS_MAX: usize =
    PROXY_MASK_STEPS_MAX / (128 * 1024 / PROXY_MASK_SAMPLE_BYTES);

// All parts of a proxy fit into the body of one request.
const _: () = assert!(
    PROXY_CONFIGURATION_BYTES_MAX + PROXY_CERTIFICATE_BYTES_MAX + 2 * PROXY_TRANSFORMS_BYTES_MAX
        <= BODY_BYTES_MAX
);
const _: () = assert!(PROXY_MASK_STEPS_INLINE_MAX < PROXY_MASK_STEPS_MAX);
