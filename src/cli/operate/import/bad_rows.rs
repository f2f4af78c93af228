//! The rows that have mistakes: line, path and reason, never a value.

use std::collections::{HashSet, hash_map::RandomState};
use std::fs::{File, OpenOptions};
use std::hash::BuildHasher as _;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use super::pages::Page;
use crate::bounds::IMPORT_IDS_MAX;
use crate::cli::support::{
    Exit, Failure, Result, cannot, complain, not_understood, on_one_line, say,
};
use crate::secret::Secret;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    pub(super) line: u64,
    path: String,
    reason: String,
}

#[derive(Debug)]
pub(super) enum Listing<'a> {
    /// A dry run: all bad rows to standard output.
    Output {
        json: bool,
    },
    /// The first bad rows to standard error.
    Few {
        shown: usize,
    },
    File(File, &'a Path),
}

/// Numbers with at least this many digits are masked in a path: social security numbers, and
/// longer.
const LONG: usize = 9;

/// The number of bad rows that an import shows without `--dry-run`.
const FEW: usize = 20;

impl<'a> Listing<'a> {
    /// Opens the file of bad rows: a new one, or the one of the same import before an interruption.
    pub(super) fn file(path: &'a Path, goes_on: bool) -> Result<Self> {
        let mut options = OpenOptions::new();
        if goes_on {
            options.append(true).create(true);
        } else {
            options.write(true).create_new(true);
        }
        let file = options.mode(0o600).open(path);
        match file {
            Ok(file) => Ok(Self::File(file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Failure::new(Exit::Data, "the file for the list of bad rows exists already")
                    .file(path)
                    .try_this("name a file that does not exist yet"))
            }
            Err(error) => Err(cannot("write the list of bad rows", path, &error)),
        }
    }

    pub(super) fn list(&mut self, mistakes: &[Mistake]) -> Result<()> {
        for it in mistakes {
            match self {
                Self::Output { json: true } => say(&it.json().to_string()),
                Self::Output { json: false } => say(&it.text()),
                Self::Few { shown } => {
                    *shown = shown.saturating_add(1);
                    if *shown <= FEW {
                        complain(&it.text());
                    }
                }
                Self::File(file, path) => {
                    let written = writeln!(file, "{}", it.json());
                    written.map_err(|error| cannot("write the list of bad rows", path, &error))?;
                }
            }
        }
        Ok(())
    }

    /// Makes the list durable before the rows that it names are skipped.
    pub(super) fn sync(&self) -> Result<()> {
        match self {
            Self::File(file, path) => {
                file.sync_all().map_err(|error| cannot("write the list of bad rows", path, &error))
            }
            Self::Few { .. } | Self::Output { .. } => Ok(()),
        }
    }
}

impl Mistake {
    /// The file supplies the names of members: a path must not move the cursor, and a name can be a
    /// card number that a program mistook for a name.
    fn new(line: u64, path: &str, reason: &str) -> Self {
        let path = masked(&on_one_line(path));
        Self { line, path, reason: on_one_line(reason).into_owned() }
    }

    fn text(&self) -> String {
        format!("line {}: {}: {}", self.line, self.path, self.reason)
    }

    fn json(&self) -> Value {
        json!({"line": self.line, "path": self.path, "reason": self.reason})
    }
}

/// Replaces the digits of long numbers, even with a blank or a mark between digits.
fn masked(path: &str) -> String {
    let is_digit = |letter: char| letter.is_numeric();
    let mut shown = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(start) = rest.find(is_digit) {
        let (plain, number) = rest.split_at(start);
        let is_part = |letter: char| is_digit(letter) || matches!(letter, ' ' | '-' | '.' | '_');
        let end = number.find(|letter| !is_part(letter)).unwrap_or(number.len());
        let (number, behind) = number.split_at(end);
        shown.push_str(plain);
        if number.chars().filter(|it| is_digit(*it)).count() < LONG {
            shown.push_str(number);
        } else {
            shown.extend(number.chars().map(|it| if is_digit(it) { '*' } else { it }));
        }
        rest = behind;
    }
    shown.push_str(rest);
    shown
}

/// The mistakes of a page that the reader or the vault found.
pub(super) fn mistakes(page: &Page, answer: &Value) -> Result<Vec<Mistake>> {
    let bad = answer.get("bad").and_then(Value::as_array).ok_or_else(not_understood)?;
    let mut found = Vec::new();
    for bad in bad {
        let at = bad.get("row").and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
        let row = at.and_then(|at| page.rows.get(at)).ok_or_else(not_understood)?;
        let line = row.line;
        if let Err((path, reason)) = &row.body {
            found.push(Mistake::new(line, path, reason));
        }
        let by_path = bad.get("mistakes").and_then(Value::as_object).ok_or_else(not_understood)?;
        for (path, reasons) in by_path {
            for reason in reasons.as_array().into_iter().flatten().filter_map(Value::as_str) {
                found.push(Mistake::new(line, path, reason));
            }
        }
    }
    Ok(found)
}

/// Finds ids that occur twice in a file, across pages. Keeps only hashes, and only the first ones
/// of a very long file: the import itself finds all repetitions.
#[derive(Debug, Default)]
pub(super) struct SeenIds {
    hasher: RandomState,
    seen: HashSet<u64>,
}

impl SeenIds {
    pub(super) fn repetitions(&mut self, page: &Page) -> Vec<Mistake> {
        let mut found = Vec::new();
        let mut own = HashSet::new();
        for row in &page.rows {
            let Some(id) = row.body.as_ref().ok().and_then(|body| id_of(body.expose())) else {
                continue;
            };
            let hash = self.hasher.hash_one(&id);
            // The vault finds repetitions within a page.
            if self.seen.contains(&hash) {
                found.push(Mistake::new(row.line, "id", "The file has this id more than once."));
            } else {
                own.insert(hash);
            }
        }
        if self.seen.len() < IMPORT_IDS_MAX {
            self.seen.extend(own);
        }
        found
    }
}

fn id_of(body: &str) -> Option<String> {
    let row = Secret::new(serde_json::from_str::<Value>(body).ok()?);
    let text = |name: &str| row.expose().get(name).and_then(Value::as_str);
    text("id").filter(|_| text("kind").is_none_or(|kind| kind == "token")).map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_show_no_numbers_and_command_no_terminal() {
        for (path, shown) in [
            ("data.number", "data.number"),
            ("keys[12345678]", "keys[12345678]"),
            ("metadata.4242424242424242", "metadata.****************"),
            ("a 4242-4242 4242.4242 b1", "a ****-**** ****.**** b1"),
            ("metadata.123456789\u{1b}[31m", "metadata.*********\\u001b[31m"),
            ("\u{0664}\u{0662}123456789", "***********"),
            ("x\ny", "x\\u000ay"),
        ] {
            let it = Mistake::new(1, path, "Why.");
            assert_eq!(it.text(), format!("line 1: {shown}: Why."));
        }
    }
}
