mod cards;
mod defaults;
mod numbers;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::domain::any_json::any_json;
use crate::domain::mistakes::Mistakes;
use crate::domain::token_type::check::WRONG_TYPE;
use crate::domain::token_type::{TestNumbers, TokenType};

#[track_caller]
fn check_taken(token_type: TokenType, data: &Value) {
    assert_eq!(token_type.check(data, TestNumbers::Refused), Ok(()), "{data}");
}

/// Checks the paths, and a word of each first message.
#[track_caller]
fn check_refused(token_type: TokenType, data: &Value, expected: &[(&str, &str)]) {
    let mistakes = token_type.check(data, TestNumbers::Refused).unwrap_err();
    let found: Vec<&str> = mistakes.by_path().keys().map(String::as_str).collect();
    let paths: Vec<&str> = expected.iter().map(|(path, _)| *path).collect();
    assert_eq!(found, paths, "{data}");
    for (path, words) in expected {
        let messages = &mistakes.by_path()[*path];
        assert!(messages.len() == 1 && messages[0].contains(words), "{path}: {messages:?}");
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    check_refused(
        TokenType::Card,
        &json!({ "expiration_month": 0, "expiration_year": "x", "cvc": "1" }),
        &[
            ("data.cvc", "digits"),
            ("data.expiration_month", "1 to 12"),
            ("data.expiration_year", WRONG_TYPE),
            ("data.number", "required"),
        ],
    );
    check_refused(
        TokenType::Bank,
        &json!({ "routing_number": "021000022", "account_number": "" }),
        &[("data.account_number", "1 to 17"), ("data.routing_number", "checksum")],
    );
}

#[test]
fn a_token_takes_anything_but_nothing() {
    for data in [json!(1), json!(false), json!(""), json!([]), json!({}), json!({ "a": null })] {
        check_taken(TokenType::Token, &data);
    }
    check_refused(TokenType::Token, &Value::Null, &[("data", "required")]);
}

#[track_caller]
fn check_normal(token_type: TokenType, mut data: Value, expected: &Value) {
    token_type.normalize(&mut data);
    assert_eq!(&data, expected);
}

#[test]
fn a_cvc_that_came_as_a_number_becomes_text() {
    for token_type in [TokenType::Card, TokenType::NetworkToken] {
        check_normal(token_type, json!({ "cvc": 123, "n": 1 }), &json!({ "cvc": "123", "n": 1 }));
        check_normal(token_type, json!({ "cvc": "012" }), &json!({ "cvc": "012" }));
        check_normal(token_type, json!({ "cvc": null }), &json!({ "cvc": null }));
        check_normal(token_type, json!("cvc"), &json!("cvc"));
    }
    check_normal(TokenType::Token, json!({ "cvc": 123 }), &json!({ "cvc": 123 }));
}

/// Any JSON, with the members of the types among its names.
fn data() -> impl Strategy<Value = Value> {
    any_json("number|expiration_month|expiration_year|cvc|routing_number|account_number|\\PC{0,8}")
}

/// Every text of a value that is long enough to be recognised in a message.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(members) => members.values().for_each(|item| texts(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn messages(mistakes: &Mistakes) -> String {
    mistakes.by_path().values().flatten().map(String::as_str).collect()
}

proptest! {
    #[test]
    fn checking_never_panics_and_never_repeats_the_data(data in data()) {
        let mut values = Vec::new();
        texts(&data, &mut values);
        for token_type in TokenType::ALL {
            for numbers in [TestNumbers::Refused, TestNumbers::Taken] {
                if let Err(mistakes) = token_type.check(&data, numbers) {
                    prop_assert!(!mistakes.is_empty());
                    let said = messages(&mistakes);
                    for value in values.iter().filter(|value| value.len() > 5) {
                        prop_assert!(!said.contains(value.as_str()));
                    }
                }
            }
        }
    }

    #[test]
    fn what_was_normalized_is_still_right_and_normal(cvc in 100u64..=9999) {
        let mut data = json!({ "number": "4242424242424242", "cvc": cvc });
        TokenType::Card.normalize(&mut data);
        prop_assert_eq!(TokenType::Card.check(&data, TestNumbers::Refused), Ok(()));
        let once = data.clone();
        TokenType::Card.normalize(&mut data);
        prop_assert_eq!(data, once);
    }
}
