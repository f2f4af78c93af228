//! The quickstarts of the README, run from its own text. Those for Java and Go are not: their packages
//! are not among those that `tests/clients/install` installs.

#![expect(clippy::print_stderr, reason = "a test that cannot run here says why")]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::harness::{Directory, NUMBER, Vault, get, output_of};

const README: &str = include_str!("../../README.md");
pub(crate) const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/clients");
/// The address of `strongroom dev`; a test has one of its own.
const ADDRESS: &str = "https://127.0.0.1:8443";

#[test]
fn the_quickstart_for_curl_stores_reads_and_deletes_a_card() {
    let Some(quickstart) = Quickstart::prepare("curl --version") else { return };
    let said = quickstart.run("curl");
    assert_eq!(said.matches(&format!(r#""number":"{NUMBER}""#)).count(), 2, "{said}");
    assert_eq!(quickstart.orders("1001"), 0, "it was deleted");
}

#[test]
fn the_quickstart_for_python_stores_and_reads_a_card() {
    let probe = format!("{CLIENTS}/python/bin/python -c 'import basis_theory'");
    let Some(quickstart) = Quickstart::prepare(&probe) else { return };
    quickstart.write("quickstart.py", &block("Python", "python"), 0o600);
    let python = format!("#!/bin/sh\nexec {CLIENTS}/python/bin/python \"$@\"\n");
    quickstart.write("bin/python3", &python, 0o700);
    // The package that the page names must be the one that the tests have installed.
    quickstart.write("bin/pip", "#!/bin/sh\nexec python3 -m pip show --quiet \"$2\"\n", 0o700);
    let said = quickstart.run("Python");
    assert!(said.contains(NUMBER), "{said}");
    assert_eq!(quickstart.orders("1002"), 1);
}

#[test]
fn the_quickstart_for_node_stores_and_reads_a_card() {
    let installed = format!("{CLIENTS}/node/node_modules");
    let probe = format!("test -d {installed} && node --version");
    let Some(quickstart) = Quickstart::prepare(&probe) else { return };
    quickstart.write("quickstart.mjs", &block("Node", "js"), 0o600);
    symlink(&installed, quickstart.place.join("node_modules")).unwrap();
    quickstart.write("bin/npm", "#!/bin/sh\nexec test -d \"node_modules/$2\"\n", 0o700);
    let said = quickstart.run("Node");
    assert!(said.contains(NUMBER), "{said}");
    assert_eq!(quickstart.orders("1003"), 1);
}

/// A vault, and a directory that has it as `strongroom-dev`, as a newcomer's directory has.
struct Quickstart {
    vault: Vault,
    place: Directory,
}

impl Quickstart {
    /// `None` if the probe fails.
    fn prepare(probe: &str) -> Option<Self> {
        if !can_run(probe) {
            return None;
        }
        let quickstart = Self { vault: Vault::start(), place: Directory::new() };
        symlink(quickstart.vault.data(), quickstart.place.join("strongroom-dev")).unwrap();
        std::fs::create_dir(quickstart.place.join("bin")).unwrap();
        Some(quickstart)
    }

    fn write(&self, name: &str, text: &str, mode: u32) {
        self.place.write(name, text, mode);
    }

    /// Runs the commands of a section after those that set the variables; returns their output.
    fn run(&self, section: &str) -> String {
        let url = format!("https://{}", self.vault.address);
        let variables = blocks(section_of("## ", "Quickstarts"), "sh").remove(0);
        assert!(variables.contains(ADDRESS), "{variables}");
        let commands = blocks(section_of("### ", section), "sh").concat();
        let script = format!(
            "set -eu\nPATH=\"$PWD/bin:$PATH\"\n{}\n{commands}",
            variables.replace(ADDRESS, &url)
        );
        let ended = output_of(
            Command::new("sh").args(["-c", &script]).current_dir(Path::new(self.place.path())),
        );
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(ended.status.success(), "{script}\n{}", text(&ended.stderr));
        text(&ended.stdout)
    }

    /// The number of tokens of an order.
    fn orders(&self, order: &str) -> usize {
        let path = format!("/v2/tokens?metadata%5Border%5D={order}");
        let page = self.vault.send(&get(&path).key(&self.vault.keys.private));
        page.with_status(200).json["data"].as_array().unwrap().len()
    }
}

/// False if the probe fails: the programs are not installed here, and need not be.
pub(crate) fn can_run(probe: &str) -> bool {
    let has_it = output_of(Command::new("sh").args(["-c", probe])).status.success();
    if !has_it {
        let is_required = std::env::var_os("STRONGROOM_CLIENTS_REQUIRED").is_some();
        assert!(!is_required, "{probe} fails: tests/clients/install");
        eprintln!("skipped: {probe} fails");
    }
    has_it
}

/// The text below a heading, up to the next heading of its level or a higher one.
fn section_of(level: &str, title: &str) -> &'static str {
    let (_, text) = README.split_once(&format!("\n{level}{title}\n")).unwrap();
    let end = ["\n## ", &format!("\n{level}")].iter().filter_map(|it| text.find(*it)).min();
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

fn block(section: &str, language: &str) -> String {
    blocks(section_of("### ", section), language).remove(0)
}

fn blocks(section: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let opened = section.split(&fence).skip(1);
    opened.map(|rest| String::from(rest.split("```").next().unwrap_or_default())).collect()
}

/// The program and its tests, before anything else.
#[test]
fn the_readme_begins_with_two_commands() {
    let first = blocks(README, "sh").remove(0);
    assert_eq!(first, "cargo run -- dev\ncargo test\n");
    assert!(!README.split(&first).next().unwrap_or_default().contains("\n## "));
}
