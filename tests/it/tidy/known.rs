//! Lists of violations that are known and not yet repaired: `tests/it/tidy/known/*.txt`.
//!
//! A list is exact. A new violation fails the test, and so does a listed one that is gone: then the
//! list shrinks. A list that is empty is deleted.

use std::collections::BTreeSet;
use std::fs;

use crate::tidy::sources::root;

/// Compares what was found with the list of this name. Each line of `found` is a violation;
/// `places` shows where a new one is.
#[track_caller]
pub(super) fn check(name: &str, found: &BTreeSet<String>, places: impl Fn(&str) -> String) {
    let directory = root().join("tests/it/tidy/known");
    let path = directory.join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_TIDY").is_some() {
        let lines: String = found.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        fs::remove_file(&path).ok();
        if !lines.is_empty() {
            fs::create_dir_all(&directory).unwrap();
            fs::write(&path, lines).unwrap();
        }
        return;
    }
    let list = fs::read_to_string(&path).unwrap_or_default();
    let listed: BTreeSet<String> = list.lines().map(String::from).collect();
    let mut complaints = Vec::new();
    for line in found.difference(&listed) {
        complaints.push(format!("new: {line}\n{}", places(line)));
    }
    for line in listed.difference(found) {
        complaints.push(format!("gone, but listed: {line}"));
    }
    assert!(
        complaints.is_empty(),
        "\n{}\nRepair what is new. When a listed violation is gone, or a number has become smaller, \
         write the list again:\n    UPDATE_TIDY=1 cargo test --test it tidy\n",
        complaints.join("\n")
    );
}
