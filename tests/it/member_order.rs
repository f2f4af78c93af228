//! The order of members and the digits of numbers, which receivers of JSON may depend on.

use crate::harness::{Answer, Request, Vault, only_rule};

const DATA: &str = r#"{"z":1,"a":{"y":2.0,"b":[{"q":1,"c":12345678901234567890123}]},"m":100.50}"#;

fn send(vault: &Vault, method: &str, path: &str, key: &str, body: &str) -> Answer {
    let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    vault.send(&Request::new(method, path).header("Content-Type", kind).key(key).body(body))
}

fn revealing(vault: &Vault) -> String {
    let rule = only_rule(
        "/",
        "reveal",
        &["token:create", "token:read", "token:update", "token:use", "token:search"],
    );
    vault.key_with("private", &[], &rule)
}

#[track_caller]
fn check_contains(answer: &Answer, text: &str) {
    assert!(answer.text().contains(text), "no {text} in {}", answer.text());
}

#[test]
fn members_keep_their_order_and_numbers_their_digits() {
    let vault = Vault::start();
    let key = &revealing(&vault);
    let body =
        format!(r#"{{"type":"token","data":{DATA},"mask":{{"n":"{{{{ data.z }}}}","c":1}}}}"#);
    let token = send(&vault, "POST", "/tokens", key, &body).with_status(201);
    check_contains(&token, &format!(r#""data":{DATA}"#));
    check_contains(&token, r#""mask":{"n":"{{ data.z }}","c":1}"#);
    let path = format!("/tokens/{}", token.id());
    check_contains(&vault.get(&path, key).with_status(200), &format!(r#""data":{DATA}"#));

    let used = format!(
        r#"{{"whole":"{{{{ {id} }}}}","text":"{{{{ {id} | stringify }}}}","amount":1.0}}"#,
        id = token.id()
    );
    let used = send(&vault, "POST", "/detokenize", key, &used).with_status(200);
    let text = serde_json::to_string(DATA).unwrap();
    assert_eq!(used.text(), format!(r#"{{"whole":{DATA},"text":{text},"amount":1.0}}"#));

    let made = send(&vault, "POST", "/tokenize", key, r#"{"y":null,"b":{"x":null,"a":null}}"#);
    assert_eq!(made.with_status(200).text(), r#"{"y":null,"b":{"x":null,"a":null}}"#);

    let changes = r#"{"data":{"new":0,"z":null,"a":{"b":7}},"mask":{"a":2,"n":null}}"#;
    let patched = send(&vault, "PATCH", &path, key, changes).with_status(200);
    check_contains(&patched, r#""data":{"a":{"y":2.0,"b":7},"m":100.50,"new":0}"#);
    check_contains(&patched, r#""mask":{"c":1,"a":2}"#);

    // A code is stored apart from the other members, and comes after them.
    let card = r#"{"type":"card","data":{"cvc":"123","number":"4242424242424242","b":1,"a":2}}"#;
    let card = send(&vault, "POST", "/tokens", key, card).with_status(201);
    check_contains(&card, r#""data":{"number":"4242424242424242","b":1,"a":2,"cvc":"123"}"#);
}

#[test]
fn the_order_of_members_changes_no_fingerprint_and_no_duplicate() {
    let vault = Vault::start();
    let key = &revealing(&vault);
    let create = |data: &str, mask: &str| {
        let body = format!(
            r#"{{"type":"token","data":{data},"mask":{mask},"deduplicate_token":true,
                "search_indexes":["{{{{ data | stringify }}}}"]}}"#
        );
        send(&vault, "POST", "/tokens", key, &body)
    };
    let first = create(r#"{"b":1,"a":{"d":2,"c":3}}"#, r#"{"x":1,"b":2}"#).with_status(201);
    let second = create(r#"{"a":{"c":3,"d":2},"b":1}"#, r#"{"b":2,"x":1}"#);
    assert_eq!(second.member("fingerprint"), first.member("fingerprint"));
    assert_eq!(second.id(), first.id());
}
