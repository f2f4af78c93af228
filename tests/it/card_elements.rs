//! Values of card elements stay below `/pci/`, and keys that are in web pages cannot move a card out of
//! it.

use serde_json::{Value, json};

use crate::client_keys::{encrypt_as, new_key};
use crate::harness::{Answer, NUMBER, Vault, card, options, patch, post};

const HEADER: &str = "Strongroom-Card-Elements";
const UPDATING: [&str; 3] = ["token:create", "token:update", "token-intent:create"];

/// Sends a request as the frames of the vault do.
fn send(vault: &Vault, path: &str, value: &str, body: Value) -> Answer {
    vault.send(&post(path).key(&vault.keys.public).header(HEADER, value).json(body))
}

fn change(vault: &Vault, key: &str, id: &str, body: &Value) -> Answer {
    vault.patch_as(key, id, body.clone())
}

fn change_by_elements(vault: &Vault, key: &str, id: &str, body: &Value) -> Answer {
    let request = patch(&format!("/tokens/{id}")).key(key).header(HEADER, "true");
    vault.send(&request.body(body.to_string()))
}

/// A session's key with these rights.
fn session(vault: &Vault, permissions: &[&str]) -> String {
    let made = vault.post("/sessions", &vault.keys.public, json!({})).with_status(201).json;
    let rights = json!({"nonce": made["nonce"], "permissions": permissions});
    vault.post("/sessions/authorize", &vault.keys.private, rights).with_status(200);
    made["session_key"].as_str().unwrap().to_owned()
}

#[test]
fn values_of_card_elements_are_stored_below_pci_alone() {
    let vault = Vault::start();
    let create = |body: Value| send(&vault, "/tokens", "true", body);
    for taken in [
        json!({"type": "card", "data": card()}),
        json!({"type": "card_number", "data": NUMBER, "containers": ["/PCI/shop/"]}),
        json!({"type": "token", "data": {"n": NUMBER}, "containers": ["/pci/"]}),
        json!({"type": "token", "data": NUMBER, "privacy": {"classification": "pci"}}),
    ] {
        create(taken).with_status(201);
    }
    for refused in [
        json!({"type": "token", "data": NUMBER}),
        json!({"type": "social_security_number", "data": "123-45-6789"}),
        json!({"type": "card", "data": card(), "containers": ["/general/"]}),
        json!({"type": "card", "data": card(), "containers": ["/"]}),
        json!({"type": "card", "data": card(), "containers": ["/pci/", "/general/"]}),
        json!({"type": "card", "data": card(), "containers": ["/pcif/"]}),
        json!({"type": "card", "data": card(), "privacy": {"classification": "general"}}),
    ] {
        let answer = create(refused.clone()).invalid(&["containers"]);
        assert!(answer.text().contains("stored in /pci/"), "{}", answer.text());
        // The same request without the header is the caller's own.
        vault.post("/tokens", &vault.keys.public, refused).with_status(201);
    }
    let with_code = json!({"type": "token", "data": {"cvc": "123"}, "containers": ["/pci/"]});
    create(with_code).invalid(&["data.cvc"]);
}

#[test]
fn intents_of_card_elements_have_a_type_for_cards() {
    let vault = Vault::start();
    vault.set_tenant(json!({"token_intent_types": "token,bank"}));
    let create = |body: Value| send(&vault, "/token-intents", "true", body);
    create(json!({"type": "card", "data": card()})).with_status(201);
    create(json!({"type": "token", "data": NUMBER})).invalid(&["containers"]);
    let own = json!({"type": "token", "data": NUMBER});
    vault.post("/token-intents", &vault.keys.public, own).with_status(201);
}

#[test]
fn in_a_tokenize_body_the_named_places_hold_values_of_card_elements() {
    let vault = Vault::start();
    let body = json!({
        "card": {"type": "card", "data": card()},
        "list": [{"a, b": {"type": "card_number", "data": NUMBER}}],
        "name": "Ada",
    });
    let tokenize = |value: &str| send(&vault, "/tokenize", value, body.clone());
    tokenize("%24.card,%24.list%5B0%5D.a%2C%20b").with_status(200);
    tokenize("true").invalid(&["$.name.containers"]);
    tokenize("%24.card,%24.name").invalid(&["$.name.containers"]);
    // A place that is not there: the value would be stored elsewhere.
    for wrong in ["", "false", "%24", "%24.card.data", "%24.card,", "%24.list", "%FF"] {
        tokenize(wrong).problem(400);
    }
    let apart = json!({"type": "card", "data": card(), "containers": ["/general/"]});
    send(&vault, "/tokenize", "%24", apart).invalid(&["$.containers"]);
}

