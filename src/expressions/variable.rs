//! Variables of an expression, and their look-up in a scope.

use serde_json::Value;

use super::budget::{Budget, CALL};
use super::context::EvalValue;
use super::failures::Failed;
use super::scope::{Scope, ScopedValue};
use crate::domain::exposure::Computation;

static NULL: Value = Value::Null;

pub(super) struct Variable {
    pub(super) name: String,
    pub(super) segments: Vec<Segment>,
    /// The work of the look-up: each name is compared with several members, which may share a
    /// prefix.
    pub(super) work: usize,
}

pub(super) enum Segment {
    Index(i64),
    Key(String),
}

impl Variable {
    pub(super) fn reads(&self, member: &str) -> bool {
        self.name == "data"
            && match self.segments.first() {
                Some(Segment::Key(key)) => key == member,
                Some(Segment::Index(_)) | None => true,
            }
    }
}

impl Variable {
    /// Null if the scope has no such value. `Guarded` if the scope does not allow this computation
    /// over it.
    pub(super) fn resolve<'a>(
        &'a self,
        scope: &'a dyn Scope,
        computation: Computation,
        budget: &Budget,
    ) -> Result<EvalValue<'a>, Failed> {
        budget.spend(self.work)?;
        let Some(named) = scope.variable(&self.name) else {
            return Ok(EvalValue::Borrowed(&NULL));
        };
        if named.computation < computation {
            return Err(Failed::Guarded);
        }
        match self.find(named) {
            None => Ok(EvalValue::Borrowed(&NULL)),
            Some(Found::Value(value)) => Ok(EvalValue::Borrowed(value)),
            Some(Found::SizeOf(value)) => {
                budget.spend(CALL.saturating_add(value.as_str().map_or(0, str::len)))?;
                Ok(size_of(value)
                    .map_or(EvalValue::Borrowed(&NULL), |size| EvalValue::owned(size.into())))
            }
        }
    }

    /// True if the scope has a value under this name.
    pub(super) fn is_defined(&self, scope: &dyn Scope) -> bool {
        scope.variable(&self.name).is_some_and(|named| self.find(named).is_some())
    }

    fn find<'a>(&self, named: ScopedValue<'a>) -> Option<Found<'a>> {
        let mut value = named.value;
        for (place, segment) in self.segments.iter().enumerate() {
            match step(value, segment) {
                Some(next) => value = next,
                // `size` may only be the last segment: a number has no members.
                None if place.saturating_add(1) == self.segments.len() => {
                    // A size is computed from the value, so it does not count as placing a part of
                    // it.
                    let has_size =
                        named.computation == Computation::Any && has_size(value, segment);
                    return has_size.then_some(Found::SizeOf(value));
                }
                None => return None,
            }
        }
        Some(Found::Value(value))
    }
}

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
