//! The filters: their names, what arguments they take, and how arguments are read.
//!
//! A filter never changes its input and never keeps anything. Null goes through the filters that
//! only rewrite a text; a list or an object is never silently turned into text.

mod alias;
mod card;
mod encode;
mod list;
mod number;
mod table;
mod text;

use std::borrow::Cow;

use serde_json::Value;

use super::evaluate::{EvalContext, EvalValue};
use super::path::JsonPath;
use super::{Failed, Hash, Variable, Why};
use crate::bounds;

pub(super) use table::find;
#[cfg(test)]
pub(super) use table::names;

pub(super) struct Filter {
    pub(super) name: &'static str,
    /// The fewest arguments; the most are as many as there are kinds.
    pub(super) least: usize,
    pub(super) kinds: &'static [Kind],
    /// The last argument may be written with this name.
    pub(super) named: Option<&'static str>,
    pub(super) place: Place,
    pub(super) action: Action,
}

impl Filter {
    pub(super) const fn encodes(&self) -> bool {
        matches!(self.action, Action::Encode(_))
    }
}

/// Where in a chain of filters a filter may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Anywhere,
    /// It gives bytes, which only an encoding can take.
    BeforeEncoding,
    Last,
}

type Run<T> = fn(&Value, &Arguments<'_>, &EvalContext<'_>) -> Result<T, Failed>;

pub(super) enum Action {
    Encode(fn(&[u8]) -> String),
    Path,
    Sign(Run<Vec<u8>>),
    /// Takes no arguments and cannot fail.
    Total(fn(&Value) -> Value),
    Value(Run<Value>),
}

pub(super) struct Call {
    pub(super) filter: &'static Filter,
    pub(super) arguments: Vec<Argument>,
}

pub(super) enum Argument {
    Literal(Value),
    Path(Box<JsonPath>),
    Variable(Variable),
}

/// What an argument must be. A literal is checked when the expression is parsed, a variable's value
/// by the same functions when the filter reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Any,
    CardDate,
    Character,
    Flag,
    HashName,
    Integer,
    Length,
    Number,
    Path,
    Separators,
    Text,
}

impl Kind {
    pub(super) fn check(self, argument: Argument) -> Result<Argument, Why> {
        let value = match argument {
            Argument::Literal(value) => value,
            Argument::Variable(_) | Argument::Path(_) if self != Self::Path => return Ok(argument),
            // A path from data could not be checked beforehand, and nobody needs one.
            Argument::Variable(_) | Argument::Path(_) => return Err(Why::BadArgument),
        };
        let fits = match self {
            Self::Any => true,
            Self::CardDate => text_of(&value).is_ok_and(|format| card::is_date_format(&format)),
            Self::Character => character_of(&value).is_ok(),
            Self::Flag => flag_of(&value).is_ok(),
            Self::HashName => hash_of(&value).is_ok(),
            Self::Integer => integer_of(&value).is_ok(),
            Self::Length => length_of(&value).is_ok(),
            Self::Number => number::Number::of(&value).is_ok(),
            Self::Path => {
                let Value::String(text) = &value else {
                    return Err(Why::BadArgument);
                };
                let path = JsonPath::parse(text).ok_or(Why::BadJsonPath)?;
                return Ok(Argument::Path(Box::new(path)));
            }
            Self::Separators => separators_of(&value).is_ok(),
            Self::Text => text_of(&value).is_ok(),
        };
        if fits { Ok(Argument::Literal(value)) } else { Err(Why::BadArgument) }
    }
}

/// The arguments of one call, evaluated.
pub(super) struct Arguments<'a>(Vec<EvalValue<'a>>);

impl<'a> Arguments<'a> {
    pub(super) const fn new(values: Vec<EvalValue<'a>>) -> Self {
        Self(values)
    }

    fn value(&self, place: usize) -> Option<&Value> {
        self.0.get(place).and_then(|evaluated| evaluated.value().ok())
    }

    /// The empty text when it is absent.
    fn text(&self, place: usize) -> Result<Cow<'_, str>, Failed> {
        self.value(place).map_or(Ok(Cow::Borrowed("")), text_of)
    }

    /// None when it is absent.
    fn separators(&self, place: usize) -> Result<Cow<'_, str>, Failed> {
        self.value(place).map_or(Ok(Cow::Borrowed("")), separators_of)
    }

    fn length(&self, place: usize, absent: usize) -> Result<usize, Failed> {
        self.value(place).map_or(Ok(absent), length_of)
    }

    fn integer(&self, place: usize, absent: i64) -> Result<i64, Failed> {
        self.value(place).map_or(Ok(absent), integer_of)
    }

    fn character(&self, place: usize, absent: char) -> Result<char, Failed> {
        self.value(place).map_or(Ok(absent), character_of)
    }

    /// False when it is absent.
    fn flag(&self, place: usize) -> Result<bool, Failed> {
        self.value(place).map_or(Ok(false), flag_of)
    }
}

/// How a value stands in a text: null is nothing, numbers and booleans as JSON writes them.
pub(super) fn text_of(value: &Value) -> Result<Cow<'_, str>, Failed> {
    match value {
        Value::String(text) => Ok(Cow::Borrowed(text)),
        Value::Null => Ok(Cow::Borrowed("")),
        Value::Bool(true) => Ok(Cow::Borrowed("true")),
        Value::Bool(false) => Ok(Cow::Borrowed("false")),
        Value::Number(number) => Ok(Cow::Owned(number.to_string())),
        Value::Array(_) | Value::Object(_) => Err(Failed::NotText),
    }
}

/// Every character of the input is looked for among these, so there are few.
fn separators_of(value: &Value) -> Result<Cow<'_, str>, Failed> {
    text_of(value).and_then(|text| {
        if text.len() > bounds::SEPARATORS_BYTES_MAX { Err(Failed::BadArgument) } else { Ok(text) }
    })
}

fn integer_of(value: &Value) -> Result<i64, Failed> {
    match number::Number::of(value)? {
        number::Number::Whole(whole) if !value.is_null() => {
            i64::try_from(whole).or(Err(Failed::BadArgument))
        }
        number::Number::Whole(_) | number::Number::Float(_) => Err(Failed::BadArgument),
    }
}

fn length_of(value: &Value) -> Result<usize, Failed> {
    usize::try_from(integer_of(value)?).or(Err(Failed::BadArgument))
}

fn character_of(value: &Value) -> Result<char, Failed> {
    let text = text_of(value)?;
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(Failed::BadArgument),
    }
}

/// Published expressions pass booleans in quotes.
fn flag_of(value: &Value) -> Result<bool, Failed> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            Err(Failed::BadArgument)
        }
    }
}

fn hash_of(value: &Value) -> Result<Hash, Failed> {
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
