//! The context of an evaluation: the host, the budget, the value under evaluation, and the bounded
//! text that filters write.

use serde_json::Value;

use super::budget::{Budget, Weight, check_size, text_made};
use super::failures::Failed;
use crate::bounds;
use crate::secret::Secret;

/// Supplies random bytes and keyed hashes, which the language itself does not have.
pub trait Host {
    fn random(&self, bytes: &mut [u8]);
    fn hmac(&self, hash: Hash, key: &[u8], message: &[u8]) -> Vec<u8>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    Sha1,
    Sha256,
    Sha512,
}

/// Decides if `reveal_last` shows a value that is not longer than the part to reveal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Revealing {
    /// Shown whole, as documented.
    AsAsked,
    /// Masked whole, for the default masks of sensitive types.
    NeverWhole,
}

/// Everything that a filter may use besides its input and arguments.
pub(super) struct EvalContext<'a> {
    pub(super) host: &'a dyn Host,
    pub(super) budget: &'a Budget,
    pub(super) revealing: Revealing,
}

impl<'a> EvalContext<'a> {
    pub(super) const fn new(host: &'a dyn Host, budget: &'a Budget, revealing: Revealing) -> Self {
        Self { host, budget, revealing }
    }
}

/// A value between two filters.
pub(super) enum EvalValue<'a> {
    Borrowed(&'a Value),
    Bytes(Secret<Vec<u8>>),
    Owned(Secret<Value>),
}

impl EvalValue<'_> {
    pub(super) const fn value(&self) -> Result<&Value, Failed> {
        match self {
            Self::Borrowed(value) => Ok(value),
            Self::Owned(value) => Ok(value.expose()),
            Self::Bytes(_) => Err(Failed::NotEncodable),
        }
    }

    pub(super) fn owned(value: Value) -> Self {
        Self::Owned(Secret::new(value))
    }

    /// Charges for the copy of a borrowed value; an owned value was charged when it was made.
    pub(super) fn into_value(self, budget: &Budget) -> Result<Value, Failed> {
        match self {
            Self::Borrowed(value) => {
                let weight = Weight::of(value);
                budget.spend(weight.made())?;
                check_size(weight.size())?;
                Ok(value.clone())
            }
            Self::Owned(mut value) => Ok(std::mem::take(value.expose_mut())),
            Self::Bytes(_) => Err(Failed::NotEncodable),
        }
    }
}

/// A text of bounded size. It is wiped if it is dropped unfinished.
pub(super) struct Text(Secret<String>);

impl Text {
    pub(super) fn new() -> Self {
        Self::with_capacity(0)
    }

    /// With enough capacity the text never moves, so no unwiped copy stays in memory.
    pub(super) fn with_capacity(bytes: usize) -> Self {
        let bytes = bytes.min(bounds::EXPRESSION_OUTPUT_BYTES_MAX);
        Self(Secret::new(String::with_capacity(bytes)))
    }

    pub(super) fn from(text: String) -> Result<Self, Failed> {
        let text = Self(Secret::new(text));
        check_size(text.len()).map(|()| text)
    }

    pub(super) fn push_str(&mut self, more: &str) -> Result<(), Failed> {
        check_size(self.len().saturating_add(more.len()))?;
        self.0.expose_mut().push_str(more);
        Ok(())
    }

    /// As [`Text::push_str`], charged in advance.
    pub(super) fn add(&mut self, more: &str, budget: &Budget) -> Result<(), Failed> {
        budget.spend(text_made(more.len()))?;
        self.push_str(more)
    }

    pub(super) fn push(&mut self, c: char) -> Result<(), Failed> {
        check_size(self.len().saturating_add(c.len_utf8()))?;
        self.0.expose_mut().push(c);
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.0.expose().len()
    }

    pub(super) fn as_str(&self) -> &str {
        self.0.expose()
    }

    pub(super) fn finish(mut self) -> Value {
        Value::String(std::mem::take(self.0.expose_mut()))
    }
}
