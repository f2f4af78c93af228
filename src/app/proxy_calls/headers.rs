//! Header values with expressions.

use crate::app::proxy_calls::ProxyCall;
use crate::app::proxy_calls::fill::{Expressions, Filling, Output, Unfilled};
use crate::bounds::PROXY_HEADER_BYTES_MAX;
use crate::expressions::{Budget, Reference};
use crate::secret::Secret;

const NOT_A_VALUE: &str = "A header would have a line break, another control character or too many bytes with the \
     values in it.";

/// The place of a header, and its new value.
pub(super) type FilledHeader = (usize, Secret<Vec<u8>>);

/// The headers whose values have expressions.
pub(super) struct HeaderSlots<'a>(Vec<Slot<'a>>);

struct Slot<'a> {
    /// Its place among the headers of the call.
    number: usize,
    text: &'a str,
    expressions: Expressions,
}

impl<'a> HeaderSlots<'a> {
    pub(super) fn find(call: &'a ProxyCall, budget: &Budget) -> Result<Self, Unfilled> {
        let mut slots = Vec::new();
        for (number, (_, value)) in call.headers.iter().enumerate() {
            // A value that is no text has no expressions.
            let Ok(text) = std::str::from_utf8(value.expose()) else { continue };
            let expressions = Expressions::find(text, budget)?;
            if !expressions.is_empty() {
                slots.push(Slot { number, text, expressions });
            }
        }
        Ok(Self(slots))
    }

    pub(super) const fn none() -> Self {
        Self(Vec::new())
    }

    pub(super) fn references(&self) -> impl Iterator<Item = &Reference> {
        self.0.iter().flat_map(|slot| slot.expressions.references())
    }

    pub(super) fn names(&self, variable: &str) -> bool {
        self.0.iter().any(|slot| slot.expressions.names(variable))
    }

    /// The new values, with the places of their headers.
    pub(super) fn fill(&self, filling: Filling<'_>) -> Result<Vec<FilledHeader>, Unfilled> {
        let fill = |slot: &Slot<'_>| {
            let mut output = Output::new();
            slot.expressions.write(slot.text, filling, &mut output)?;
            let value = output.finish();
            if is_value(value.expose()) {
                Ok((slot.number, value))
            } else {
                Err(Unfilled::new(NOT_A_VALUE))
            }
        };
        self.0.iter().map(fill).collect()
    }
}

//= RFC 9110, 5.5: CR, LF and NUL in a value are dangerous.
fn is_value(bytes: &[u8]) -> bool {
    let is_plain = |byte: &u8| *byte == b'\t' || !byte.is_ascii_control();
    bytes.len() <= PROXY_HEADER_BYTES_MAX && bytes.iter().all(is_plain)
}
