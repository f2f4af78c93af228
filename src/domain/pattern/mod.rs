//! Patterns with groups, for the masks of proxies: a small regular expression language whose cost is
//! counted while it runs.
//!
//! `regex-lite` searches in time proportional to the text, but finding all matches may take the
//! square of it: `(a.*b)|(a)` reads to the end for every `a`. It cannot be interrupted, and it does
//! not tell its states, so no bound in advance is both safe and useful. This matcher simulates the
//! same automaton and charges every step to [`Steps`].
//!
//! The syntax: literals, `.`, classes, `\d \w \s \D \W \S`, `^ $ \b \B`, alternatives, groups that
//! capture (also named ones) or do not, greedy and lazy repetitions, `(?i)` at the start. Texts are
//! matched by characters; `\d`, `\w` and `\s` are those of ASCII.

mod class;
mod parse;
mod program;
#[cfg(test)]
mod tests;

use crate::domain::pattern::program::Program;

/// A parsed pattern.
pub struct Pattern {
    program: Program,
}

/// The reason why a text is no pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidPattern {
    Malformed,
    /// Its repetitions, unrolled, have too many states.
    TooLarge,
}

/// The steps that matching may still take.
#[derive(Debug)]
pub struct Steps(usize);

/// The steps are used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManySteps;

/// The places of a match and of its groups, in bytes. A group that took no part is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    pub whole: (usize, usize),
    pub groups: Vec<(usize, usize)>,
}

impl Pattern {
    pub fn parse(text: &str) -> Result<Self, InvalidPattern> {
        let parsed = parse::parse(text)?;
        Ok(Self { program: Program::compile(&parsed)? })
    }

    /// The number of groups that capture.
    pub const fn groups(&self) -> usize {
        self.program.groups()
    }

    /// The next match at or after this byte of the text.
    pub fn find_at(
        &self,
        text: &str,
        start: usize,
        steps: &mut Steps,
    ) -> Result<Option<Match>, TooManySteps> {
        self.program.find_at(text, start, steps)
    }
}

impl Steps {
    pub const fn new(count: usize) -> Self {
        Self(count)
    }

    pub fn spend(&mut self, count: usize) -> Result<(), TooManySteps> {
        let left = self.0.checked_sub(count);
        // Once it has run out, it stays so.
        self.0 = left.unwrap_or(0);
        left.map(|_| ()).ok_or(TooManySteps)
    }
}

/// The text of a pattern may quote a secret.
impl std::fmt::Debug for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pattern(..)")
    }
}
