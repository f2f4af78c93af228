//! From [`Template`] and a scope to a value. Every step is paid for out of the request's [`Budget`].
//!
//! Values that are made on the way are wiped when the next filter has read them.

use serde_json::Value;

use super::budget::{Budget, CALL, Weight, check_size, text_made};
use super::filters::{Action, Argument, Arguments, Call, text_of};
use super::{Expression, Failed, Host, Piece, Scope, Segment, Source, Template, Variable};
use crate::bounds;
use crate::secret::Secret;

static NULL: Value = Value::Null;

/// How `reveal_last` treats a value that is no longer than what it is asked to reveal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Revealing {
    /// As documented: the whole value.
    AsAsked,
    /// Masked whole, for the default masks of sensitive types.
    NeverWhole,
}

/// What a filter has at hand besides its input and arguments.
pub(super) struct EvalContext<'a> {
    pub(super) host: &'a dyn Host,
    pub(super) budget: &'a Budget,
    pub(super) revealing: Revealing,
}

impl<'a> EvalContext<'a> {
    pub(super) const fn new(host: &'a dyn Host, budget: &'a Budget, revealing: Revealing) -> Self {
        Self { host, budget, revealing }
    }
}

/// A value on its way through the filters.
pub(super) enum EvalValue<'a> {
    Borrowed(&'a Value),
    Bytes(Secret<Vec<u8>>),
    Owned(Secret<Value>),
}

impl EvalValue<'_> {
    pub(super) const fn value(&self) -> Result<&Value, Failed> {
        match self {
            Self::Borrowed(value) => Ok(value),
            Self::Owned(value) => Ok(value.expose()),
            Self::Bytes(_) => Err(Failed::NotEncodable),
        }
    }

    fn owned(value: Value) -> Self {
        Self::Owned(Secret::new(value))
    }

    /// Copies what is borrowed; what is owned was paid for when it was made.
    fn into_value(self, budget: &Budget) -> Result<Value, Failed> {
        match self {
            Self::Borrowed(value) => {
                let weight = Weight::of(value);
                budget.spend(weight.made())?;
                check_size(weight.size())?;
                Ok(value.clone())
            }
            Self::Owned(mut value) => Ok(std::mem::take(value.expose_mut())),
            Self::Bytes(_) => Err(Failed::NotEncodable),
        }
    }
}

impl Template {
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

    /// Whether some expression starts from something that the scope has.
    pub(super) fn is_defined(&self, scope: &dyn Scope) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Text(_) => true,
            Piece::Expression(expression) => match &expression.source {
                Source::Literal(_) => true,
                Source::Reference(reference) => scope.reference(reference).is_some(),
                Source::Variable(variable) => variable.find(scope).is_some(),
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
        let mut evaluated = match &self.source {
            Source::Literal(value) => EvalValue::Borrowed(value),
            Source::Reference(reference) => {
                EvalValue::Borrowed(scope.reference(reference).ok_or(Failed::UnknownReference)?)
            }
            Source::Variable(variable) => variable.resolve(scope, context.budget)?,
        };
        for call in &self.calls {
            evaluated = call.run(&evaluated, scope, context)?;
        }
        Ok(evaluated)
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
                Argument::Variable(variable) => variable.resolve(scope, context.budget)?,
            };
            work = work.saturating_add(Weight::of(argument.value()?).read());
            arguments.push(argument);
        }
        let arguments = Arguments::new(arguments);
        if let Ok(value) = input.value() {
            work = work.saturating_add(Weight::of(value).read());
        }
        context.budget.spend(work)?;
        let output = self.action(input, &arguments, context).inspect_err(|failed| {
            // It stopped at the bound, after it had made as much.
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
        arguments: &Arguments<'_>,
        context: &EvalContext<'_>,
    ) -> Result<EvalValue<'a>, Failed> {
        let output = match &self.filter.action {
            Action::Total(run) => run(input.value()?),
            Action::Value(run) => run(input.value()?, arguments, context)?,
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
                Some(Argument::Path(path)) => path.only_value(input.value()?, context.budget)?,
                Some(Argument::Literal(_) | Argument::Variable(_)) | None => {
                    return Err(Failed::BadArgument);
                }
            },
            Action::Sign(sign) => {
                return sign(input.value()?, arguments, context)
                    .map(|bytes| EvalValue::Bytes(Secret::new(bytes)));
            }
        };
        Ok(EvalValue::owned(output))
    }
}