#[test]
fn values_of_card_elements_change_tokens_below_pci_alone() {
    let vault = Vault::start();
    let key = vault.key_with("public", &UPDATING, &json!([]));
    let make = |body: Value| vault.post("/tokens", &key, body).with_status(201).id();
    let inside = make(json!({"type": "card", "data": card()}));
    let outside = make(json!({"type": "token", "data": {"n": 1}}));
    let other = make(json!({"type": "token", "data": {"n": 1}, "containers": ["/pci/"]}));
    let (code, number) = (json!({"data": {"cvc": "999"}}), json!({"data": {"n": NUMBER}}));
    let by_elements = |id: &str, body: &Value| change_by_elements(&vault, &key, id, body);
    by_elements(&inside, &code).with_status(200);
    by_elements(&other, &number).with_status(200);
    by_elements(&outside, &number).invalid(&["containers"]);
    by_elements(&outside, &code).invalid(&["containers"]);
    by_elements(&other, &code).invalid(&["data.cvc"]);
    let moved = json!({"data": {"n": NUMBER}, "containers": ["/pci/x/"]});
    by_elements(&outside, &moved).with_status(200);
    change(&vault, &key, &make(json!({"type": "token", "data": {"n": 1}})), &number)
        .with_status(200);
}

#[test]
fn a_key_of_a_page_cannot_convert_an_intent_out_of_pci() {
    let vault = Vault::start();
    let keys = [vault.keys.public.clone(), session(&vault, &["token:create"])];
    let body = |containers: Value| {
        let intent = vault.intent(&vault.keys.public);
        json!({"token_intent_id": intent, "containers": containers})
    };
    for key in &keys {
        for outside in [json!(["/general/"]), json!(["/pci/", "/general/"]), json!(["/"])] {
            let refused = vault.post("/tokens", key, body(outside.clone())).problem(403);
            assert!(refused.text().contains("/pci/"), "{}", refused.text());
            vault.post("/tokenize", key, json!({"a": body(outside)})).problem(403);
        }
        let by_privacy = json!({
            "token_intent_id": vault.intent(&vault.keys.public),
            "privacy": {"classification": "general"},
        });
        vault.post("/tokens", key, by_privacy).problem(403);
        vault.post("/tokens", key, body(json!(["/pci/shop/"]))).with_status(201);
    }
    vault.create(body(json!(["/general/"]))).with_status(201);
}

#[test]
fn a_key_of_a_page_cannot_store_an_encrypted_card_out_of_pci() {
    let vault = Vault::start();
    let sealed = encrypt_as(&new_key(&vault), Some("card"), &card());
    let body = |kind: &str, containers: Value| json!({"type": kind, "encrypted": sealed, "containers": containers});
    let outside = body("card", json!(["/general/"]));
    for key in [&vault.keys.public, &session(&vault, &["token:create"])] {
        vault.post("/tokens", key, outside.clone()).problem(403);
        vault.post("/tokens", key, body("token", json!(["/general/"]))).invalid(&["encrypted"]);
        vault.post("/tokens", key, body("card", json!(["/pci/"]))).with_status(201);
    }
    vault.create(outside).with_status(201);
}

#[test]
fn a_key_of_a_page_cannot_move_a_token_out_of_pci() {
    let vault = Vault::start();
    let public = vault.key_with("public", &UPDATING, &json!([]));
    let private = vault.key_with("private", &["token:update"], &json!([]));
    let make = |kind: &str, containers: Value| {
        let body = json!({"type": kind, "data": NUMBER, "containers": containers});
        vault.create(body).with_status(201).id()
    };
    let to = |containers: Value| json!({ "containers": containers });
    for key in [&public, &session(&vault, &["token:update"])] {
        let id = make("card_number", json!(["/pci/"]));
        for outside in [json!(["/general/"]), json!(["/pci/", "/general/"])] {
            change(&vault, key, &id, &to(outside)).problem(403);
        }
        change(&vault, key, &id, &to(json!(["/pci/deeper/"]))).with_status(200);
        // The default of this type is another container.
        let plain = make("token", json!(["/pci/"]));
        change(&vault, key, &plain, &to(Value::Null)).problem(403);
        // A container that the token has already is no move.
        let both = make("token", json!(["/pci/", "/general/"]));
        change(&vault, key, &both, &to(json!(["/general/"]))).with_status(200);
        let elsewhere = make("token", json!(["/general/"]));
        change(&vault, key, &elsewhere, &to(json!(["/other/"]))).with_status(200);
    }
    let id = make("card_number", json!(["/pci/"]));
    change(&vault, &private, &id, &to(json!(["/general/"]))).with_status(200);
}

#[test]
fn pages_of_other_origins_cannot_send_the_header_of_card_elements() {
    let vault = Vault::start();
    let asked = options("/tokens")
        .header("Origin", "https://shop.example")
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Headers", HEADER);
    let answer = vault.send(&asked).with_status(204);
    let allowed = answer.header("access-control-allow-headers").unwrap().to_ascii_lowercase();
    assert!(!allowed.contains("strongroom"), "{allowed}");
}
