//! Writes JSON objects member by member. Token data passes through as the stored text, and absent
//! members are left out.

use std::io::Write as _;

use smallvec::SmallVec;
use uuid::Uuid;

use crate::domain::time::Timestamp;
use crate::idempotency::{PartLifetime, RememberedAnswer};
use crate::secret::{Secret, SecretBuffer};

/// The types whose text is a JSON number.
pub(crate) trait Integer: Copy + std::fmt::Display {}

impl Integer for i64 {}
impl Integer for u8 {}
impl Integer for u16 {}
impl Integer for u32 {}
impl Integer for u64 {}

/// The text of a JSON value.
pub(crate) type Json = Secret<Vec<u8>>;

/// A token has nine.
type Marks = SmallVec<[(usize, PartLifetime); 10]>;

#[derive(Debug)]
pub(crate) struct Object {
    out: SecretBuffer,
    /// The offsets at which the retention in a remembered answer changes, in order; `None` for an
    /// answer that is never remembered.
    marks: Option<Marks>,
}

impl Object {
    pub(crate) fn new() -> Self {
        Self::with_capacity(768)
    }

    /// `bytes` is the expected length of the text: a buffer that grows is copied and wiped.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        let mut out = SecretBuffer::with_capacity(bytes);
        out.push(b'{');
        Self { out, marks: Some(Marks::new()) }
    }

    /// For the answer to a read.
    #[must_use]
    pub(crate) fn never_remembered(self) -> Self {
        Self { marks: None, ..self }
    }

    pub(crate) fn close(mut self) -> Json {
        self.out.push(b'}');
        self.out.finish()
    }

    pub(crate) fn text(&mut self, name: &str, value: &str) {
        if is_plain(name) && is_plain(value) {
            self.separate();
            let (name, value) = (name.as_bytes(), value.as_bytes());
            self.out.extend_all([b"\"", name, b"\":\"", value, b"\""]);
        } else {
            self.name(name);
            quote(&mut self.out, value);
        }
    }

    pub(crate) fn optional_text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    pub(crate) fn id(&mut self, name: &str, id: Uuid) {
        self.text(name, id.hyphenated().encode_lower(&mut Uuid::encode_buffer()));
    }

    /// For texts that need no escapes.
    pub(crate) fn display(&mut self, name: &str, value: impl std::fmt::Display) {
        self.name(name);
        // Writing into memory cannot fail.
        write!(self.out, "\"{value}\"").ok();
    }

    pub(crate) fn optional_display(&mut self, name: &str, value: Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            self.display(name, value);
        }
    }

    pub(crate) fn time(&mut self, name: &str, value: Timestamp) {
        match value.wire_bytes().as_ref().map(|text| str::from_utf8(text)) {
            Some(Ok(text)) => self.text(name, text),
            _ => self.text(name, &value.to_wire()),
        }
    }

    pub(crate) fn optional_time(&mut self, name: &str, value: Option<Timestamp>) {
        if let Some(value) = value {
            self.time(name, value);
        }
    }

    /// An integer. A `serde_json::Number` of it would be a text on the heap.
    pub(crate) fn number(&mut self, name: &str, value: impl Integer) {
        self.name(name);
        // Writing into memory cannot fail.
        write!(self.out, "{value}").ok();
    }

    pub(crate) fn flag(&mut self, name: &str, value: bool) {
        self.json(name, if value { "true" } else { "false" });
    }

    pub(crate) fn optional_flag(&mut self, name: &str, value: Option<bool>) {
        if let Some(value) = value {
            self.flag(name, value);
        }
    }

    pub(crate) fn optional_number(&mut self, name: &str, value: Option<impl Integer>) {
        if let Some(value) = value {
            self.number(name, value);
        }
    }

    pub(crate) fn count(&mut self, name: &str, value: usize) {
        self.number(name, u64::try_from(value).unwrap_or(u64::MAX));
    }

    pub(crate) fn nullable_text(&mut self, name: &str, value: Option<&str>) {
        match value {
            Some(value) => self.text(name, value),
            None => self.json(name, "null"),
        }
    }

    pub(crate) fn json(&mut self, name: &str, json: &str) {
        self.name(name);
        self.out.extend(json.as_bytes());
    }

    /// Appends to the last value.
    pub(crate) fn more(&mut self, json: &str) {
        self.out.extend(json.as_bytes());
    }

    /// Sets how long the following text is kept in a remembered answer, until the next call.
    pub(crate) fn keep(&mut self, lifetime: PartLifetime) {
        if let Some(marks) = &mut self.marks {
            marks.push((self.out.len(), lifetime));
        }
    }

    /// As [`Object::close`], split into parts at the marks.
    pub(crate) fn close_into(mut self, answer: &mut RememberedAnswer) {
        let unkept = || Marks::from_elem((0, PartLifetime::Once), 1);
        let marks = self.marks.take().unwrap_or_else(unkept);
        answer.append(self.close(), &marks);
    }

    pub(crate) fn texts<'a>(&mut self, name: &str, values: impl Iterator<Item = &'a str>) {
        self.name(name);
        self.out.push(b'[');
        for (at, value) in values.enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            quote(&mut self.out, value);
        }
        self.out.push(b']');
    }

    pub(crate) fn object(&mut self, name: &str, fill: impl FnOnce(&mut Self)) {
        self.name(name);
        self.inner(fill);
    }

    /// A list with an object for each item; `fill` writes the object.
    pub(crate) fn objects<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut fill: impl FnMut(&mut Self, T),
    ) {
        self.name(name);
        self.out.push(b'[');
        for (at, item) in items.into_iter().enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            self.inner(|object| fill(object, item));
        }
        self.out.push(b']');
    }

    fn inner(&mut self, fill: impl FnOnce(&mut Self)) {
        self.out.push(b'{');
        fill(self);
        self.out.push(b'}');
    }

    /// Objects that are JSON text already.
    pub(crate) fn list(&mut self, name: &str, items: &[Json]) {
        self.name(name);
        write_list(&mut self.out, items);
    }

    pub(crate) fn value(&mut self, name: &str, value: &serde_json::Value) {
        self.name(name);
        self.out.json(value);
    }

    fn name(&mut self, name: &str) {
        self.separate();
        if is_plain(name) {
            self.out.extend_all([b"\"", name.as_bytes(), b"\":"]);
        } else {
            quote(&mut self.out, name);
            self.out.push(b':');
        }
    }

    /// Begins a member. Every value is complete when the next member begins, and no value ends in
    /// an opening brace: after a brace, this is the first member of its object.
    fn separate(&mut self) {
        if self.out.last() != Some(b'{') {
            self.out.push(b',');
        }
    }
}

