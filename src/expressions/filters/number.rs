//! Arithmetic. Whole numbers are exact. Numbers with a fraction are added, subtracted, multiplied
//! and rounded as decimals, so that 0.1 + 0.2 is 0.3.
//!
//! A text that is not a number is an error. Ruby's Liquid treats it as zero, but a wrong result
//! would be stored unnoticed. Null is zero, as in Ruby.

use std::cmp::Ordering;

use serde_json::Value;

use crate::expressions::failures::Failed;

type Outcome = Result<Value, Failed>;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::expressions) enum Number {
    Float(f64),
    Whole(i128),
}

impl Number {
    pub(super) fn of(value: &Value) -> Result<Self, Failed> {
        match value {
            Value::Null => Ok(Self::Whole(0)),
            Value::Number(number) => {
                let whole = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
                match (whole, number.as_f64()) {
                    (Some(whole), _) => Ok(Self::Whole(whole)),
                    (None, Some(float)) => Ok(Self::Float(float)),
                    (None, None) => Err(Failed::NotANumber),
                }
            }
            Value::String(text) => Self::parse(text),
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(Failed::NotANumber),
        }
    }

    /// A sign, digits, and a fraction; no exponent, no grouping.
    fn parse(text: &str) -> Result<Self, Failed> {
        let text = text.trim();
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (whole, fraction) = match unsigned.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (unsigned, None),
        };
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !is_digits(whole) || !fraction.is_none_or(is_digits) {
            return Err(Failed::NotANumber);
        }
        if fraction.is_some() {
            return text.parse().map_or(Err(Failed::NotANumber), Self::finite);
        }
        text.parse().map_or(Err(Failed::Overflow), |whole| Ok(Self::Whole(whole)))
    }

    fn finite(float: f64) -> Result<Self, Failed> {
        if float.is_finite() { Ok(Self::Float(float)) } else { Err(Failed::Overflow) }
    }

    pub(super) fn into_value(self) -> Outcome {
        match self {
            Self::Whole(whole) => i64::try_from(whole)
                .map(Value::from)
                .or_else(|_| u64::try_from(whole).map(Value::from))
                .or(Err(Failed::Overflow)),
            Self::Float(float) => {
                serde_json::Number::from_f64(float).map(Value::Number).ok_or(Failed::Overflow)
            }
        }
    }

    pub(super) fn float(self) -> f64 {
        match self {
            Self::Float(float) => float,
            #[expect(
                clippy::as_conversions,
                clippy::cast_precision_loss,
                reason = "the nearest float is what is wanted, and every i128 has one"
            )]
            Self::Whole(whole) => whole as f64,
        }
    }

    pub(super) fn add(self, other: Self) -> Result<Self, Failed> {
        self.combine(other, i128::checked_add, |a, b| a + b)
    }

    pub(super) fn subtract(self, other: Self) -> Result<Self, Failed> {
        self.combine(other, i128::checked_sub, |a, b| a - b)
    }

    pub(super) fn at_least(self, least: Self) -> Self {
        if self.compare(least) == Ordering::Less { least } else { self }
    }

    pub(super) fn at_most(self, most: Self) -> Self {
        if self.compare(most) == Ordering::Greater { most } else { self }
    }

    /// Addition and subtraction: on the same scale, decimals are whole numbers.
    fn combine(
        self,
        other: Self,
        exactly: fn(i128, i128) -> Option<i128>,
        nearly: fn(f64, f64) -> f64,
    ) -> Result<Self, Failed> {
        if let (Self::Whole(a), Self::Whole(b)) = (self, other) {
            return exactly(a, b).map(Self::Whole).ok_or(Failed::Overflow);
        }
        let exact = Decimal::aligned(self, other)
            .and_then(|(a, b, scale)| Some(Decimal { digits: exactly(a, b)?, scale }));
        match exact.and_then(Decimal::float) {
            Some(float) => Self::finite(float),
            None => Self::finite(nearly(self.float(), other.float())),
        }
    }

    pub(super) fn times(self, other: Self) -> Result<Self, Failed> {
        if let (Self::Whole(a), Self::Whole(b)) = (self, other) {
            return a.checked_mul(b).map(Self::Whole).ok_or(Failed::Overflow);
        }
        let product = || {
            let (a, b) = (Decimal::of(self)?, Decimal::of(other)?);
            let scale = a.scale.checked_add(b.scale)?;
            Decimal { digits: a.digits.checked_mul(b.digits)?, scale }.float()
        };
        Self::finite(product().unwrap_or_else(|| self.float() * other.float()))
    }

    /// The quotient of two whole numbers is rounded down, as in Ruby.
    pub(super) fn divided_by(self, other: Self) -> Result<Self, Failed> {
        match (self, other) {
            (_, Self::Whole(0)) => Err(Failed::DivisionByZero),
            (Self::Whole(a), Self::Whole(b)) => {
                floored(a, b).map(|(quotient, _)| Self::Whole(quotient)).ok_or(Failed::Overflow)
            }
            (_, b) if b.float() == 0.0 => Err(Failed::DivisionByZero),
            (a, b) => Self::finite(a.float() / b.float()),
        }
    }

    /// The remainder has the sign of the divisor, as in Ruby.
    pub(super) fn modulo(self, other: Self) -> Result<Self, Failed> {
        if other.float() == 0.0 {
            return Err(Failed::DivisionByZero);
        }
        if let (Self::Whole(a), Self::Whole(b)) = (self, other) {
            return floored(a, b).map(|(_, rest)| Self::Whole(rest)).ok_or(Failed::Overflow);
        }
        let exact = Decimal::aligned(self, other).and_then(|(a, b, scale)| {
            let (_, digits) = floored(a, b)?;
            Decimal { digits, scale }.float()
        });
        let (a, b) = (self.float(), other.float());
        Self::finite(exact.unwrap_or_else(|| a - b * (a / b).floor()))
    }

    /// Rounds to `places` decimal places, halves away from zero. Negative places round to tens and
    /// hundreds.
    pub(super) fn round(self, places: i64) -> Result<Self, Failed> {
        let decimal = match (Decimal::of(self), self) {
            (Some(decimal), _) => decimal,
            // Too large to have a fraction, or too small to be anything but zero.
            (None, Self::Float(float)) if places <= 0 && float.abs() < 1.0 => Decimal::ZERO,
            (None, float) if places > 0 => return Ok(float),
            (None, _) => return Err(Failed::Overflow),
        };
        let places = i32::try_from(places.clamp(-1_000, 1_000)).or(Err(Failed::Overflow))?;
        let dropped =
            i32::try_from(decimal.scale).or(Err(Failed::Overflow))?.saturating_sub(places);
        if dropped <= 0 {
            return Ok(if places > 0 { self } else { Self::Whole(decimal.digits) });
        }
        let rounded = match power_of_ten(dropped.unsigned_abs()) {
            Some(unit) => {
                decimal.digits.checked_add(unit / 2 * decimal.digits.signum()).map(|sum| sum / unit)
            }
            None => Some(0),
        };
        let rounded = rounded.ok_or(Failed::Overflow)?;
        if places > 0 {
            let float = Decimal { digits: rounded, scale: places.unsigned_abs() }.float();
            return float.map_or(Err(Failed::Overflow), Self::finite);
        }
        if rounded == 0 {
            return Ok(Self::Whole(0));
        }
        let unit = power_of_ten(places.unsigned_abs()).ok_or(Failed::Overflow)?;
        rounded.checked_mul(unit).map(Self::Whole).ok_or(Failed::Overflow)
    }

    fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => a.cmp(&b),
            (a, b) => a.float().total_cmp(&b.float()),
        }
    }
}

