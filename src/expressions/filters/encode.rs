//! Filters that change how a value is written: casts, JSON, base64, hexadecimal, URLs, HTML; and the
//! keyed hash, which is only ever shown encoded.

use serde_json::Value;

use super::arguments::{Arguments, hash_of, text_of};
use super::text::{MATCH, spell_out};
use crate::domain::html::entity;
use crate::expressions::budget::CHARACTER;
use crate::expressions::context::{EvalContext, Hash, Text};
use crate::expressions::failures::Failed;

type Outcome = Result<Value, Failed>;

/// The work of hashing a byte, and the bytes that an HMAC of nothing hashes.
const HASH_BYTE: usize = 6;
const BLOCKS: usize = 512;

/// JSON text; a text stays as it is, without quotes, and null stays null.
pub(super) fn stringify(input: &Value) -> Value {
    match input {
        Value::Null | Value::String(_) => input.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Value::String(input.to_string())
        }
    }
}

pub(super) fn to_string(input: &Value, _: &Arguments<'_>, _: &EvalContext<'_>) -> Outcome {
    if input.is_null() {
        return Ok(Value::Null);
    }
    Ok(Value::String(text_of(input)?.into_owned()))
}

pub(super) fn to_boolean(input: &Value, _: &Arguments<'_>, context: &EvalContext<'_>) -> Outcome {
    // There may be much white space around it, which is looked at twice.
    context.budget.spend(input.as_str().map_or(0, str::len).saturating_mul(CHARACTER))?;
    match input {
        Value::Null | Value::Bool(_) => Ok(input.clone()),
        Value::String(text) if text.trim().eq_ignore_ascii_case("true") => Ok(true.into()),
        Value::String(text) if text.trim().eq_ignore_ascii_case("false") => Ok(false.into()),
        Value::String(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(Failed::NotABoolean)
        }
    }
}

pub(super) fn hmac(
    input: &Value,
    arguments: &Arguments<'_>,
    context: &EvalContext<'_>,
) -> Result<Vec<u8>, Failed> {
    if input.is_null() {
        return Err(Failed::NotEncodable);
    }
    let hash = arguments.value(0).map_or(Ok(Hash::Sha256), hash_of)?;
    let (key, message) = (arguments.text(1)?, text_of(input)?);
    let bytes = key.len().saturating_add(message.len()).saturating_add(BLOCKS);
    context.budget.spend(bytes.saturating_mul(HASH_BYTE))?;
    Ok(context.host.hmac(hash, key.as_bytes(), message.as_bytes()))
}

/// Upper case, as published.
pub(super) fn base16(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| [hex_digit(byte >> 4), hex_digit(byte & 15)]).collect()
}

fn hex_digit(nibble: u8) -> char {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    DIGITS.get(usize::from(nibble)).copied().map_or('0', char::from)
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

pub(super) fn base64(bytes: &[u8]) -> String {
    to_base64(bytes, STANDARD)
}

fn to_base64(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3).saturating_mul(4));
    for chunk in bytes.chunks(3) {
        let mut group = 0_u32;
        for place in 0..3 {
            group = group << 8 | u32::from(chunk.get(place).copied().unwrap_or_default());
        }
        for place in 0..4_usize {
            let sextet = group >> 18_usize.saturating_sub(place * 6) & 63;
            let letter = usize::try_from(sextet).ok().and_then(|at| alphabet.get(at)).copied();
            text.push(if place <= chunk.len() { letter.map_or('=', char::from) } else { '=' });
        }
    }
    text
}

fn from_base64(text: &str, alphabet: &[u8; 64]) -> Result<Vec<u8>, Failed> {
    let text = text.trim();
    let body = text.trim_end_matches('=');
    let padding = text.len().saturating_sub(body.len());
    let tail = body.len() % 4;
    if tail == 1 || padding > 2 || (padding > 0 && !(tail + padding).is_multiple_of(4)) {
        return Err(Failed::NotEncodable);
    }
    let mut bytes = Vec::with_capacity(body.len());
    let (mut group, mut bits) = (0_u32, 0_u32);
    let [.., last_but_one, last] = *alphabet;
    for letter in body.bytes() {
        let sextet = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            _ if letter == last_but_one => 62,
            _ if letter == last => 63,
            _ => return Err(Failed::NotEncodable),
        };
        let sextet = u32::from(sextet);
        group = group << 6 | sextet;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(group >> bits & 0xFF).unwrap_or_default());
            group &= 0xFF >> (8 - bits);
        }
    }
    Ok(bytes)
}

pub(super) fn base64_encode(
    input: &Value,
    _: &Arguments<'_>,
    context: &EvalContext<'_>,
) -> Outcome {
    spell_out(input, context, |text| Text::from(to_base64(text.as_bytes(), STANDARD)))
}

pub(super) fn base64_url_safe_encode(
    input: &Value,
    _: &Arguments<'_>,
    context: &EvalContext<'_>,
) -> Outcome {
    spell_out(input, context, |text| Text::from(to_base64(text.as_bytes(), URL_SAFE)))
}

pub(super) fn base64_decode(
    input: &Value,
    _: &Arguments<'_>,
    context: &EvalContext<'_>,
) -> Outcome {
    spell_out(input, context, |text| utf8(from_base64(text, STANDARD)?))
}

