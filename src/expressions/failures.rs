//! Errors of parsing and of evaluation. They hold no input text.

use std::error::Error;
use std::fmt;

/// A mistake in the text of an expression, found when it is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    /// Byte offset in the text.
    pub at: usize,
    pub why: Why,
}

impl Malformed {
    pub(super) const fn new(at: usize, why: Why) -> Self {
        Self { at, why }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    ArgumentCount,
    BadArgument,
    BadJsonPath,
    BadNumber,
    BadReference,
    BadVariable,
    Empty,
    FilterMissing,
    NotEncoded,
    NotLast,
    Tag,
    TooDeep,
    TooLong,
    TooManyExpressions,
    TooManyFilters,
    TooManyMembers,
    TooManySegments,
    TooManyStates,
    Unclosed,
    UnclosedQuote,
    Unexpected,
    UnknownFilter,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.why, self.at)
    }
}

impl Error for Malformed {}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ArgumentCount => "the filter takes another number of arguments",
            Self::BadArgument => "the filter does not take this argument",
            Self::BadJsonPath => "the JSON path is malformed",
            Self::BadNumber => "the number is malformed or too large",
            Self::BadReference => "the token's id is malformed",
            Self::BadVariable => "the variable is malformed",
            Self::Empty => "the expression is empty",
            Self::FilterMissing => "a filter's name is missing",
            Self::NotEncoded => "hmac must be followed by to_base64 or to_base16",
            Self::NotLast => "the filter must be the last one",
            Self::Tag => "tags are not supported",
            Self::TooDeep => "the mask is nested too deeply",
            Self::TooLong => "the expression is too long",
            Self::TooManyExpressions => "there are too many expressions in one text",
            Self::TooManyFilters => "there are too many filters in one expression",
            Self::TooManyMembers => "the mask has too many members",
            Self::TooManySegments => "the variable has too many members",
            Self::TooManyStates => "the patterns of the JSON paths are too large",
            Self::Unclosed => "the expression is not closed",
            Self::UnclosedQuote => "the quoted text is not closed",
            Self::Unexpected => "the expression has an unexpected character",
            Self::UnknownFilter => "the filter is unknown",
        })
    }
}

/// A failure to evaluate an expression on this data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failed {
    BadArgument,
    DivisionByZero,
    Empty,
    Incomparable,
    ManyValues,
    NotABoolean,
    NotACard,
    NotAList,
    NotAnObject,
    NotANumber,
    NotEncodable,
    NotRandom,
    NotText,
    Overflow,
    TooLarge,
    TooMuchWork,
    TooShort,
    UnknownReference,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BadArgument => "a filter's argument has the wrong type or range",
            Self::DivisionByZero => "the expression divides by zero",
            Self::Empty => "the expression gives no value",
            Self::Incomparable => "the values cannot be put in order",
            Self::ManyValues => "the JSON path gives more than one value",
            Self::NotABoolean => "the value is not a boolean",
            Self::NotACard => "the value has no expiration date",
            Self::NotAList => "the value is not a list",
            Self::NotAnObject => "the value is not an object",
            Self::NotANumber => "the value is not a number",
            Self::NotEncodable => "the value cannot be encoded or decoded",
            Self::NotRandom => "random characters cannot be drawn",
            Self::NotText => "the value is not a text",
            Self::Overflow => "the number is too large",
            Self::TooLarge => "the result is too large",
            Self::TooMuchWork => "the expression takes too long",
            Self::TooShort => "the value is too short for what is to be revealed",
            Self::UnknownReference => "the expression names an unknown token",
        })
    }
}

impl Error for Failed {}
