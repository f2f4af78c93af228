//! Token intents: made, read, deleted, converted once.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{Answer, NUMBER, Vault, card, only_rule, post};
use crate::lifetimes::time_of;
use crate::race::at_once;

fn intend(vault: &Vault, kind: &str, data: &Value) -> Answer {
    vault.post("/token-intents", &vault.keys.private, json!({"type": kind, "data": data}))
}

fn intent(vault: &Vault) -> String {
    intend(vault, "card", &card()).with_status(201).id()
}

fn find(vault: &Vault, id: &str) -> Answer {
    vault.get(&format!("/token-intents/{id}"), &vault.keys.private)
}

fn convert(vault: &Vault, id: &str, rest: Value) -> Answer {
    let mut body = rest;
    body["token_intent_id"] = json!(id);
    vault.create(body)
}

fn seconds_between(earlier: &str, later: &str) -> i64 {
    (time_of(later) - time_of(earlier)).whole_seconds()
}

#[test]
fn an_intent_is_created_read_and_deleted() {
    let vault = Vault::start();
    let made = intend(&vault, "card", &card()).with_status(201);
    let details = json!({
        "bin": "42424242", "last4": "4242", "expiration_month": 12, "expiration_year": 2030,
        "brand": "visa", "funding": "credit", "authentication": null,
    });
    assert_eq!(made.json["card"], details);
    assert_eq!(made.json["type"], "card");
    assert_eq!(made.json["tenant_id"], json!(vault.tenant_id));
    assert_eq!(made.json.get("authentication"), Some(&json!(null)));
    assert_eq!(made.json.get("data"), None);
    assert!(!made.text().contains(NUMBER) && !made.text().contains("cvc"));
    let by = vault.get("/applications/key", &vault.keys.private).id();
    assert_eq!(made.json["created_by"], json!(by));
    let lived = seconds_between(&made.member("created_at"), &made.member("expires_at"));
    assert_eq!(lived, 24 * 3_600);
    let token = json!({"type": "card", "data": card()});
    let token = vault.create(token).with_status(201);
    assert_eq!(made.json["fingerprint"], token.json["fingerprint"]);
    let id = made.id();
    assert_eq!(find(&vault, &id).with_status(200).json, made.json);
    let path = format!("/token-intents/{id}");
    let gone = vault.delete(&path, &vault.keys.private).with_status(204);
    assert!(gone.bytes.is_empty());
    find(&vault, &id).problem(404);
    vault.delete(&path, &vault.keys.private).problem(404);
    convert(&vault, &id, json!({})).invalid(&["token_intent_id"]);
}

#[test]
fn an_intents_data_is_checked_as_a_tokens_is() {
    let vault = Vault::start();
    let bad = json!({"number": "4242424242424241", "expiration_month": 13, "cvc": "x"});
    let refused =
        intend(&vault, "card", &bad).invalid(&["data.cvc", "data.expiration_month", "data.number"]);
    assert!(!refused.text().contains("4242424242424241"));
    let key = &vault.keys.private;
    vault.post("/token-intents", key, json!({})).invalid(&["data", "type"]);
    vault.post("/token-intents", key, json!({"type": "none", "data": 1})).invalid(&["type"]);
    vault.post("/token-intents", key, json!([])).problem(400);
}

#[test]
fn only_cards_can_be_intended_unless_the_tenant_widens_the_list() {
    let vault = Vault::start();
    let bank = json!({"routing_number": "021000021", "account_number": "00001234"});
    intend(&vault, "bank", &bank).invalid(&["type"]);
    intend(&vault, "token", &json!("x")).invalid(&["type"]);
    vault.set_tenant(json!({"token_intent_types": "bank, token"}));
    let made = intend(&vault, "bank", &bank).with_status(201);
    assert_eq!(made.json.get("card"), Some(&json!(null)));
    assert_eq!(made.json["bank"]["account_number_last4"], "1234");
    intend(&vault, "card_number", &json!(NUMBER)).invalid(&["type"]);
    let made = intend(&vault, "token", &json!("x")).with_status(201).id();
    let token = convert(&vault, &made, json!({})).with_status(201);
    assert_eq!((&token.json["type"], &token.json["data"]), (&json!("token"), &json!("x")));
}

#[test]
fn an_intent_of_another_tenant_cannot_be_converted() {
    let vault = Vault::start();
    let steal = json!({"token_intent_id": intent(&vault)});
    let other = vault.tenant("test");
    vault.post("/tokens", &other.keys.private, steal).invalid(&["token_intent_id"]);
}

#[test]
fn a_conversion_makes_a_token_and_consumes_the_intent_without_its_cvc() {
    let vault = Vault::start();
    let made = intend(&vault, "card", &card()).with_status(201);
    let rest = json!({
        "metadata": {"a": "b"}, "containers": ["/x/"], "id": "my-token",
        "mask": {"n": "{{ data.number | last4 }}"}, "search_indexes": ["{{ data.number }}"],
        "fingerprint_expression": "{{ data.number }}", "expires_at": "1/1/2100",
    });
    let token = convert(&vault, &made.id(), rest).with_status(201);
    assert_eq!(token.id(), "my-token");
    assert_eq!(token.json["type"], "card");
    let kept = json!({"number": NUMBER, "expiration_month": 12, "expiration_year": 2030});
    assert_eq!(token.json["data"], kept);
    assert_eq!(token.json["fingerprint"], made.json["fingerprint"]);
    assert_eq!(token.json["metadata"], json!({"a": "b"}));
    assert_eq!(token.json["containers"], json!(["/x/"]));
    assert_eq!(vault.get("/tokens/my-token", &vault.keys.private).json["data"], kept);
    find(&vault, &made.id()).problem(404);
    convert(&vault, &made.id(), json!({})).invalid(&["token_intent_id"]);
    convert(&vault, "no-such-intent", json!({})).invalid(&["token_intent_id"]);
}

