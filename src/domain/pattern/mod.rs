//! Patterns of proxy masks and of JSON paths: small regular expression languages whose cost is
//! counted while they run.
//!
//! Published crates search in time proportional to the text, but finding all matches may take the
//! square of it: `(a.*b)|(a)` reads to the end for every `a`. They cannot be interrupted, so no
//! bound in advance is both safe and useful. This matcher simulates an automaton and charges every
//! step to [`Steps`].
//!
//! The syntax of masks: literals, `.`, classes, `\d \w \s \D \W \S`, `^ $ \b \B`, alternatives,
//! groups that capture (also named ones) or do not, greedy and lazy repetitions, `(?i)` at the
//! start. Texts are matched by characters; `\d`, `\w` and `\s` match ASCII only.

mod class;
mod parse;
mod program;
#[cfg(test)]
mod tests;

pub use program::Pattern;

use crate::bounds::{PATTERN_STATES_MAX, PROXY_PATTERN_STATES_MAX};
use crate::domain::pattern::parse::{Assertion, Dialect, Node};

/// The part of a text that a pattern must cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Some,
    Whole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidPattern {
    Malformed,
    /// Its repetitions take too many states when unrolled.
    TooLarge,
}

/// The steps that matching may still take.
#[derive(Debug)]
pub struct Steps(usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManySteps;

/// The positions of a match and of its groups, in bytes. A group that took no part is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    pub whole: (usize, usize),
    pub groups: Vec<(usize, usize)>,
}

impl Pattern {
    pub fn parse(text: &str) -> Result<Self, InvalidPattern> {
        let parsed = parse::parse(text, Dialect::Mask)?;
        Self::compile(&parsed, PROXY_PATTERN_STATES_MAX)
    }

    /// Parses a pattern of I-Regexp (RFC 9485) without character categories (`\p{..}`), but with
    /// `\d`, `\w` and `\s`, which most callers expect.
    pub fn parse_iregexp(text: &str, extent: Extent) -> Result<Self, InvalidPattern> {
        let mut parsed = parse::parse(text, Dialect::IRegexp)?;
        if extent == Extent::Whole {
            let [start, end] = [Assertion::Start, Assertion::End].map(Node::Assertion);
            parsed.root = Node::Sequence(vec![start, parsed.root, end]);
        }
        Self::compile(&parsed, PATTERN_STATES_MAX)
    }
}

impl Steps {
    pub const fn new(count: usize) -> Self {
        Self(count)
    }

    pub const fn left(&self) -> usize {
        self.0
    }

    pub fn spend(&mut self, count: usize) -> Result<(), TooManySteps> {
        let left = self.0.checked_sub(count);
        // A budget that has run out stays empty.
        self.0 = left.unwrap_or(0);
        left.map(|_| ()).ok_or(TooManySteps)
    }
}
