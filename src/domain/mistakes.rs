//! All mistakes of a request, under dotted paths such as `data.expiration_month`. Messages never
//! hold the offending value.

use std::collections::BTreeMap;

use crate::bounds::{MISTAKE_PATH_BYTES_MAX, MISTAKES_MAX};

/// Appends a name. The length of a path is bounded, since it may consist of the caller's names.
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

    /// Adds nothing beyond the bound: a caller that corrects these mistakes will see the rest.
    pub fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        // Most paths occur once, so the sum over all messages is not calculated for each of them.
        let is_full = self.0.len() >= MISTAKES_MAX
            || self.0.values().map(Vec::len).sum::<usize>() >= MISTAKES_MAX;
        if !is_full {
            let path = within_bounds(path.into());
            self.0.entry(path).or_default().push(message.into());
        }
    }

    pub fn append(&mut self, other: Self) {
        for (path, messages) in other.0 {
            for message in messages {
                self.add(path.clone(), message);
            }
        }
    }

    /// The same mistakes, with this path as a prefix.
    #[must_use]
    pub fn under(self, path: &str) -> Self {
        Self(self.0.into_iter().map(|(inner, all)| (format!("{path}.{inner}"), all)).collect())
    }

    /// Keeps only the first path, with this text. For mistakes that depend on a value which the
    /// caller did not send: every further path or reason would reveal something about it.
    #[must_use]
    pub fn first_with(self, message: &str) -> Self {
        let first = self.0.into_keys().next();
        first.map_or_else(Self::new, |path| Self::one(path, message))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn into_result(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }

    pub const fn by_path(&self) -> &BTreeMap<String, Vec<String>> {
        &self.0
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
