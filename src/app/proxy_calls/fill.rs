//! Finds the expressions in texts, and writes the texts with values in their place.

use std::ops::Range;

use serde_json::Value;

use crate::app::Vault;
use crate::app::proxy_calls::scope::ProxyScope;
use crate::bounds::PROXY_BODY_BYTES_MAX;
use crate::domain::exposure::Computation;
use crate::expressions::{Budget, Failed, Reference, Template, Unparsed};
use crate::secret::{Secret, SecretBuffer};

/// One text for every reason that depends on values that the caller may not see.
const UNPLACED: &str = "A value cannot be put where the call names it.";

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unfilled {
    /// The caller may not evaluate the expression over this value.
    Guarded,
    /// A sentence without input.
    Invalid(String),
}

/// In order.
pub(super) struct Expressions(Vec<(Range<usize>, Template)>);

#[derive(Clone, Copy)]
pub(super) struct Filling<'a> {
    pub(super) scope: &'a ProxyScope,
    pub(super) vault: &'a Vault,
    pub(super) budget: &'a Budget,
}

/// Bounded by the largest body.
pub(super) struct Output(SecretBuffer);

impl Expressions {
    pub(super) fn find(text: &str, budget: &Budget) -> Result<Self, Unfilled> {
        let mut found = Vec::new();
        let mut at = 0_usize;
        while let Some((before, _)) = text.get(at..).and_then(|rest| rest.split_once("{{")) {
            let start = at.saturating_add(before.len());
            let rest = text.get(start..).unwrap_or_default();
            let (template, length) = Template::parse_first(rest, budget)?;
            at = start.saturating_add(length);
            found.push((start..at, template));
        }
        Ok(Self(found))
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[cfg(any(fuzzing, test))]
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.0.iter().map(|(range, _)| range.clone())
    }

    pub(super) fn references(&self) -> impl Iterator<Item = &Reference> {
        self.0.iter().flat_map(|(_, template)| template.references())
    }

    pub(super) fn code_readers(&self) -> impl Iterator<Item = &Reference> {
        self.0.iter().flat_map(|(_, template)| template.code_readers())
    }

    /// True if an expression reads this variable.
    pub(super) fn names(&self, variable: &str) -> bool {
        self.0.iter().any(|(_, template)| template.names(variable))
    }

    /// True if the text is exactly one expression.
    pub(super) fn stands_alone(&self, text: &str) -> bool {
        matches!(self.0.as_slice(), [(range, _)] if *range == (0..text.len()))
    }

    /// `None` unless the text is exactly one expression.
    pub(super) fn lone_value(
        &self,
        text: &str,
        filling: Filling<'_>,
    ) -> Option<Result<Secret<Value>, Unfilled>> {
        match self.0.as_slice() {
            [(range, template)] if *range == (0..text.len()) => Some(filling.value(template)),
            _ => None,
        }
    }

    pub(super) fn write(
        &self,
        text: &str,
        filling: Filling<'_>,
        output: &mut Output,
    ) -> Result<(), Unfilled> {
        let mut at = 0_usize;
        for (range, template) in &self.0 {
            output.write(text.get(at..range.start).unwrap_or_default().as_bytes())?;
            match filling.value(template)?.expose() {
                Value::String(text) => output.write(text.as_bytes())?,
                Value::Null => (),
                value
                @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                    output.json(value)?;
                }
            }
            at = range.end;
        }
        output.write(text.get(at..).unwrap_or_default().as_bytes())
    }
}

impl Filling<'_> {
    fn value(self, template: &Template) -> Result<Secret<Value>, Unfilled> {
        Ok(Secret::new(template.evaluate(self.scope, self.vault, self.budget)?))
    }
}

impl Output {
    pub(super) fn new() -> Self {
        Self(SecretBuffer::with_capacity(0))
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Unfilled> {
        self.0.extend(bytes);
        self.check()
    }

    pub(super) fn json(&mut self, value: &Value) -> Result<(), Unfilled> {
        self.0.json(value);
        self.check()
    }

    /// With its quotes.
    pub(super) fn json_text(&mut self, text: &str) -> Result<(), Unfilled> {
        // Writing into memory cannot fail.
        serde_json::to_writer(&mut self.0, text).ok();
        self.check()
    }

    pub(super) fn finish(self) -> Secret<Vec<u8>> {
        self.0.finish()
    }

    pub(super) fn finish_text(self) -> Secret<String> {
        self.0.finish_text()
    }

    /// A value is bounded before it is written, so the output exceeds its bound by at most one
    /// value.
    fn check(&self) -> Result<(), Unfilled> {
        if self.0.len() > PROXY_BODY_BYTES_MAX {
            return Err(Unfilled::new("The body is too large with the values in it."));
        }
        Ok(())
    }
}

impl Unfilled {
    pub(super) fn new(sentence: &str) -> Self {
        Self::Invalid(String::from(sentence))
    }

    pub(super) fn unplaced() -> Self {
        Self::new(UNPLACED)
    }

    /// Hides reasons that depend on values, unless the caller may compute anything over the values
    /// of the call.
    pub(super) fn shown_to(self, computation: Computation) -> Self {
        match self {
            Self::Invalid(_) if computation < Computation::Any => Self::unplaced(),
            reason @ (Self::Guarded | Self::Invalid(_)) => reason,
        }
    }
}

impl From<Unparsed> for Unfilled {
    fn from(unparsed: Unparsed) -> Self {
        match unparsed {
            Unparsed::Malformed(malformed) => {
                Self::Invalid(format!("An expression is malformed: {malformed}."))
            }
            Unparsed::Unpaid(failed) => Self::from(failed),
        }
    }
}

impl From<Failed> for Unfilled {
    fn from(failed: Failed) -> Self {
        if failed == Failed::Guarded {
            return Self::Guarded;
        }
        Self::Invalid(format!("An expression cannot be evaluated: {failed}."))
    }
}
