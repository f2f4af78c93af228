//! JSON bodies: replaces expressions by values, and keeps every other byte. Destinations may depend
//! on the order of members, on the digits of numbers, and on a signature over the text.

use std::ops::Range;

use serde::de::IgnoredAny;

use crate::app::proxy_calls::fill::{Filling, Output, Unfilled};
use crate::app::proxy_calls::slots::{Slot, Slots};
use crate::bounds::JSON_DEPTH_MAX;
use crate::expressions::Budget;
use crate::secret::Secret;

const NOT_JSON: &str = "The body is not valid JSON, though its Content-Type says so.";
const TOO_DEEP: &str = "The body is nested too deeply.";

pub(super) fn find(document: &str, budget: &Budget) -> Result<Slots<Range<usize>>, Unfilled> {
    Scanner { document, at: 0, depth: 0 }.slots(budget).map(Slots)
}

/// Writes the quotes too. A string that is exactly one expression takes the type of its value; any
/// other one stays a string.
pub(super) fn write(
    slot: &Slot<Range<usize>>,
    filling: Filling<'_>,
    output: &mut Output,
) -> Result<(), Unfilled> {
    if let Some(value) = slot.expressions.lone_value(slot.text.expose(), filling) {
        return output.json(value?.expose());
    }
    output.json_text(slot.filled(filling)?.finish_text().expose())
}

/// The document is known to be JSON.
struct Scanner<'a> {
    document: &'a str,
    at: usize,
    depth: usize,
}

impl Scanner<'_> {
    fn slots(mut self, budget: &Budget) -> Result<Vec<Slot<Range<usize>>>, Unfilled> {
        // The walk below relies on this: in JSON a quote outside of strings begins one.
        if serde_json::from_str::<IgnoredAny>(self.document).is_err() {
            return Err(Unfilled::new(NOT_JSON));
        }
        let mut slots = Vec::new();
        while let Some(byte) = self.document.as_bytes().get(self.at) {
            match byte {
                b'"' => {
                    let at = self.string();
                    if !self.is_name() {
                        slots.extend(self.slot(at, budget)?);
                    }
                    continue;
                }
                b'[' | b'{' => self.depth = self.depth.saturating_add(1),
                b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                _ => (),
            }
            if self.depth > JSON_DEPTH_MAX {
                return Err(Unfilled::new(TOO_DEEP));
            }
            self.at = self.at.saturating_add(1);
        }
        Ok(slots)
    }

    /// Moves behind the string that begins here.
    fn string(&mut self) -> Range<usize> {
        let start = self.at;
        let bytes = self.document.as_bytes();
        self.at = self.at.saturating_add(1);
        while let Some(byte) = bytes.get(self.at) {
            let step = if *byte == b'\\' { 2 } else { 1 };
            self.at = self.at.saturating_add(step);
            if *byte == b'"' {
                break;
            }
        }
        start..self.at
    }

    /// True if the string that ended here is the name of a member.
    fn is_name(&self) -> bool {
        let rest = self.document.as_bytes().get(self.at..).unwrap_or_default();
        rest.iter().find(|byte| !b" \t\r\n".contains(byte)) == Some(&b':')
    }

    fn slot(
        &self,
        at: Range<usize>,
        budget: &Budget,
    ) -> Result<Option<Slot<Range<usize>>>, Unfilled> {
        let written = self.document.get(at.clone()).unwrap_or_default();
        if !written.contains("{{") && !written.contains("\\u00") {
            return Ok(None);
        }
        let text = serde_json::from_str::<String>(written).ok().map(Secret::new);
        let text = text.ok_or_else(|| Unfilled::new(NOT_JSON))?;
        Slot::find(at, text, budget)
    }
}
