//! Request bytes: every body is unique, every get goes to a random token. Nothing here waits or touches a socket.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// One series for the whole run, so that a body never comes twice, whichever vault or slice it goes to.
static SERIAL: AtomicU64 = AtomicU64::new(0);
/// Makes the bodies of two runs different.
static SALT: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());
/// A connection remembers this many of the tokens it made, the newest ones.
const OWN_IDS_MAX: usize = 1_024;
pub(crate) const PAGE_SIZE: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Card,
    Token,
}

impl Kind {
    /// As the command line has it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Card => "card",
            Self::Token => "token",
        }
    }
}

impl std::str::FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "card" => Ok(Self::Card),
            "token" => Ok(Self::Token),
            _ => Err("the kind is `card` or `token`".to_owned()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    Create,
    Get,
    /// Nine gets and one create in ten, at random.
    Mix,
    /// One page of a list; the text is the cursor, empty for the first page.
    Page(String),
}

/// Everything that a connection needs to know to write requests.
#[derive(Clone)]
pub(crate) struct Work {
    pub(crate) ids: Arc<Vec<String>>,
    pub(crate) kind: Kind,
    pub(crate) load: Load,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Create,
    Read,
}

/// Writes the requests of one connection.
pub(crate) struct Requests {
    work: Work,
    /// Host and key lines, which every request carries.
    common: String,
    page: Vec<u8>,
    own_ids: Vec<String>,
    made: usize,
    random: u64,
}

impl Requests {
    pub(crate) fn new(work: Work, host: &str, key: &str) -> Self {
        let common = format!("host: {host}\r\nbt-api-key: {key}\r\n");
        let page = match &work.load {
            Load::Page(cursor) => page_request(cursor, &common),
            Load::Create | Load::Get | Load::Mix => Vec::new(),
        };
        // An odd start: xorshift never leaves zero.
        let random = RandomState::new().build_hasher().finish() | 1;
        Self { work, common, page, own_ids: Vec::new(), made: 0, random }
    }

    /// Replaces what is in `out` with the next request.
    pub(crate) fn write_next(&mut self, out: &mut Vec<u8>) -> Sent {
        out.clear();
        let tenth = self.below(10) == 0;
        match self.work.load {
            Load::Create => self.write_create(out),
            Load::Mix if tenth => self.write_create(out),
            Load::Get | Load::Mix => self.write_get(out),
            Load::Page(_) => {
                out.extend_from_slice(&self.page);
                Sent::Read
            }
        }
    }

    /// A token that this connection made; later gets may choose it.
    pub(crate) fn remember(&mut self, id: String) {
        if self.own_ids.len() < OWN_IDS_MAX {
            self.own_ids.push(id);
        } else {
            self.own_ids[self.made % OWN_IDS_MAX] = id;
        }
        self.made += 1;
    }

    /// The newest of the tokens it made, and how many there were in all.
    pub(crate) fn into_own_ids(self) -> (Vec<String>, u64) {
        (self.own_ids, self.made as u64)
    }

    fn write_get(&mut self, out: &mut Vec<u8>) -> Sent {
        let choices = self.work.ids.len() + self.own_ids.len();
        let chosen = self.below(choices);
        let id = match self.work.ids.get(chosen) {
            Some(id) => id,
            None => &self.own_ids[chosen - self.work.ids.len()],
        };
        for part in ["GET /tokens/", id, " HTTP/1.1\r\n", &self.common, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        Sent::Read
    }

    fn write_create(&mut self, out: &mut Vec<u8>) -> Sent {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let common = &self.common;
        match self.work.kind {
            Kind::Token => {
                let body = format!(
                    "{{\"type\":\"token\",\"data\":\"load {:016x} {serial:016x}\"}}",
                    *SALT
                );
                write!(out, "POST /tokens HTTP/1.1\r\n{common}{}{body}", BodyLines(body.len()))
            }
            Kind::Card => {
                let body = format!(
                    "{{\"type\":\"card\",\"data\":{{\"number\":\"{}\",\"expiration_month\":12,\
                     \"expiration_year\":2039,\"cvc\":\"123\"}}}}",
                    card_number(serial)
                );
                write!(
                    out,
                    "POST /tokens HTTP/1.1\r\n{common}bt-idempotency-key: {:016x}-{serial:016x}\r\n{}{body}",
                    *SALT,
                    BodyLines(body.len())
                )
            }
        }
        .expect("a vector takes everything");
        Sent::Create
    }

    /// A number below `bound`, by xorshift: cheap, and even enough to spread gets.
    fn below(&mut self, bound: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % (bound.max(1) as u64)) as usize
    }
}

struct BodyLines(usize);

impl std::fmt::Display for BodyLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "content-type: application/json\r\ncontent-length: {}\r\n\r\n", self.0)
    }
}

pub(crate) fn page_request(cursor: &str, common: &str) -> Vec<u8> {
    let mut path = format!("/v2/tokens?size={PAGE_SIZE}");
    if !cursor.is_empty() {
        path.push_str("&start=");
        path.extend(utf8_percent_encode(cursor, ESCAPED));
    }
    format!("GET {path} HTTP/1.1\r\n{common}\r\n").into_bytes()
}

/// Everything but the unreserved characters of RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A sixteen-digit number that passes the Luhn check; a thousand million of them before the first repeats.
pub(crate) fn card_number(serial: u64) -> String {
    let mut number = format!("424242{:09}", serial % 1_000_000_000);
    number.push(char::from(luhn_digit(number.as_bytes())));
    number
}

fn luhn_digit(digits: &[u8]) -> u8 {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let value = u32::from(digit - b'0');
            // The check digit will stand last, so the digit before it is the first that doubles.
            match place % 2 {
                0 if value > 4 => value * 2 - 9,
                0 => value * 2,
                _ => value,
            }
        })
        .sum();
    b'0' + ((10 - sum % 10) % 10) as u8
}
