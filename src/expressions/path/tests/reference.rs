//! Paths compared with an implementation of RFC 9535 in Python, on generated queries and documents.
//!
//! `tests/clients/jsonpath/cases.py` generates the cases, the same ones in every run.
//! `STRONGROOM_JSONPATH_SEED` and `STRONGROOM_JSONPATH_CASES` select others and more.
//!
//! [`is_by_design`] and the test below it have the intended differences.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::expressions::path::JsonPath;
use crate::expressions::tests::budget;

const SEED: &str = "1";
const CASES: &str = "3000";

/// The output of the generator; `None` if the published clients are not installed.
fn cases() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join("target/clients/python/bin/python");
    let module = "import jsonpath_rfc9535";
    let is_there = Command::new(&python).args(["-c", module]).output();
    if !is_there.is_ok_and(|it| it.status.success()) {
        let is_required = std::env::var_os("STRONGROOM_CLIENTS_REQUIRED").is_some();
        assert!(!is_required, "the published clients are not installed: tests/clients/install");
        return None;
    }
    let chosen = |name: &str, usual: &str| {
        std::env::var_os(name).map_or_else(|| usual.to_owned(), |it| it.into_string().unwrap())
    };
    let mut command = Command::new(python);
    command.arg(root.join("tests/clients/jsonpath/cases.py"));
    command.arg(chosen("STRONGROOM_JSONPATH_SEED", SEED));
    command.arg(chosen("STRONGROOM_JSONPATH_CASES", CASES));
    let made = command.env("PYTHONIOENCODING", "utf-8").output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(String::from_utf8(made.stdout).unwrap())
}

#[test]
fn generated_paths_select_what_an_implementation_of_rfc_9535_selects() {
    let Some(cases) = cases() else {
        println!("skipped: the published clients are not installed (run tests/clients/install)");
        return;
    };
    let (mut valid, mut selected, mut by_design) = (0, 0, 0);
    let mut wrong = Vec::new();
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let (query, document) =
            (case["query"].as_str().unwrap(), case["document"].as_str().unwrap());
        let found = found(query, document);
        let expected = case["nodes"].clone();
        valid += usize::from(!expected.is_null());
        selected += usize::from(expected.as_array().is_some_and(|nodes| !nodes.is_empty()));
        if found != expected {
            if is_by_design(query, &found, &expected) {
                by_design += 1;
            } else {
                wrong.push(format!("{query:?} on {document}\n  ours {found}\n  RFC  {expected}"));
            }
        }
    }
    let count = cases.lines().count();
    assert!(count >= 2_000 && valid > count / 3 && selected > count / 10, "{valid} {selected}");
    assert!(by_design < count / 20, "{by_design} differences");
    let shown = wrong.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{shown}", wrong.len());
}

/// The locations of the selected values, or null for a path that is refused.
fn found(query: &str, document: &str) -> Value {
    let document: Value = serde_json::from_str(document).unwrap();
    let Some(path) = JsonPath::parse(query) else { return Value::Null };
    let mut places = HashMap::new();
    note_places(&document, &mut Vec::new(), &mut places);
    let nodes = path.nodes(&document, &budget()).unwrap();
    nodes.into_iter().map(|node| json!(places[&std::ptr::from_ref(node)])).collect()
}

fn note_places(value: &Value, at: &mut Vec<Value>, places: &mut HashMap<*const Value, Vec<Value>>) {
    places.insert(value, at.clone());
    let mut note = |step: Value, value: &Value| {
        at.push(step);
        note_places(value, at, places);
        at.pop();
    };
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(i, it)| note(json!(i), it)),
        Value::Object(members) => members.iter().for_each(|(name, it)| note(json!(name), it)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

/// We accept two forms that the RFC refuses: spaces around a path, and a hyphen in a name without
/// quotes. We refuse a malformed pattern, which the RFC lets match nothing.
fn is_by_design(query: &str, found: &Value, expected: &Value) -> bool {
    let is_taken = expected.is_null() && !found.is_null();
    let is_refused = found.is_null() && !expected.is_null();
    let has_hyphen = query.split(['.', ' ', '[', ']', '(', ')']).any(|part| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_') && part.contains('-')
    });
    (is_taken && (query.trim() != query || has_hyphen))
        || (is_refused && (query.contains("match") || query.contains("search")))
}

#[test]
fn the_differences_from_the_rfc_are_these() {
    let document = r#"{"a": "x", "first-name": 1, "b": ["xx"]}"#;
    let check =
        |query: &str, expected: Value| assert_eq!(found(query, document), expected, "{query}");
    // The RFC refuses these.
    check(" $.a ", json!([["a"]]));
    check("$.first-name", json!([["first-name"]]));
    // The RFC accepts these: a malformed pattern matches nothing, and there are no bounds.
    check("$.b[?match(@, '[')]", Value::Null);
    check("$.b[?search(@, 'x{2,1}')]", Value::Null);
    check(&format!("${}", ".a".repeat(crate::bounds::JSON_PATH_PARTS_MAX + 1)), Value::Null);
    let deep = crate::bounds::JSON_PATH_DEPTH_MAX + 1;
    check(&format!("$[?{}@.a{}]", "(".repeat(deep), ")".repeat(deep)), Value::Null);
    check("$.b[?match(@, 'x{2}')]", json!([["b", 0]]));
    // The RFC has four blanks; any other one is part of a name.
    check("$.a\u{a0}", json!([]));
    check("$\u{a0}.a", Value::Null);
}
