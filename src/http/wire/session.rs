//! Sessions of public applications on the wire.

use serde_json::Value;

use crate::app::{NewSession, SessionAuthorization};
use crate::bounds::{CONDITIONS_MAX, CONTAINER_BYTES_MAX, TOKEN_NAME_CHARS_MAX};
use crate::domain::condition::{Attribute, Condition, Operator};
use crate::domain::container::Container;
use crate::domain::mistakes::Mistakes;
use crate::http::wire::Fields;
use crate::http::wire::answer::answer;
use crate::http::wire::application::{Holder, access, container};
use crate::secret::Secret;

/// Longer than any nonce. Nonces are compared by their hashes.
const NONCE_CHARS_MAX: usize = 100;

pub(crate) fn parse_authorization(body: &Value) -> Result<SessionAuthorization, Mistakes> {
    let mut fields = Fields::of_body(body);
    let nonce = fields.bounded_text("nonce", NONCE_CHARS_MAX);
    let access = access(&mut fields, Holder::Session);
    let expires_at = fields.text("expires_at").map(String::from);
    match nonce {
        Some(nonce) if fields.mistakes.is_empty() => {
            let nonce = Secret::new(String::from(nonce));
            Ok(SessionAuthorization { nonce, access, expires_at })
        }
        _ => Err(fields.mistakes),
    }
}

answer! {
    pub(crate) SessionAnswer<'a>(it: &'a NewSession) {
        has session_key: text = it.text.expose();
        has nonce: text = it.nonce.expose();
        has expires_at: time = it.expires_at;
    }
}

/// The scope of a session's rule: a container, or conditions and the innermost container that
/// contains their tokens.
pub(super) fn scope(fields: &mut Fields<'_>) -> Option<(Container, Vec<Condition>)> {
    let conditions = fields.list("conditions", CONDITIONS_MAX);
    match (fields.value("container").is_some(), conditions) {
        (true, Some(_)) => {
            fields.wrong("conditions", "A rule has a container or conditions, not both.");
            None
        }
        (_, None) => container(fields).map(|container| (container, Vec::new())),
        (false, Some([])) => {
            fields.wrong("conditions", "A rule has at least one condition, or a container.");
            None
        }
        (false, Some(items)) => {
            let mut conditions = Vec::with_capacity(items.len());
            for (at, value) in items.iter().enumerate() {
                let mut inner = Fields::at(value, fields.path_of(&format!("conditions[{at}]")));
                conditions.extend(condition(&mut inner));
                fields.mistakes.append(inner.mistakes);
            }
            // All conditions must hold, so the innermost container decides.
            let containers = conditions.iter().map(Condition::outermost);
            let container = containers.max_by_key(|it| it.as_str().len())?;
            Some((container, conditions))
        }
    }
}

fn condition(fields: &mut Fields<'_>) -> Option<Condition> {
    let message = "The attribute must be id or container.";
    let attribute = fields.required("attribute", Attribute::parse, message);
    let message = "The operator must be equals or starts_with.";
    let operator = fields.required("operator", Operator::parse, message);
    let value = fields.required_text("value")?;
    let (attribute, operator) = (attribute?, operator?);
    let value = match attribute {
        Attribute::Id => Some(String::from(value))
            .filter(|id| (1..=TOKEN_NAME_CHARS_MAX).contains(&id.chars().count())),
        // A prefix of a path is a path once its last part is closed.
        Attribute::Container => {
            let whole = match operator {
                Operator::StartsWith if !value.ends_with('/') => format!("{value}/"),
                Operator::StartsWith | Operator::Equals => String::from(value),
            };
            let is_path = Container::parse(&whole).is_ok() && value.len() <= CONTAINER_BYTES_MAX;
            is_path.then(|| value.to_ascii_lowercase())
        }
    };
    if value.is_none() {
        fields.wrong("value", "The value must be an id, or a container or the start of one.");
    }
    Some(Condition { attribute, operator, value: value? })
}
