//! Filters on lists, and filters on any value (`size`, `default`, `slice`).
//!
//! As in the Liquid of Ruby, a value that is not a list counts as a list of one, null as the empty
//! list, and nested lists are flattened.

use std::collections::HashSet;

use serde_json::Value;

use super::arguments::{Invocation, text_of};
use super::arithmetic::operand;
use super::number::Number;
use crate::bounds;
use crate::expressions::budget::Weight;
use crate::expressions::context::Text;
use crate::expressions::failures::Failed;
use crate::expressions::variable::place;

type Outcome = Result<Value, Failed>;

fn items(input: &Value) -> Vec<&Value> {
    let mut found = Vec::new();
    flatten(input, &mut found);
    if input.is_null() { Vec::new() } else { found }
}

fn flatten<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| flatten(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            found.push(value);
        }
    }
}

fn list<'a>(items: impl Iterator<Item = &'a Value>) -> Value {
    Value::Array(items.cloned().collect())
}

/// The item itself, or the member that the argument names.
struct Property<'a>(Option<&'a str>);

static NULL: Value = Value::Null;

impl<'a> Property<'a> {
    fn named(call: &'a Invocation<'_>) -> Result<Self, Failed> {
        match call.value(0) {
            None | Some(Value::Null) => Ok(Self(None)),
            Some(Value::String(name)) => Ok(Self(Some(name))),
            Some(_) => Err(Failed::BadArgument),
        }
    }

    fn of<'v>(&self, item: &'v Value) -> Result<&'v Value, Failed> {
        match (self.0, item) {
            (None, item) => Ok(item),
            (Some(name), Value::Object(members)) => Ok(members.get(name).unwrap_or(&NULL)),
            (Some(_), Value::Null) => Ok(&NULL),
            (Some(_), _) => Err(Failed::NotAnObject),
        }
    }
}

