//! The programs of the chapter run as they are printed.

use serde_json::{Value, json};

use crate::code::library::tests::host::{Call, run};

const CHAPTER: &str = include_str!("../../../http/front/chapters/programs.md");

/// The programs in the chapter, in their order.
fn programs() -> Vec<String> {
    let blocks = CHAPTER.split("\n```js\n").skip(1);
    blocks.map(|block| String::from(block.split_once("\n```").unwrap().0)).collect()
}

#[track_caller]
fn check(program: &str, contract: &str, argument: &Value, answers: &[Value], expected: &Value) {
    let call = Call {
        code: String::from(program),
        contract: String::from(contract),
        argument: argument.to_string(),
        answers: answers.to_vec(),
        ..Call::default()
    };
    let outcome: Value = serde_json::from_str(&run(&call).outcome).unwrap();
    assert_eq!(outcome, *expected);
}

#[test]
fn the_programs_of_the_chapter_do_as_it_says() {
    let programs = programs();
    let [sign, soap, choose, tokenize, encrypt] = programs.as_slice() else {
        panic!("{} programs", programs.len())
    };
    check(
        sign,
        "bt",
        &json!({
            "args": {"body": {"a": 1}, "headers": {"Accept": "x"}},
            "configuration": {"SIGNING_KEY": "k"},
        }),
        &[],
        &json!({"kind": "returned", "value": {"body": "{\"a\":1}", "headers": {
            "Accept": "x",
            "X-Signature": "c3a92ff9e274cdcce27a58c15a78ec6dcbbdbd0038a87e7a11baef2028fd8bff",
        }}}),
    );
    let answer = "<e><ResponseCode>00</ResponseCode><Reference>r1</Reference></e>";
    check(
        soap,
        "bt",
        &json!({"args": {"number": "4<2", "amount": 5}, "configuration": {"SERVICE_URL": "https://s.test/"}}),
        &[json!({"body": answer})],
        &json!({"kind": "returned", "value": {"raw": {"approved": true, "reference": "r1"}}}),
    );
    let gateways = json!({
        "args": {"card": {"number": "4242"}, "amount": 5},
        "configuration": {"FIRST_URL": "https://a.test/", "SECOND_URL": "https://b.test/"},
    });
    check(
        choose,
        "bt",
        &gateways,
        &[json!({"status": 503}), json!({"body": {"id": "i"}})],
        &json!({"kind": "returned", "value": {"raw": {"url": "https://b.test/", "id": "i"}}}),
    );
    check(
        choose,
        "bt",
        &gateways,
        &[json!({"status": 402, "body": {"message": "declined"}})],
        &json!({"kind": "threw", "class": {
            "status": 402,
            "title": "Invalid Payment Method",
            "detail": "Invalid Payment Method",
            "errors": {"error": ["declined"]},
        }}),
    );
    check(
        choose,
        "bt",
        &gateways,
        &[json!({"error": "unreachable"}), json!({"status": 500})],
        &json!({"kind": "threw", "class": {
            "status": 503,
            "title": "Service Unavailable",
            "detail": "Service Unavailable",
            "errors": {"error": ["no gateway is available"]},
        }}),
    );
    check(
        tokenize,
        "bt",
        &json!({"args": {"body": {"pan": "4242", "x": 1}, "headers": {"a": "b"}}}),
        &[json!({"status": 201, "body": {"id": "t1"}})],
        &json!({"kind": "returned", "value": {"body": {"pan": "t1", "x": 1}, "headers": {"a": "b"}}}),
    );
    check_encryption(encrypt);
}

#[track_caller]
fn check_encryption(encrypt: &str) {
    let keys: Value = serde_json::from_str(include_str!("node/keys.json")).unwrap();
    check(
        encrypt,
        "node",
        &json!({
            "req": {"args": {"card": {"number": "4242"}}},
            "configuration": {"PROVIDER_KEY": keys["rsa"]["spki"]},
        }),
        &[],
        &json!({"kind": "returned", "value": {"res": {
            "statusCode": 200,
            "headers": {"Content-Type": "application/json"},
            "body": {"bytes": 256},
        }}}),
    );
}
