//! The failure of a command: what failed, where, why, what to try, and the exit code for scripts.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::cli::support::path_text;

/// Exit codes as in `sysexits.h`. The README lists them for operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Success,
    /// The command line is wrong.
    Usage,
    /// The data is wrong: a command was refused, a file is damaged or not a file of strongroom.
    Data,
    /// A resource is in use or missing: the port, the data file, the server.
    Unavailable,
    /// A bug in this program.
    Software,
    /// The disk failed, is full or is read-only.
    Storage,
    /// A key is missing, wrong or readable by other users, or a permission is missing.
    Permission,
    /// The settings or the certificate are wrong.
    Config,
}

impl Exit {
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Usage => 64,
            Self::Data => 65,
            Self::Unavailable => 69,
            Self::Software => 70,
            Self::Storage => 74,
            Self::Permission => 77,
            Self::Config => 78,
        }
    }
}

pub type Result<T, E = Failure> = std::result::Result<T, E>;

#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    what: String,
    lines: Vec<(&'static str, String)>,
}

impl Failure {
    pub fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self { exit, what: what.into(), lines: Vec::new() }
    }

    #[must_use]
    pub fn file(self, path: &std::path::Path) -> Self {
        self.line("file", path_text(path))
    }

    #[must_use]
    pub fn why(self, why: impl fmt::Display) -> Self {
        self.line("why", why)
    }

    #[must_use]
    pub fn try_this(self, what: impl fmt::Display) -> Self {
        self.line("try", what)
    }

    pub fn has_next_step(&self) -> bool {
        self.lines.iter().any(|(name, _)| *name == "try")
    }

    pub fn reason(&self) -> String {
        let whys = self.lines.iter().filter(|(name, _)| *name == "why");
        let whys: Vec<_> = whys.flat_map(|(_, text)| text.lines()).collect();
        if whys.is_empty() {
            self.what.clone()
        } else {
            format!("{}: {}", self.what, whys.join("; "))
        }
    }

    #[must_use]
    pub fn line(mut self, name: &'static str, text: impl fmt::Display) -> Self {
        self.lines.push((name, text.to_string()));
        self
    }

    /// One JSON object on one line, with the same names as in the text.
    pub fn to_json(&self) -> Value {
        let mut error = Map::new();
        error.insert(String::from("what"), Value::from(self.what.as_str()));
        for (name, text) in &self.lines {
            let text = match error.get(*name).and_then(Value::as_str) {
                Some(earlier) => format!("{earlier}\n{text}"),
                None => text.clone(),
            };
            error.insert(String::from(*name), Value::from(text));
        }
        json!({"error": error, "exit": self.exit.code()})
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "strongroom: {}", self.what)?;
        for (name, text) in &self.lines {
            for (at, line) in text.lines().enumerate() {
                let label = if at == 0 { format!("{name}:") } else { String::new() };
                write!(f, "\n  {label:<6} {line}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_cannot_feign_other_lines() {
        let path = std::path::Path::new("/k\n  try:   sh x\u{1b}[2J");
        let text = Failure::new(Exit::Data, "bad").file(path).to_string();
        assert_eq!(text, "strongroom: bad\n  file:  /k\\u000a  try:   sh x\\u001b[2J");
    }

    #[test]
    fn a_failure_says_what_where_why_and_what_to_do() {
        let failure = Failure::new(Exit::Permission, "cannot read the master key")
            .file(std::path::Path::new("/k"))
            .why("one\ntwo")
            .try_this("chmod 0400 /k");
        let text = "strongroom: cannot read the master key\n  file:  /k\n  why:   one\n         \
                    two\n  try:   chmod 0400 /k";
        assert_eq!(failure.to_string(), text);
        let json = json!({
            "error": {
                "what": "cannot read the master key",
                "file": "/k",
                "why": "one\ntwo",
                "try": "chmod 0400 /k",
            },
            "exit": 77,
        });
        assert_eq!(failure.to_json(), json);
        let again = failure.try_this("report this").to_json();
        assert_eq!(again["error"]["try"], "chmod 0400 /k\nreport this");
    }
}
