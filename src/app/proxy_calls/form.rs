//! Forms (`application/x-www-form-urlencoded`): each value is decoded, filled and encoded again.
//! Names, and values without expressions, keep their bytes.

use std::ops::Range;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use crate::app::proxy_calls::fill::{Filling, Output, Unfilled};
use crate::app::proxy_calls::slots::{Slot, Slots};
use crate::expressions::Budget;
use crate::secret::Secret;

/// A space becomes `%20`, which also decoders that take a plus sign literally read as a space.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'*');

pub(super) fn find(form: &str, budget: &Budget) -> Result<Slots<Range<usize>>, Unfilled> {
    let mut slots = Vec::new();
    let mut start = 0_usize;
    for pair in form.split('&') {
        let end = start.saturating_add(pair.len());
        if let Some((name, value)) = pair.split_once('=') {
            let at = start.saturating_add(name.len()).saturating_add(1)..end;
            slots.extend(slot(at, value, budget)?);
        }
        start = end.saturating_add(1);
    }
    Ok(Slots(slots))
}

pub(super) fn write(
    slot: &Slot<Range<usize>>,
    filling: Filling<'_>,
    output: &mut Output,
) -> Result<(), Unfilled> {
    for piece in percent_encode(slot.filled(filling)?.finish().expose(), ENCODED) {
        output.write(piece.as_bytes())?;
    }
    Ok(())
}

/// `None` for a value without expressions, or one that is not text.
fn slot(
    at: Range<usize>,
    value: &str,
    budget: &Budget,
) -> Result<Option<Slot<Range<usize>>>, Unfilled> {
    if !value.contains('{') && !value.contains("%7") {
        return Ok(None);
    }
    let spaced = Secret::new(value.replace('+', " "));
    let decoded = percent_decode_str(spaced.expose()).decode_utf8().ok();
    let Some(text) = decoded.map(|text| Secret::new(text.into_owned())) else { return Ok(None) };
    Slot::find(at, text, budget)
}
