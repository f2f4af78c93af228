//! Headers that belong to a connection and not to the message that travels on it (RFC 9110, 7.6.1),
//! and those that say where a message ends or where it goes. A proxy never passes them on: a second
//! length or another framing could make two messages out of one.

/// In lower case.
const NAMES: [&str; 13] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

pub fn is_of_connection(name: &str) -> bool {
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}
