//! The patterns of `match` and `search`: I-Regexp (RFC 9485) without character categories
//! (`\p{..}`), but with `\d`, `\w` and `\s`, which most callers expect.
//!
//! `regex-lite` does the matching, in time proportional to the text's length times the number of
//! states. Its own syntax is larger than I-Regexp, so a pattern is first parsed here and written
//! again: anchors, flags, lazy repetitions and all other extensions are refused.

use std::fmt::Write as _;

use regex_lite::{Regex, RegexBuilder};

use crate::bounds;
use crate::domain::hex;
use crate::expressions::budget::{Budget, CALL};
use crate::expressions::failures::Failed;
use crate::expressions::lex::Cursor;

/// The work of compiling the largest pattern.
pub(super) const COMPILE: usize = bounds::PATTERN_STATES_MAX * COMPILE_STATE;
/// The work of compiling one state.
const COMPILE_STATE: usize = 100;
/// The work of one state for one character of the text.
const STATE: usize = 32;
/// Ranges of a class that are checked in the time of one state.
const RANGES_PER_STATE: usize = 8;

/// The part of a text that a pattern must cover: all of it (`match`) or any part (`search`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Some,
    Whole,
}

pub(super) struct Pattern {
    regex: Regex,
    states: usize,
}

impl Pattern {
    /// `None` when it is malformed or too large.
    pub(super) fn parse(text: &str, extent: Extent) -> Option<Self> {
        if text.len() > bounds::PATTERN_BYTES_MAX {
            return None;
        }
        let mut translation = Translation { cursor: Cursor::new(text), regex: String::new() };
        // The final state counts too.
        let states = translation.alternatives(0)?.checked_add(1)?;
        if !translation.cursor.is_done() || states > bounds::PATTERN_STATES_MAX {
            return None;
        }
        let regex = match extent {
            Extent::Some => translation.regex,
            Extent::Whole => format!("^(?:{})$", translation.regex),
        };
        let regex = RegexBuilder::new(&regex)
            .size_limit(bounds::PATTERN_COMPILED_BYTES_MAX)
            .build()
            .ok()?;
        Some(Self { regex, states })
    }

    pub(super) const fn states(&self) -> usize {
        self.states
    }

    /// The whole text is charged for in advance, since `regex-lite` cannot be interrupted.
    pub(super) fn is_match(&self, text: &str, budget: &Budget) -> Result<bool, Failed> {
        let characters = text.chars().count().saturating_add(1);
        let work = characters.saturating_mul(self.states).saturating_mul(STATE);
        budget.spend(CALL.saturating_add(text.len()).saturating_add(work))?;
        Ok(self.regex.is_match(text))
    }
}

/// A pattern on its way from I-Regexp to the syntax of `regex-lite`. Each function reads one part,
/// writes it, and returns the number of its states with repetitions unrolled; `None` is malformed.
struct Translation<'a> {
    cursor: Cursor<'a>,
    regex: String,
}

