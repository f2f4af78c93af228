//! Integers, numbers and quoted texts as RFC 9535 writes them.

use serde_json::{Number, Value};

use crate::expressions::lex::Cursor;

/// An integer that JSON can represent exactly, without leading zeros and not `-0`.
pub(super) fn integer(cursor: &mut Cursor<'_>) -> Option<i64> {
    const EXACT_MAX: u64 = (1 << 53) - 1;
    let negative = cursor.eat("-");
    let digits = cursor.take_while(|c| c.is_ascii_digit());
    if digits.is_empty()
        || (digits.starts_with('0') && (digits.len() > 1 || negative))
        || digits.len() > 16
    {
        return None;
    }
    let size: i64 = digits.parse().ok()?;
    let value = if negative { size.checked_neg()? } else { size };
    (value.unsigned_abs() <= EXACT_MAX).then_some(value)
}

pub(super) fn number(cursor: &mut Cursor<'_>) -> Option<Value> {
    let text =
        cursor.take_while(|c| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E'));
    // "-0" is a valid number, unlike in an index.
    serde_json::from_str::<Number>(text).ok().map(Value::Number)
}

pub(super) fn quoted(cursor: &mut Cursor<'_>) -> Option<String> {
    let quote = cursor.bump()?;
    let mut text = String::new();
    loop {
        match cursor.bump()? {
            c if c == quote => return Some(text),
            '\\' => text.push(escaped(cursor, quote)?),
            c if c < ' ' => return None,
            c => text.push(c),
        }
    }
}

fn escaped(cursor: &mut Cursor<'_>, quote: char) -> Option<char> {
    Some(match cursor.bump()? {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => {
            let unit = code_unit(cursor)?;
            if !(0xD800..0xDC00).contains(&unit) {
                return char::from_u32(unit);
            }
            if !cursor.eat("\\u") {
                return None;
            }
            let low = code_unit(cursor)?;
            let offset = low.checked_sub(0xDC00).filter(|offset| *offset < 0x400)?;
            let high = unit.checked_sub(0xD800)?;
            return char::from_u32(
                high.checked_mul(0x400)?.checked_add(offset)?.checked_add(0x1_0000)?,
            );
        }
        c @ ('/' | '\\') => c,
        c if c == quote => c,
        _ => return None,
    })
}

fn code_unit(cursor: &mut Cursor<'_>) -> Option<u32> {
    let mut unit = 0_u32;
    for _ in 0..4 {
        unit = unit.checked_mul(16)?.checked_add(cursor.bump()?.to_digit(16)?)?;
    }
    Some(unit)
}