/// `digits / 10^scale`.
#[derive(Clone, Copy)]
struct Decimal {
    digits: i128,
    scale: u32,
}

impl Decimal {
    const ZERO: Self = Self { digits: 0, scale: 0 };

    /// `None` if its digits do not fit; the caller then calculates with floats.
    fn of(number: Number) -> Option<Self> {
        let float = match number {
            Number::Whole(digits) => return Some(Self { digits, scale: 0 }),
            Number::Float(float) => float,
        };
        // The shortest decimal that parses to this float, so most likely the one that was written.
        let text = float.to_string();
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let digits = format!("{whole}{fraction}").parse().ok()?;
        Some(Self { digits, scale: u32::try_from(fraction.len()).ok()? })
    }

    fn aligned(a: Number, b: Number) -> Option<(i128, i128, u32)> {
        let (a, b) = (Self::of(a)?, Self::of(b)?);
        let scale = a.scale.max(b.scale);
        let scaled = |decimal: Self| {
            decimal.digits.checked_mul(power_of_ten(scale.saturating_sub(decimal.scale))?)
        };
        Some((scaled(a)?, scaled(b)?, scale))
    }

    fn float(self) -> Option<f64> {
        format!("{}e-{}", self.digits, self.scale).parse().ok()
    }
}

fn power_of_ten(power: u32) -> Option<i128> {
    10_i128.checked_pow(power)
}

/// The quotient, rounded down, and its remainder.
fn floored(a: i128, b: i128) -> Option<(i128, i128)> {
    let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
    if rest != 0 && (rest < 0) != (b < 0) {
        return Some((quotient.checked_sub(1)?, rest.checked_add(b)?));
    }
    Some((quotient, rest))
}
