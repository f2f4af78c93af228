//! 3-D Secure on the wire: sessions, the body of an authenticate call, and its outcome. Members
//! have two names where the interface and its published clients differ; only this folder uses both.

pub(crate) mod authenticate;
pub(crate) mod outcome;
pub(crate) mod session;

use serde_json::{Map, Value};

use crate::bounds::{THREEDS_METADATA_BYTES_MAX, THREEDS_TEXT_CHARS_MAX};
use crate::http::wire::{Fields, WRONG_TYPE};

pub(super) fn nested<'a, T>(
    fields: &mut Fields<'a>,
    name: &str,
    parse: impl FnOnce(&mut Fields<'a>) -> T,
) -> Option<T> {
    let value = fields.value(name)?;
    let mut inner = Fields::at(value, fields.path_of(name));
    let is_object = inner.mistakes.is_empty();
    let parsed = is_object.then(|| parse(&mut inner));
    fields.mistakes.append(inner.mistakes);
    parsed
}

/// A text of 1 to a few thousand characters.
pub(super) fn text(fields: &mut Fields<'_>, name: &str) -> Option<String> {
    text_up_to(fields, name, THREEDS_TEXT_CHARS_MAX)
}

pub(super) fn text_up_to(fields: &mut Fields<'_>, name: &str, max: usize) -> Option<String> {
    let found = fields.text(name)?;
    if (1..=max).contains(&found.chars().count()) {
        return Some(String::from(found));
    }
    fields.wrong(name, format!("The {name} has 1 to {max} characters."));
    None
}

/// A text in a special form, which `form` describes for people.
pub(super) fn formed(
    fields: &mut Fields<'_>,
    name: &str,
    is_formed: impl FnOnce(&str) -> bool,
    form: &str,
) -> Option<String> {
    let found = text(fields, name)?;
    if is_formed(&found) {
        return Some(found);
    }
    fields.wrong(name, format!("The {name} must be {form}."));
    None
}

/// A word of a fixed list.
pub(super) fn word<T>(
    fields: &mut Fields<'_>,
    name: &str,
    from_word: impl FnOnce(&str) -> Option<T>,
    words: &[&str],
) -> Option<T> {
    let message = format!("The {name} must be one of: {}.", words.join(", "));
    fields.parsed(name, from_word, &message)
}

/// A text, or a number in its place: some programs send sizes as numbers.
pub(super) fn text_or_number(fields: &mut Fields<'_>, name: &str) -> Option<String> {
    match fields.value(name) {
        Some(Value::Number(number)) if number.is_i64() || number.is_u64() => {
            Some(number.to_string())
        }
        Some(Value::String(_)) => text(fields, name),
        Some(_) => {
            fields.wrong(name, WRONG_TYPE);
            None
        }
        None => None,
    }
}

/// An object with any members, of a limited size.
pub(super) fn free_object(fields: &mut Fields<'_>, name: &str) -> Option<Map<String, Value>> {
    let members = fields.object(name)?.clone();
    if Value::Object(members.clone()).to_string().len() <= THREEDS_METADATA_BYTES_MAX {
        return Some(members);
    }
    fields.wrong(name, format!("It has at most {THREEDS_METADATA_BYTES_MAX} bytes."));
    None
}
