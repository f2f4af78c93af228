//! A scanner of a query's characters, with their positions.

use std::iter::Peekable;
use std::str::Chars;

use crate::domain::search_query::{Field, Refused, Term};
use crate::secret::Secret;

pub(super) struct Scanner<'a> {
    letters: Peekable<Chars<'a>>,
    /// The position of the next character, from 1.
    at: usize,
}

type Scanned<T> = Result<T, (Refused, usize)>;

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { letters: text.chars().peekable(), at: 1 }
    }

    pub(super) fn is_at_end(&mut self) -> bool {
        self.letters.peek().is_none()
    }

    pub(super) fn skip_blanks(&mut self) {
        while self.letters.peek().is_some_and(|letter| letter.is_whitespace()) {
            self.next();
        }
    }

    /// The text between two terms, blanks included.
    pub(super) fn connective(&mut self) -> Scanned<()> {
        let at = self.at;
        let word = self.run(|letter| !letter.is_whitespace() && letter != ':');
        match word.as_str() {
            "AND" if !self.is_at_end() => self.skip_blanks(),
            "AND" => return Err((Refused::NoTerm, self.at)),
            "OR" | "||" => return Err((Refused::Or, at)),
            "NOT" => return Err((Refused::Negation, at)),
            _ => return Err((Refused::Connective, at)),
        }
        if self.is_at_end() { Err((Refused::NoTerm, self.at)) } else { Ok(()) }
    }

    pub(super) fn term(&mut self) -> Scanned<Term> {
        let at = self.at;
        match self.letters.peek() {
            Some('-' | '!') => return Err((Refused::Negation, at)),
            Some('(' | ')') => return Err((Refused::Group, at)),
            Some(_) | None => (),
        }
        let mut name =
            self.run(|letter| !(letter.is_whitespace() || is_special(letter) || letter == ':'));
        // A key with blanks or colons must be quoted.
        if name == "metadata." && self.letters.peek() == Some(&'"') {
            name.push_str(self.quoted()?.expose());
        }
        if self.letters.peek() != Some(&':') {
            return Err(match name.as_str() {
                "NOT" => (Refused::Negation, at),
                "OR" => (Refused::Or, at),
                "AND" => (Refused::NoTerm, at),
                _ => (Refused::NoColon, self.at),
            });
        }
        self.next();
        let field = Field::parse(&name).ok_or((Refused::Field, at))?;
        let value = self.value()?;
        Ok(Term { field, value, at })
    }

    fn value(&mut self) -> Scanned<Secret<String>> {
        let at = self.at;
        let value = if self.letters.peek() == Some(&'"') {
            self.quoted()?
        } else {
            let bare =
                Secret::new(self.run(|letter| !(letter.is_whitespace() || is_special(letter))));
            if bare.expose().is_empty() && self.letters.peek().is_none_or(|it| it.is_whitespace()) {
                return Err((Refused::NoValue, at));
            }
            bare
        };
        match self.letters.peek() {
            Some(letter) if !letter.is_whitespace() => Err((Refused::Quotes, self.at)),
            Some(_) | None => Ok(value),
        }
    }

    /// A backslash escapes the next character, whichever it is.
    fn quoted(&mut self) -> Scanned<Secret<String>> {
        let at = self.at;
        let unclosed = (Refused::Unclosed, at);
        self.next();
        let mut text = Secret::new(String::with_capacity(self.rest()));
        loop {
            match self.next().ok_or(unclosed)? {
                '"' => return Ok(text),
                '\\' => text.expose_mut().push(self.next().ok_or(unclosed)?),
                letter => text.expose_mut().push(letter),
            }
        }
    }

    fn run(&mut self, belongs: impl Fn(char) -> bool) -> String {
        // Enough capacity for all of it: growing would leave unwiped copies of a value in memory.
        let mut text = String::with_capacity(self.rest());
        while let Some(letter) = self.letters.next_if(|letter| belongs(*letter)) {
            self.at = self.at.saturating_add(1);
            text.push(letter);
        }
        text
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.letters.next()?;
        self.at = self.at.saturating_add(1);
        Some(letter)
    }

    /// The number of bytes that follow.
    fn rest(&self) -> usize {
        self.letters.clone().map(char::len_utf8).fold(0, usize::saturating_add)
    }
}

const fn is_special(letter: char) -> bool {
    matches!(letter, '"' | '\\' | '(' | ')')
}
