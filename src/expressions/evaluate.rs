//! Evaluates a [`Template`] in a scope. Every step is charged to the request's [`Budget`].
//!
//! Intermediate values are wiped after the next filter has read them.

use serde_json::Value;

use super::budget::{Budget, CALL, Weight, check_size, text_made};
use super::context::{EvalContext, EvalValue, Host, Revealing, Text};
use super::failures::Failed;
use super::filters::{Action, Argument, Call, Invocation, calculate, rewrite, spell_out, text_of};
use super::scope::Scope;
use super::template::{Expression, Piece, Source, Template};
use crate::bounds;
use crate::domain::exposure::Computation;
use crate::secret::Secret;

static NULL: Value = Value::Null;

impl Template {
    /// A text that is exactly one expression keeps that expression's JSON type; any other text
    /// becomes a string, in which null is the empty text.
    pub fn evaluate(
        &self,
        scope: &dyn Scope,
        host: &dyn Host,
        budget: &Budget,
    ) -> Result<Value, Failed> {
        self.evaluate_within(scope, &EvalContext::new(host, budget, Revealing::AsAsked))
    }

    /// For ids, fingerprints and indexes, which are text. Numbers and booleans are written as in
    /// JSON, null and the empty text are [`Failed::Empty`], objects and lists are refused unless
    /// `stringify` has turned them into text.
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
            | Value::Object(_)) => Secret::new(text_of(other)?.into_owned()),
        };
        if text.expose().is_empty() { Err(Failed::Empty) } else { Ok(text) }
    }

    pub(super) fn evaluate_within(
        &self,
        scope: &dyn Scope,
        context: &EvalContext<'_>,
    ) -> Result<Value, Failed> {
        match self.pieces.as_slice() {
            [] => Ok(Value::String(String::new())),
            [Piece::Text(text)] => {
                context.budget.spend(text_made(text.len()))?;
                Ok(Value::String(text.clone()))
            }
            [Piece::Expression(expression)] => {
                expression.evaluate(scope, context)?.into_value(context.budget)
            }
            pieces => {
                let mut text = Text::new();
                for piece in pieces {
                    match piece {
                        Piece::Text(constant) => text.add(constant, context.budget)?,
                        Piece::Expression(expression) => {
                            let evaluated = expression.evaluate(scope, context)?;
                            text.add(&text_of(evaluated.value()?)?, context.budget)?;
                        }
                    }
                }
                Ok(text.finish())
            }
        }
    }

    /// True if at least one expression starts from a value that the scope has.
    pub(super) fn is_defined(&self, scope: &dyn Scope) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Text(_) => true,
            Piece::Expression(expression) => match &expression.source {
                Source::Literal(_) => true,
                Source::Reference(reference) => scope.reference(reference).is_some(),
                Source::Variable(variable) => variable.is_defined(scope),
            },
        })
    }
}

impl Expression {
    fn evaluate<'a>(
        &'a self,
        scope: &'a dyn Scope,
        context: &EvalContext<'_>,
    ) -> Result<EvalValue<'a>, Failed> {
        let computation = self.computation();
        let mut evaluated = match &self.source {
            Source::Literal(value) => EvalValue::Borrowed(value),
            Source::Reference(reference) => {
                let named = scope.reference(reference).ok_or(Failed::UnknownReference)?;
                if named.computation < computation {
                    return Err(Failed::Guarded);
                }
                EvalValue::Borrowed(named.value)
            }
            Source::Variable(variable) => variable.resolve(scope, computation, context.budget)?,
        };
        for call in &self.calls {
            evaluated = call.run(&evaluated, scope, context)?;
        }
        Ok(evaluated)
    }

    /// The kind of computation over the source.
    fn computation(&self) -> Computation {
        let is_placed = self.calls.iter().all(|call| {
            matches!(call.filter.action, Action::Path)
                && matches!(call.arguments.as_slice(), [Argument::Path(path)] if path.is_plain())
        });
        if is_placed { Computation::Placement } else { Computation::Any }
    }
}

impl Call {
    fn run<'a>(
        &'a self,
        input: &EvalValue<'_>,
        scope: &'a dyn Scope,
        context: &EvalContext<'_>,
    ) -> Result<EvalValue<'a>, Failed> {
        let mut work = CALL;
        let mut arguments = Vec::with_capacity(self.arguments.len());
        for argument in &self.arguments {
            let argument = match argument {
                Argument::Literal(value) => EvalValue::Borrowed(value),
                Argument::Path(_) => EvalValue::Borrowed(&NULL),
                Argument::Variable(variable) => {
                    variable.resolve(scope, Computation::Any, context.budget)?
                }
            };
            work = work.saturating_add(Weight::of(argument.value()?).read());
            arguments.push(argument);
        }
        let EvalContext { host, budget, revealing } = *context;
        let invocation = Invocation { arguments, host, budget, revealing };
        if let Ok(value) = input.value() {
            work = work.saturating_add(Weight::of(value).read());
        }
        context.budget.spend(work)?;
        let output = self.action(input, &invocation).inspect_err(|failed| {
            // The filter stopped at the bound, so it has written this number of bytes. The charge
            // only makes sure that a budget that cannot pay for them has run out.
            if *failed == Failed::TooLarge {
                context.budget.spend(bounds::EXPRESSION_OUTPUT_BYTES_MAX).ok();
            }
        })?;
        if let Ok(value) = output.value() {
            let weight = Weight::of(value);
            context.budget.spend(weight.made())?;
            check_size(weight.size())?;
        }
        Ok(output)
    }

    fn action<'a>(
        &self,
        input: &EvalValue<'_>,
        call: &Invocation<'_>,
    ) -> Result<EvalValue<'a>, Failed> {
        let output = match &self.filter.action {
            Action::Calculation(run) => calculate(input.value()?, call, *run)?,
            Action::Rewrite(run) => rewrite(input.value()?, |text| run(text, call))?,
            Action::SpellOut(run) => spell_out(input.value()?, call, |text| run(text, call))?,
            Action::Total(run) => run(input.value()?),
            Action::Value(run) => run(input.value()?, call)?,
            Action::Encode(encode) => match input {
                EvalValue::Bytes(bytes) => Value::String(encode(bytes.expose())),
                EvalValue::Borrowed(_) | EvalValue::Owned(_) => {
                    let value = input.value()?;
                    if value.is_null() {
                        return Err(Failed::NotEncodable);
                    }
                    Value::String(encode(text_of(value)?.as_bytes()))
                }
            },
            Action::Path => match self.arguments.first() {
                Some(Argument::Path(path)) => path.only_value(input.value()?, call.budget)?,
                Some(Argument::Literal(_) | Argument::Variable(_)) | None => {
                    return Err(Failed::BadArgument);
                }
            },
            Action::Sign(sign) => {
                return sign(input.value()?, call)
                    .map(|bytes| EvalValue::Bytes(Secret::new(bytes)));
            }
        };
        Ok(EvalValue::owned(output))
    }
}
