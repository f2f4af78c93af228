//! The sensitive value of a token, as JSON text.
//!
//! A read in plain passes the text on unparsed; only masks and expressions parse it.

use serde_json::Value;

use crate::domain::outside_json;
use crate::secret::{Secret, SecretBuffer};

/// Adds `"cvc":"..."` as the last member of a JSON object, where programs usually send it. Returns
/// the other members, the new member in pieces, and the closing brace. The text without the new
/// member is the original text.
pub fn with_cvc<'a>(json: &'a str, cvc: &'a str) -> (&'a str, [&'a str; 3], &'static str) {
    let rest = json.strip_suffix('}').unwrap_or(json);
    let name = if rest == "{" { "\"cvc\":\"" } else { ",\"cvc\":\"" };
    (rest, [name, cvc, "\""], "}")
}

#[derive(Debug)]
pub struct Data(Secret<String>);

impl Data {
    pub fn from_value(value: &Value) -> Self {
        // Room for a card: a buffer that grows is copied and wiped.
        let mut text = SecretBuffer::with_capacity(128);
        text.json(value);
        Self(text.finish_text())
    }

    /// `json` comes out of a record that was written by [`Data::from_value`].
    pub fn from_json(json: String) -> Self {
        Self(Secret::new(json))
    }

    /// In the place of data that is not shown.
    pub fn nothing() -> Self {
        Self::from_json(String::from("null"))
    }

    #[must_use]
    pub fn duplicate(&self) -> Self {
        Self(Secret::new(self.0.expose().clone()))
    }

    pub fn json(&self) -> &str {
        self.0.expose()
    }

    /// Text that is not JSON gives `null`, which shows nothing. No record holds such text.
    pub fn value(&self) -> Secret<Value> {
        let value = outside_json::parse(self.0.expose().as_bytes());
        value.unwrap_or_else(|| Secret::new(Value::Null))
    }

    /// The value with the card verification code, if there is one.
    pub fn with(&self, cvc: Option<&Secret<String>>) -> Secret<Value> {
        let mut value = self.value();
        if let (Some(cvc), Some(members)) = (cvc, value.expose_mut().as_object_mut()) {
            members.insert(String::from("cvc"), Value::from(cvc.expose().as_str()));
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &str) {
        let (before, member, after) = with_cvc(json, "123");
        assert_eq!(format!("{before}{}{after}", member.concat()), expected);
        assert_eq!(format!("{before}{after}"), json);
    }

    #[test]
    fn a_code_goes_in_and_out_as_one_piece() {
        check("{}", r#"{"cvc":"123"}"#);
        check(r#"{"a":{"cvc":"9"}}"#, r#"{"a":{"cvc":"9"},"cvc":"123"}"#);
    }
}
