//! Header values with expressions.

use crate::app::proxy_calls::ProxyCall;
use crate::app::proxy_calls::fill::{Filling, Unfilled};
use crate::app::proxy_calls::slots::{Slot, Slots};
use crate::bounds::PROXY_HEADER_BYTES_MAX;
use crate::expressions::Budget;
use crate::secret::Secret;

const NOT_A_VALUE: &str = "A header would have a line break, another control character or too many bytes with the \
     values in it.";

/// The index of a header, and its new value.
pub(super) type FilledHeader = (usize, Secret<Vec<u8>>);

/// Slots are at the indices of the headers.
pub(super) fn find(call: &ProxyCall, budget: &Budget) -> Result<Slots<usize>, Unfilled> {
    let mut slots = Vec::new();
    for (number, (_, value)) in call.headers.iter().enumerate() {
        // A value that is not text has no expressions.
        let text = std::str::from_utf8(value.expose()).ok();
        let Some(text) = text.filter(|text| text.contains("{{")) else { continue };
        slots.extend(Slot::find(number, Secret::new(String::from(text)), budget)?);
    }
    Ok(Slots(slots))
}

pub(super) fn fill(
    slots: &Slots<usize>,
    filling: Filling<'_>,
) -> Result<Vec<FilledHeader>, Unfilled> {
    let fill = |slot: &Slot<usize>| {
        let value = slot.filled(filling)?.finish();
        if is_value(value.expose()) {
            Ok((slot.at, value))
        } else {
            Err(Unfilled::new(NOT_A_VALUE))
        }
    };
    slots.0.iter().map(fill).collect()
}

//= RFC 9110, 5.5: CR, LF and NUL in a value are dangerous.
fn is_value(bytes: &[u8]) -> bool {
    let is_plain = |byte: &u8| *byte == b'\t' || !byte.is_ascii_control();
    bytes.len() <= PROXY_HEADER_BYTES_MAX && bytes.iter().all(is_plain)
}
