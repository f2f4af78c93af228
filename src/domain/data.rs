//! The sensitive value of a token, as JSON text.
//!
//! A read that reveals passes the text on as it is; only masks and expressions parse it.

use serde_json::Value;

use crate::secret::Secret;

#[derive(Debug)]
pub struct Data(Secret<String>);

impl Data {
    pub fn from_value(value: &Value) -> Self {
        Self(Secret::new(value.to_string()))
    }

    /// `json` comes out of a record that was written by [`Data::from_value`].
    pub fn from_json(json: String) -> Self {
        Self(Secret::new(json))
    }

    pub fn json(&self) -> &str {
        self.0.expose()
    }

    /// `null` for a text that is no JSON, which no record holds: what cannot be read is redacted.
    pub fn value(&self) -> Secret<Value> {
        Secret::new(serde_json::from_str(self.0.expose()).unwrap_or(Value::Null))
    }
}
