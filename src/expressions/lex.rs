//! A position in a text, which only moves forward and is never inside a character.

pub(super) struct Cursor<'a> {
    rest: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { rest: text, at: 0 }
    }

    /// Byte offset from the start of the text.
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    pub(super) const fn rest(&self) -> &'a str {
        self.rest
    }

    pub(super) const fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next()?;
        self.move_to(chars.as_str());
        Some(next)
    }

    pub(super) fn eat(&mut self, expected: &str) -> bool {
        match self.rest.strip_prefix(expected) {
            Some(rest) => {
                self.move_to(rest);
                true
            }
            None => false,
        }
    }

    pub(super) fn skip_spaces(&mut self) {
        self.move_to(self.rest.trim_start());
    }

    pub(super) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        self.take_until(|rest| !rest.starts_with(&wanted))
    }

    /// Takes characters until `is_end` holds for the rest of the text.
    pub(super) fn take_until(&mut self, is_end: impl Fn(&str) -> bool) -> &'a str {
        let mut chars = self.rest.chars();
        while !chars.as_str().is_empty() && !is_end(chars.as_str()) {
            chars.next();
        }
        let (taken, rest) = self.rest.split_at(self.rest.len() - chars.as_str().len());
        self.move_to(rest);
        taken
    }

    /// Takes the text before the mark and skips the mark; `None`, without moving, if there is no
    /// mark.
    pub(super) fn take_past(&mut self, mark: &str) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_once(mark)?;
        self.move_to(rest);
        Some(taken)
    }

    /// `rest` must be a suffix of the current rest.
    const fn move_to(&mut self, rest: &'a str) {
        self.at += self.rest.len() - rest.len();
        self.rest = rest;
    }
}
