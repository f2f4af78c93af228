//! The parsed form of a text with expressions.

use serde_json::Value;

use super::filters::{Action, Argument, Call};
use super::scope::Reference;
use super::variable::Variable;
use crate::secret::Wipe as _;

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

    /// The references whose card verification code the text may read. An expression that takes
    /// another member by its JSON path does not read the code; one that takes a part of which the
    /// code is a member does.
    pub fn code_readers(&self) -> impl Iterator<Item = &Reference> {
        self.expressions().filter_map(|expression| match &expression.source {
            Source::Reference(reference) => {
                let code = reference.code_member();
                let leaves_out = expression.calls.first().is_some_and(|call| {
                    matches!(call.filter.action, Action::Path)
                        && matches!(call.arguments.first(),
                            Some(Argument::Path(path)) if !path.may_reach(code))
                });
                (!leaves_out).then_some(reference)
            }
            Source::Literal(_) | Source::Variable(_) => None,
        })
    }

    /// True if the text may read this member of the variable `data`. An expression that uses `data`
    /// itself reads every member.
    pub fn reads(&self, member: &str) -> bool {
        self.references().next().is_some() || self.variables().any(|it| it.reads(member))
    }

    /// True if the text reads this variable.
    pub fn names(&self, variable: &str) -> bool {
        self.variables().any(|it| it.name == variable)
    }

    /// True if the text contains no expression.
    pub fn is_constant(&self) -> bool {
        self.expressions().next().is_none()
    }

    /// The variables that expressions begin with, and those among the arguments of filters.
    fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.expressions().flat_map(|expression| {
            let source = match &expression.source {
                Source::Variable(variable) => Some(variable),
                Source::Literal(_) | Source::Reference(_) => None,
            };
            let arguments = expression.calls.iter().flat_map(|call| &call.arguments);
            source.into_iter().chain(arguments.filter_map(|argument| match argument {
                Argument::Variable(variable) => Some(variable),
                Argument::Literal(_) | Argument::Path(_) => None,
            }))
        })
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

// Prints no part of the text, which may hold an HMAC key or, around references, any data.
opaque_debug!(Template);
