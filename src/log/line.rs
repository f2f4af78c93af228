//! Renders events as JSON text.

use std::fmt::Write as _;
use std::time::Duration;

use uuid::Uuid;

use crate::bounds;
use crate::domain::time::Timestamp;

use super::{Event, Level, RequestLine, Value};

/// The id that connects a request with its log line. Clients may choose it, so it is the only text
/// in the log that comes from outside; ids that could hold a card number are withheld.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    bytes: [u8; bounds::TRACE_BYTES_MAX],
    length: usize,
}

impl Trace {
    /// An id that a client sent. It is logged only if it is short, consists of letters, digits and
    /// `-_.`, and has too few digits in a row for a card number.
    pub fn from_client(text: &str) -> Self {
        let known = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        let fits = !text.is_empty() && text.len() <= bounds::TRACE_BYTES_MAX;
        let looks_like_a_number = longest_digit_run(text) >= bounds::TRACE_DIGITS_MAX;
        // UUIDs are checked too: a card number and some letters can form one.
        if known && fits && !looks_like_a_number {
            Self::copy(text.as_bytes())
        } else {
            Self::copy(b"withheld")
        }
    }

    pub fn as_str(&self) -> &str {
        let text = self.bytes.get(..self.length).unwrap_or_default();
        std::str::from_utf8(text).unwrap_or_default()
    }

    /// All callers pass text that fits into the array; longer text would be cut.
    fn copy(text: &[u8]) -> Self {
        let mut bytes = [0; bounds::TRACE_BYTES_MAX];
        let length = text.len().min(bytes.len());
        bytes.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
        Self { bytes, length }
    }
}

/// The trace id that an answer has. It is another type than [`Trace`], since the log may withhold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerTrace(Trace);

impl AnswerTrace {
    /// A new id for a request without one: a random UUID that may be logged. One in forty has too
    /// many digits in a row and is drawn again, since a client must find its id in the log.
    pub fn draw(mut random: impl FnMut() -> [u8; 16]) -> Self {
        let mut text = [0; uuid::fmt::Hyphenated::LENGTH];
        for _ in 0..DRAWS_MAX {
            let id = uuid::Builder::from_random_bytes(random()).into_uuid();
            if longest_digit_run(id.hyphenated().encode_lower(&mut text)) < bounds::TRACE_DIGITS_MAX
            {
                break;
            }
        }
        Self(Trace::copy(&text))
    }

    /// An id that a client sent, if it can be repeated to it in a header. This allows more than the
    /// log does, but nothing that looks like an API key.
    pub fn of_client(text: &str) -> Option<Self> {
        let fits = (1..=bounds::TRACE_BYTES_MAX).contains(&text.len());
        let is_repeatable = fits && text.bytes().all(|byte| byte.is_ascii_graphic());
        (is_repeatable && !holds_key(text)).then(|| Self(Trace::copy(text.as_bytes())))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// More draws than a working source of randomness ever needs.
const DRAWS_MAX: usize = 64;

/// Returns whether the text holds an API key or the beginning of one: `key_`, followed by enough
/// characters of keys.
fn holds_key(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let legal = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
    let mut rests = lower
        .match_indices(KEY_START)
        .filter_map(|(at, found)| lower.as_bytes().get(at.saturating_add(found.len())..));
    rests.any(|rest| rest.iter().take_while(|byte| legal(byte)).count() >= KEY_REST_BYTES_MIN)
}

const KEY_START: &str = "key_";
/// Fewer than any key has after its prefix, so that the beginning of a key is found too.
const KEY_REST_BYTES_MIN: usize = 12;

/// The longest run of digits; separators neither count nor end a run.
fn longest_digit_run(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for byte in text.bytes() {
        if byte.is_ascii_digit() {
            run += 1;
            longest = longest.max(run);
        } else if byte.is_ascii_alphabetic() {
            run = 0;
        }
    }
    longest
}

pub(super) fn write_request(out: &mut String, at: Timestamp, line: &RequestLine) {
    open(out, at, Level::Info, "request");
    field(out, "trace");
    text(out, line.trace.as_str());
    field(out, "route");
    text(out, line.route);
    if let Some(address) = line.address {
        field(out, "address");
        quoted(out, &address);
    }
    let ids = [("tenant", line.tenant), ("application", line.application), ("key_id", line.key)];
    for (name, id) in ids {
        if let Some(id) = id {
            field(out, name);
            write_id(out, id);
        }
    }
    field(out, "status");
    number(out, line.status);
    field(out, "duration_us");
    number(out, micros(line.duration));
    close(out);
}

pub(super) fn write_event(out: &mut String, at: Timestamp, event: &Event) {
    open(out, at, event.level, event.name);
    for (name, value) in &event.fields {
        field(out, name);
        write_value(out, value);
    }
    close(out);
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Address(address) => quoted(out, address),
        Value::Count(count) => number(out, count),
        Value::Duration(duration) => number(out, micros(*duration)),
        Value::Id(id) => write_id(out, *id),
        Value::Name(name) => text(out, name),
        Value::Path(path) => text(out, &path.to_string_lossy()),
        Value::Place(place) => {
            out.push('"');
            escape(out, &place.file);
            out.push(':');
            number(out, place.line);
            out.push('"');
        }
        Value::Signed(value) => number(out, value),
        Value::Time(at) => text(out, &at.to_wire()),
    }
}

fn open(out: &mut String, at: Timestamp, level: Level, name: &str) {
    out.push_str("{\"at\":");
    text(out, &at.to_wire());
    field(out, "level");
    text(
        out,
        match level {
            Level::Error => "error",
            Level::Info => "info",
            Level::Warn => "warn",
        },
    );
    field(out, "event");
    text(out, name);
}

fn close(out: &mut String) {
    out.push_str("}\n");
}

fn field(out: &mut String, name: &str) {
    out.push(',');
    text(out, name);
    out.push(':');
}

fn text(out: &mut String, value: &str) {
    out.push('"');
    escape(out, value);
    out.push('"');
}

fn write_id(out: &mut String, id: Uuid) {
    quoted(out, &id.hyphenated());
}

/// Only the file name of a panic could need escaping.
fn escape(out: &mut String, value: &str) {
    for letter in value.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            ' '..='~' => out.push(letter),
            _ => out.push('?'),
        }
    }
}

fn quoted(out: &mut String, value: &impl std::fmt::Display) {
    out.push('"');
    number(out, value);
    out.push('"');
}

#[expect(clippy::let_underscore_must_use, reason = "writing to a String cannot fail")]
fn number(out: &mut String, value: impl std::fmt::Display) {
    let _ = write!(out, "{value}");
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
