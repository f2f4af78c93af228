//! What is wrong with a request, all of it at once, under dotted paths such as
//! `data.expiration_month`. Messages never hold the offending value.

use std::collections::BTreeMap;

/// The mistakes of one request. A message is a constant or made of numbers we chose, never of the
/// caller's text.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Mistakes(BTreeMap<String, Vec<String>>);

impl Mistakes {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn one(path: impl Into<String>, message: impl Into<String>) -> Self {
        let mut mistakes = Self::new();
        mistakes.add(path, message);
        mistakes
    }

    pub fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.0.entry(path.into()).or_default().push(message.into());
    }

    pub fn append(&mut self, other: Self) {
        for (path, messages) in other.0 {
            self.0.entry(path).or_default().extend(messages);
        }
    }

    /// The same, of something that stands at this path of a larger whole.
    #[must_use]
    pub fn under(self, path: &str) -> Self {
        Self(self.0.into_iter().map(|(inner, all)| (format!("{path}.{inner}"), all)).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `Ok` when there are none.
    pub fn into_result(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }

    pub const fn by_path(&self) -> &BTreeMap<String, Vec<String>> {
        &self.0
    }
}
