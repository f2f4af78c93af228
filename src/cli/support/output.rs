//! Output of the commands on standard output and standard error.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::domain::time::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Json,
    Text,
}

impl Form {
    pub const fn of(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }
}

/// Ignores a closed pipe: the reader has stopped reading.
pub fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", harmless(text)).and_then(|()| out.flush()).ok();
}

pub fn complain(text: &str) {
    writeln!(std::io::stderr().lock(), "{}", harmless(text)).ok();
}

/// Escapes control characters as JSON does, so that a line of JSON stays valid: file names and
/// imported files may come from others.
fn harmless(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| {
        (letter.is_control() && !matches!(letter, '\n' | '\t')) || reorders(letter)
    })
}

pub fn on_one_line(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| letter.is_control() || reorders(letter))
}

pub fn path_text(path: &Path) -> String {
    on_one_line(&path.to_string_lossy()).into_owned()
}

/// Line separators that are not control characters, and marks that change the direction of text.
const fn reorders(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, is_bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_bad) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_bad(letter) {
            write!(shown, "\\u{:04x}", u32::from(letter)).ok();
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// A time of an answer in the form for people.
pub fn shown_time(wire: &str) -> String {
    Timestamp::parse_rfc3339(wire).map_or_else(|| String::from(wire), Timestamp::shown)
}

pub fn show_json(value: &Value) {
    say(&format!("{value:#}"));
}

/// Prints the result of a command as JSON or as text.
pub fn tell(form: Form, facts: impl FnOnce() -> Value, text: impl FnOnce() -> String) {
    match form {
        Form::Json => show_json(&facts()),
        Form::Text => say(&text()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_shown_commands_the_terminal() {
        let text = "a\u{1b}[31m\u{7f}\u{9b}2J\r\u{202e}\n\tJos\u{e9}";
        let shown = "a\\u001b[31m\\u007f\\u009b2J\\u000d\\u202e\n\tJos\u{e9}";
        assert_eq!(harmless(text), shown);
        assert_eq!(path_text(Path::new("a\nb\t")), "a\\u000ab\\u0009");
        let json = Value::from(text).to_string();
        let read: Value = serde_json::from_str(&harmless(&json)).unwrap();
        assert_eq!(read, text);
    }
}
