//! Filters that calculate.

use serde_json::Value;

use super::arguments::Invocation;
use super::number::Number;
use super::signature::Calculation;
use crate::expressions::failures::Failed;

type Outcome = Result<Value, Failed>;

/// The work of an operation on decimals: they are written as text and parsed again.
const DECIMAL: usize = 4_000;

/// Parses a number and charges for the arithmetic on it.
pub(super) fn operand(value: &Value, call: &Invocation<'_>) -> Result<Number, Failed> {
    let number = Number::of(value)?;
    match number {
        Number::Float(_) => call.budget.spend(DECIMAL).map(|()| number),
        Number::Whole(_) => Ok(number),
    }
}

pub(in crate::expressions) fn calculate(
    input: &Value,
    call: &Invocation<'_>,
    run: Calculation,
) -> Outcome {
    let other = call.value(0).unwrap_or(&Value::Null);
    run(operand(input, call)?, operand(other, call)?)?.into_value()
}

pub(super) fn abs(input: &Value, call: &Invocation<'_>) -> Outcome {
    match operand(input, call)? {
        Number::Whole(whole) => whole.checked_abs().map(Number::Whole).ok_or(Failed::Overflow)?,
        Number::Float(float) => Number::Float(float.abs()),
    }
    .into_value()
}

pub(super) fn round(input: &Value, call: &Invocation<'_>) -> Outcome {
    operand(input, call)?.round(call.integer(0, 0)?)?.into_value()
}

pub(super) fn ceil(input: &Value, call: &Invocation<'_>) -> Outcome {
    whole(operand(input, call)?, f64::ceil)
}

pub(super) fn floor(input: &Value, call: &Invocation<'_>) -> Outcome {
    whole(operand(input, call)?, f64::floor)
}

fn whole(number: Number, round: fn(f64) -> f64) -> Outcome {
    match number {
        Number::Whole(_) => number.into_value(),
        Number::Float(float) => Number::Float(round(float)).round(0)?.into_value(),
    }
}

pub(super) fn to_number(input: &Value, call: &Invocation<'_>) -> Outcome {
    if input.is_null() { Ok(Value::Null) } else { operand(input, call)?.into_value() }
}
