//! 3-D Secure.

use std::time::Duration;

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
