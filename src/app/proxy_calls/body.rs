//! The body of a call by its media type: JSON, a form, any other text, or bytes that pass as they
//! are.

use crate::app::proxy_calls::fill::{Expressions, Filling, Output, Unfilled};
use crate::app::proxy_calls::slots::Slots;
use crate::app::proxy_calls::{ProxyCall, form, json};
use crate::expressions::{Budget, Reference};
use crate::secret::Secret;

/// The expressions of a body.
pub(super) enum BodySlots<'a> {
    Form(&'a str, Slots),
    Json(&'a str, Slots),
    Text(&'a str, Expressions),
    /// It goes on as it came.
    Unchanged,
}

impl<'a> BodySlots<'a> {
    pub(super) fn find(call: &'a ProxyCall, budget: &Budget) -> Result<Self, Unfilled> {
        let body = call.body.expose();
        let text = std::str::from_utf8(body).ok().filter(|_| !is_encoded(call));
        let Some(text) = text else { return Ok(Self::Unchanged) };
        // A body without the opening braces, in any spelling, is not examined further: not even
        // whether it is JSON.
        let slots = match media_type(call).as_str() {
            "application/x-www-form-urlencoded" => Self::Form(text, form::find(text, budget)?),
            kind if is_json(kind) => {
                if !text.contains("{{") && !text.contains("\\u00") {
                    return Ok(Self::Unchanged);
                }
                Self::Json(text, json::find(text, budget)?)
            }
            _ => Self::Text(text, Expressions::find(text, budget)?),
        };
        Ok(if slots.is_empty() { Self::Unchanged } else { slots })
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Form(_, slots) | Self::Json(_, slots) => slots.is_empty(),
            Self::Text(_, expressions) => expressions.is_empty(),
            Self::Unchanged => true,
        }
    }

    pub(super) fn references(&self) -> Vec<&Reference> {
        match self {
            Self::Form(_, slots) | Self::Json(_, slots) => slots.references().collect(),
            Self::Text(_, expressions) => expressions.references().collect(),
            Self::Unchanged => Vec::new(),
        }
    }

    pub(super) fn names(&self, variable: &str) -> bool {
        match self {
            Self::Form(_, slots) | Self::Json(_, slots) => slots.names(variable),
            Self::Text(_, expressions) => expressions.names(variable),
            Self::Unchanged => false,
        }
    }

    /// The body with its values, `None` if it goes on as it came.
    pub(super) fn fill(&self, filling: Filling<'_>) -> Result<Option<Secret<Vec<u8>>>, Unfilled> {
        let mut output = Output::new();
        match self {
            Self::Form(text, slots) => {
                slots.fill(text, &mut output, |slot, output| form::write(slot, filling, output))?;
            }
            Self::Json(text, slots) => {
                slots.fill(text, &mut output, |slot, output| json::write(slot, filling, output))?;
            }
            Self::Text(text, expressions) => expressions.write(text, filling, &mut output)?,
            Self::Unchanged => return Ok(None),
        }
        Ok(Some(output.finish()))
    }
}

/// Compressed bytes are no text, whatever the content type says.
fn is_encoded(call: &ProxyCall) -> bool {
    header(call, "content-encoding")
        .is_some_and(|it| !matches!(it.to_ascii_lowercase().as_str(), "" | "identity"))
}

/// Without parameters, in lower case.
fn media_type(call: &ProxyCall) -> String {
    let text = header(call, "content-type").unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn is_json(kind: &str) -> bool {
    matches!(kind, "application/json" | "text/json")
        || kind.strip_prefix("application/").is_some_and(|rest| rest.ends_with("+json"))
}

fn header<'a>(call: &'a ProxyCall, name: &str) -> Option<&'a str> {
    let (_, value) = call.headers.iter().find(|(known, _)| known == name)?;
    std::str::from_utf8(value.expose()).ok()
}
