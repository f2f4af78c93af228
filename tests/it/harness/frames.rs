//! Frames of HTTP/2 by hand, since client libraries do not attack.

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

/// Bytes of frames, in the order in which they were added.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frames(pub(crate) Vec<u8>);

impl Frames {
    /// The preface, settings, and the acknowledgement of the server's settings.
    pub(crate) fn opening(settings: &[(u16, u32)]) -> Self {
        let preface = Self(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec());
        preface.settings(settings).frame(SETTINGS, ACK, 0, &[])
    }

    pub(crate) fn frame(mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Self {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        self.0.extend([length[1], length[2], length[3], kind, flags]);
        self.0.extend(stream.to_be_bytes());
        self.0.extend(payload);
        self
    }

    pub(crate) fn settings(self, settings: &[(u16, u32)]) -> Self {
        let payload = settings.iter().flat_map(|(name, value)| {
            name.to_be_bytes().into_iter().chain(value.to_be_bytes()).collect::<Vec<_>>()
        });
        self.frame(SETTINGS, 0, 0, &payload.collect::<Vec<_>>())
    }

    pub(crate) fn ping(self) -> Self {
        self.frame(PING, 0, 0, b"a stream")
    }

    pub(crate) fn priority(self, stream: u32) -> Self {
        self.frame(PRIORITY, 0, stream, &[0, 0, 0, 0, 16])
    }

    pub(crate) fn window(self, stream: u32, by: u32) -> Self {
        self.frame(WINDOW_UPDATE, 0, stream, &by.to_be_bytes())
    }

    /// With the reason CANCEL.
    pub(crate) fn reset(self, stream: u32) -> Self {
        self.frame(RST_STREAM, 0, stream, &[0, 0, 0, 8])
    }

    pub(crate) fn goaway(self) -> Self {
        self.frame(GOAWAY, 0, 0, &[0; 8])
    }

    pub(crate) fn data(self, stream: u32, flags: u8, bytes: &[u8]) -> Self {
        self.frame(DATA, flags, stream, bytes)
    }

    pub(crate) fn headers(self, stream: u32, flags: u8, block: &[u8]) -> Self {
        self.frame(HEADERS, flags, stream, block)
    }

    pub(crate) fn continuation(self, stream: u32, flags: u8, block: &[u8]) -> Self {
        self.frame(CONTINUATION, flags, stream, block)
    }

    pub(crate) fn get(self, stream: u32, path: &str, key: &str) -> Self {
        self.headers(stream, END_STREAM | END_HEADERS, &request("GET", path, key))
    }
}

/// A compressed head, without the key if that is empty.
pub(crate) fn request(method: &str, path: &str, key: &str) -> Vec<u8> {
    let mut block = field(":method", method);
    block.extend(field(":scheme", "https"));
    block.extend(field(":authority", "localhost"));
    block.extend(field(":path", path));
    if !key.is_empty() {
        block.extend(field("bt-api-key", key));
    }
    block
}

/// A header by its texts, not indexed.
//= RFC 7541, 6.2.2.
pub(crate) fn field(name: &str, value: &str) -> Vec<u8> {
    literal(0x00, name, value)
}

/// A header by its texts, added to the table of the connection; the newest entry is number 62.
//= RFC 7541, 6.2.1.
pub(crate) fn indexed_field(name: &str, value: &str) -> Vec<u8> {
    literal(0x40, name, value)
}

fn literal(kind: u8, name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![kind];
    for text in [name, value] {
        length(&mut bytes, text.len());
        bytes.extend(text.as_bytes());
    }
    bytes
}

/// An integer with a prefix of seven bits.
//= RFC 7541, 5.1.
fn length(bytes: &mut Vec<u8>, mut length: usize) {
    if length < 127 {
        bytes.push(u8::try_from(length).unwrap());
        return;
    }
    bytes.push(127);
    length -= 127;
    while length >= 128 {
        bytes.push(u8::try_from(length % 128).unwrap() | 0x80);
        length /= 128;
    }
    bytes.push(u8::try_from(length).unwrap());
}

/// Kind, stream and payload of the whole frames among these bytes.
fn parse(mut bytes: &[u8]) -> impl Iterator<Item = (u8, u32, &[u8])> {
    std::iter::from_fn(move || {
        let (head, rest) = bytes.split_at_checked(9)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let (payload, rest) = rest.split_at_checked(usize::try_from(length).unwrap())?;
        bytes = rest;
        Some((head[3], u32::from_be_bytes(head[5..9].try_into().unwrap()), payload))
    })
}

/// The reason of the last GOAWAY among these bytes.
pub(crate) fn goaway_reason(bytes: &[u8]) -> Option<u32> {
    let goodbyes = parse(bytes).filter(|(kind, _, payload)| *kind == GOAWAY && payload.len() >= 8);
    let reasons = goodbyes.map(|(_, _, payload)| payload[4..8].try_into().unwrap());
    reasons.map(u32::from_be_bytes).last()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    Ok,
    Refused,
    Reset,
}

/// `None` if there is nothing yet on the stream.
pub(crate) fn stream_end(bytes: &[u8], stream: u32) -> Option<StreamEnd> {
    parse(bytes).find_map(|(kind, of, payload)| match (kind, of == stream) {
        // The 8th entry of the static table is `:status: 200`.
        (HEADERS, true) if payload.first() == Some(&0x88) => Some(StreamEnd::Ok),
        (HEADERS, true) => Some(StreamEnd::Refused),
        (RST_STREAM, true) => Some(StreamEnd::Reset),
        _ => None,
    })
}
