//! 3-D Secure.

use std::time::Duration;

/// Message extensions of one message, and their JSON text, as the protocol says.
pub const THREEDS_EXTENSIONS_MAX: usize = 10;
pub const THREEDS_EXTENSIONS_BYTES_MAX: usize = 81_920;
/// From sending a request to keeping its answer. What asking a directory server may take, and
/// telling it that its answer was wrong, fits into it.
pub const THREEDS_ANSWER_MAX: Duration = Duration::from_mins(2);
/// Connecting to a directory server and the TLS handshake, which is tried twice. Each of its
/// addresses has a share of it, and so has the handshake.
pub const THREEDS_CONNECT_MAX: Duration = Duration::from_secs(5);
/// A directory server's answer to a request for an authentication, unless the settings say another
/// time: the schemes' own servers answer in two seconds and give up after ten.
pub const THREEDS_REPLY_DEFAULT: Duration = Duration::from_secs(10);
pub const THREEDS_REPLY_MAX: Duration = Duration::from_secs(30);
/// Its body. An app's signed content and ten extensions come to 100 KiB.
pub const THREEDS_REPLY_BYTES_MAX: usize = 256 * 1024;
/// The same for the list of card ranges, which is tens of megabytes for a large scheme.
pub const THREEDS_RANGES_REPLY_MAX: Duration = Duration::from_mins(5);
pub const THREEDS_RANGES_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Card ranges of one directory server; the largest have some hundred thousand. In memory each
/// takes about 100 bytes.
pub const THREEDS_RANGES_MAX: usize = 500_000;
/// Ranges that stand in one record of the file, so that no record is large.
pub const THREEDS_RANGES_RECORD_MAX: usize = 500;
/// Ranges are asked for at least once in 24 hours, as the protocol says: an hour is left for tries.
pub const THREEDS_RANGES_REFRESH: Duration = Duration::from_hours(23);
/// No server is asked more often than this if it answers, as the protocol says; and if it does not,
/// no more often than the other.
pub const THREEDS_RANGES_AGAIN: Duration = Duration::from_hours(1);
pub const THREEDS_RANGES_RETRY: Duration = Duration::from_mins(1);
/// How often it is looked whether ranges are due.
pub const THREEDS_RANGES_PERIOD: Duration = Duration::from_secs(15);
/// Connections at a time to the listener for results, and further streams of them: a handful of directory
/// servers call it, each once for a challenge.
pub const RESULTS_CONNECTIONS_MAX: usize = 256;
pub const RESULTS_SHARED_MAX: usize = 256;
/// Finding a name's addresses: each name server has a share of it.
pub const NAME_LOOKUP_MAX: Duration = Duration::from_secs(3);
/// How many name servers are asked; as elsewhere.
pub const NAME_SERVERS_MAX: usize = 3;
/// An answer by TCP; by UDP it is less.
pub const NAME_ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Addresses of one name that are tried.
pub const NAME_ADDRESSES_MAX: usize = 8;
/// `/etc/hosts` and `/etc/resolv.conf`.
pub const NAME_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// A session whose card has no expiry of its own can be authenticated for so long.
pub const THREEDS_SESSION_MAX: Duration = Duration::from_hours(1);
/// Sessions and their results are kept so long, unless the settings say otherwise.
pub const THREEDS_RETENTION: Duration = Duration::from_hours(90 * 24);
/// The longest that the settings may say: ten years.
pub const THREEDS_RETENTION_DAYS_MAX: u64 = 3_653;
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

// A request and the word that its answer was wrong: two connections each, and two answers.
const _: () = assert!(
    4 * (NAME_LOOKUP_MAX.as_secs() + THREEDS_CONNECT_MAX.as_secs())
        + 2 * THREEDS_REPLY_MAX.as_secs()
        < THREEDS_ANSWER_MAX.as_secs()
);
const _: () = assert!(THREEDS_RANGES_REFRESH.as_secs() < 24 * 3_600);
