//! README, chapters, manual page and CONTRIBUTING.md agree with the program and its sources.

use std::process::Command;

use crate::harness::output_of;
use crate::tidy::sources::{has_word, is_part_of_a_name, read_rust, root};

#[test]
fn the_manual_page_has_every_command() {
    let page = include_str!("../../../packaging/strongroom.1").replace("\\-", "-");
    let commands = subcommands(&[]);
    assert!(commands.len() > 5, "{commands:?}");
    for command in &commands {
        assert!(page.contains(&format!("strongroom {command}")), "{command}");
        for action in subcommands(&[command]) {
            let action = format!(".SS strongroom {command} {action}");
            assert!(page.contains(&action), "{action}");
        }
    }
}

/// The commands that the help of a command lists below `Commands:`.
pub(crate) fn subcommands(command: &[&str]) -> Vec<String> {
    let program = env!("CARGO_BIN_EXE_strongroom");
    let help = output_of(Command::new(program).args(command).arg("--help")).stdout;
    let help = String::from_utf8_lossy(&help);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    // Further lines of a description are indented much deeper.
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty()).map(String::from).collect()
}

#[test]
fn every_path_and_name_in_the_documents_for_contributors_and_auditors_exists() {
    let sources: String = ["src", "tests"]
        .iter()
        .flat_map(|place| read_rust(place))
        .map(|source| source.text + "\n")
        .collect();
    for (name, page) in [
        ("CONTRIBUTING.md", include_str!("../../../CONTRIBUTING.md")),
        ("SECURITY.md", include_str!("../../../SECURITY.md")),
    ] {
        let missing: Vec<&str> =
            in_backquotes(page).into_iter().filter(|span| !exists(span, &sources)).collect();
        assert!(missing.is_empty(), "{name} names what is not there: {missing:#?}");
    }
}

/// The spans of code in running text; blocks of commands are left out.
fn in_backquotes(page: &str) -> Vec<&str> {
    let text = page.split("```").step_by(2);
    text.flat_map(|text| text.split('`').skip(1).step_by(2)).collect()
}

/// False for a path or a name that is missing. Commands, manual pages and files of an installed
/// package are not looked for.
fn exists(span: &str, sources: &str) -> bool {
    if span.contains(' ') || span.ends_with(')') || span.starts_with('/') {
        return true;
    }
    if span.contains('/') || [".md", ".toml", ".lock"].iter().any(|end| span.ends_with(end)) {
        return root().join(span).exists();
    }
    let names: Vec<&str> = span.split("::").collect();
    let is_name = |text: &&str| !text.is_empty() && text.chars().all(is_part_of_a_name);
    !names.iter().all(is_name) || names.iter().all(|name| has_word(sources, name))
}

#[test]
fn a_path_or_name_that_is_missing_is_found() {
    let sources = "pub const ROUTES: u8; fn wait_until() {} enum Table { All }";
    for there in ["ROUTES", "Table::All", "wait_until", "src/lib.rs", "Cargo.toml", "a: b c"] {
        assert!(exists(there, sources), "{there}");
    }
    for missing in ["ROUTE", "Table::Any", "src/attic.rs", "attic.md"] {
        assert!(!exists(missing, sources), "{missing}");
    }
}
