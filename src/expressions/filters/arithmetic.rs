//! Filters that calculate.

use std::cmp::Ordering;

use serde_json::Value;

use super::arguments::Arguments;
use super::number::Number;
use crate::expressions::context::EvalContext;
use crate::expressions::failures::Failed;

type Outcome = Result<Value, Failed>;

/// The work of an operation on decimals: they are written as text and parsed again.
const DECIMAL: usize = 4_000;

fn operands(
    input: &Value,
    arguments: &Arguments<'_>,
    context: &EvalContext<'_>,
) -> Result<(Number, Number), Failed> {
    let other = arguments.value(0).unwrap_or(&Value::Null);
    Ok((operand(input, context)?, operand(other, context)?))
}

/// Parses a number and charges for the arithmetic on it.
pub(super) fn operand(value: &Value, context: &EvalContext<'_>) -> Result<Number, Failed> {
    let number = Number::of(value)?;
    match number {
        Number::Float(_) => context.budget.spend(DECIMAL).map(|()| number),
        Number::Whole(_) => Ok(number),
    }
}

pub(super) fn plus(input: &Value, arguments: &Arguments<'_>, context: &EvalContext<'_>) -> Outcome {
    let (a, b) = operands(input, arguments, context)?;
    a.add(b)?.into_value()
}

pub(super) fn minus(
    input: &Value,
    arguments: &Arguments<'_>,
    context: &EvalContext<'_>,
) -> Outcome {
    let (a, b) = operands(input, arguments, context)?;
    a.combine(b, i128::checked_sub, |a, b| a - b)?.into_value()
}

pub(super) fn times(
    input: &Value,
    arguments: &Arguments<'_>,
    context: &EvalContext<'_>,
) -> Outcome {
    let (a, b) = operands(input, arguments, context)?;
    a.times(b)?.into_value()
}

pub(super) fn divided_by(
    input: &Value,
    arguments: &Arguments<'_>,
    context: &EvalContext<'_>,
) -> Outcome {
    let (a, b) = operands(input, arguments, context)?;
    a.divided_by(b)?.into_value()
}

pub(super) fn modulo(
    input: &Value,
    arguments: &Arguments<'_>,
    context: &EvalContext<'_>,
) -> Outcome {
    let (a, b) = operands(input, arguments, context)?;
    a.modulo(b)?.into_value()
}

pub(super) fn at_least(
    input: &Value,
    arguments: &Arguments<'_>,
    context: &EvalContext<'_>,
) -> Outcome {
    let (a, b) = operands(input, arguments, context)?;
    if a.compare(b) == Ordering::Less { b } else { a }.into_value()
}

pub(super) fn at_most(
    input: &Value,
    arguments: &Arguments<'_>,
    context: &EvalContext<'_>,
) -> Outcome {
    let (a, b) = operands(input, arguments, context)?;
    if a.compare(b) == Ordering::Greater { b } else { a }.into_value()
}

pub(super) fn abs(input: &Value, _: &Arguments<'_>, context: &EvalContext<'_>) -> Outcome {
    match operand(input, context)? {
        Number::Whole(whole) => whole.checked_abs().map(Number::Whole).ok_or(Failed::Overflow)?,
        Number::Float(float) => Number::Float(float.abs()),
    }
    .into_value()
}

pub(super) fn round(
    input: &Value,
    arguments: &Arguments<'_>,
    context: &EvalContext<'_>,
) -> Outcome {
    operand(input, context)?.round(arguments.integer(0, 0)?)?.into_value()
}

pub(super) fn ceil(input: &Value, _: &Arguments<'_>, context: &EvalContext<'_>) -> Outcome {
    whole(operand(input, context)?, f64::ceil)
}

pub(super) fn floor(input: &Value, _: &Arguments<'_>, context: &EvalContext<'_>) -> Outcome {
    whole(operand(input, context)?, f64::floor)
}

fn whole(number: Number, round: fn(f64) -> f64) -> Outcome {
    match number {
        Number::Whole(_) => number.into_value(),
        Number::Float(float) => Number::Float(round(float)).round(0)?.into_value(),
    }
}

pub(super) fn to_number(input: &Value, _: &Arguments<'_>, context: &EvalContext<'_>) -> Outcome {
    if input.is_null() { Ok(Value::Null) } else { operand(input, context)?.into_value() }
}