impl Translation<'_> {
    fn alternatives(&mut self, depth: usize) -> Option<usize> {
        if depth > bounds::JSON_PATH_DEPTH_MAX {
            return None;
        }
        let mut states = 0_usize;
        loop {
            while !matches!(self.cursor.peek(), None | Some('|' | ')')) {
                states = states.checked_add(self.piece(depth)?)?;
            }
            if !self.cursor.eat("|") {
                return Some(states);
            }
            self.regex.push('|');
            states = states.checked_add(1)?;
        }
    }

    /// An atom and its quantifier.
    fn piece(&mut self, depth: usize) -> Option<usize> {
        let start = self.regex.len();
        let states = self.atom(depth)?;
        let (least, most) = self.quantifier()?;
        let states = match most {
            _ if states == 0 => 0,
            Some(0) => 0,
            Some(1) if least == 1 => states,
            Some(most) => {
                write!(self.regex, "{{{least},{most}}}").ok()?;
                states.checked_mul(most)?.checked_add(most.checked_sub(least)?)?
            }
            None => {
                write!(self.regex, "{{{least},}}").ok()?;
                states.checked_mul(least.checked_add(1)?)?.checked_add(1)?
            }
        };
        // A piece without states matches only the empty text. `regex-lite` would spend states and
        // time on each of its repetitions.
        if states == 0 {
            self.regex.truncate(start);
        }
        Some(states)
    }

    fn atom(&mut self, depth: usize) -> Option<usize> {
        match self.cursor.bump()? {
            '(' => {
                self.regex.push_str("(?:");
                let states = self.alternatives(depth.checked_add(1)?)?;
                self.regex.push(')');
                return self.cursor.eat(")").then_some(states);
            }
            '[' => return self.class(),
            '.' => self.regex.push_str(r"[^\n\r]"),
            '\\' => match self.escape()? {
                Escape::Character(c) => self.literal(c),
                Escape::Class(class) => self.regex.push_str(class),
            },
            '*' | '+' | '?' | '{' | '}' | ']' | '^' | '$' => return None,
            c => self.literal(c),
        }
        Some(1)
    }

    /// The least and the most repetitions: one of each if no quantifier follows.
    fn quantifier(&mut self) -> Option<(usize, Option<usize>)> {
        let (least, most) = match self.cursor.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                self.cursor.bump();
                let least = self.count()?;
                let most = if !self.cursor.eat(",") {
                    Some(least)
                } else if self.cursor.peek() == Some('}') {
                    None
                } else {
                    Some(self.count()?)
                };
                if self.cursor.peek() != Some('}') || most.is_some_and(|most| most < least) {
                    return None;
                }
                (least, most)
            }
            Some(_) | None => return Some((1, Some(1))),
        };
        self.cursor.bump();
        Some((least, most))
    }

    fn count(&mut self) -> Option<usize> {
        let count = self.cursor.take_while(|c| c.is_ascii_digit()).parse().ok()?;
        (count <= bounds::PATTERN_STATES_MAX).then_some(count)
    }

    /// Behind the opening bracket.
    fn class(&mut self) -> Option<usize> {
        self.regex.push('[');
        if self.cursor.eat("^") {
            self.regex.push('^');
        }
        let mut ranges = 0_usize;
        if self.cursor.eat("-") {
            self.literal('-');
            ranges = 1;
        }
        loop {
            let from = match self.cursor.bump()? {
                ']' if ranges > 0 => break,
                '-' => {
                    // A bare hyphen may only stand at either end of a class.
                    self.literal('-');
                    if !self.cursor.eat("]") {
                        return None;
                    }
                    break;
                }
                '[' | ']' => return None,
                '\\' => match self.escape()? {
                    Escape::Character(c) => c,
                    Escape::Class(class) => {
                        self.regex.push_str(class);
                        ranges = ranges.checked_add(4)?;
                        continue;
                    }
                },
                c => c,
            };
            self.range(from)?;
            ranges = ranges.checked_add(1)?;
        }
        self.regex.push(']');
        ranges.checked_div(RANGES_PER_STATE)?.checked_add(1)
    }

    /// A character of a class, or the range that it begins.
    fn range(&mut self, from: char) -> Option<()> {
        self.literal(from);
        if !self.cursor.rest().starts_with('-') || self.cursor.rest().starts_with("-]") {
            return Some(());
        }
        self.cursor.bump();
        let to = match self.cursor.bump()? {
            '\\' => match self.escape()? {
                Escape::Character(c) => c,
                Escape::Class(_) => return None,
            },
            '[' | ']' => return None,
            c => c,
        };
        self.regex.push('-');
        self.literal(to);
        (from <= to).then_some(())
    }

    /// Behind the backslash.
    fn escape(&mut self) -> Option<Escape> {
        Some(match self.cursor.bump()? {
            'n' => Escape::Character('\n'),
            'r' => Escape::Character('\r'),
            't' => Escape::Character('\t'),
            'd' => Escape::Class(r"\d"),
            's' => Escape::Class(r"\s"),
            'w' => Escape::Class(r"\w"),
            c if c.is_ascii_punctuation() => Escape::Character(c),
            _ => return None,
        })
    }

    /// Punctuation is written by its code: which of it has a meaning depends on the place.
    fn literal(&mut self, c: char) {
        match u8::try_from(c) {
            Ok(byte) if byte.is_ascii_punctuation() => {
                self.regex.push_str(r"\x");
                self.regex.push_str(&hex::encode_upper(&[byte]));
            }
            Ok(_) | Err(_) => self.regex.push(c),
        }
    }
}

enum Escape {
    Character(char),
    /// As `regex-lite` writes it, which knows ASCII only: `\d`, `\s` and `\w`.
    Class(&'static str),
}
