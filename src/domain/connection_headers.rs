//! Headers that belong to a connection and not to the message on it (RFC 9110, 7.6.1), and headers
//! that say where a message ends or where it goes. A proxy never passes them on: a second length or
//! another framing could turn one message into two.

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

/// The names that `Connection` headers list, in lower case: they belong to the connection too.
pub fn listed<'v>(values: impl Iterator<Item = &'v [u8]>) -> Vec<String> {
    let texts = values.filter_map(|value| std::str::from_utf8(value).ok());
    let names = texts.flat_map(|text| text.split(',')).map(|name| name.trim().to_ascii_lowercase());
    names.filter(|name| !name.is_empty()).collect()
}

pub fn is_of_connection(name: &str) -> bool {
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}
