//! JSON text as JavaScript's `JSON.stringify` writes it after the members of every object are
//! sorted. Receivers of webhooks verify either the bytes that they got, or a parsed copy that they
//! print again; in this form both are the same.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&number_text(number)),
        Value::String(text) => quote(text, out),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => write_object(members, out),
    }
}

fn write_object(members: &Map<String, Value>, out: &mut String) {
    let mut members: Vec<_> = members.iter().collect();
    // JavaScript compares texts by their UTF-16 code units: a character beyond the first 65,536
    // comes before U+E000.
    members.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
    out.push('{');
    for (at, (name, value)) in members.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        quote(name, out);
        out.push(':');
        write(value, out);
    }
    out.push('}');
}

//= ECMA-262, 25.5.2.3 QuoteJSONString
fn quote(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            letter if letter < ' ' => {
                // Writing into a text cannot fail.
                write!(out, "\\u{:04x}", u32::from(letter)).ok();
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
}

/// A number as JavaScript prints it after parsing it. A number outside the range of doubles prints
/// as `null`.
//= ECMA-262, 6.1.6.1.20 Number::toString
fn number_text(number: &Number) -> String {
    let double: f64 = number.to_string().parse().unwrap_or(f64::NAN);
    if !double.is_finite() {
        return String::from("null");
    }
    if double == 0.0 {
        return String::from("0");
    }
    // The shortest digits that read back as the same double, with an exponent.
    let scientific = format!("{:e}", double.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits: String = mantissa.chars().filter(|letter| *letter != '.').collect();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if double < 0.0 { "-" } else { "" };
    format!("{sign}{}", place(&digits, exponent))
}

/// Places the point by the exponent. `digits` is a mantissa without its point, which is after the
/// first digit.
fn place(digits: &str, exponent: i32) -> String {
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let point = exponent.saturating_add(1);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let split = |at: i32| digits.split_at_checked(usize::try_from(at).unwrap_or(0));
    match (point, split(point)) {
        (1..=21, _) if count <= point => {
            format!("{digits}{}", zeros(point.saturating_sub(count)))
        }
        (1..=21, Some((whole, part))) => format!("{whole}.{part}"),
        (-5..=0, _) => format!("0.{}{digits}", zeros(point.saturating_neg())),
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            let exponent = exponent.unsigned_abs();
            match split(1) {
                Some((first, rest)) if !rest.is_empty() => {
                    format!("{first}.{rest}e{sign}{exponent}")
                }
                _ => format!("{digits}e{sign}{exponent}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::domain::any_json::any_json;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(canonical(&value), expected, "{text}");
    }

    /// Each pair was printed by `JSON.stringify(JSON.parse(text))` of Node 20.
    #[test]
    fn numbers_are_printed_as_javascript_prints_them() {
        for (text, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("1", "1"),
            ("-1", "-1"),
            ("1.0", "1"),
            ("1.50", "1.5"),
            ("10", "10"),
            ("1e2", "100"),
            ("123456789012345680000", "123456789012345680000"),
            ("1e20", "100000000000000000000"),
            ("1e21", "1e+21"),
            ("1.5e21", "1.5e+21"),
            ("12e21", "1.2e+22"),
            ("9007199254740993", "9007199254740992"),
            ("0.1", "0.1"),
            ("0.000001", "0.000001"),
            ("0.0000015", "0.0000015"),
            ("0.0000001", "1e-7"),
            ("1.25e-7", "1.25e-7"),
            ("-1.25e-7", "-1.25e-7"),
            ("5e-324", "5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("1e400", "null"),
            ("333333333.33333329", "333333333.3333333"),
            ("4.50", "4.5"),
            ("2e-3", "0.002"),
            ("0.000000000000000000000000001", "1e-27"),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn texts_are_escaped_as_javascript_escapes_them() {
        check(r#""plain \/ \u00e9 \ud83d\ude00""#, "\"plain / \u{e9} \u{1f600}\"");
        check(r#""\"\\\b\f\n\r\t""#, r#""\"\\\b\f\n\r\t""#);
        check(r#""\u0000\u001f\u007f\u2028""#, "\"\\u0000\\u001f\u{7f}\u{2028}\"");
    }

    #[test]
    fn members_are_sorted_by_utf_16_at_every_level() {
        check(
            r#"{ "b": [ {"z":1,"a":2} ], "a": {}, "B": null, "": true }"#,
            r#"{"":true,"B":null,"a":{},"b":[{"a":2,"z":1}]}"#,
        );
        let name = |letter: &str| format!("{{\"{letter}\":1,\"\u{e000}\":2}}");
        check(&name("\u{1f600}"), "{\"\u{1f600}\":1,\"\u{e000}\":2}");
        check(&name("\u{d7ff}"), "{\"\u{d7ff}\":1,\"\u{e000}\":2}");
        check(r#"{"10":1,"9":2}"#, r#"{"10":1,"9":2}"#);
    }

    proptest! {
        #[test]
        fn the_canonical_text_reads_back_and_is_its_own_canonical_text(value in any_json(any::<String>())) {
            let text = canonical(&value);
            let again: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(canonical(&again), text);
        }

        #[test]
        fn a_number_reads_back_as_the_same_double(number in any::<f64>()) {
            prop_assume!(number.is_finite());
            let text = canonical(&json!(number));
            // Both zeros are written as 0.
            let (read, zero) = (text.parse::<f64>().unwrap(), 0.0_f64.to_bits());
            prop_assert!(read.to_bits() == number.to_bits() || read.to_bits() == zero && number.abs().to_bits() == zero);
        }
    }
}