#[test]
fn type_and_data_come_from_the_intent_alone() {
    let vault = Vault::start();
    let id = intent(&vault);
    convert(&vault, &id, json!({"type": "card"})).invalid(&["type"]);
    convert(&vault, &id, json!({"data": card()})).invalid(&["data"]);
    convert(&vault, &id, json!({"type": "card", "data": card()})).invalid(&["data", "type"]);
    // Mistakes elsewhere leave the intent alone too.
    convert(&vault, &id, json!({"metadata": {"a": 1}})).invalid(&["metadata.a"]);
    find(&vault, &id).with_status(200);
    convert(&vault, &id, json!({})).with_status(201);
}

#[test]
fn a_conversion_needs_the_permission_to_create_in_its_containers() {
    let vault = Vault::start();
    let id = intent(&vault);
    let rule = only_rule("/x/", "redact", &["token:create"]);
    let key = vault.key_with("private", &[], &rule);
    vault.post("/tokens", &key, json!({"token_intent_id": id})).problem(403);
    find(&vault, &id).with_status(200);
    let body = json!({"token_intent_id": id, "containers": ["/x/"]});
    let made = vault.post("/tokens", &key, body).with_status(201);
    assert_eq!(made.json.get("data"), None);
}

#[test]
fn simultaneous_conversions_of_one_intent_give_exactly_one_token() {
    let mut vault = Vault::start();
    let id = intent(&vault);
    let one = post("/tokens").key(&vault.keys.private).json(json!({"token_intent_id": id}));
    let answers = at_once(&vault, &vec![one; 64]);
    let made: BTreeSet<_> = answers.iter().filter(|it| it.status == 201).map(Answer::id).collect();
    let refused = answers.iter().filter(|it| it.status == 400).count();
    assert_eq!((made.len(), refused), (1, 63));
    let report = vault.stop_and_verify().stdout;
    assert!(report.contains("tokens:         1\ntoken intents:  0"), "{report}");
}

#[test]
fn a_conversion_that_finds_a_duplicate_brings_it_up_to_date() {
    let mut vault = Vault::start();
    let old = json!({"number": NUMBER, "expiration_month": 1, "holder": "Ada", "cvc": "999"});
    let token = vault.token(json!({"type": "card", "data": old, "metadata": {"a": "1", "b": "1"}}));
    let id = intent(&vault);
    let rest = json!({"deduplicate_token": true, "metadata": {"b": "2", "c": "2"}});
    let answer = convert(&vault, &id, rest).with_status(201);
    assert_eq!(answer.id(), token);
    let extras = json!({"deduplicated": true, "deduplication_behavior": "update_existing"});
    assert_eq!(answer.json["_extras"], extras);
    let read = vault.read(&token).with_status(200).json;
    let merged = json!({
        "number": NUMBER, "expiration_month": 12, "expiration_year": 2030, "holder": "Ada",
        "cvc": "999",
    });
    assert_eq!(read["data"], merged);
    assert_eq!(read["metadata"], json!({"a": "1", "b": "2", "c": "2"}));
    assert!(read.get("modified_at").is_some());
    find(&vault, &id).problem(404);
    // In another container it is another token.
    let id = intent(&vault);
    let rest = json!({"deduplicate_token": true, "containers": ["/x/"]});
    let other = convert(&vault, &id, rest).with_status(201);
    assert_ne!(other.id(), token);
    // Without deduplication there are two.
    let id = intent(&vault);
    assert_ne!(convert(&vault, &id, json!({})).with_status(201).id(), token);
    let report = vault.stop_and_verify().stdout;
    assert!(report.contains("tokens:         3\ntoken intents:  0"), "{report}");
}

#[test]
fn an_intent_is_gone_after_its_retention() {
    let mut vault = Vault::start_with(&["--quota", "token_intent_retention=2h"]);
    let made = intend(&vault, "card", &card()).with_status(201);
    let lived = seconds_between(&made.member("created_at"), &made.member("expires_at"));
    assert_eq!(lived, 7_200);
    vault.advance(7_190);
    find(&vault, &made.id()).with_status(200);
    vault.advance(10);
    find(&vault, &made.id()).problem(404);
    convert(&vault, &made.id(), json!({})).invalid(&["token_intent_id"]);
    let path = format!("/token-intents/{}", made.id());
    vault.delete(&path, &vault.keys.private).problem(404);
    let used = format!("{{{{ token_intent: {} }}}}", made.id());
    vault.post("/detokenize", &vault.keys.private, json!({"x": used})).invalid(&["$.x"]);
    let report = vault.stop_and_verify().stdout;
    assert!(report.contains("token intents:  0\ncvcs:           0 (0 more"), "{report}");
}

#[test]
fn a_public_key_that_converts_an_intent_learns_nothing_of_the_card() {
    let vault = Vault::start();
    let body = json!({"token_intent_id": vault.intent(&vault.keys.public)});
    let token = vault.post("/tokens", &vault.keys.public, body).with_status(201);
    for hidden in ["card", "data", "fingerprint", "mask", "metadata"] {
        assert_eq!(token.json.get(hidden), None, "{}", token.text());
    }
    assert!(!token.text().contains("42424242"), "{}", token.text());
    let read = vault.read(&token.id());
    assert_eq!(read.with_status(200).json["data"]["number"], NUMBER);
}
