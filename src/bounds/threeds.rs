//! 3-D Secure.

use std::time::Duration;

use super::names::NAME_LOOKUP_MAX;

/// Message extensions of one message, and the length of their JSON text, as the protocol says.
pub const THREEDS_EXTENSIONS_MAX: usize = 10;
pub const THREEDS_EXTENSIONS_BYTES_MAX: usize = 81_920;
/// From sending a request to storing its answer. It covers the exchange with the directory server
/// and, after a bad answer, the error message to it.
pub const THREEDS_ANSWER_MAX: Duration = Duration::from_mins(2);
/// Connecting to a directory server and the TLS handshake, which is tried twice. Each of its
/// addresses has a share of it, and so has the handshake.
pub const THREEDS_CONNECT_MAX: Duration = Duration::from_secs(5);
/// The default deadline of a directory server's answer to an authentication request: the schemes'
/// own servers answer in two seconds and give up after ten.
pub const THREEDS_REPLY_DEFAULT: Duration = Duration::from_secs(10);
pub const THREEDS_REPLY_MAX: Duration = Duration::from_secs(30);
/// The body of that answer. An app's signed content and ten extensions take 100 KiB.
pub const THREEDS_REPLY_BYTES_MAX: usize = 256 * 1024;
/// The deadline of the answer with card ranges, which has tens of megabytes for a large scheme.
pub const THREEDS_RANGES_REPLY_MAX: Duration = Duration::from_mins(5);
pub const THREEDS_RANGES_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Card ranges of one directory server; the largest have some hundred thousand. In memory each
/// takes about 100 bytes.
///
/// No share: directory servers that the operator has chosen send them.
pub const THREEDS_RANGES_MAX: usize = 500_000;
/// Ranges in one record of the file, so that no record is large.
pub const THREEDS_RANGES_RECORD_MAX: usize = 500;
/// The age at which ranges are fetched again. The protocol says 24 hours; one hour is left for
/// retries.
pub const THREEDS_RANGES_REFRESH: Duration = Duration::from_hours(23);
/// The shortest time between two fetches of ranges from one server: the first after an answer, as
/// the protocol says, the second after a failure.
pub const THREEDS_RANGES_AGAIN: Duration = Duration::from_hours(1);
pub const THREEDS_RANGES_RETRY: Duration = Duration::from_mins(1);
/// The time between two checks whether ranges are due.
pub const THREEDS_RANGES_PERIOD: Duration = Duration::from_secs(15);
/// Connections at a time to the listener for results, and their further streams: a handful of
/// directory servers call it, each once for a challenge.
///
/// Shares: address 1/8; no secret key, key and tenant none, since only directory servers with a
/// certificate come here.
pub const RESULTS_CONNECTIONS_MAX: usize = 192;
/// Shares: address 1/8; no secret key, key and tenant none, since only directory servers with a
/// certificate come here.
pub const RESULTS_SHARED_MAX: usize = 224;
/// The time in which a session can be authenticated if its token or intent has no expiry.
pub const THREEDS_SESSION_MAX: Duration = Duration::from_hours(1);
/// The default retention of sessions and their results.
///
/// The number of sessions has no maximum: they are rows of the file and take no memory. Rate limits
/// bound how fast a tenant makes them, and this time how long they stay. Below the floor of free
/// space no change begins.
pub const THREEDS_RETENTION: Duration = Duration::from_hours(90 * 24);
/// The longest retention of the settings: ten years.
pub const THREEDS_RETENTION_DAYS_MAX: u64 = 3_653;
/// A challenge without a result counts as failed after this time. An ACS gives up ten minutes after
/// the cardholder's last answer and reports the result within one more.
pub const THREEDS_CHALLENGE_MAX: Duration = Duration::from_hours(1);
/// The grace after the deadline of a decoupled challenge, as the protocol requires.
pub const THREEDS_DECOUPLED_GRACE: Duration = Duration::from_secs(30);
/// The delay after which the built-in ACS answers a decoupled challenge.
pub const THREEDS_SIMULATED_DECOUPLED: Duration = Duration::from_secs(2);
/// One text of a session or of an authenticate body.
pub const THREEDS_TEXT_CHARS_MAX: usize = 2_048;
/// The encrypted device data of an app, as the protocol says.
pub const THREEDS_DEVICE_DATA_CHARS_MAX: usize = 64_000;
/// The caller's own data in a session, and the data that is broadcast, as JSON text.
pub const THREEDS_METADATA_BYTES_MAX: usize = 16 * 1024;

// A request and the error message after a bad answer: two connections each, and two answers.
const _: () = assert!(
    4 * (NAME_LOOKUP_MAX.as_secs() + THREEDS_CONNECT_MAX.as_secs())
        + 2 * THREEDS_REPLY_MAX.as_secs()
        < THREEDS_ANSWER_MAX.as_secs()
);
const _: () = assert!(THREEDS_RANGES_REFRESH.as_secs() < 24 * 3_600);