/// A bare array of objects that are JSON text already.
pub(crate) fn list(items: &[Json]) -> Json {
    let mut out = SecretBuffer::with_capacity(0);
    write_list(&mut out, items);
    out.finish()
}

/// Reserves the whole length at once, so that a page of tokens is copied once.
fn write_list(out: &mut SecretBuffer, items: &[Json]) {
    // Each item with its comma, two brackets, and the closing brace of the enclosing object.
    let bytes = items
        .iter()
        .fold(3_usize, |sum, item| sum.saturating_add(item.expose().len()).saturating_add(1));
    out.reserve(bytes);
    out.push(b'[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend(item.expose());
    }
    out.push(b']');
}

/// True for a text without a character that JSON escapes.
fn is_plain(text: &str) -> bool {
    let text = text.as_bytes();
    match text.last_chunk() {
        // The last eight bytes overlap with those before, so that none is left.
        Some(last) => text.as_chunks().0.iter().chain([last]).all(|eight| are_plain(*eight)),
        None => text.iter().all(|byte| *byte >= b' ' && !b"\"\\".contains(byte)),
    }
}

/// Looks at eight bytes at once. Most texts are names and values with less than twenty.
fn are_plain(bytes: [u8; 8]) -> bool {
    const EACH: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = EACH << 7;
    let bytes = u64::from_ne_bytes(bytes);
    // The lowest byte below the limit, at most 128, keeps a high bit that it did not have.
    let has_below = |bytes: u64, limit: u8| {
        bytes.wrapping_sub(EACH.wrapping_mul(u64::from(limit))) & !bytes & HIGH != 0
    };
    let has = |byte: u8| has_below(bytes ^ EACH.wrapping_mul(u64::from(byte)), 1);
    !(has_below(bytes, b' ') || has(b'"') || has(b'\\'))
}

fn quote(out: &mut SecretBuffer, text: &str) {
    if is_plain(text) {
        out.extend_all([b"\"", text.as_bytes(), b"\""]);
    } else {
        // Writing into memory cannot fail.
        serde_json::to_writer(out, text).ok();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn every_text_is_written_as_json_wherever_its_special_characters_are() {
        for length in 0..20 {
            for at in 0..length {
                for special in (0..=0x7f).chain(['\u{80}', '\u{ff}', '\u{1f512}'].map(u32::from)) {
                    let mut text: Vec<char> =
                        "\u{ff}abcdefghijklmnopqr ".chars().take(length).collect();
                    text[at] = char::from_u32(special).unwrap();
                    let text: String = text.into_iter().collect();
                    let mut object = Object::new();
                    object.text("", &text);
                    let value: Value = serde_json::from_slice(object.close().expose()).unwrap();
                    assert_eq!(value, json!({ "": text }));
                }
            }
        }
    }

    #[test]
    fn what_is_written_is_json() {
        let mut object = Object::new();
        object.text("quo\"te", "line\nend \u{1f512} \\");
        object.optional_text("absent", None);
        object.number("n", 7_u64);
        object.flag("f", true);
        object.json("raw", r#"{"a":[1]}"#);
        object.texts("list", ["a", "b\t"].into_iter());
        object.object("inner", |inner| inner.text("x", ""));
        object.object("empty", |_| ());
        object.objects("items", 1_u8..3, |item, number| {
            item.number("n", number);
            item.object("deep", |deep| deep.text("brace", "{"));
            item.display("d", number);
        });
        object.list("objects", &[(); 2].map(|()| Object::new().close()));
        object.list("none", &[]);
        let value: Value = serde_json::from_slice(object.close().expose()).unwrap();
        let expected = json!({
            "quo\"te": "line\nend \u{1f512} \\", "n": 7, "f": true, "raw": {"a": [1]},
            "list": ["a", "b\t"], "inner": {"x": ""}, "empty": {},
            "items": [
                {"n": 1, "deep": {"brace": "{"}, "d": "1"},
                {"n": 2, "deep": {"brace": "{"}, "d": "2"},
            ],
            "objects": [{}, {}], "none": [],
        });
        assert_eq!(value, expected);
        assert_eq!(Object::new().close().expose(), b"{}");
    }
}
