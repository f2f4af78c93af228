//! A running call of a filter: its evaluated arguments and their conversions.

use std::borrow::Cow;

use serde_json::Value;

use super::number;
use crate::bounds;
use crate::expressions::budget::Budget;
use crate::expressions::context::{EvalValue, Hash, Host, Revealing};
use crate::expressions::failures::Failed;

/// Everything that a filter may use besides its input.
pub(in crate::expressions) struct Invocation<'a> {
    pub(in crate::expressions) arguments: Vec<EvalValue<'a>>,
    pub(in crate::expressions) host: &'a dyn Host,
    pub(in crate::expressions) budget: &'a Budget,
    pub(in crate::expressions) revealing: Revealing,
}

impl Invocation<'_> {
    /// `None` when it is absent. It is never bytes: `Call::run` refuses those.
    pub(super) fn value(&self, place: usize) -> Option<&Value> {
        self.arguments.get(place).and_then(|evaluated| evaluated.value().ok())
    }

    /// The empty text when it is absent.
    pub(super) fn text(&self, place: usize) -> Result<Cow<'_, str>, Failed> {
        self.value(place).map_or(Ok(Cow::Borrowed("")), text_of)
    }

    /// No separators when it is absent.
    pub(super) fn separators(&self, place: usize) -> Result<Cow<'_, str>, Failed> {
        self.value(place).map_or(Ok(Cow::Borrowed("")), separators_of)
    }

    pub(super) fn length(&self, place: usize, absent: usize) -> Result<usize, Failed> {
        self.value(place).map_or(Ok(absent), length_of)
    }

    pub(super) fn integer(&self, place: usize, absent: i64) -> Result<i64, Failed> {
        self.value(place).map_or(Ok(absent), integer_of)
    }

    pub(super) fn character(&self, place: usize, absent: char) -> Result<char, Failed> {
        self.value(place).map_or(Ok(absent), character_of)
    }

    /// False when it is absent.
    pub(super) fn flag(&self, place: usize) -> Result<bool, Failed> {
        self.value(place).map_or(Ok(false), flag_of)
    }
}

/// The text of a value: null is the empty text, numbers and booleans are written as in JSON.
pub(in crate::expressions) fn text_of(value: &Value) -> Result<Cow<'_, str>, Failed> {
    match value {
        Value::String(text) => Ok(Cow::Borrowed(text)),
        Value::Null => Ok(Cow::Borrowed("")),
        Value::Bool(true) => Ok(Cow::Borrowed("true")),
        Value::Bool(false) => Ok(Cow::Borrowed("false")),
        Value::Number(number) => Ok(Cow::Owned(number.to_string())),
        Value::Array(_) | Value::Object(_) => Err(Failed::NotText),
    }
}

/// Bounded, since each character of the input is compared with all separators.
pub(super) fn separators_of(value: &Value) -> Result<Cow<'_, str>, Failed> {
    text_of(value).and_then(|text| {
        if text.len() > bounds::SEPARATORS_BYTES_MAX { Err(Failed::BadArgument) } else { Ok(text) }
    })
}

pub(super) fn integer_of(value: &Value) -> Result<i64, Failed> {
    match number::Number::of(value)? {
        number::Number::Whole(whole) if !value.is_null() => {
            i64::try_from(whole).or(Err(Failed::BadArgument))
        }
        number::Number::Whole(_) | number::Number::Float(_) => Err(Failed::BadArgument),
    }
}

pub(super) fn length_of(value: &Value) -> Result<usize, Failed> {
    usize::try_from(integer_of(value)?).or(Err(Failed::BadArgument))
}

pub(super) fn character_of(value: &Value) -> Result<char, Failed> {
    let text = text_of(value)?;
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(Failed::BadArgument),
    }
}

/// Accepts quoted booleans too: published expressions contain them.
pub(super) fn flag_of(value: &Value) -> Result<bool, Failed> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            Err(Failed::BadArgument)
        }
    }
}

pub(super) fn hash_of(value: &Value) -> Result<Hash, Failed> {
    match value {
        Value::Null => Ok(Hash::Sha256),
        Value::String(name) => match name.to_ascii_lowercase().as_str() {
            "sha-1" | "sha1" => Ok(Hash::Sha1),
            "" | "sha-256" | "sha256" => Ok(Hash::Sha256),
            "sha-512" | "sha512" => Ok(Hash::Sha512),
            _ => Err(Failed::BadArgument),
        },
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(Failed::BadArgument)
        }
    }
}
