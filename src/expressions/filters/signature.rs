//! The signature of a filter: the kinds of its arguments and its place in a chain.

use serde_json::Value;

use super::arguments::{
    Invocation, character_of, flag_of, hash_of, integer_of, length_of, separators_of, text_of,
};
use super::card::is_date_format;
use super::number::Number;
use crate::expressions::context::Text;
use crate::expressions::failures::{Failed, MalformedReason};
use crate::expressions::path::JsonPath;
use crate::expressions::variable::Variable;

pub(in crate::expressions) struct Filter {
    pub(in crate::expressions) name: &'static str,
    /// The minimum number of arguments; the maximum is the number of kinds.
    pub(in crate::expressions) least: usize,
    pub(in crate::expressions) kinds: &'static [Kind],
    /// An optional name of the last argument.
    pub(in crate::expressions) named: Option<&'static str>,
    pub(in crate::expressions) place: FilterPosition,
    pub(in crate::expressions) action: Action,
}

impl Filter {
    pub(in crate::expressions) const fn encodes(&self) -> bool {
        matches!(self.action, Action::Encode(_))
    }

    /// The name and the arguments, for an error.
    pub(in crate::expressions) fn usage(&self) -> String {
        format!("{} takes: {}", self.name, self.arguments())
    }

    /// The arguments in words. Those in brackets may be absent.
    pub(in crate::expressions) fn arguments(&self) -> String {
        let last = self.kinds.len().saturating_sub(1);
        let word = |(at, kind): (usize, &Kind)| {
            let name = self.named.filter(|_| at == last).map(|name| format!("{name}: "));
            let word = format!("{}{}", name.unwrap_or_default(), kind.word());
            if at < self.least { word } else { format!("[{word}]") }
        };
        let words: Vec<_> = self.kinds.iter().enumerate().map(word).collect();
        if words.is_empty() { String::from("none") } else { words.join(", ") }
    }
}

/// The positions in a chain of filters that a filter may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::expressions) enum FilterPosition {
    Anywhere,
    /// Its result is bytes, which only an encoding accepts.
    BeforeEncoding,
    Last,
}

pub(super) type Run<T> = fn(&Value, &Invocation<'_>) -> Result<T, Failed>;
pub(in crate::expressions) type Calculation = fn(Number, Number) -> Result<Number, Failed>;
pub(super) type Rewrite = fn(&str, &Invocation<'_>) -> Result<Text, Failed>;

pub(in crate::expressions) enum Action {
    Calculation(Calculation),
    Encode(fn(&[u8]) -> String),
    Path,
    /// Rewrites a text. Null stays null.
    Rewrite(Rewrite),
    Sign(Run<Vec<u8>>),
    /// As `Rewrite`, for a function that reads the text character by character.
    SpellOut(Rewrite),
    /// Takes no arguments and cannot fail.
    Total(fn(&Value) -> Value),
    Value(Run<Value>),
}

pub(in crate::expressions) struct Call {
    pub(in crate::expressions) filter: &'static Filter,
    pub(in crate::expressions) arguments: Vec<Argument>,
}

pub(in crate::expressions) enum Argument {
    Literal(Value),
    Path(Box<JsonPath>),
    Variable(Variable),
}

/// The kind of an argument. A literal is checked when the expression is parsed, the value of a
/// variable when the filter reads it, both by the same functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::expressions) enum Kind {
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
    const fn word(self) -> &'static str {
        match self {
            Self::Any => "value",
            Self::CardDate => "date format",
            Self::Character => "character",
            Self::Flag => "flag",
            Self::HashName => "hash",
            Self::Integer => "whole number",
            Self::Length => "length",
            Self::Number => "number",
            Self::Path => "JSON path",
            Self::Separators => "separators",
            Self::Text => "text",
        }
    }

    pub(in crate::expressions) fn check(
        self,
        argument: Argument,
    ) -> Result<Argument, MalformedReason> {
        let value = match argument {
            Argument::Literal(value) => value,
            Argument::Variable(_) | Argument::Path(_) if self != Self::Path => return Ok(argument),
            // A path must be a literal: one from the data could not be checked in advance.
            Argument::Variable(_) | Argument::Path(_) => return Err(MalformedReason::BadArgument),
        };
        let fits = match self {
            Self::Any => true,
            Self::CardDate => text_of(&value).is_ok_and(|format| is_date_format(&format)),
            Self::Character => character_of(&value).is_ok(),
            Self::Flag => flag_of(&value).is_ok(),
            Self::HashName => hash_of(&value).is_ok(),
            Self::Integer => integer_of(&value).is_ok(),
            Self::Length => length_of(&value).is_ok(),
            Self::Number => Number::of(&value).is_ok(),
            Self::Path => {
                let Value::String(text) = &value else {
                    return Err(MalformedReason::BadArgument);
                };
                let path = JsonPath::parse(text).ok_or(MalformedReason::BadJsonPath)?;
                return Ok(Argument::Path(Box::new(path)));
            }
            Self::Separators => separators_of(&value).is_ok(),
            Self::Text => text_of(&value).is_ok(),
        };
        if fits { Ok(Argument::Literal(value)) } else { Err(MalformedReason::BadArgument) }
    }
}
