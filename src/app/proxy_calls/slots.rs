//! The texts of a call that have expressions.

use crate::app::proxy_calls::fill::{Expressions, Filling, Output, Unfilled};
use crate::expressions::{Budget, Reference};
use crate::secret::Secret;

/// In order.
pub(super) struct Slots<P>(pub(super) Vec<Slot<P>>);

pub(super) struct Slot<P> {
    /// The bytes of the body that the filled text replaces, or the index of a header.
    pub(super) at: P,
    /// Without the escapes of the document.
    pub(super) text: Secret<String>,
    pub(super) expressions: Expressions,
}

impl<P> Slot<P> {
    /// `None` for a text without expressions.
    pub(super) fn find(
        at: P,
        text: Secret<String>,
        budget: &Budget,
    ) -> Result<Option<Self>, Unfilled> {
        let expressions = Expressions::find(text.expose(), budget)?;
        Ok((!expressions.is_empty()).then_some(Self { at, text, expressions }))
    }

    pub(super) fn filled(&self, filling: Filling<'_>) -> Result<Output, Unfilled> {
        let mut filled = Output::new();
        self.expressions.write(self.text.expose(), filling, &mut filled)?;
        Ok(filled)
    }
}

impl<P> Slots<P> {
    pub(super) fn references(&self) -> impl Iterator<Item = &Reference> {
        self.0.iter().flat_map(|slot| slot.expressions.references())
    }

    /// The references whose card verification code the texts may read.
    pub(super) fn code_readers(&self) -> impl Iterator<Item = &Reference> {
        self.0.iter().flat_map(|slot| slot.expressions.code_readers())
    }

    /// True if every text is exactly one expression.
    pub(super) fn stand_alone(&self) -> bool {
        self.0.iter().all(|slot| slot.expressions.stands_alone(slot.text.expose()))
    }

    pub(super) fn names(&self, variable: &str) -> bool {
        self.0.iter().any(|slot| slot.expressions.names(variable))
    }
}
