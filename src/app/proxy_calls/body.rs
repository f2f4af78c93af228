//! The body of a call by its media type: JSON, a form, other text, or bytes that pass unchanged.

use std::ops::Range;

use crate::app::proxy_calls::fill::{Filling, Output, Unfilled};
use crate::app::proxy_calls::slots::{Slot, Slots};
use crate::app::proxy_calls::{ProxyCall, form, json};
use crate::expressions::Budget;
use crate::secret::Secret;

/// The expressions of a body. A body without any passes unchanged.
pub(super) struct BodySlots<'a> {
    text: &'a str,
    kind: BodyKind,
    pub(super) slots: Slots<Range<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyKind {
    Form,
    Json,
    Text,
}

impl<'a> BodySlots<'a> {
    pub(super) const fn none() -> Self {
        Self { text: "", kind: BodyKind::Text, slots: Slots(Vec::new()) }
    }

    pub(super) fn find(call: &'a ProxyCall, budget: &Budget) -> Result<Self, Unfilled> {
        let body = call.body.expose();
        let text = std::str::from_utf8(body).ok().filter(|_| !is_encoded(call));
        let Some(text) = text else { return Ok(Self::none()) };
        // A body without the opening braces, in any spelling, is not examined further, not even for
        // being JSON.
        let has_braces = text.contains("{{");
        let (kind, slots) = match media_type(call).as_str() {
            "application/x-www-form-urlencoded" => (BodyKind::Form, form::find(text, budget)?),
            kind if is_json(kind) && (has_braces || text.contains("\\u00")) => {
                (BodyKind::Json, json::find(text, budget)?)
            }
            kind if has_braces && !is_json(kind) => {
                let slot = Slot::find(0..text.len(), Secret::new(String::from(text)), budget)?;
                (BodyKind::Text, Slots(slot.into_iter().collect()))
            }
            _ => return Ok(Self::none()),
        };
        Ok(Self { text, kind, slots })
    }

    /// True if every expression is a whole JSON string or a whole form value.
    pub(super) fn stands_alone(&self) -> bool {
        self.slots.0.is_empty() || (self.kind != BodyKind::Text && self.slots.stand_alone())
    }

    /// `None` if the body passes unchanged.
    pub(super) fn fill(&self, filling: Filling<'_>) -> Result<Option<Secret<Vec<u8>>>, Unfilled> {
        if self.slots.0.is_empty() {
            return Ok(None);
        }
        let mut output = Output::new();
        let mut at = 0_usize;
        for slot in &self.slots.0 {
            output.write(self.text.get(at..slot.at.start).unwrap_or_default().as_bytes())?;
            match self.kind {
                BodyKind::Form => form::write(slot, filling, &mut output)?,
                BodyKind::Json => json::write(slot, filling, &mut output)?,
                BodyKind::Text => {
                    slot.expressions.write(slot.text.expose(), filling, &mut output)?;
                }
            }
            at = slot.at.end;
        }
        output.write(self.text.get(at..).unwrap_or_default().as_bytes())?;
        Ok(Some(output.finish()))
    }
}

/// Compressed bytes are not text, whatever the content type says.
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
