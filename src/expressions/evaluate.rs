//! From [`Template`] and a scope to a value. Every step is paid for out of a [`Budget`].
//!
//! Values that are made on the way are wiped when the next filter has read them.

use std::cell::Cell;

use serde_json::Value;

use super::filters::{Action, Argument, Arguments, Call, text_of};
use super::{Expression, Failed, Outside, Piece, Scope, Segment, Source, Template, Variable};
use crate::bounds;
use crate::secret::Secret;

static NULL: Value = Value::Null;

/// What is left of the work that one evaluation, or several together, may do.
#[derive(Debug)]
pub struct Budget(Cell<usize>);

impl Budget {
    pub const fn whole() -> Self {
        Self(Cell::new(bounds::EXPRESSION_WORK_MAX))
    }

    pub(super) fn spend(&self, work: usize) -> Result<(), Failed> {
        let left = self.0.get().checked_sub(work);
        self.0.set(left.unwrap_or_default());
        left.map(|_| ()).ok_or(Failed::TooMuchWork)
    }
}

/// How `reveal_last` treats a value that is no longer than what it is asked to reveal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Revealing {
    /// As documented: the whole value.
    AsAsked,
    /// Masked whole, for the default masks of sensitive types.
    NeverWhole,
}

/// What a filter has at hand besides its input and arguments.
pub(super) struct Bench<'a> {
    pub(super) outside: &'a dyn Outside,
    pub(super) budget: &'a Budget,
    pub(super) revealing: Revealing,
}

impl<'a> Bench<'a> {
    pub(super) const fn new(
        outside: &'a dyn Outside,
        budget: &'a Budget,
        revealing: Revealing,
    ) -> Self {
        Self { outside, budget, revealing }
    }
}

/// A value on its way through the filters.
pub(super) enum Datum<'a> {
    Borrowed(&'a Value),
    Bytes(Secret<Vec<u8>>),
    Owned(Secret<Value>),
}

impl Datum<'_> {
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

    fn into_value(self) -> Result<Value, Failed> {
        match self {
            Self::Borrowed(value) => {
                check_size(weight(value))?;
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
        bench: &Bench<'_>,
    ) -> Result<Value, Failed> {
        match self.pieces.as_slice() {
            [] => Ok(Value::String(String::new())),
            [Piece::Text(text)] => Ok(Value::String(text.clone())),
            [Piece::Expression(expression)] => {
                let value = expression.evaluate(scope, bench)?.into_value()?;
                bench.budget.spend(weight(&value))?;
                Ok(value)
            }
            pieces => {
                let mut text = Text::new();
                for piece in pieces {
                    match piece {
                        Piece::Text(constant) => text.push_str(constant)?,
                        Piece::Expression(expression) => {
                            let datum = expression.evaluate(scope, bench)?;
                            text.push_str(&text_of(datum.value()?)?)?;
                        }
                    }
                }
                bench.budget.spend(text.len())?;
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
                Source::Variable(variable) => variable.resolve(scope).is_some(),
            },
        })
    }
}

impl Expression {
    fn evaluate<'a>(
        &'a self,
        scope: &'a dyn Scope,
        bench: &Bench<'_>,
    ) -> Result<Datum<'a>, Failed> {
        let mut datum = match &self.source {
            Source::Literal(value) => Datum::Borrowed(value),
            Source::Reference(reference) => {
                Datum::Borrowed(scope.reference(reference).ok_or(Failed::UnknownReference)?)
            }
            Source::Variable(variable) => variable.resolve_or_null(scope),
        };
        for call in &self.calls {
            datum = call.run(&datum, scope, bench)?;
        }
        Ok(datum)
    }
}

impl Call {
    fn run<'a>(
        &'a self,
        input: &Datum<'_>,
        scope: &'a dyn Scope,
        bench: &Bench<'_>,
    ) -> Result<Datum<'a>, Failed> {
        let arguments = Arguments::new(
            self.arguments
                .iter()
                .map(|argument| match argument {
                    Argument::Literal(value) => Datum::Borrowed(value),
                    Argument::Path(_) => Datum::Borrowed(&NULL),
                    Argument::Variable(variable) => variable.resolve_or_null(scope),
                })
                .collect(),
        );
        if let Ok(value) = input.value() {
            bench.budget.spend(weight(value).saturating_add(1))?;
        }
        let output = match &self.filter.action {
            Action::Total(run) => run(input.value()?),
            Action::Value(run) => run(input.value()?, &arguments, bench)?,
            Action::Encode(encode) => match input {
                Datum::Bytes(bytes) => Value::String(encode(bytes.expose())),
                Datum::Borrowed(_) | Datum::Owned(_) => {
                    let value = input.value()?;
                    if value.is_null() {
                        return Err(Failed::NotEncodable);
                    }
                    Value::String(encode(text_of(value)?.as_bytes()))
                }
            },
            Action::Path => match self.arguments.first() {
                Some(Argument::Path(path)) => path.only_value(input.value()?, bench.budget)?,
                Some(Argument::Literal(_) | Argument::Variable(_)) | None => {
                    return Err(Failed::BadArgument);
                }
            },
            Action::Sign(sign) => {
                return sign(input.value()?, &arguments, bench)
                    .map(|bytes| Datum::Bytes(Secret::new(bytes)));
            }
        };
        let output = Datum::owned(output);
        let size = weight(output.value()?);
        check_size(size)?;
        bench.budget.spend(size)?;
        Ok(output)
    }
}

impl Variable {
    fn resolve_or_null<'a>(&'a self, scope: &'a dyn Scope) -> Datum<'a> {
        self.resolve(scope).unwrap_or(Datum::Borrowed(&NULL))
    }

    fn resolve<'a>(&'a self, scope: &'a dyn Scope) -> Option<Datum<'a>> {
        let mut value = scope.variable(&self.name)?;
        for (place, segment) in self.segments.iter().enumerate() {
            match step(value, segment) {
                Some(next) => value = next,
                // `size` of a thing is a number and has no members.
                None if place.saturating_add(1) == self.segments.len() => {
                    return size_of(value, segment).map(|size| Datum::owned(size.into()));
                }
                None => return None,
            }
        }
        Some(Datum::Borrowed(value))
    }
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

fn size_of(value: &Value, segment: &Segment) -> Option<usize> {
    match (value, segment) {
        (_, Segment::Index(_)) => None,
        (_, Segment::Key(key)) if key != "size" => None,
        (Value::Array(items), _) => Some(items.len()),
        (Value::Object(members), _) => Some(members.len()),
        (Value::String(text), _) => Some(text.chars().count()),
        (Value::Null | Value::Bool(_) | Value::Number(_), _) => None,
    }
}

/// A negative index counts from the end.
pub(super) fn place(index: i64, length: usize) -> Option<usize> {
    let distance = usize::try_from(index.unsigned_abs()).ok()?;
    if index < 0 { length.checked_sub(distance) } else { Some(distance) }
}

/// About the bytes of the value's JSON text, and never more than them.
pub(super) fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => text.len().saturating_add(1),
        Value::Array(items) => {
            items.iter().fold(1_usize, |sum, item| sum.saturating_add(weight(item)))
        }
        Value::Object(members) => members.iter().fold(1_usize, |sum, (key, member)| {
            sum.saturating_add(key.len()).saturating_add(weight(member))
        }),
    }
}

pub(super) fn check_size(bytes: usize) -> Result<(), Failed> {
    if bytes > bounds::EXPRESSION_OUTPUT_BYTES_MAX { Err(Failed::TooLarge) } else { Ok(()) }
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
