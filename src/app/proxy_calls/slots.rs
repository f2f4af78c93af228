//! The places of a document that have expressions, and the document with values in these places.

use std::ops::Range;

use crate::app::proxy_calls::fill::{Expressions, Filling, Output, Unfilled};
use crate::expressions::{Budget, Reference};
use crate::secret::Secret;

/// The places that have expressions, in order.
pub(super) struct Slots(pub(super) Vec<Slot>);

pub(super) struct Slot {
    /// The bytes of the document that the filled text replaces.
    at: Range<usize>,
    /// The text there, without the escapes of the document.
    pub(super) text: Secret<String>,
    pub(super) expressions: Expressions,
}

impl Slot {
    /// `None` for a text without expressions.
    pub(super) fn find(
        at: Range<usize>,
        text: Secret<String>,
        budget: &Budget,
    ) -> Result<Option<Self>, Unfilled> {
        let expressions = Expressions::find(text.expose(), budget)?;
        Ok((!expressions.is_empty()).then_some(Self { at, text, expressions }))
    }

    /// The text with its values.
    pub(super) fn filled(&self, filling: Filling<'_>) -> Result<Output, Unfilled> {
        let mut filled = Output::new();
        self.expressions.write(self.text.expose(), filling, &mut filled)?;
        Ok(filled)
    }
}

impl Slots {
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[cfg(any(fuzzing, test))]
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.0.iter().map(|slot| slot.at.clone())
    }

    pub(super) fn references(&self) -> impl Iterator<Item = &Reference> {
        self.0.iter().flat_map(|slot| slot.expressions.references())
    }

    pub(super) fn names(&self, variable: &str) -> bool {
        self.0.iter().any(|slot| slot.expressions.names(variable))
    }

    /// Copies the document. `write` writes the places, with the escapes of the document.
    pub(super) fn fill(
        &self,
        document: &str,
        output: &mut Output,
        write: impl Fn(&Slot, &mut Output) -> Result<(), Unfilled>,
    ) -> Result<(), Unfilled> {
        let mut at = 0_usize;
        for slot in &self.0 {
            output.write(document.get(at..slot.at.start).unwrap_or_default().as_bytes())?;
            write(slot, output)?;
            at = slot.at.end;
        }
        output.write(document.get(at..).unwrap_or_default().as_bytes())
    }
}
