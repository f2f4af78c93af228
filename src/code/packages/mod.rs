//! The packages of the operator's choice: files of JavaScript and JSON, pinned by their hashes.
//!
//! The directory has a file `packages.lock` with a line for each file, as `sha256sum` prints it. Only
//! files that it lists are read, once, at the start. A file that differs is an error, not a file that
//! is missing: somebody has changed it.

#[cfg(any(fuzzing, test))]
pub(crate) mod fuzz;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use crate::bounds::{
    CODE_PACKAGE_FILE_BYTES_MAX, CODE_PACKAGE_FILES_MAX, CODE_PACKAGE_NAME_BYTES_MAX,
    CODE_PACKAGES_BYTES_MAX,
};
use crate::crypto::Sha256;
use crate::domain::hex;

pub const LOCK_FILE: &str = "packages.lock";
/// A line of the lock file has a hash, two characters and a name.
const LOCK_BYTES_MAX: usize = CODE_PACKAGE_FILES_MAX * 256;

#[derive(Default)]
pub struct Packages {
    files: BTreeMap<String, String>,
}

opaque_debug!(Packages);

/// The reason that packages cannot be used. It names files of the operator, never of a program.
#[derive(Debug)]
pub enum PackageProblem {
    /// The lock file or a file that it lists cannot be read.
    Unreadable(String, io::Error),
    /// This line of the lock file is not a hash and a name within the directory.
    Line(usize),
    /// Two lines name the same file.
    Twice(String),
    Changed(String),
    TooLarge(String),
    TooMany,
    NotText(String),
}

impl fmt::Display for PackageProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(name, error) => write!(f, "{name} cannot be read: {error}"),
            Self::Line(number) => {
                write!(f, "line {number} of {LOCK_FILE} is not a hash and the name of a file")
            }
            Self::Twice(name) => write!(f, "{LOCK_FILE} lists {name} twice"),
            Self::Changed(name) => write!(f, "{name} is not the file that {LOCK_FILE} lists"),
            Self::TooLarge(name) => write!(f, "{name} is too large"),
            Self::TooMany => write!(f, "{LOCK_FILE} lists too many files"),
            Self::NotText(name) => write!(f, "{name} is not UTF-8"),
        }
    }
}

impl Packages {
    /// Reads every listed file and compares it with its hash.
    pub fn load(directory: &Path) -> Result<Self, PackageProblem> {
        let lock = read(directory, LOCK_FILE, LOCK_BYTES_MAX)?;
        let mut files = BTreeMap::new();
        let mut bytes = 0_usize;
        for (name, hash) in parse_lock(&lock)? {
            let text = read(directory, &name, CODE_PACKAGE_FILE_BYTES_MAX)?;
            let mut found = Sha256::new();
            found.update(text.as_bytes());
            if found.finish() != hash {
                return Err(PackageProblem::Changed(name));
            }
            bytes = bytes.saturating_add(text.len());
            if bytes > CODE_PACKAGES_BYTES_MAX {
                return Err(PackageProblem::TooMany);
            }
            files.insert(name, text);
        }
        Ok(Self { files })
    }

    pub fn file_count(&self) -> usize {
        self.files.len()
    }

    pub fn file(&self, name: &str) -> Option<&str> {
        self.files.get(name).map(String::as_str)
    }
}

fn read(directory: &Path, name: &str, most: usize) -> Result<String, PackageProblem> {
    let unreadable = |error| PackageProblem::Unreadable(String::from(name), error);
    let file = File::open(directory.join(name)).map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(unreadable(io::ErrorKind::InvalidInput.into()));
    }
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > most {
        return Err(PackageProblem::TooLarge(String::from(name)));
    }
    let not_text = |_: std::string::FromUtf8Error| PackageProblem::NotText(String::from(name));
    String::from_utf8(bytes).map_err(not_text)
}

/// The files of a lock file and their hashes.
fn parse_lock(text: &str) -> Result<BTreeMap<String, [u8; 32]>, PackageProblem> {
    let mut files = BTreeMap::new();
    for (line, number) in text.lines().zip(1..) {
        let (name, hash) = parse_line(line).ok_or(PackageProblem::Line(number))?;
        if files.len() >= CODE_PACKAGE_FILES_MAX {
            return Err(PackageProblem::TooMany);
        }
        if files.insert(String::from(name), hash).is_some() {
            return Err(PackageProblem::Twice(String::from(name)));
        }
    }
    Ok(files)
}

fn parse_line(line: &str) -> Option<(&str, [u8; 32])> {
    let (hash, name) = line.split_once("  ")?;
    let name = name.strip_prefix("./").unwrap_or(name);
    let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
    let is_name = name.len() <= CODE_PACKAGE_NAME_BYTES_MAX
        && name.split('/').all(is_part)
        && !name.contains(['\\', '\0']);
    is_name.then_some((name, hex::decode(hash)?))
}
