//! The expression language of masks, fingerprints, search indexes, ids and detokenization:
//! Liquid objects and filters, `{{ data.number | reveal_last: 4 }}`.
//!
//! Pure: no clock, no IO, no cryptography of its own; what is random or keyed comes from
//! [`Host`]. It never quotes its input in an error, never panics whatever the text and the data
//! are, and never works or writes more than `bounds` allows. Tags (`{% .. %}`) and the filter
//! `date` are not part of it.

mod budget;
mod cache;
mod evaluate;
mod failures;
mod filters;
mod lex;
mod mask;
mod parse;
mod path;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

pub use failures::{Failed, Malformed, Why};
pub use mask::Mask;

pub use budget::Budget;
pub use cache::{Cache, Unparsed};

use crate::secret::{Secret, Wipe as _};
use evaluate::{EvalContext, Revealing};
use filters::{Argument, Call};

/// What the language cannot make itself.
pub trait Host {
    fn random(&self, bytes: &mut [u8]);
    fn hmac(&self, hash: Hash, key: &[u8], message: &[u8]) -> Vec<u8>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    Sha1,
    Sha256,
    Sha512,
}

/// Where an expression finds its values.
pub trait Scope {
    /// `None` for a name that is not bound, which evaluates to null.
    fn variable(&self, name: &str) -> Option<&Value>;

    /// `None` for a thing that does not exist, which fails the evaluation.
    fn reference(&self, _reference: &Reference) -> Option<&Value> {
        None
    }
}

/// The scope of masks, ids and search indexes.
#[derive(Clone, Copy)]
pub struct Data<'a>(pub &'a Value);

impl Scope for Data<'_> {
    fn variable(&self, name: &str) -> Option<&Value> {
        (name == "data").then_some(self.0)
    }
}

impl fmt::Debug for Data<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Data(..)")
    }
}

/// The scope of fingerprint expressions.
#[derive(Clone, Copy)]
pub struct DataAndMetadata<'a> {
    pub data: &'a Value,
    pub metadata: &'a Value,
}

impl Scope for DataAndMetadata<'_> {
    fn variable(&self, name: &str) -> Option<&Value> {
        match name {
            "data" => Some(self.data),
            "metadata" => Some(self.metadata),
            _ => None,
        }
    }
}

impl fmt::Debug for DataAndMetadata<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DataAndMetadata(..)")
    }
}

/// What a detokenization expression names.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Reference {
    /// `{{ id }}`: the token's data.
    TokenData(String),
    /// `{{ token: id }}`: the whole token.
    Token(String),
    /// `{{ token_intent: id }}`: the whole intent.
    TokenIntent(String),
}

impl Reference {
    pub fn id(&self) -> &str {
        match self {
            Self::TokenData(id) | Self::Token(id) | Self::TokenIntent(id) => id,
        }
    }
}

/// Callers choose ids, and may choose badly: none is printed.
impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TokenData(_) => "TokenData(..)",
            Self::Token(_) => "Token(..)",
            Self::TokenIntent(_) => "TokenIntent(..)",
        })
    }
}

/// A text with expressions in it, parsed and checked.
pub struct Template {
    pieces: Vec<Piece>,
    /// Of all patterns in it: most of its memory, if there are any.
    states: usize,
}

enum Piece {
    Text(String),
    Expression(Expression),
}

struct Expression {
    source: Source,
    calls: Vec<Call>,
}

impl Expression {
    /// The states of all patterns in it.
    fn states(&self) -> usize {
        let arguments = self.calls.iter().flat_map(|call| &call.arguments);
        arguments.fold(0, |states, argument| match argument {
            Argument::Path(path) => states.saturating_add(path.states()),
            Argument::Literal(_) | Argument::Variable(_) => states,
        })
    }
}

enum Source {
    Literal(Value),
    Reference(Reference),
    Variable(Variable),
}

struct Variable {
    name: String,
    segments: Vec<Segment>,
    /// Of finding it: each name is compared with several members, which may begin alike.
    work: usize,
}

enum Segment {
    Index(i64),
    Key(String),
}

impl Variable {
    fn reads(&self, member: &str) -> bool {
        self.name == "data"
            && match self.segments.first() {
                Some(Segment::Key(key)) => key == member,
                Some(Segment::Index(_)) | None => true,
            }
    }
}

impl Template {
    /// For masks, ids, fingerprints and indexes: `{{ data.number | last4 }}`.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        parse::template(text, parse::Names::Variables)
    }

    /// For detokenization: `{{ id }}`, `{{ token: id | json: '$.data' }}`, `{{ token_intent: id }}`.
    pub fn parse_with_references(text: &str) -> Result<Self, Malformed> {
        parse::template(text, parse::Names::References)
    }

    /// In order of appearance, repetitions included.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.expressions().filter_map(|expression| match &expression.source {
            Source::Reference(reference) => Some(reference),
            Source::Literal(_) | Source::Variable(_) => None,
        })
    }

    /// Whether the text may read this member of the variable `data`. An expression that takes the
    /// whole of it reads every member.
    pub fn reads(&self, member: &str) -> bool {
        let arguments = |call: &Call| {
            call.arguments.iter().any(|argument| match argument {
                Argument::Variable(variable) => variable.reads(member),
                Argument::Literal(_) | Argument::Path(_) => false,
            })
        };
        self.expressions().any(|expression| {
            let source = match &expression.source {
                Source::Variable(variable) => variable.reads(member),
                Source::Literal(_) => false,
                Source::Reference(_) => true,
            };
            source || expression.calls.iter().any(arguments)
        })
    }

    /// Whether the text holds no expression at all.
    pub fn is_constant(&self) -> bool {
        self.expressions().next().is_none()
    }

    /// A text that is exactly one expression keeps that expression's JSON type; any other text
    /// becomes a string, in which null is nothing.
    pub fn evaluate(
        &self,
        scope: &dyn Scope,
        host: &dyn Host,
        budget: &Budget,
    ) -> Result<Value, Failed> {
        self.evaluate_within(scope, &EvalContext::new(host, budget, Revealing::AsAsked))
    }

    /// For ids, fingerprints and indexes, which are text: numbers and booleans are written as JSON
    /// writes them; null and the empty text are [`Failed::Empty`]; objects and lists must have been
    /// through `stringify`.
    pub fn evaluate_text(
        &self,
        scope: &dyn Scope,
        host: &dyn Host,
        budget: &Budget,
    ) -> Result<Secret<String>, Failed> {
        let mut value = Secret::new(self.evaluate(scope, host, budget)?);
        let text = match value.expose_mut() {
            Value::String(text) => Secret::new(std::mem::take(text)),
            other @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_)) => Secret::new(filters::text_of(other)?.into_owned()),
        };
        if text.expose().is_empty() { Err(Failed::Empty) } else { Ok(text) }
    }

    fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Expression(expression) => Some(expression),
            Piece::Text(_) => None,
        })
    }
}

/// Its constants may be keys, and it may have been in the cache for long.
impl Drop for Template {
    fn drop(&mut self) {
        for piece in &mut self.pieces {
            let expression = match piece {
                Piece::Text(text) => {
                    text.wipe();
                    continue;
                }
                Piece::Expression(expression) => expression,
            };
            if let Source::Literal(value) = &mut expression.source {
                value.wipe();
            }
            for argument in expression.calls.iter_mut().flat_map(|call| &mut call.arguments) {
                if let Argument::Literal(value) = argument {
                    value.wipe();
                }
            }
        }
    }
}

/// The text may hold an HMAC key or, around references, anything at all.
impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Template(..)")
    }
}
