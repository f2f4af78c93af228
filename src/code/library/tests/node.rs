//! Node's own answers: a list of expressions that Node has evaluated comes to the same in the
//! engine. `node/make_answers.js` wrote the answers.

use serde_json::{Value, json};

use crate::code::library::tests::host::{Call, run};

const EXPRESSIONS: &str = include_str!("node/expressions.txt");
const ANSWERS: &str = include_str!("node/answers.txt");
const KEYS: &str = include_str!("node/keys.json");
const EVALUATE: &str = include_str!("node/evaluate.js");

#[test]
fn expressions_have_the_values_that_node_gives_them() {
    let lines: Vec<&str> = EXPRESSIONS.lines().collect();
    let expected: Vec<&str> = ANSWERS.lines().collect();
    assert_eq!(lines.len(), expected.len());
    let keys: Value = serde_json::from_str(KEYS).unwrap();
    let evaluate = EVALUATE.replace("module.exports =", "const evaluate =");
    let main = "module.exports = ({ args }) => evaluate(args.lines, args.keys, require('crypto'));";
    let call = Call {
        code: format!("{evaluate}\n{main}"),
        argument: json!({"args": {"lines": lines, "keys": keys}}).to_string(),
        ..Call::default()
    };
    let outcome: Value = serde_json::from_str(&run(&call).outcome).unwrap();
    let found = outcome["value"].as_array().unwrap_or_else(|| panic!("{outcome}"));
    let wrong: Vec<String> = lines
        .iter()
        .zip(&expected)
        .zip(found)
        .filter(|((_, expected), found)| found.as_str() != Some(expected))
        .map(|((line, expected), found)| format!("{line}\n    {expected}\n    {found}"))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