pub(super) fn base64_url_safe_decode(
    input: &Value,
    _: &Arguments<'_>,
    context: &EvalContext<'_>,
) -> Outcome {
    spell_out(input, context, |text| utf8(from_base64(text, URL_SAFE)?))
}

fn utf8(bytes: Vec<u8>) -> Result<Text, Failed> {
    String::from_utf8(bytes).map_or(Err(Failed::NotEncodable), Text::from)
}

/// As forms encode: a space is a plus.
pub(super) fn url_encode(input: &Value, _: &Arguments<'_>, context: &EvalContext<'_>) -> Outcome {
    spell_out(input, context, |text| {
        let mut encoded = Text::with_capacity(text.len());
        for byte in text.bytes() {
            match byte {
                b' ' => encoded.push('+')?,
                b'*' | b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte))?,
                byte if byte.is_ascii_alphanumeric() => encoded.push(char::from(byte))?,
                byte => {
                    encoded.push('%')?;
                    encoded.push(hex_digit(byte >> 4))?;
                    encoded.push(hex_digit(byte & 15))?;
                }
            }
        }
        Ok(encoded)
    })
}

/// A percent sign without two digits behind it stands for itself.
pub(super) fn url_decode(input: &Value, _: &Arguments<'_>, context: &EvalContext<'_>) -> Outcome {
    spell_out(input, context, |text| {
        let mut decoded = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let [byte, after @ ..] = rest {
            rest = after;
            match (byte, after) {
                (b'+', _) => decoded.push(b' '),
                (b'%', [high, low, beyond @ ..])
                    if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
                {
                    let digit = |d: u8| char::from(d).to_digit(16).unwrap_or_default();
                    let value = digit(*high) * 16 + digit(*low);
                    decoded.push(u8::try_from(value).unwrap_or_default());
                    rest = beyond;
                }
                (byte, _) => decoded.push(*byte),
            }
        }
        utf8(decoded)
    })
}

pub(super) fn escape(input: &Value, _: &Arguments<'_>, context: &EvalContext<'_>) -> Outcome {
    spell_out(input, context, |text| {
        let mut escaped = Text::with_capacity(text.len());
        for c in text.chars() {
            match entity(c) {
                Some(entity) => escaped.push_str(entity)?,
                None => escaped.push(c)?,
            }
        }
        Ok(escaped)
    })
}

pub(super) fn escape_once(input: &Value, _: &Arguments<'_>, context: &EvalContext<'_>) -> Outcome {
    spell_out(input, context, |text| {
        let mut escaped = Text::with_capacity(text.len());
        for (at, c) in text.char_indices() {
            match entity(c) {
                Some(_) if c == '&' && is_entity(text.get(at + 1..).unwrap_or_default()) => {
                    escaped.push(c)?;
                }
                Some(entity) => escaped.push_str(entity)?,
                None => escaped.push(c)?,
            }
        }
        Ok(escaped)
    })
}

/// Whether an entity's name or number and its semicolon come next. Names are short, so that a text
/// of nothing but ampersands and letters costs no more than its length.
fn is_entity(after: &str) -> bool {
    const LONGEST: usize = 40;
    let (digits, name) = match after.strip_prefix('#') {
        Some(number) => (true, number),
        None => (false, after),
    };
    let fits = |b: u8| {
        if digits { b.is_ascii_digit() } else { b.is_ascii_alphabetic() }
    };
    let length = name.bytes().take(LONGEST).take_while(|b| fits(*b)).count();
    length > 0 && name.as_bytes().get(length) == Some(&b';')
}

pub(super) fn newline_to_br(
    input: &Value,
    _: &Arguments<'_>,
    context: &EvalContext<'_>,
) -> Outcome {
    spell_out(input, context, |text| {
        let mut broken = Text::with_capacity(text.len());
        let lines = text.split('\n');
        let last = text.matches('\n').count();
        for (at, line) in lines.enumerate() {
            context.budget.spend(MATCH)?;
            if at == last {
                broken.push_str(line)?;
            } else {
                broken.push_str(line.strip_suffix('\r').unwrap_or(line))?;
                broken.push_str("<br />\n")?;
            }
        }
        Ok(broken)
    })
}

/// Takes away scripts, styles and comments with what is in them, then tags. An opening without its
/// end stays. Once an end was not found it is not looked for again, so that the work stays linear.
pub(super) fn strip_html(input: &Value, _: &Arguments<'_>, context: &EvalContext<'_>) -> Outcome {
    const BLOCKS: [(&str, &str); 4] =
        [("<script", "</script>"), ("<style", "</style>"), ("<!--", "-->"), ("<", ">")];
    spell_out(input, context, |text| {
        let mut plain = Text::with_capacity(text.len());
        let mut endless = [false; 4];
        let mut rest = text;
        while let Some((before, from)) = rest.find('<').and_then(|at| rest.split_at_checked(at)) {
            context.budget.spend(MATCH)?;
            plain.push_str(before)?;
            let mut after = None;
            for ((open, close), endless) in BLOCKS.iter().zip(&mut endless) {
                if *endless || !from.starts_with(open) {
                    continue;
                }
                match from.split_once(close) {
                    Some((_, beyond)) => {
                        after = Some(beyond);
                        break;
                    }
                    None => *endless = true,
                }
            }
            if after.is_none() {
                plain.push('<')?;
            }
            rest = after.or(from.get(1..)).unwrap_or_default();
        }
        plain.push_str(rest)?;
        Ok(plain)
    })
}
