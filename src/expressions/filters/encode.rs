//! Filters that change the representation of a value: casts, JSON, base64, hexadecimal, URLs, HTML;
//! and the keyed hash, whose bytes must be encoded.

use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD, URL_SAFE};
use base64::{Engine as _, decoded_len_estimate};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;

use super::arguments::{Invocation, hash_of, text_of};
use super::text::MATCH;
use crate::domain::html::entity;
use crate::expressions::budget::CHARACTER;
use crate::expressions::context::{Hash, Text};
use crate::expressions::failures::Failed;
use crate::secret::Secret;

type Outcome = Result<Value, Failed>;

/// The work of hashing a byte, and the number of bytes that the HMAC of an empty text hashes.
const HASH_BYTE: usize = 6;
const BLOCKS: usize = 512;

/// JSON text, except that a text gets no quotes and null stays null.
pub(super) fn stringify(input: &Value) -> Value {
    match input {
        Value::Null | Value::String(_) => input.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Value::String(input.to_string())
        }
    }
}

pub(super) fn to_string(input: &Value, _: &Invocation<'_>) -> Outcome {
    if input.is_null() {
        return Ok(Value::Null);
    }
    Ok(Value::String(text_of(input)?.into_owned()))
}

pub(super) fn to_boolean(input: &Value, call: &Invocation<'_>) -> Outcome {
    // White space around the value is scanned twice.
    call.budget.spend(input.as_str().map_or(0, str::len).saturating_mul(CHARACTER))?;
    match input {
        Value::Null | Value::Bool(_) => Ok(input.clone()),
        Value::String(text) if text.trim().eq_ignore_ascii_case("true") => Ok(true.into()),
        Value::String(text) if text.trim().eq_ignore_ascii_case("false") => Ok(false.into()),
        Value::String(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(Failed::NotABoolean)
        }
    }
}

pub(super) fn hmac(input: &Value, call: &Invocation<'_>) -> Result<Vec<u8>, Failed> {
    if input.is_null() {
        return Err(Failed::NotEncodable);
    }
    let hash = call.value(0).map_or(Ok(Hash::Sha256), hash_of)?;
    let (key, message) = (call.text(1)?, text_of(input)?);
    let bytes = key.len().saturating_add(message.len()).saturating_add(BLOCKS);
    call.budget.spend(bytes.saturating_mul(HASH_BYTE))?;
    Ok(call.host.hmac(hash, key.as_bytes(), message.as_bytes()))
}

/// Ignores the unused bits of the last character: some encoders do not clear them. Padding is
/// removed earlier.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_allow_trailing_bits(true)
    .with_decode_padding_mode(DecodePaddingMode::RequireNone);
pub(super) const FROM_STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
pub(super) const FROM_URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

pub(super) fn base64(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

pub(super) fn base64_url_safe(text: &str) -> String {
    URL_SAFE.encode(text)
}

/// Padding must be complete or absent.
pub(super) fn from_base64(text: &str, alphabet: &GeneralPurpose) -> Result<Text, Failed> {
    let text = text.trim();
    let digits = text.trim_end_matches('=');
    let padding = text.len().saturating_sub(digits.len());
    if padding > 2 || (padding > 0 && !text.len().is_multiple_of(4)) {
        return Err(Failed::NotEncodable);
    }
    let mut bytes = Secret::new(vec![0; decoded_len_estimate(digits.len())]);
    match alphabet.decode_slice(digits, bytes.expose_mut()) {
        Ok(length) => utf8(bytes.expose().get(..length)),
        Err(_) => Err(Failed::NotEncodable),
    }
}

fn utf8(bytes: Option<&[u8]>) -> Result<Text, Failed> {
    match bytes.map(str::from_utf8) {
        Some(Ok(text)) => Text::from(text.to_owned()),
        Some(Err(_)) | None => Err(Failed::NotEncodable),
    }
}

/// The characters that `url_encode` escapes.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'*').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The encoding of HTML forms: a space becomes a plus sign.
pub(super) fn url_encode(text: &str, _: &Invocation<'_>) -> Result<Text, Failed> {
    let mut encoded = Text::with_capacity(text.len());
    for (place, word) in text.split(' ').enumerate() {
        if place > 0 {
            encoded.push('+')?;
        }
        for part in utf8_percent_encode(word, ENCODED) {
            encoded.push_str(part)?;
        }
    }
    Ok(encoded)
}

/// A percent sign without two hexadecimal digits after it stays as it is.
pub(super) fn url_decode(text: &str, _: &Invocation<'_>) -> Result<Text, Failed> {
    let spaced = Secret::new(text.replace('+', " "));
    let mut decoded = Secret::new(Vec::with_capacity(text.len()));
    decoded.expose_mut().extend(percent_decode_str(spaced.expose()));
    utf8(Some(decoded.expose()))
}

pub(super) fn escape(text: &str, _: &Invocation<'_>) -> Result<Text, Failed> {
    let mut escaped = Text::with_capacity(text.len());
    for c in text.chars() {
        match entity(c) {
            Some(entity) => escaped.push_str(entity)?,
            None => escaped.push(c)?,
        }
    }
    Ok(escaped)
}

pub(super) fn escape_once(text: &str, _: &Invocation<'_>) -> Result<Text, Failed> {
    let mut escaped = Text::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match entity(c) {
            Some(_) if c == '&' && is_entity(chars.as_str()) => {
                escaped.push(c)?;
            }
            Some(entity) => escaped.push_str(entity)?,
            None => escaped.push(c)?,
        }
    }
    Ok(escaped)
}

/// True if `after` begins with the name or number of an entity and a semicolon. The length of a
/// name is bounded, so that a text of ampersands and letters takes linear time.
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

pub(super) fn newline_to_br(text: &str, call: &Invocation<'_>) -> Result<Text, Failed> {
    let mut broken = Text::with_capacity(text.len());
    let lines = text.split('\n');
    let last = text.matches('\n').count();
    for (at, line) in lines.enumerate() {
        call.budget.spend(MATCH)?;
        if at == last {
            broken.push_str(line)?;
        } else {
            broken.push_str(line.strip_suffix('\r').unwrap_or(line))?;
            broken.push_str("<br />\n")?;
        }
    }
    Ok(broken)
}

/// Removes scripts, styles and comments with their content, and tags. An opening without its end
/// stays. An end that was not found once is not searched again, which keeps the work linear.
pub(super) fn strip_html(text: &str, call: &Invocation<'_>) -> Result<Text, Failed> {
    const BLOCKS: [(&str, &str); 4] =
        [("<script", "</script>"), ("<style", "</style>"), ("<!--", "-->"), ("<", ">")];
    let mut plain = Text::with_capacity(text.len());
    let mut endless = [false; 4];
    let mut rest = text;
    while let Some((before, from)) = rest.find('<').and_then(|at| rest.split_at_checked(at)) {
        call.budget.spend(MATCH)?;
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
        // `from` begins with the bracket.
        rest = after.or_else(|| from.strip_prefix('<')).unwrap_or_default();
    }
    plain.push_str(rest)?;
    Ok(plain)
}