pub(super) fn first(input: &Value) -> Value {
    match input {
        Value::Array(items) => items.first().cloned().unwrap_or_default(),
        Value::String(text) => text.chars().next().map(String::from).into(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Value::Null,
    }
}

pub(super) fn last(input: &Value) -> Value {
    match input {
        Value::Array(items) => items.last().cloned().unwrap_or_default(),
        Value::String(text) => text.chars().next_back().map(String::from).into(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Value::Null,
    }
}

pub(super) fn size(input: &Value) -> Value {
    Value::from(match input {
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        Value::String(text) => text.chars().count(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    })
}

/// Replaces null, false and empty values; `allow_false` keeps false.
pub(super) fn default(input: &Value, call: &Invocation<'_>) -> Outcome {
    let is_replaced = match input {
        Value::Null => true,
        Value::Bool(flag) => !flag && !call.flag(1)?,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Number(_) => false,
    };
    let value = if is_replaced { call.value(0) } else { Some(input) };
    Ok(value.cloned().unwrap_or_default())
}

/// An offset out of range gives an empty result, not an error.
pub(super) fn slice(input: &Value, call: &Invocation<'_>) -> Outcome {
    let offset = call.integer(0, 0)?;
    let length = call.length(1, 1)?;
    if let Value::Array(items) = input {
        let start = place(offset, items.len()).unwrap_or(usize::MAX);
        return Ok(list(items.iter().skip(start).take(length)));
    }
    super::text::rewrite(input, |text| {
        let start = place(offset, text.chars().count()).unwrap_or(usize::MAX);
        let mut part = Text::with_capacity(length.min(text.len()));
        for c in text.chars().skip(start).take(length) {
            part.push(c)?;
        }
        Ok(part)
    })
}

pub(super) fn join(input: &Value, call: &Invocation<'_>) -> Outcome {
    let glue = if call.value(0).is_some() { call.text(0)? } else { " ".into() };
    let mut text = Text::new();
    for (at, item) in items(input).into_iter().enumerate() {
        if at > 0 {
            text.push_str(&glue)?;
        }
        text.push_str(&text_of(item)?)?;
    }
    Ok(text.finish())
}

pub(super) fn concat(input: &Value, call: &Invocation<'_>) -> Outcome {
    let Some(more @ Value::Array(_)) = call.value(0) else {
        return Err(Failed::NotAList);
    };
    let (before, after) = (items(input), items(more));
    if before.len().saturating_add(after.len()) > bounds::EXPRESSION_ITEMS_MAX {
        return Err(Failed::TooLarge);
    }
    Ok(list(before.into_iter().chain(after)))
}

pub(super) fn reverse(input: &Value) -> Value {
    list(items(input).into_iter().rev())
}

pub(super) fn map(input: &Value, call: &Invocation<'_>) -> Outcome {
    let property = Property::named(call)?;
    let mapped: Result<Vec<Value>, Failed> =
        items(input).into_iter().map(|item| property.of(item).cloned()).collect();
    mapped.map(Value::Array)
}

pub(super) fn compact(input: &Value, call: &Invocation<'_>) -> Outcome {
    let property = Property::named(call)?;
    choose(input, |item| Ok(!property.of(item)?.is_null()))
}

pub(super) fn uniq(input: &Value, call: &Invocation<'_>) -> Outcome {
    let property = Property::named(call)?;
    // The whole input is hashed and may be copied.
    call.budget.spend(Weight::of(input).made().saturating_mul(2))?;
    let mut seen = HashSet::new();
    choose(input, |item| Ok(seen.insert(property.of(item)?.clone())))
}

pub(super) fn where_(input: &Value, call: &Invocation<'_>) -> Outcome {
    let test = Test::of(call)?;
    choose(input, |item| test.passes(item))
}

pub(super) fn reject(input: &Value, call: &Invocation<'_>) -> Outcome {
    let test = Test::of(call)?;
    choose(input, |item| Ok(!test.passes(item)?))
}

pub(super) fn has(input: &Value, call: &Invocation<'_>) -> Outcome {
    Ok(Value::Bool(position(input, call)?.is_some()))
}

pub(super) fn find_index(input: &Value, call: &Invocation<'_>) -> Outcome {
    Ok(position(input, call)?.map(|(at, _)| at).into())
}

pub(super) fn find(input: &Value, call: &Invocation<'_>) -> Outcome {
    Ok(position(input, call)?.map(|(_, item)| item.clone()).unwrap_or_default())
}

fn position<'v>(
    input: &'v Value,
    call: &Invocation<'_>,
) -> Result<Option<(usize, &'v Value)>, Failed> {
    let test = Test::of(call)?;
    for (at, item) in items(input).into_iter().enumerate() {
        if test.passes(item)? {
            return Ok(Some((at, item)));
        }
    }
    Ok(None)
}

fn choose(input: &Value, mut is_chosen: impl FnMut(&Value) -> Result<bool, Failed>) -> Outcome {
    let mut chosen = Vec::new();
    for item in items(input) {
        if is_chosen(item)? {
            chosen.push(item.clone());
        }
    }
    Ok(Value::Array(chosen))
}

/// `where: 'name'` accepts any value but null and false, `where: 'name', value` only that value.
struct Test<'a> {
    property: Property<'a>,
    wanted: Option<&'a Value>,
    /// The wanted value as a number, parsed once: it may have many digits and is compared with
    /// every item.
    number: Option<f64>,
}

impl<'a> Test<'a> {
    fn of(call: &'a Invocation<'_>) -> Result<Self, Failed> {
        let wanted = call.value(1).filter(|value| !value.is_null());
        let number = wanted.and_then(Value::as_f64);
        Ok(Self { property: Property::named(call)?, wanted, number })
    }

    fn passes(&self, item: &Value) -> Result<bool, Failed> {
        let found = self.property.of(item)?;
        Ok(match self.wanted {
            Some(Value::Number(wanted)) => found
                .as_number()
                .is_some_and(|found| found == wanted || found.as_f64() == self.number),
            Some(wanted) => found == wanted,
            None => !matches!(found, Value::Null | Value::Bool(false)),
        })
    }
}

pub(super) fn sum(input: &Value, call: &Invocation<'_>) -> Outcome {
    let property = Property::named(call)?;
    let mut sum = Number::Whole(0);
    for item in items(input) {
        sum = sum.add(operand(property.of(item)?, call)?)?;
    }
    sum.into_value()
}

/// Sorts numbers or texts, not both; null comes last.
pub(super) fn sort(input: &Value, call: &Invocation<'_>) -> Outcome {
    let keyed = keyed(input, call)?;
    let present = || keyed.iter().map(|(key, _)| *key).filter(|key| !key.is_null());
    if present().all(Value::is_string) {
        return Ok(sorted(&keyed, |key| key.as_str().map(str::to_owned), Ord::cmp));
    }
    if !present().all(Value::is_number) {
        return Err(Failed::Incomparable);
    }
    // All keys are compared in the same way: integer and float comparisons together give no total
    // order.
    if present().all(|key| key.is_i64() || key.is_u64()) {
        let whole =
            |key: &Value| key.as_i64().map(i128::from).or_else(|| key.as_u64().map(i128::from));
        return Ok(sorted(&keyed, whole, Ord::cmp));
    }
    Ok(sorted(&keyed, Value::as_f64, f64::total_cmp))
}

/// Sorts by text without regard to case.
pub(super) fn sort_natural(input: &Value, call: &Invocation<'_>) -> Outcome {
    let keyed = keyed(input, call)?;
    if keyed.iter().any(|(key, _)| text_of(key).is_err()) {
        return Err(Failed::Incomparable);
    }
    let key = |key: &Value| {
        if key.is_null() { None } else { text_of(key).ok().map(|text| text.to_lowercase()) }
    };
    Ok(sorted(&keyed, key, Ord::cmp))
}

fn keyed<'v>(
    input: &'v Value,
    call: &Invocation<'_>,
) -> Result<Vec<(&'v Value, &'v Value)>, Failed> {
    let items = items(input);
    // The empty list has no logarithm and costs nothing.
    let rounds =
        items.len().checked_ilog2().map_or(Ok(0), usize::try_from).or(Err(Failed::TooLarge))?;
    call.budget.spend(Weight::of(input).read().saturating_mul(rounds))?;
    let property = Property::named(call)?;
    items.into_iter().map(|item| Ok((property.of(item)?, item))).collect()
}

fn sorted<K>(
    keyed: &[(&Value, &Value)],
    key: impl Fn(&Value) -> Option<K>,
    compare: fn(&K, &K) -> std::cmp::Ordering,
) -> Value {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let mut order: Vec<(Option<K>, &Value)> =
        keyed.iter().map(|(of, item)| (key(of), *item)).collect();
    order.sort_by(|(a, _), (b, _)| match (a, b) {
        (Some(a), Some(b)) => compare(a, b),
        (Some(_), None) => Less,
        (None, Some(_)) => Greater,
        (None, None) => Equal,
    });
    list(order.into_iter().map(|(_, item)| item))
}