impl Variable {
    /// Null when there is no such thing.
    fn resolve<'a>(
        &'a self,
        scope: &'a dyn Scope,
        budget: &Budget,
    ) -> Result<EvalValue<'a>, Failed> {
        budget.spend(self.work)?;
        match self.find(scope) {
            None => Ok(EvalValue::Borrowed(&NULL)),
            Some(Found::Value(value)) => Ok(EvalValue::Borrowed(value)),
            Some(Found::SizeOf(value)) => {
                budget.spend(CALL.saturating_add(value.as_str().map_or(0, str::len)))?;
                Ok(size_of(value)
                    .map_or(EvalValue::Borrowed(&NULL), |size| EvalValue::owned(size.into())))
            }
        }
    }

    fn find<'a>(&'a self, scope: &'a dyn Scope) -> Option<Found<'a>> {
        let mut value = scope.variable(&self.name)?;
        for (place, segment) in self.segments.iter().enumerate() {
            match step(value, segment) {
                Some(next) => value = next,
                // `size` of a thing is a number and has no members.
                None if place.saturating_add(1) == self.segments.len() => {
                    return has_size(value, segment).then_some(Found::SizeOf(value));
                }
                None => return None,
            }
        }
        Some(Found::Value(value))
    }
}

/// The value that a variable names.
enum Found<'a> {
    SizeOf(&'a Value),
    Value(&'a Value),
}

fn step<'a>(value: &'a Value, segment: &Segment) -> Option<&'a Value> {
    match (value, segment) {
        (Value::Object(members), Segment::Key(key)) => members.get(key),
        (Value::Array(items), Segment::Key(key)) => match key.as_str() {
            "first" => items.first(),
            "last" => items.last(),
            digits => items.get(digits.parse::<usize>().ok()?),
        },
        (Value::Array(items), Segment::Index(index)) => items.get(place(*index, items.len())?),
        _ => None,
    }
}

fn has_size(value: &Value, segment: &Segment) -> bool {
    matches!(segment, Segment::Key(key) if key == "size")
        && matches!(value, Value::Array(_) | Value::Object(_) | Value::String(_))
}

fn size_of(value: &Value) -> Option<usize> {
    match value {
        Value::Array(items) => Some(items.len()),
        Value::Object(members) => Some(members.len()),
        Value::String(text) => Some(text.chars().count()),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// A negative index counts from the end.
pub(super) fn place(index: i64, length: usize) -> Option<usize> {
    let distance = usize::try_from(index.unsigned_abs()).ok()?;
    if index < 0 { length.checked_sub(distance) } else { Some(distance) }
}

/// A text that refuses to grow past the bound, and is wiped if it is never finished.
pub(super) struct Text(Secret<String>);

impl Text {
    pub(super) fn new() -> Self {
        Self::with_capacity(0)
    }

    /// The right capacity also means that no outgrown copy stays in memory.
    pub(super) fn with_capacity(bytes: usize) -> Self {
        let bytes = bytes.min(bounds::EXPRESSION_OUTPUT_BYTES_MAX);
        Self(Secret::new(String::with_capacity(bytes)))
    }

    pub(super) fn from(text: String) -> Result<Self, Failed> {
        let text = Self(Secret::new(text));
        check_size(text.len()).map(|()| text)
    }

    pub(super) fn push_str(&mut self, more: &str) -> Result<(), Failed> {
        check_size(self.len().saturating_add(more.len()))?;
        self.0.expose_mut().push_str(more);
        Ok(())
    }

    /// As [`Text::push_str`], paid for before it is done.
    pub(super) fn add(&mut self, more: &str, budget: &Budget) -> Result<(), Failed> {
        budget.spend(text_made(more.len()))?;
        self.push_str(more)
    }

    pub(super) fn push(&mut self, c: char) -> Result<(), Failed> {
        check_size(self.len().saturating_add(c.len_utf8()))?;
        self.0.expose_mut().push(c);
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.0.expose().len()
    }

    pub(super) fn as_str(&self) -> &str {
        self.0.expose()
    }

    pub(super) fn finish(mut self) -> Value {
        Value::String(std::mem::take(self.0.expose_mut()))
    }
}
