use proptest::prelude::*;
use serde_json::{Value, json};

use crate::domain::mistakes::Mistakes;
use crate::domain::token_type::check::WRONG_TYPE;
use crate::domain::token_type::{TestNumbers, TokenType};

#[track_caller]
fn check_taken(token_type: TokenType, data: Value) {
    assert_eq!(
        token_type.check(&data, TestNumbers::Refused),
        Ok(()),
        "{data}"
    );
}

/// The paths, and a word of each first message.
#[track_caller]
fn check_refused(token_type: TokenType, data: Value, expected: &[(&str, &str)]) {
    let mistakes = token_type.check(&data, TestNumbers::Refused).unwrap_err();
    let found: Vec<&str> = mistakes.by_path().keys().map(String::as_str).collect();
    let paths: Vec<&str> = expected.iter().map(|(path, _)| *path).collect();
    assert_eq!(found, paths, "{data}");
    for (path, words) in expected {
        let messages = &mistakes.by_path()[*path];
        assert!(
            messages.len() == 1 && messages[0].contains(words),
            "{path}: {messages:?}"
        );
    }
}

#[test]
fn names_are_read_back_and_nothing_else_is() {
    for token_type in TokenType::ALL {
        assert_eq!(TokenType::parse(token_type.as_str()), Some(token_type));
    }
    for text in ["", "Card", "card ", "cards", "token_intent"] {
        assert_eq!(TokenType::parse(text), None);
    }
}

#[track_caller]
fn check_defaults(
    token_type: TokenType,
    container: &str,
    fingerprint: &str,
    mask: Option<Value>,
    search_indexes: usize,
) {
    assert_eq!(token_type.default_container(), container);
    assert_eq!(token_type.default_fingerprint_expression(), fingerprint);
    let own = token_type
        .default_mask()
        .map(|text| serde_json::from_str(text).unwrap());
    assert_eq!(own, mask);
    assert_eq!(token_type.default_search_indexes().len(), search_indexes);
}

#[test]
fn the_defaults_are_the_published_ones() {
    let card_mask = json!({
        "number": "{{ data.number | reveal_last: 4 }}",
        "expiration_month": "{{ data.expiration_month }}",
        "expiration_year": "{{ data.expiration_year }}",
    });
    let bank_mask = json!({
        "routing_number": "{{ data.routing_number }}",
        "account_number": "{{ data.account_number | reveal_last: 4 }}",
    });
    let last = Some(json!("{{ data | reveal_last: 4 }}"));
    check_defaults(
        TokenType::Token,
        "/general/high/",
        "{{ data | stringify }}",
        None,
        0,
    );
    check_defaults(
        TokenType::Card,
        "/pci/high/",
        "{{ data.number }}",
        Some(card_mask.clone()),
        0,
    );
    check_defaults(
        TokenType::NetworkToken,
        "/pci/high/",
        "{{ data.number }}",
        Some(card_mask),
        0,
    );
    check_defaults(
        TokenType::Bank,
        "/bank/high/",
        "{{ data.account_number }}|{{ data.routing_number }}",
        Some(bank_mask),
        0,
    );
    check_defaults(
        TokenType::CardNumber,
        "/pci/high/",
        "{{ data }}",
        last.clone(),
        0,
    );
    check_defaults(
        TokenType::UsBankAccountNumber,
        "/bank/high/",
        "{{ data }}",
        last.clone(),
        0,
    );
    check_defaults(
        TokenType::UsBankRoutingNumber,
        "/bank/low/",
        "{{ data }}",
        last.clone(),
        0,
    );
    let without_hyphens = "{{ data | remove: '-' }}";
    let last = || Some(json!("{{ data | reveal_last: 4 }}"));
    check_defaults(
        TokenType::SocialSecurityNumber,
        "/pii/high/",
        without_hyphens,
        last(),
        3,
    );
    check_defaults(
        TokenType::EmployerIdNumber,
        "/pii/high/",
        without_hyphens,
        last(),
        3,
    );
    assert_eq!(
        TokenType::EmployerIdNumber.default_search_indexes(),
        [
            "{{ data }}",
            "{{ data | replace: '-' }}",
            "{{ data | last4 }}"
        ]
    );
}

