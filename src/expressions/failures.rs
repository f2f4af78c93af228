//! Errors of parsing and of evaluation. They hold no input text.

use std::error::Error;
use std::fmt;

use crate::domain::words::words;

/// A mistake in the text of an expression, found when it is parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// Byte offset in the text.
    pub at: usize,
    pub why: MalformedReason,
    /// The filter whose arguments are wrong, with those that it takes.
    pub filter: Option<Box<str>>,
}

impl Malformed {
    pub(super) const fn new(at: usize, why: MalformedReason) -> Self {
        Self { at, why, filter: None }
    }

    pub(super) fn of(self, filter: String) -> Self {
        Self { filter: Some(filter.into_boxed_str()), ..self }
    }
}

words! {
    pub enum MalformedReason {
        ArgumentCount = "the filter takes another number of arguments";
        BadArgument = "the filter does not take this argument";
        BadJsonPath = "the JSON path is malformed";
        BadNumber = "the number is malformed or too large";
        BadReference = "the token's id is malformed";
        BadVariable = "the variable is malformed";
        Empty = "the expression is empty";
        FilterMissing = "a filter's name is missing";
        NotEncoded = "hmac must be followed by to_base64 or to_base16";
        NotLast = "the filter must be the last one";
        Tag = "tags are not supported";
        TooDeep = "the mask is nested too deeply";
        TooLong = "the expression is too long";
        TooManyExpressions = "there are too many expressions in one text";
        TooManyFilters = "there are too many filters in one expression";
        TooManyMembers = "the mask has too many members";
        TooManySegments = "the variable has too many members";
        TooManyStates = "the patterns of the JSON paths are too large";
        Unclosed = "the expression is not closed";
        UnclosedQuote = "the quoted text is not closed";
        Unexpected = "the expression has an unexpected character";
        UnknownFilter = "the filter is unknown";
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.why, self.at)?;
        match &self.filter {
            Some(filter) => write!(f, "; {filter}"),
            None => Ok(()),
        }
    }
}

impl Error for Malformed {}

impl fmt::Display for MalformedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

words! {
    /// A failure to evaluate an expression on this data.
    pub enum Failed {
        BadArgument = "a filter's argument has the wrong type or range";
        DivisionByZero = "the expression divides by zero";
        Empty = "the expression gives no value";
        /// The author of the expression may not have it evaluated over this value.
        Guarded = "the value can only be placed as it is";
        Incomparable = "the values cannot be put in order";
        ManyValues = "the JSON path gives more than one value";
        NotABoolean = "the value is not a boolean";
        NotACard = "the value has no expiration date";
        NotAList = "the value is not a list";
        NotAnObject = "the value is not an object";
        NotANumber = "the value is not a number";
        NotEncodable = "the value cannot be encoded or decoded";
        NotRandom = "random characters cannot be drawn";
        NotText = "the value is not a text";
        Overflow = "the number is too large";
        TooLarge = "the result is too large";
        TooMuchWork = "the expression takes too long";
        TooShort = "the value is too short for what is to be revealed";
        UnknownReference = "the expression names an unknown token";
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Error for Failed {}
