//! The month and the year in which a card expires.
//!
//! The interface calls both integers, but programs also send text (`"03"`, since forms and XML have
//! nothing else) and numbers with a fraction of zeros (`12.0`, from languages without integers). A
//! token keeps them as they came; all other code reads them through this module.

use std::ops::RangeInclusive;

use serde_json::Value;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expiry {
    pub month: Option<u8>,
    pub year: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadExpiry {
    /// Neither a whole number nor text of digits.
    NotANumber,
    /// A whole number that is no month or no year, or text with too few or too many digits.
    OutOfRange,
}

impl Expiry {
    /// Parts that are missing or invalid are `None`. Stored cards have been checked.
    pub fn of(card: &Value) -> Self {
        let part = |name| card.get(name).and_then(Scalar::of);
        Self::of_parts(part("expiration_month"), part("expiration_year"))
    }

    pub fn of_parts(month: Option<Scalar<'_>>, year: Option<Scalar<'_>>) -> Self {
        Self { month: parse_month(month).ok(), year: parse_year(year).ok() }
    }
}

/// Text of a month has one or two digits.
pub fn parse_month(value: Option<Scalar<'_>>) -> Result<u8, BadExpiry> {
    let month = parse(value, 1..=2, 1..=12)?;
    u8::try_from(month).ok().ok_or(BadExpiry::OutOfRange)
}

/// Text of a year has four digits.
pub fn parse_year(value: Option<Scalar<'_>>) -> Result<u16, BadExpiry> {
    parse(value, 4..=4, 1000..=9999)
}

fn parse(
    value: Option<Scalar<'_>>,
    digits: RangeInclusive<usize>,
    range: RangeInclusive<u16>,
) -> Result<u16, BadExpiry> {
    let value = value.ok_or(BadExpiry::NotANumber)?;
    let text = value.whole().ok_or(BadExpiry::NotANumber)?;
    let has_digits = !matches!(value, Scalar::Text(_)) || digits.contains(&text.len());
    let parsed = text.parse::<u16>().ok().filter(|parsed| has_digits && range.contains(parsed));
    parsed.ok_or(BadExpiry::OutOfRange)
}

/// A JSON text or number, borrowed.
#[derive(Clone, Copy)]
pub enum Scalar<'a> {
    Text(&'a str),
    Number(&'a str),
}

impl<'a> Scalar<'a> {
    pub fn of(value: &'a Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(text)),
            Value::Number(number) => Some(Self::Number(number.as_str())),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// `json` is a valid JSON value. `None` for a text with an escape, which has a character that
    /// neither a number nor a date has.
    pub fn of_json(json: &'a str) -> Option<Self> {
        if let Some(rest) = json.strip_prefix('"') {
            let text = rest.strip_suffix('"')?;
            return (!text.contains('\\')).then_some(Self::Text(text));
        }
        json.starts_with(|first: char| first == '-' || first.is_ascii_digit())
            .then_some(Self::Number(json))
    }

    pub const fn text(self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number(_) => None,
        }
    }

    /// The digits of a whole number: a JSON number without a fraction other than zeros, or text that
    /// consists of digits.
    pub fn whole(self) -> Option<&'a str> {
        match self {
            Self::Text(text) => is_digits(text).then_some(text),
            Self::Number(text) => {
                let (before, zeros) = text.split_once('.').unwrap_or((text, ""));
                let is_whole = is_digits(before.strip_prefix('-').unwrap_or(before));
                (is_whole && zeros.bytes().all(|byte| byte == b'0')).then_some(before)
            }
        }
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(json: &str, month: Result<u8, BadExpiry>, year: Result<u16, BadExpiry>) {
        let value: Value = serde_json::from_str(json).unwrap();
        for scalar in [Scalar::of(&value), Scalar::of_json(json)] {
            assert_eq!(parse_month(scalar), month, "{json}");
            assert_eq!(parse_year(scalar), year, "{json}");
        }
    }

    #[test]
    fn months_and_years_are_whole_numbers_or_text_of_their_digits() {
        for json in ["3", "3.0", "3.000", "\"3\"", "\"03\""] {
            check(json, Ok(3), Err(BadExpiry::OutOfRange));
        }
        for json in ["2030", "2030.0", "\"2030\""] {
            check(json, Err(BadExpiry::OutOfRange), Ok(2030));
        }
        for json in ["0", "13", "-1", "99999999999999999999", "\"0\"", "\"003\"", "\"02030\""] {
            check(json, Err(BadExpiry::OutOfRange), Err(BadExpiry::OutOfRange));
        }
        for json in [
            "3.5",
            "3e0",
            "1.2e1",
            "20.30e2",
            "\"\"",
            "\" 3\"",
            "\"+3\"",
            "\"3.0\"",
            "\"III\"",
            "\"\\u0033\\n\"",
            "\"\u{663}\"",
            "true",
            "null",
            "[]",
            "{}",
        ] {
            check(json, Err(BadExpiry::NotANumber), Err(BadExpiry::NotANumber));
        }
    }

    #[test]
    fn an_expiry_has_the_parts_that_are_there() {
        let card = json!({ "expiration_month": "07", "expiration_year": 2031 });
        assert_eq!(Expiry::of(&card), Expiry { month: Some(7), year: Some(2031) });
        assert_eq!(Expiry::of(&json!({ "expiration_month": 13 })), Expiry::default());
        assert_eq!(Expiry::of(&json!("07/31")), Expiry::default());
    }
}