#[test]
fn cards_that_are_taken() {
    check_taken(TokenType::Card, json!({ "number": "4242424242424242" }));
    check_taken(
        TokenType::Card,
        json!({
            "number": "4242424242424242", "expiration_month": 12, "expiration_year": 2025, "cvc": "123",
        }),
    );
    // An expiry long past, a code of four digits, and leading zeros.
    check_taken(
        TokenType::Card,
        json!({
            "number": "378282246310005", "expiration_month": 1, "expiration_year": 1999, "cvc": "0012",
        }),
    );
    check_taken(
        TokenType::Card,
        json!({ "number": "4222222222222", "cvc": 123 }),
    );
    check_taken(
        TokenType::Card,
        json!({ "number": "5589092000000000006", "cvc": 9999 }),
    );
    check_taken(
        TokenType::Card,
        json!({
            "number": "4242424242424242", "expiration_month": null, "expiration_year": null,
            "cvc": null, "holder": { "name": "Ann" }, "tags": [1, 2],
        }),
    );
}

#[test]
fn cards_that_are_refused() {
    for data in [json!("4242424242424242"), json!(4), json!([]), json!(true)] {
        check_refused(TokenType::Card, data, &[("data", WRONG_TYPE)]);
    }
    check_refused(TokenType::Card, Value::Null, &[("data", "required")]);
    check_refused(TokenType::Card, json!({}), &[("data.number", "required")]);
    check_refused(
        TokenType::Card,
        json!({ "number": null }),
        &[("data.number", "required")],
    );
    check_refused(
        TokenType::Card,
        json!({ "number": 4242424242424242u64 }),
        &[("data.number", WRONG_TYPE)],
    );
    for number in [
        "",
        "424242424242",
        "42424242424242424242",
        "4242 4242 4242 4242",
        "4242-4242-4242-4242",
        "424242424242424x",
        "\u{664}242424242424242",
    ] {
        check_refused(
            TokenType::Card,
            json!({ "number": number }),
            &[("data.number", "13 to 19")],
        );
    }
    check_refused(
        TokenType::Card,
        json!({ "number": "4242424242424241" }),
        &[("data.number", "check digit")],
    );
}

/// A card with one more member.
#[track_caller]
fn check_member(name: &str, value: Value, words: &str) {
    for (token_type, number) in [
        (TokenType::Card, "4242424242424242"),
        (TokenType::NetworkToken, "4242424242424241"),
    ] {
        let mut data = json!({ "number": number });
        data[name] = value.clone();
        check_refused(token_type, data, &[(&format!("data.{name}"), words)]);
    }
}

