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
/// A connection remembers this many of the tokens it made, the newest ones. No load here makes more before it ends.
const OWN_TOKENS_MAX: usize = 65_536;
/// Values of the metadata entry that many cards share.
const CHANNELS: u64 = 4;
/// Cards with the same customer in their metadata.
const CARDS_OF_CUSTOMER: u64 = 4;
pub(crate) const PAGE_SIZE: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A card with a CVC and three metadata entries, under an idempotency key.
    Card,
    /// A short text and nothing else.
    Plain,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    Create,
    Get,
    /// Nine gets and one create in ten, at random.
    Mix,
    /// A call through the proxy to this URL, with a card in its body.
    Proxy(String),
    /// The same body to this path each time.
    Post(String, String),
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

/// A token whose creation was answered, and the serial number that its value was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Created {
    pub(crate) id: String,
    pub(crate) serial: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Create,
    Read,
}

pub(crate) struct Requests {
    work: Work,
    /// Host and key lines, which every request carries.
    common: String,
    /// The request of a load that repeats one.
    fixed: Vec<u8>,
    own: Vec<Created>,
    made: usize,
    serial: u64,
    random: u64,
}

impl Requests {
    pub(crate) fn new(work: Work, host: &str, key: &str) -> Self {
        let common = format!("host: {host}\r\nbt-api-key: {key}\r\n");
        let fixed = match &work.load {
            Load::Page(cursor) => page_request(cursor, &common),
            Load::Post(path, body) => {
                format!("POST {path} HTTP/1.1\r\n{common}{}{body}", BodyLines(body.len()))
                    .into_bytes()
            }
            Load::Create | Load::Get | Load::Mix | Load::Proxy(_) => Vec::new(),
        };
        // An odd start: xorshift never leaves zero.
        let random = RandomState::new().build_hasher().finish() | 1;
        Self { work, common, fixed, own: Vec::new(), made: 0, serial: 0, random }
    }

    /// Replaces what is in `out` with the next request.
    pub(crate) fn write_next(&mut self, out: &mut Vec<u8>) -> Sent {
        out.clear();
        let tenth = self.below(10) == 0;
        match &self.work.load {
            Load::Create => self.write_create(out),
            Load::Mix if tenth => self.write_create(out),
            Load::Get | Load::Mix => self.write_get(out),
            Load::Page(_) | Load::Post(..) => {
                out.extend_from_slice(&self.fixed);
                Sent::Read
            }
            Load::Proxy(url) => {
                let url = url.clone();
                self.write_proxy(&url, out)
            }
        }
    }

    /// The last create was answered with this id; later gets may choose it.
    pub(crate) fn remember(&mut self, id: String) {
        let created = Created { id, serial: self.serial };
        if self.own.len() < OWN_TOKENS_MAX {
            self.own.push(created);
        } else {
            self.own[self.made % OWN_TOKENS_MAX] = created;
        }
        self.made += 1;
    }

    /// The newest of the tokens it made, and how many there were in all.
    pub(crate) fn into_created(self) -> (Vec<Created>, u64) {
        (self.own, self.made as u64)
    }

    fn chosen(&mut self) -> &str {
        let choices = self.work.ids.len() + self.own.len();
        let chosen = self.below(choices);
        match self.work.ids.get(chosen) {
            Some(id) => id,
            None => &self.own[chosen - self.work.ids.len()].id,
        }
    }

    fn write_proxy(&mut self, url: &str, out: &mut Vec<u8>) -> Sent {
        let id = self.chosen();
        let body = format!(
            "{{\"amount\":1099,\"currency\":\"EUR\",\"card\":{{\"number\":\"{{{{ {id} | json: '$.number' }}}}\",\
             \"exp_month\":\"{{{{ {id} | json: '$.expiration_month' }}}}\",\"exp_year\":\"{{{{ {id} | json: \
             '$.expiration_year' }}}}\",\"cvc\":\"{{{{ {id} | json: '$.cvc' }}}}\"}},\"capture\":true}}"
        );
        let common = &self.common;
        write!(
            out,
            "POST /proxy HTTP/1.1\r\n{common}bt-proxy-url: {url}\r\n{}{body}",
            BodyLines(body.len())
        )
        .expect("a vector takes everything");
        Sent::Read
    }

    fn write_get(&mut self, out: &mut Vec<u8>) -> Sent {
        let id = self.chosen().to_owned();
        let id = id.as_str();
        for part in ["GET /tokens/", id, " HTTP/1.1\r\n", &self.common, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        Sent::Read
    }

    fn write_create(&mut self, out: &mut Vec<u8>) -> Sent {
        self.serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let (serial, common) = (self.serial, &self.common);
        match self.work.kind {
            Kind::Plain => {
                let body = format!("{{\"type\":\"token\",\"data\":\"{}\"}}", plain_value(serial));
                write!(out, "POST /tokens HTTP/1.1\r\n{common}{}{body}", BodyLines(body.len()))
            }
            Kind::Card => {
                let body = card_body(serial);
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

/// The metadata has an entry of its own, one that a few cards share and one that many share.
fn card_body(serial: u64) -> String {
    format!(
        "{{\"type\":\"card\",\"data\":{{\"number\":\"{}\",\"expiration_month\":12,\"expiration_year\":2039,\
         \"cvc\":\"123\"}},\"metadata\":{{\"channel\":\"channel {}\",\"customer\":\"customer {:08}\",\
         \"order\":\"order {:016x} {serial:08}\"}}}}",
        card_number(serial),
        serial % CHANNELS,
        serial / CARDS_OF_CUSTOMER,
        *SALT
    )
}

fn plain_value(serial: u64) -> String {
    format!("load {:016x} {serial:016x}", *SALT)
}

/// The text that an answer must hold if the token is the one that was stored.
pub(crate) fn stored_text(kind: Kind, serial: u64) -> String {
    match kind {
        Kind::Card => card_number(serial),
        Kind::Plain => plain_value(serial),
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
