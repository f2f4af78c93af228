//! The parsed form of a text with expressions.

use std::fmt;

use serde_json::Value;

use super::filters::{Argument, Call};
use super::scope::Reference;
use super::variable::Variable;
use crate::secret::Wipe as _;

/// A text with expressions in it, parsed and checked.
pub struct Template {
    pub(super) pieces: Vec<Piece>,
    /// The states of all patterns in it, which take most of its memory.
    pub(super) states: usize,
}

pub(super) enum Piece {
    Text(String),
    Expression(Expression),
}

pub(super) struct Expression {
    pub(super) source: Source,
    pub(super) calls: Vec<Call>,
}

impl Expression {
    /// The states of all patterns in it.
    pub(super) fn states(&self) -> usize {
        let arguments = self.calls.iter().flat_map(|call| &call.arguments);
        arguments.fold(0, |states, argument| match argument {
            Argument::Path(path) => states.saturating_add(path.states()),
            Argument::Literal(_) | Argument::Variable(_) => states,
        })
    }
}

pub(super) enum Source {
    Literal(Value),
    Reference(Reference),
    Variable(Variable),
}

impl Template {
    /// In order of appearance, repetitions included.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.expressions().filter_map(|expression| match &expression.source {
            Source::Reference(reference) => Some(reference),
            Source::Literal(_) | Source::Variable(_) => None,
        })
    }

    /// True if the text may read this member of the variable `data`. An expression that uses `data`
    /// itself reads every member.
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

    /// True if the text reads this variable.
    pub fn names(&self, variable: &str) -> bool {
        let is_named = |found: &Variable| found.name == variable;
        let arguments = |call: &Call| {
            call.arguments.iter().any(|argument| match argument {
                Argument::Variable(found) => is_named(found),
                Argument::Literal(_) | Argument::Path(_) => false,
            })
        };
        self.expressions().any(|expression| {
            let source = matches!(&expression.source, Source::Variable(it) if is_named(it));
            source || expression.calls.iter().any(arguments)
        })
    }

    /// True if the text contains no expression.
    pub fn is_constant(&self) -> bool {
        self.expressions().next().is_none()
    }

    fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Expression(expression) => Some(expression),
            Piece::Text(_) => None,
        })
    }
}

/// Wipes the constants, which may be keys.
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

/// Prints nothing of the text, which may hold an HMAC key or, around references, any data.
impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Template(..)")
    }
}
