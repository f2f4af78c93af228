use serde_json::{Value, json};

use crate::domain::token_type::check::WRONG_TYPE;
use crate::domain::token_type::tests::{check_refused, check_taken};
use crate::domain::token_type::{TestNumbers, TokenType};

#[test]
fn cards_that_are_taken() {
    check_taken(TokenType::Card, &json!({ "number": "4242424242424242" }));
    check_taken(
        TokenType::Card,
        &json!({
            "number": "4242424242424242", "expiration_month": 12, "expiration_year": 2025, "cvc": "123",
        }),
    );
    // An expiry long past, a code of four digits, and leading zeros.
    check_taken(
        TokenType::Card,
        &json!({
            "number": "378282246310005", "expiration_month": 1, "expiration_year": 1999, "cvc": "0012",
        }),
    );
    // Text and fractions of zeros, as forms and languages without integers send them.
    for (month, year) in
        [(json!("3"), json!("2030")), (json!("03"), json!(2030)), (json!(12.0), json!(2030.0))]
    {
        let data = json!({
            "number": "4242424242424242", "expiration_month": month, "expiration_year": year,
        });
        check_taken(TokenType::Card, &data);
        check_taken(TokenType::NetworkToken, &data);
    }
    check_taken(TokenType::Card, &json!({ "number": "4222222222222", "cvc": 123 }));
    check_taken(TokenType::Card, &json!({ "number": "5589092000000000006", "cvc": 9999 }));
    check_taken(
        TokenType::Card,
        &json!({
            "number": "4242424242424242", "expiration_month": null, "expiration_year": null,
            "cvc": null, "holder": { "name": "Ann" }, "tags": [1, 2],
        }),
    );
}

#[test]
fn cards_that_are_refused() {
    for data in [json!("4242424242424242"), json!(4), json!([]), json!(true)] {
        check_refused(TokenType::Card, &data, &[("data", WRONG_TYPE)]);
    }
    check_refused(TokenType::Card, &Value::Null, &[("data", "required")]);
    check_refused(TokenType::Card, &json!({}), &[("data.number", "required")]);
    let refused = |number: Value, words| {
        check_refused(TokenType::Card, &json!({ "number": number }), &[("data.number", words)]);
    };
    refused(Value::Null, "required");
    refused(json!(4_242_424_242_424_242_u64), WRONG_TYPE);
    for number in [
        "",
        "424242424242",
        "42424242424242424242",
        "4242 4242 4242 4242",
        "4242-4242-4242-4242",
        "424242424242424x",
        "\u{664}242424242424242",
    ] {
        refused(json!(number), "13 to 19");
    }
    refused(json!("4242424242424241"), "check digit");
}

#[track_caller]
fn check_member(name: &str, value: &Value, words: &str) {
    for (token_type, number) in
        [(TokenType::Card, "4242424242424242"), (TokenType::NetworkToken, "4242424242424241")]
    {
        let mut data = json!({ "number": number });
        data[name] = value.clone();
        check_refused(token_type, &data, &[(&format!("data.{name}"), words)]);
    }
}

#[test]
fn members_of_cards_that_are_refused() {
    let huge = [json!(u64::MAX), json!(i64::MIN)];
    for value in [json!(0), json!(13), json!(-1), json!("13"), json!("003")].iter().chain(&huge) {
        check_member("expiration_month", value, "1 to 12");
    }
    for value in [json!(25), json!(999), json!(10_000), json!(-2025), json!("30"), json!("02030")] {
        check_member("expiration_year", &value, "four digits");
    }
    for value in [
        json!("1x"),
        json!(""),
        json!(" 12"),
        json!("12.0"),
        json!(1.5),
        json!(true),
        json!([]),
        json!({}),
    ] {
        check_member("expiration_month", &value, WRONG_TYPE);
        check_member("expiration_year", &value, WRONG_TYPE);
    }
    for value in [json!(""), json!("12"), json!("12345"), json!("12a"), json!(" 123")] {
        check_member("cvc", &value, "3 or 4 digits.");
    }
    for value in [json!(0), json!(99), json!(10_000), json!(u64::MAX)] {
        check_member("cvc", &value, "as text");
    }
    for value in [json!(-123), json!(123.0), json!(true), json!([]), json!({})] {
        check_member("cvc", &value, WRONG_TYPE);
    }
}

#[test]
fn a_test_tenant_takes_documented_numbers_with_a_wrong_check_digit() {
    let documented = (2..=17).map(|n| format!("42000000000000{n:02}"));
    for number in documented.chain(["6011601160116011", "4100000000000003"].map(String::from)) {
        for (token_type, data) in
            [(TokenType::Card, json!({ "number": number })), (TokenType::CardNumber, json!(number))]
        {
            assert_eq!(token_type.check(&data, TestNumbers::Taken), Ok(()));
            assert!(token_type.check(&data, TestNumbers::Refused).is_err());
        }
    }
    for number in ["4200000000000001", "4242424242424241", "6011601160116012"] {
        assert!(TokenType::CardNumber.check(&json!(number), TestNumbers::Taken).is_err());
    }
}

#[test]
fn a_network_token_needs_no_check_digit() {
    check_taken(TokenType::NetworkToken, &json!({ "number": "4242424242424241" }));
    check_refused(
        TokenType::NetworkToken,
        &json!({ "number": "4242" }),
        &[("data.number", "13 to 19")],
    );
    check_refused(TokenType::NetworkToken, &json!({}), &[("data.number", "required")]);
}

#[test]
fn card_numbers() {
    check_taken(TokenType::CardNumber, &json!("4242424242424242"));
    check_taken(TokenType::CardNumber, &json!("36227206271667"));
    for (data, words) in [
        (json!("4242424242424241"), "check digit"),
        (json!("4242-4242"), "13 to 19"),
        (json!(4_242_424_242_424_242_u64), WRONG_TYPE),
        (json!({ "number": "4242424242424242" }), WRONG_TYPE),
    ] {
        check_refused(TokenType::CardNumber, &data, &[("data", words)]);
    }
}
