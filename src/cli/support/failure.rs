//! The failure of a command: what failed, where, why, what to try, and the exit code for scripts.

use std::fmt;

/// Exit codes as in `sysexits.h`. The README lists them for operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Exit {
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
    pub(in crate::cli) const fn code(self) -> u8 {
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

#[derive(Debug)]
pub(in crate::cli) struct Failure {
    pub(in crate::cli) exit: Exit,
    what: String,
    lines: Vec<(&'static str, String)>,
}

impl Failure {
    pub(in crate::cli) fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self { exit, what: what.into(), lines: Vec::new() }
    }

    #[must_use]
    pub(in crate::cli) fn file(self, path: &std::path::Path) -> Self {
        self.line("file", path.display())
    }

    #[must_use]
    pub(in crate::cli) fn why(self, why: impl fmt::Display) -> Self {
        self.line("why", why)
    }

    #[must_use]
    pub(in crate::cli) fn try_this(self, what: impl fmt::Display) -> Self {
        self.line("try", what)
    }

    #[must_use]
    pub(in crate::cli) fn line(mut self, name: &'static str, text: impl fmt::Display) -> Self {
        self.lines.push((name, text.to_string()));
        self
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
    fn a_failure_says_what_where_why_and_what_to_do() {
        let failure = Failure::new(Exit::Permission, "cannot read the master key")
            .file(std::path::Path::new("/k"))
            .why("one\ntwo")
            .try_this("chmod 0400 /k");
        let text = "strongroom: cannot read the master key\n  file:  /k\n  why:   one\n         \
                    two\n  try:   chmod 0400 /k";
        assert_eq!(failure.to_string(), text);
    }
}
