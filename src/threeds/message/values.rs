//! Values of messages: texts of bounded length, digits, card numbers, authentication values.

use serde_json::Value;

use crate::secret::Secret;
use crate::threeds::ProtocolVersion;
use crate::threeds::format::is_digits;
use crate::threeds::message::{Element, ElementReader, textual};

textual! {
    <const MAX: usize> Text<MAX>: as_str;
    <const MIN: usize, const MAX: usize> Digits<MIN, MAX>: as_str;
    <> CardNumber: expose;
    <> AuthenticationValue: as_str;
}

/// Text of 1 to `MAX` characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text<const MAX: usize>(String);

impl<const MAX: usize> Text<MAX> {
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=MAX).contains(&text.chars().count());
        fits.then(|| Self(String::from(text)))
    }

    /// Cuts the text to `MAX` characters. An empty text becomes a hyphen, since an element may not
    /// be empty.
    pub fn cut(text: &str) -> Self {
        let cut: String = text.chars().take(MAX).collect();
        Self(if cut.is_empty() { String::from("-") } else { cut })
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// `MIN` to `MAX` decimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digits<const MIN: usize, const MAX: usize>(String);

pub type Numeric<const N: usize> = Digits<N, N>;

impl<const MIN: usize, const MAX: usize> Digits<MIN, MAX> {
    pub fn parse(text: &str) -> Option<Self> {
        is_digits(text, MIN..=MAX).then(|| Self(String::from(text)))
    }

    /// Adds leading zeros up to `MIN` digits.
    pub fn padded(text: &str) -> Option<Self> {
        Self::parse(&format!("{text:0>MIN$}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A card number that `Debug` does not show.
#[derive(Debug)]
pub struct CardNumber(Secret<String>);

impl CardNumber {
    pub fn parse(text: &str) -> Option<Self> {
        Digits::<13, 19>::parse(text).map(|Digits(number)| Self(Secret::new(number)))
    }

    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

impl PartialEq for CardNumber {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for CardNumber {}

/// The authentication value (CAVV, AAV): 28 characters of base64. Its content is not checked.
#[derive(Clone, PartialEq, Eq)]
pub struct AuthenticationValue(String);

impl AuthenticationValue {
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.trim_end_matches('=');
        let is_base64 =
            digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/');
        let padding = text.len().checked_sub(digits.len())?;
        (text.len() == 28 && padding <= 2 && is_base64).then(|| Self(String::from(text)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

opaque_debug!(AuthenticationValue);

/// A JSON object with any content, of up to `MAX` characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EcmaObject<const MAX: usize>(Value);

impl<const MAX: usize> EcmaObject<MAX> {
    pub fn new(value: &Value) -> Option<Self> {
        let fits = value.is_object() && value.to_string().chars().count() <= MAX;
        fits.then(|| Self(value.clone()))
    }

    pub const fn value(&self) -> &Value {
        &self.0
    }
}

impl<const MAX: usize> Element for EcmaObject<MAX> {
    fn read(value: &Value, reader: &mut ElementReader) -> Option<Self> {
        reader.valid(Self::new(value))
    }

    fn write(&self, _: ProtocolVersion) -> Value {
        self.0.clone()
    }
}

/// A JSON boolean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    False,
    True,
}

impl From<bool> for Flag {
    fn from(flag: bool) -> Self {
        if flag { Self::True } else { Self::False }
    }
}

impl Element for Flag {
    fn read(value: &Value, reader: &mut ElementReader) -> Option<Self> {
        reader.valid(value.as_bool().map(Self::from))
    }

    fn write(&self, _: ProtocolVersion) -> Value {
        Value::from(*self == Self::True)
    }
}
