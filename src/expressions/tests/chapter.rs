//! The table of filters in the chapter about expressions.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::expressions::filters;

const CHAPTER: &str = include_str!("../../http/front/chapters/expressions.md");

/// The cells of a row: name, arguments, meaning, `data`, example and result.
fn rows() -> Vec<Vec<String>> {
    let (_, section) = CHAPTER.split_once("\n## Filters\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let cells = |line: &str| -> Vec<String> {
        let line = line.trim_matches('|').replace("\\|", "\u{1}");
        line.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
    };
    section.lines().filter(|line| line.starts_with("| `")).map(cells).collect()
}

fn code(cell: &str) -> &str {
    cell.strip_prefix('`').and_then(|it| it.strip_suffix('`')).unwrap_or_else(|| panic!("{cell}"))
}

#[test]
fn the_chapter_has_every_filter_with_its_arguments_and_no_other() {
    let listed: BTreeMap<_, _> =
        rows().iter().map(|row| (String::from(code(&row[0])), row[1].clone())).collect();
    let expected: BTreeMap<_, _> = filters::names()
        .map(|name| (String::from(name), filters::find(name).unwrap().arguments()))
        .collect();
    assert_eq!(listed, expected);
    assert_eq!(rows().len(), listed.len(), "a filter has two rows");
}

#[test]
fn every_example_of_the_chapter_gives_the_printed_result() {
    for row in rows() {
        let [name, _, _, data, example, result] = row.as_slice() else { panic!("{row:?}") };
        let (name, example) = (code(name), code(example));
        assert!(example == name || example.starts_with(&format!("{name}:")), "{example}");
        let data = json_of(data);
        let found = evaluate(&format!("{{{{ data | {example} }}}}"), &data).unwrap();
        match result.strip_prefix("such as ") {
            Some(shown) => {
                assert!(name.starts_with("alias_"), "{row:?}");
                assert!(is_alike(&data, &json_of(shown), &found), "{found}: {row:?}");
            }
            None => assert_eq!(found, json_of(result), "{row:?}"),
        }
    }
}

fn json_of(cell: &str) -> Value {
    serde_json::from_str(code(cell)).unwrap_or_else(|why| panic!("{cell}: {why}"))
}

/// True if an alias has the length of the printed one and keeps the same characters of the data.
fn is_alike(data: &Value, shown: &Value, found: &Value) -> bool {
    let [data, shown, found] =
        [data, shown, found].map(|it| it.as_str().unwrap().chars().collect::<Vec<_>>());
    let is_kept = |at: usize| shown[at] != data[at] || found[at] == data[at];
    shown.len() == found.len() && shown != data && found != data && (0..data.len()).all(is_kept)
}

#[test]
fn wrong_arguments_are_answered_with_those_that_the_filter_takes() {
    let check = |filters: &str, expected: &str| {
        let text = format!("{{{{ data | {filters} }}}}");
        let wrong = Template::parse(&text).unwrap_err();
        assert_eq!(wrong.to_string(), expected, "{text}");
    };
    check(
        "pad_left: 6",
        "the filter takes another number of arguments at byte 10; pad_left takes: length, character",
    );
    check(
        "upcase: 1",
        "the filter takes another number of arguments at byte 10; upcase takes: none",
    );
    check(
        "default",
        "the filter takes another number of arguments at byte 10; default takes: value, \
         [allow_false: flag]",
    );
    check(
        "reveal: 'x'",
        "the filter does not take this argument at byte 18; reveal takes: [length], [length], \
         [character], [separators]",
    );
    check("nothing", "the filter is unknown at byte 10");
    assert_eq!(evaluate("{{ data | upcase }}", &json!("a")), Ok(json!("A")));
}