#[test]
fn members_of_cards_that_are_refused() {
    for value in [
        json!(0),
        json!(13),
        json!(-1),
        json!(u64::MAX),
        json!(i64::MIN),
    ] {
        check_member("expiration_month", value, "1 to 12");
    }
    for value in [json!(25), json!(999), json!(10_000), json!(-2025)] {
        check_member("expiration_year", value, "four digits");
    }
    for value in [
        json!("12"),
        json!(1.0),
        json!(1.5),
        json!(true),
        json!([]),
        json!({}),
    ] {
        check_member("expiration_month", value.clone(), WRONG_TYPE);
        check_member("expiration_year", value, WRONG_TYPE);
    }
    for value in [
        json!(""),
        json!("12"),
        json!("12345"),
        json!("12a"),
        json!(" 123"),
    ] {
        check_member("cvc", value, "3 or 4 digits.");
    }
    for value in [json!(0), json!(99), json!(10_000), json!(u64::MAX)] {
        check_member("cvc", value, "as text");
    }
    for value in [json!(-123), json!(123.0), json!(true), json!([]), json!({})] {
        check_member("cvc", value, WRONG_TYPE);
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    check_refused(
        TokenType::Card,
        json!({ "expiration_month": 0, "expiration_year": "2030", "cvc": "1" }),
        &[
            ("data.cvc", "digits"),
            ("data.expiration_month", "1 to 12"),
            ("data.expiration_year", WRONG_TYPE),
            ("data.number", "required"),
        ],
    );
    check_refused(
        TokenType::Bank,
        json!({ "routing_number": "021000022", "account_number": "" }),
        &[
            ("data.account_number", "1 to 17"),
            ("data.routing_number", "checksum"),
        ],
    );
}

#[test]
fn a_test_tenant_takes_documented_numbers_with_a_wrong_check_digit() {
    let documented = (2..=17).map(|n| format!("42000000000000{n:02}"));
    for number in documented.chain(["6011601160116011", "4100000000000003"].map(String::from)) {
        for (token_type, data) in [
            (TokenType::Card, json!({ "number": number })),
            (TokenType::CardNumber, json!(number)),
        ] {
            assert_eq!(token_type.check(&data, TestNumbers::Taken), Ok(()));
            assert!(token_type.check(&data, TestNumbers::Refused).is_err());
        }
    }
    for number in ["4200000000000001", "4242424242424241", "6011601160116012"] {
        assert!(
            TokenType::CardNumber
                .check(&json!(number), TestNumbers::Taken)
                .is_err()
        );
    }
}

#[test]
fn a_network_token_needs_no_check_digit() {
    check_taken(
        TokenType::NetworkToken,
        json!({ "number": "4242424242424241" }),
    );
    check_refused(
        TokenType::NetworkToken,
        json!({ "number": "4242" }),
        &[("data.number", "13 to 19")],
    );
    check_refused(
        TokenType::NetworkToken,
        json!({}),
        &[("data.number", "required")],
    );
}

#[test]
fn card_numbers() {
    check_taken(TokenType::CardNumber, json!("4242424242424242"));
    check_taken(TokenType::CardNumber, json!("36227206271667"));
    check_refused(
        TokenType::CardNumber,
        json!("4242424242424241"),
        &[("data", "check digit")],
    );
    check_refused(
        TokenType::CardNumber,
        json!("4242-4242"),
        &[("data", "13 to 19")],
    );
    check_refused(
        TokenType::CardNumber,
        json!(4242424242424242u64),
        &[("data", WRONG_TYPE)],
    );
    check_refused(
        TokenType::CardNumber,
        json!({ "number": "4242424242424242" }),
        &[("data", WRONG_TYPE)],
    );
}

#[test]
fn bank_data() {
    check_taken(
        TokenType::Bank,
        json!({ "routing_number": "021000021", "account_number": "00001" }),
    );
    check_taken(
        TokenType::Bank,
        json!({ "routing_number": "021000021", "account_number": "1" }),
    );
    check_taken(
        TokenType::Bank,
        json!({ "routing_number": "021000021", "account_number": "12345678901234567", "holder": "Ann" }),
    );
    check_refused(TokenType::Bank, json!("021000021"), &[("data", WRONG_TYPE)]);
    check_refused(
        TokenType::Bank,
        json!({}),
        &[
            ("data.account_number", "required"),
            ("data.routing_number", "required"),
        ],
    );
    check_refused(
        TokenType::Bank,
        json!({ "routing_number": 21000021, "account_number": 1 }),
        &[
            ("data.account_number", WRONG_TYPE),
            ("data.routing_number", WRONG_TYPE),
        ],
    );
    check_refused(
        TokenType::Bank,
        json!({ "routing_number": "21000021", "account_number": "123456789012345678" }),
        &[
            ("data.account_number", "1 to 17"),
            ("data.routing_number", "9 digits"),
        ],
    );
}

#[test]
fn bank_numbers() {
    check_taken(TokenType::UsBankAccountNumber, json!("123"));
    check_taken(TokenType::UsBankAccountNumber, json!("12345678901234567"));
    for text in ["", "12", "123456789012345678", "12a", "1 2 3"] {
        check_refused(
            TokenType::UsBankAccountNumber,
            json!(text),
            &[("data", "3 to 17")],
        );
    }
    check_refused(
        TokenType::UsBankAccountNumber,
        json!(1234),
        &[("data", WRONG_TYPE)],
    );
    check_taken(TokenType::UsBankRoutingNumber, json!("110000000"));
    check_refused(
        TokenType::UsBankRoutingNumber,
        json!("110000001"),
        &[("data", "checksum")],
    );
    check_refused(
        TokenType::UsBankRoutingNumber,
        json!("11000000"),
        &[("data", "9 digits")],
    );
    check_refused(
        TokenType::UsBankRoutingNumber,
        json!([]),
        &[("data", WRONG_TYPE)],
    );
}

#[test]
fn numbers_of_persons_and_employers() {
    for token_type in [TokenType::SocialSecurityNumber, TokenType::EmployerIdNumber] {
        for text in [
            "123456789",
            "123-45-6789",
            "12-3456789",
            "1-2-3-4-5-6-7-8-9",
        ] {
            check_taken(token_type, json!(text));
        }
        for text in [
            "",
            "-",
            "12345678",
            "1234567890",
            "123--456789",
            "-123456789",
            "123456789-",
        ] {
            check_refused(token_type, json!(text), &[("data", "9 digits")]);
        }
        for text in ["123 45 6789", "12345678a", "123456789\n"] {
            check_refused(token_type, json!(text), &[("data", "9 digits")]);
        }
        check_refused(token_type, json!(123456789), &[("data", WRONG_TYPE)]);
    }
}

#[test]
fn a_token_takes_anything_but_nothing() {
    for data in [
        json!(1),
        json!(false),
        json!(""),
        json!([]),
        json!({}),
        json!({ "a": null }),
    ] {
        check_taken(TokenType::Token, data);
    }
    check_refused(TokenType::Token, Value::Null, &[("data", "required")]);
}

#[track_caller]
fn check_normal(token_type: TokenType, mut data: Value, expected: Value) {
    token_type.normalize(&mut data);
    assert_eq!(data, expected);
}

#[test]
fn a_cvc_that_came_as_a_number_becomes_text() {
    for token_type in [TokenType::Card, TokenType::NetworkToken] {
        check_normal(
            token_type,
            json!({ "cvc": 123, "n": 1 }),
            json!({ "cvc": "123", "n": 1 }),
        );
        check_normal(token_type, json!({ "cvc": "012" }), json!({ "cvc": "012" }));
        check_normal(token_type, json!({ "cvc": null }), json!({ "cvc": null }));
        check_normal(token_type, json!("cvc"), json!("cvc"));
    }
    check_normal(
        TokenType::Token,
        json!({ "cvc": 123 }),
        json!({ "cvc": 123 }),
    );
}

/// Any JSON, with the members of the types among its names and near misses among its texts.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,20}".prop_map(Value::from),
        "[0-9-]{0,20}".prop_map(Value::from),
    ];
    let name = prop_oneof![
        Just("number".to_owned()),
        Just("expiration_month".to_owned()),
        Just("expiration_year".to_owned()),
        Just("cvc".to_owned()),
        Just("routing_number".to_owned()),
        Just("account_number".to_owned()),
        "\\PC{0,8}",
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(name.clone(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
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
    mistakes
        .by_path()
        .values()
        .flatten()
        .map(String::as_str)
        .collect()
}

proptest! {
    #[test]
    fn checking_never_panics_and_never_repeats_the_data(data in any_json()) {
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

    #[test]
    fn normalizing_never_panics(mut data in any_json()) {
        for token_type in TokenType::ALL {
            token_type.normalize(&mut data);
        }
    }
}
