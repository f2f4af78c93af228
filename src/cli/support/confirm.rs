//! Confirmation of commands that cannot be undone.

use std::io::{BufRead as _, IsTerminal as _, Read as _, Write as _};

use crate::cli::support::{Exit, Failure, Result};

/// The longest line that a person types: a name.
const LINE_BYTES_MAX: u64 = 4_096;

/// A command is confirmed by `--yes`, or by a text that a person types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmation {
    Given,
    Typed,
}

impl Confirmation {
    /// Fails without a terminal on which a person could confirm.
    pub fn of(yes: bool) -> Result<Self> {
        Self::choose(yes, std::io::stdin().is_terminal())
    }

    fn choose(yes: bool, has_terminal: bool) -> Result<Self> {
        match (yes, has_terminal) {
            (true, _) => Ok(Self::Given),
            (false, true) => Ok(Self::Typed),
            (false, false) => {
                Err(Failure::new(Exit::Usage, "this cannot be undone and needs a confirmation")
                    .why("standard input is not a terminal")
                    .try_this("--yes, if you are sure"))
            }
        }
    }

    /// Shows what will happen, and requires that the person types one of these texts.
    pub fn ask(self, what: &str, expected: &[&str]) -> Result<()> {
        if self == Self::Given {
            return Ok(());
        }
        let shown = expected.first().copied().unwrap_or_default().escape_debug();
        let mut err = std::io::stderr().lock();
        write!(err, "{what}\nThis cannot be undone. Type {shown} to go on: ").ok();
        err.flush().ok();
        let mut line = String::new();
        let read = std::io::stdin().lock().take(LINE_BYTES_MAX).read_line(&mut line);
        if read.is_ok() && is_expected(&line, expected) {
            return Ok(());
        }
        Err(Failure::new(Exit::Data, "not confirmed; nothing was changed")
            .try_this(format!("run the command again and type {shown}")))
    }
}

fn is_expected(line: &str, expected: &[&str]) -> bool {
    let line = line.trim();
    !line.is_empty() && expected.iter().any(|text| text.trim() == line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_confirms_without_a_terminal() {
        assert_eq!(Confirmation::choose(true, false).unwrap(), Confirmation::Given);
        assert_eq!(Confirmation::choose(false, true).unwrap(), Confirmation::Typed);
        assert_eq!(Confirmation::choose(false, false).unwrap_err().exit, Exit::Usage);
    }

    #[test]
    fn a_line_confirms_if_it_is_one_of_the_texts() {
        for (line, confirms) in
            [("Shop\n", true), (" 7 ", true), ("shop", false), ("", false), ("y", false)]
        {
            assert_eq!(is_expected(line, &["Shop", "7"]), confirms, "{line}");
        }
        assert!(!is_expected("\n", &[""]));
    }
}
