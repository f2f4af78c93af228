//! What is wrong with a request, all of it at once, under dotted paths such as
//! `data.expiration_month`. Messages never hold the offending value.

use std::collections::BTreeMap;

use crate::bounds::{MISTAKE_PATH_BYTES_MAX, MISTAKES_MAX};

/// One step further down. A path may consist of the caller's own names, so it has an end.
pub fn deeper(path: &str, step: &str) -> String {
    if path.len() >= MISTAKE_PATH_BYTES_MAX {
        return String::from(path);
    }
    within_bounds(format!("{path}{step}"))
}

fn within_bounds(mut path: String) -> String {
    path.truncate(path.floor_char_boundary(MISTAKE_PATH_BYTES_MAX));
    path
}

/// The mistakes of one request. A message is a constant or made of numbers we chose, never of the
/// caller's text.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Mistakes {
    by_path: BTreeMap<String, Vec<String>>,
    count: usize,
}

impl Mistakes {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn one(path: impl Into<String>, message: impl Into<String>) -> Self {
        let mut mistakes = Self::new();
        mistakes.add(path, message);
        mistakes
    }

    /// Beyond the bound nothing is added: whoever mends a hundred mistakes will find the rest.
    pub fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        if !self.is_full() {
            let path = within_bounds(path.into());
            self.by_path.entry(path).or_default().push(message.into());
            self.count = self.count.saturating_add(1);
        }
    }

    /// Whether nothing more is added. A walk over a body need not go on then.
    pub const fn is_full(&self) -> bool {
        self.count >= MISTAKES_MAX
    }

    pub fn append(&mut self, other: Self) {
        for (path, messages) in other.by_path {
            for message in messages {
                self.add(path.clone(), message);
            }
        }
    }

    /// The same, of something that stands at this path of a larger whole.
    #[must_use]
    pub fn under(self, path: &str) -> Self {
        let moved = |(inner, all): (String, _)| (format!("{path}.{inner}"), all);
        Self { by_path: self.by_path.into_iter().map(moved).collect(), count: self.count }
    }

    pub fn is_empty(&self) -> bool {
        self.by_path.is_empty()
    }

    /// `Ok` when there are none.
    pub fn into_result(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }

    pub const fn by_path(&self) -> &BTreeMap<String, Vec<String>> {
        &self.by_path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_the_number_of_mistakes_nor_the_length_of_a_path_grows_with_a_body() {
        let mut mistakes = Mistakes::new();
        for at in 0..10_000 {
            mistakes.add(deeper(&"\u{e9}".repeat(5_000), &format!("[{at}]")), "wrong");
        }
        let lengths: Vec<_> = mistakes.by_path().keys().map(String::len).collect();
        assert!(lengths.iter().all(|length| *length <= MISTAKE_PATH_BYTES_MAX));
        assert_eq!(mistakes.by_path().values().map(Vec::len).sum::<usize>(), MISTAKES_MAX);
    }
}
