//! The values that the expressions of a call may name.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::app::proxy_calls::ProxyCall;
use crate::app::tokens::evaluations::Work;
use crate::app::tokens::references::NamedReferences;
use crate::domain::exposure::{Author, Computation, Grants, Operand, Output};
use crate::expressions::{Budget, Reference, Scope, ScopedValue};
use crate::secret::Secret;

/// Tokens and intents by their ids, `config`, `encrypted` and `proxy`. The caller's expressions
/// read them first, then the expressions of the proxy's transforms.
pub(super) struct ProxyScope {
    named: NamedReferences,
    /// An object of texts.
    config: GuardedValue,
    encrypted: Option<GuardedValue>,
    /// `request.headers`, `request.body` and `config`; null until an expression needs it.
    proxy: GuardedValue,
    /// The least computation that the caller's expressions may do over the values.
    computation: Computation,
    /// Shared by the expressions in all transforms of the call.
    pub(super) work: Budget,
}

pub(super) struct GuardedValue {
    pub(super) value: Secret<Value>,
    pub(super) computation: Computation,
}

impl GuardedValue {
    const fn scoped(&self) -> ScopedValue<'_> {
        ScopedValue { value: self.value.expose(), computation: self.computation }
    }
}

impl ProxyScope {
    pub(super) fn new(
        named: NamedReferences,
        config: GuardedValue,
        encrypted: Option<GuardedValue>,
    ) -> Self {
        let proxy = GuardedValue { value: Secret::new(Value::Null), computation: Computation::Any };
        let values = named.0.values().map(|named| named.computation);
        let values = values.chain(encrypted.iter().map(|encrypted| encrypted.computation));
        let computation = values.min().unwrap_or(Computation::Any);
        Self { named, config, encrypted, proxy, computation, work: Work::Page.budget() }
    }

    /// Decides which failures the caller may learn.
    pub(super) const fn computation(&self) -> Computation {
        self.computation
    }

    /// Describes the request to the caller's expressions. The body is null until its own
    /// expressions are evaluated. The configuration is there only for callers that may see it.
    pub(super) fn describe(&mut self, call: &ProxyCall, body: Option<&[u8]>) {
        let config = (self.config.computation == Computation::Any).then_some(&self.config);
        let computation = if body.is_some() { self.computation } else { Computation::Any };
        let value = description(call, body, config);
        self.proxy = GuardedValue { value, computation };
    }

    /// The scope of the proxy's transforms, which the tenant wrote. They name no tokens, so the
    /// tokens are dropped: the scope is held while the destination works.
    pub(super) fn for_transforms(mut self, call: &ProxyCall, body: &[u8]) -> Self {
        self.named = NamedReferences(HashMap::new());
        if self.config.value.expose().as_object().is_some_and(|config| !config.is_empty()) {
            self.computation = self.computation.min(self.config.computation);
        }
        self.proxy.value = description(call, Some(body), Some(&self.config));
        // The tenant's own expressions need no grants.
        let (grants, value) = (Grants::default(), Operand::Configuration);
        let tenant = grants.computation(Author::Tenant, Output::Destination, value);
        let values = self.encrypted.iter_mut().chain([&mut self.config, &mut self.proxy]);
        values.for_each(|value| value.computation = tenant);
        self
    }
}

fn description(
    call: &ProxyCall,
    body: Option<&[u8]>,
    config: Option<&GuardedValue>,
) -> Secret<Value> {
    let body = body.and_then(|body| std::str::from_utf8(body).ok());
    Secret::new(json!({
        "config": config.map(|config| config.value.expose()),
        "request": { "body": body, "headers": headers(call) },
    }))
}

/// The headers under three spellings of their names. The published API keeps the spelling of the
/// caller, which HTTP/2 does not carry.
fn headers(call: &ProxyCall) -> Map<String, Value> {
    let mut members = Map::new();
    for (name, value) in &call.headers {
        let Ok(text) = std::str::from_utf8(value.expose()) else { continue };
        for spelling in [name.clone(), capitalized(name), name.to_ascii_uppercase()] {
            // Of several headers with one name, the first counts.
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
    fn variable(&self, name: &str) -> Option<ScopedValue<'_>> {
        match name {
            "config" => Some(self.config.scoped()),
            "encrypted" => self.encrypted.as_ref().map(GuardedValue::scoped),
            "proxy" => Some(self.proxy.scoped()),
            _ => None,
        }
    }

    fn reference(&self, reference: &Reference) -> Option<ScopedValue<'_>> {
        self.named.reference(reference)
    }
}
