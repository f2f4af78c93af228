//! Forms (`application/x-www-form-urlencoded`): each value is decoded, filled and encoded again.
//! Names, and values without expressions, keep their bytes.

use std::ops::Range;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use crate::app::proxy_calls::fill::{Expressions, Filling, Output, Unfilled};
use crate::expressions::{Budget, Reference};
use crate::secret::Secret;

/// A space becomes `%20`, which is a space to those who take a plus sign literally, too.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'*');

/// The values of a form that have expressions.
pub(super) struct FormSlots(Vec<Slot>);

struct Slot {
    /// The place of the value in the form.
    at: Range<usize>,
    /// The value, decoded.
    text: Secret<String>,
    expressions: Expressions,
}

impl FormSlots {
    pub(super) fn find(form: &str, budget: &Budget) -> Result<Self, Unfilled> {
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
        form: &str,
        filling: Filling<'_>,
        output: &mut Output,
    ) -> Result<(), Unfilled> {
        let mut at = 0_usize;
        for slot in &self.0 {
            output.write(form.get(at..slot.at.start).unwrap_or_default().as_bytes())?;
            let mut filled = Output::new();
            slot.expressions.write(slot.text.expose(), filling, &mut filled)?;
            for piece in percent_encode(filled.finish().expose(), ENCODED) {
                output.write(piece.as_bytes())?;
            }
            at = slot.at.end;
        }
        output.write(form.get(at..).unwrap_or_default().as_bytes())
    }
}

/// `None` for a value without expressions, and for one that is no text.
fn slot(at: Range<usize>, value: &str, budget: &Budget) -> Result<Option<Slot>, Unfilled> {
    if !value.contains('{') && !value.contains("%7") {
        return Ok(None);
    }
    let spaced = Secret::new(value.replace('+', " "));
    let decoded = percent_decode_str(spaced.expose()).decode_utf8().ok();
    let Some(text) = decoded.map(|text| Secret::new(text.into_owned())) else { return Ok(None) };
    let expressions = Expressions::find(text.expose(), budget)?;
    Ok((!expressions.is_empty()).then_some(Slot { at, text, expressions }))
}
