//! Violations of a rule of the sources.

use std::collections::BTreeSet;

/// Fails if there are any. `places` shows where one is.
#[track_caller]
pub(super) fn check_none(found: &BTreeSet<String>, places: impl Fn(&str) -> String) {
    let complaints = found.iter().map(|line| format!("{line}\n{}", places(line)));
    let complaints: Vec<String> = complaints.collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
