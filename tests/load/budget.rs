//! A test that a get and a create of a card take no more instructions and allocations than the numbers in `counts.txt`, and
//! a tenth. It counts those of the test build, which vary by about a hundredth from run to run.

use crate::Outcome;
use crate::counts::{Counts, LOADS, Threads, is_installed, vault_under_callgrind};
use crate::proc::Scratch;
use std::fmt::Write as _;
use std::path::Path;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/load/counts.txt");
const HEAD: &str = "# Counts of a request of the test build. STRONGROOM_RENEW=1 cargo test --bench load renews them.\n";
const REQUESTS: usize = 100;
const GROWTH_MAX: f64 = 1.1;

pub(crate) fn check() -> Outcome<()> {
    if !is_installed("valgrind") {
        if std::env::var_os("STRONGROOM_COUNTS_REQUIRED").is_some() {
            return Err("valgrind is not installed".into());
        }
        println!("load: counts of a request skipped, since valgrind is not installed");
        return Ok(());
    }
    let binary = Path::new(env!("CARGO_BIN_EXE_strongroom"));
    let scratch = Scratch::new()?;
    let counts = vault_under_callgrind(binary, REQUESTS, Threads::WithoutMerger, &scratch)?;
    let text = render(&counts);
    print!("counts of a request:\n{text}");
    if std::env::var_os("STRONGROOM_RENEW").is_some() {
        return Ok(std::fs::write(FILE, format!("{HEAD}{text}"))?);
    }
    compare(&std::fs::read_to_string(FILE)?, &text)
}

fn render(counts: &[Counts]) -> String {
    let mut text = String::new();
    for ((load, _), Counts { instructions, allocations, .. }) in LOADS.iter().zip(counts) {
        for (name, count) in [("instructions", instructions), ("allocations", allocations)] {
            let count = count.unwrap_or_default();
            writeln!(text, "{load} {name} {count:.0}").expect("a text takes everything");
        }
    }
    text
}

/// Both have a line for each number. Instructions of other processors than the file's are not compared.
pub(crate) fn compare(expected: &str, counted: &str) -> Outcome<()> {
    let mut grown = Vec::new();
    let number = |line: &str| line.rsplit(' ').next().and_then(|number| number.parse::<f64>().ok());
    let expected = expected.lines().filter(|line| !line.starts_with('#'));
    for (before, now) in expected.zip(counted.lines()) {
        let is_compared = cfg!(target_arch = "x86_64") || before.contains("allocations");
        let (was, is) = number(before).zip(number(now)).ok_or("counts.txt is not understood")?;
        if is_compared && is > was * GROWTH_MAX {
            grown.push(format!("{before} has grown to {is}"));
        }
    }
    if grown.is_empty() {
        return Ok(());
    }
    let grown = grown.join("\n");
    Err(format!("{grown}\nIf the work is needed: STRONGROOM_RENEW=1 cargo test --bench load")
        .into())
}
