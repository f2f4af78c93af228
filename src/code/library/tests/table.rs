//! The table of programs: one file each, with its argument and its outcome.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::code::library::tests::host::{Call, Run, run};

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/code/library/tests/programs");

/// The header of a program.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) call: Call,
    outcome: Option<Value>,
    requests: Vec<Value>,
    lines: Vec<String>,
}

pub(crate) fn row(text: &str) -> Row {
    let mut row = Row {
        call: Call { code: String::from(text), ..Call::default() },
        outcome: None,
        requests: Vec::new(),
        lines: Vec::new(),
    };
    for line in text.lines().map_while(|line| line.strip_prefix("//:")) {
        let (word, rest) = line.trim().split_once(' ').unwrap();
        let json = || serde_json::from_str(rest).unwrap_or_else(|error| panic!("{word}: {error}"));
        match word {
            "about" => {}
            "answer" => row.call.answers.push(json()),
            "argument" => row.call.argument = String::from(rest),
            "contract" => row.call.contract = String::from(rest),
            "key" => row.call.key = serde_json::from_value(json()).unwrap(),
            "line" => row.lines.push(String::from(rest)),
            "outcome" => row.outcome = Some(json()),
            "package" => {
                let (name, source) = rest.split_once(' ').unwrap();
                row.call.packages.insert(String::from(name), String::from(source));
            }
            "request" => row.requests.push(json()),
            _ => panic!("unknown word {word}"),
        }
    }
    row
}

/// True when everything that is expected is there; further headers of a request are not named.
fn covers(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => expected.iter().all(|(name, value)| {
            found
                .iter()
                .find(|(own, _)| own.eq_ignore_ascii_case(name))
                .is_some_and(|(_, own)| covers(own, value))
        }),
        _ => found == expected,
    }
}

pub(crate) fn complaints(row: &Row, run: &Run) -> Vec<String> {
    let mut found = Vec::new();
    let outcome: Value =
        serde_json::from_str(&run.outcome).unwrap_or_else(|_| Value::String(run.outcome.clone()));
    match &row.outcome {
        Some(expected) if *expected == outcome => {}
        Some(_) | None => found.push(format!("outcome {outcome}")),
    }
    if row.requests.len() != run.requests.len()
        || !row.requests.iter().zip(&run.requests).all(|(expected, found)| covers(found, expected))
    {
        found.extend(run.requests.iter().map(|request| format!("request {request}")));
        if run.requests.is_empty() {
            found.push(String::from("no request"));
        }
    }
    if !row.lines.is_empty() && row.lines != run.lines {
        found.extend(run.lines.iter().map(|line| format!("line {line}")));
    }
    found
}

#[test]
fn every_program_comes_to_the_outcome_in_its_header() {
    let mut failures = Vec::new();
    let mut names: Vec<_> = fs::read_dir(Path::new(PROGRAMS))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "js"))
        .collect();
    names.sort();
    assert!(names.len() > 20, "the programs are missing");
    for path in names {
        let row = row(&fs::read_to_string(&path).unwrap());
        let found = complaints(&row, &run(&row.call));
        if !found.is_empty() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            failures.push(format!("{name}:\n    {}", found.join("\n    ")));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}
