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
        let part = |name| card.get(name);
        let year = part("expiration_year").and_then(|year| parse_year(year).ok());
        Self { month: part("expiration_month").and_then(|month| parse_month(month).ok()), year }
    }
}

/// Text of a month has one or two digits.
pub fn parse_month(value: &Value) -> Result<u8, BadExpiry> {
    let month = parse(value, 1..=2, 1..=12)?;
    u8::try_from(month).ok().ok_or(BadExpiry::OutOfRange)
}

/// Text of a year has four digits.
pub fn parse_year(value: &Value) -> Result<u16, BadExpiry> {
    parse(value, 4..=4, 1000..=9999)
}

fn parse(
    value: &Value,
    digits: RangeInclusive<usize>,
    range: RangeInclusive<u16>,
) -> Result<u16, BadExpiry> {
    let text = whole(value).ok_or(BadExpiry::NotANumber)?;
    let has_digits = !value.is_string() || digits.contains(&text.len());
    let parsed = text.parse::<u16>().ok().filter(|parsed| has_digits && range.contains(parsed));
    parsed.ok_or(BadExpiry::OutOfRange)
}

/// The digits of a whole number: a JSON number without a fraction other than zeros, or text that
/// consists of digits.
pub fn whole(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => is_digits(text).then_some(text.as_str()),
        Value::Number(number) => {
            let text = number.as_str();
            let (before, zeros) = text.split_once('.').unwrap_or((text, ""));
            let is_whole = is_digits(before.strip_prefix('-').unwrap_or(before));
            (is_whole && zeros.bytes().all(|byte| byte == b'0')).then_some(before)
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
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
        assert_eq!(parse_month(&value), month, "{json}");
        assert_eq!(parse_year(&value), year, "{json}");
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
