//! The values that the expressions of a call can name.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::app::proxy_calls::ProxyCall;
use crate::app::tokens::references::NamedReferences;
use crate::expressions::{Reference, Scope};
use crate::secret::Secret;

/// Tokens and intents by their ids, `config`, `encrypted` and `proxy`.
pub(super) struct ProxyScope {
    pub(super) named: NamedReferences,
    /// An object of texts.
    pub(super) config: Secret<Value>,
    pub(super) encrypted: Option<Secret<Value>>,
    /// `request.headers`, `request.body` and `config`; null until an expression needs it.
    proxy: Secret<Value>,
}

impl ProxyScope {
    pub(super) fn new(
        named: NamedReferences,
        config: Secret<Value>,
        encrypted: Option<Secret<Value>>,
    ) -> Self {
        Self { named, config, encrypted, proxy: Secret::new(Value::Null) }
    }

    /// Forgets the tokens: transforms name none, and run while the destination works.
    pub(super) fn without_tokens(mut self) -> Self {
        self.named = NamedReferences(HashMap::new());
        self
    }

    /// Describes the request. The body is known once its own expressions are evaluated; before, it
    /// is null.
    pub(super) fn describe(&mut self, call: &ProxyCall, body: Option<&[u8]>) {
        let body = body.and_then(|body| std::str::from_utf8(body).ok());
        self.proxy = Secret::new(json!({
            "config": self.config.expose(),
            "request": { "body": body, "headers": headers(call) },
        }));
    }
}

/// The headers under three spellings of their names. The published interface has the spelling of
/// the caller, which HTTP/2 does not carry.
fn headers(call: &ProxyCall) -> Map<String, Value> {
    let mut members = Map::new();
    for (name, value) in &call.headers {
        let Ok(text) = std::str::from_utf8(value.expose()) else { continue };
        for spelling in [name.clone(), capitalized(name), name.to_ascii_uppercase()] {
            // The first of several with one name counts.
            members.entry(spelling).or_insert_with(|| Value::from(text));
        }
    }
    members
}

/// `X-Request-Id` for `x-request-id`.
fn capitalized(name: &str) -> String {
    let mut starts = true;
    let letter = |letter: char| {
        let shown = if starts { letter.to_ascii_uppercase() } else { letter };
        starts = !letter.is_ascii_alphanumeric();
        shown
    };
    name.chars().map(letter).collect()
}

impl Scope for ProxyScope {
    fn variable(&self, name: &str) -> Option<&Value> {
        match name {
            "config" => Some(self.config.expose()),
            "encrypted" => self.encrypted.as_ref().map(Secret::expose),
            "proxy" => Some(self.proxy.expose()),
            _ => None,
        }
    }

    fn reference(&self, reference: &Reference) -> Option<&Value> {
        self.named.reference(reference)
    }
}
