//! JSON bodies: values in place of expressions, and every other byte as it came. Destinations may
//! depend on the order of members, on the digits of numbers, and on a signature over the text.

use std::ops::Range;

use serde::de::IgnoredAny;

use crate::app::proxy_calls::fill::{Expressions, Filling, Output, Unfilled};
use crate::bounds::JSON_DEPTH_MAX;
use crate::expressions::{Budget, Reference};
use crate::secret::Secret;

const NOT_JSON: &str = "The body is not valid JSON, though its Content-Type says so.";
const TOO_DEEP: &str = "The body is nested too deeply.";

/// The strings of a document that have expressions.
pub(super) struct JsonSlots(Vec<Slot>);

struct Slot {
    /// Its place in the document, with its quotes.
    at: Range<usize>,
    /// Its content, without escapes.
    text: Secret<String>,
    expressions: Expressions,
}

impl JsonSlots {
    pub(super) fn find(document: &str, budget: &Budget) -> Result<Self, Unfilled> {
        let slots = Scanner { document, at: 0, depth: 0 }.slots(budget)?;
        Ok(Self(slots))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn references(&self) -> impl Iterator<Item = &Reference> {
        self.0.iter().flat_map(|slot| slot.expressions.references())
    }

    pub(super) fn names(&self, variable: &str) -> bool {
        self.0.iter().any(|slot| slot.expressions.names(variable))
    }

    pub(super) fn fill(
        &self,
        document: &str,
        filling: Filling<'_>,
        output: &mut Output,
    ) -> Result<(), Unfilled> {
        let mut at = 0_usize;
        for slot in &self.0 {
            output.write(document.get(at..slot.at.start).unwrap_or_default().as_bytes())?;
            slot.fill(filling, output)?;
            at = slot.at.end;
        }
        output.write(document.get(at..).unwrap_or_default().as_bytes())
    }
}

impl Slot {
    /// A string that is one expression takes the type of its value; any other one stays a string.
    fn fill(&self, filling: Filling<'_>, output: &mut Output) -> Result<(), Unfilled> {
        let text = self.text.expose();
        if let Some(value) = self.expressions.lone_value(text, filling) {
            return output.json(value?.expose());
        }
        let mut filled = Output::new();
        self.expressions.write(text, filling, &mut filled)?;
        output.json_text(filled.finish_text().expose())
    }
}

/// Walks over a document that is known to be JSON.
struct Scanner<'a> {
    document: &'a str,
    at: usize,
    depth: usize,
}

impl Scanner<'_> {
    fn slots(mut self, budget: &Budget) -> Result<Vec<Slot>, Unfilled> {
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

    fn slot(&self, at: Range<usize>, budget: &Budget) -> Result<Option<Slot>, Unfilled> {
        let written = self.document.get(at.clone()).unwrap_or_default();
        if !written.contains("{{") && !written.contains("\\u00") {
            return Ok(None);
        }
        let text = serde_json::from_str::<String>(written).ok().map(Secret::new);
        let text = text.ok_or_else(|| Unfilled::new(NOT_JSON))?;
        let expressions = Expressions::find(text.expose(), budget)?;
        Ok((!expressions.is_empty()).then_some(Slot { at, text, expressions }))
    }
}
