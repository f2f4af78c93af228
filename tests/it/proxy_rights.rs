//! The rights of callers of proxies beyond single tokens, against a payment service provider of the
//! tests' own.

use serde_json::{Value, json};
use strongroom::testing::base64;

use crate::client_keys::{encrypt, new_key};
use crate::harness::{Request, post};
use crate::proxy::{CARD, Scene};

const NUMBER: &str = "{{ encrypted | json: '$.data.number' }}";

/// A `BT-ENCRYPTED` header of a card.
fn encrypted_card(scene: &Scene) -> String {
    let encrypted = encrypt(&new_key(&scene.vault), &json!({"number": CARD}));
    let value: Value = json!({"type": "card", "encrypted": encrypted});
    base64::encode_url(value.to_string().as_bytes()).replace('-', "+").replace('_', "/")
}

/// The key of a session with these permissions, which the private key of `rights` authorized.
fn session(scene: &Scene, permissions: &[&str]) -> String {
    let vault = &scene.vault;
    let made = vault.send(&post("/sessions").key(&vault.keys.public)).with_status(201);
    let grantor = vault.key_with("private", permissions, &json!([]));
    let grant = json!({"nonce": made.member("nonce"), "permissions": permissions});
    vault.post("/sessions/authorize", &grantor, grant).with_status(200);
    made.member("session_key")
}

#[test]
fn a_caller_that_chooses_the_destination_opens_encrypted_values_only_with_the_use_of_all_tokens() {
    let scene = Scene::start();
    let header = encrypted_card(&scene);
    let call = |key: &str| -> Request {
        let call = post("/proxy").key(key).header("BT-PROXY-URL", &scene.psp.url("/echo"));
        call.header("BT-ENCRYPTED", &header).body(NUMBER)
    };
    let with = |permissions: &[&str]| scene.vault.key_with("private", permissions, &json!([]));
    let rule = json!([{"description": "", "priority": 1, "container": "/pci/", "transform": "reveal",
        "permissions": ["token:use"]}]);
    let limited = scene.vault.key_with("private", &[], &rule);
    for key in [with(&["proxy:invoke"]), session(&scene, &["proxy:invoke"]), limited] {
        scene.check_refused(&call(&key), 403);
    }
    scene.send(&call(&with(&["token:use"]))).with_status(200);
    assert_eq!(scene.psp.received_once().text(), CARD);
    let logs = scene.vault.key_with("management", &["log:read"], &json!([]));
    let logs = scene.vault.get("/logs?entity_type=client_key", &logs).with_status(200);
    let acts: Vec<_> =
        logs.json["data"].as_array().unwrap().iter().map(|it| &it["operation"]).collect();
    assert!(acts.contains(&&json!("use")), "{acts:?}");
}

#[test]
fn a_stored_proxy_opens_encrypted_values_for_those_who_may_invoke_it() {
    let scene = Scene::start();
    let (header, proxy) = (encrypted_card(&scene), scene.proxy(json!({})));
    let call = post("/proxy").key(&session(&scene, &["proxy:invoke"]));
    let call = call.header("BT-PROXY-KEY", &proxy.member("key")).header("BT-ENCRYPTED", &header);
    scene.send(&call.body(NUMBER)).with_status(200);
    assert_eq!(scene.psp.received_once().text(), CARD);
}

#[test]
fn callers_without_a_key_of_their_own_cannot_put_the_configuration_into_a_body() {
    let scene = Scene::start();
    let configuration = json!({"secret": "sk_live_1"});
    let open = scene.proxy(json!({"require_auth": false, "configuration": configuration}));
    let closed = scene.proxy(json!({"configuration": configuration}));
    let by_session = post("/proxy").key(&session(&scene, &["proxy:invoke"]));
    let by_session = by_session.header("BT-PROXY-KEY", &closed.member("key"));
    let keyless = post("/proxy").header("BT-PROXY-KEY", &open.member("key"));
    for call in [by_session, keyless] {
        scene.check_refused(&call.clone().body("{{ config: secret }}"), 403);
        scene.send(&call.clone().body("{{ proxy.config.secret }}")).with_status(200);
        assert_eq!(scene.psp.received_once().text(), "");
        scene.send(&call.header("Authorization", "Bearer {{ config: secret }}")).with_status(200);
        let received = scene.psp.received_once();
        assert_eq!(received.header("authorization"), Some("Bearer sk_live_1"));
    }
    let private = post("/proxy").key(&scene.vault.keys.private);
    let private = private.header("BT-PROXY-KEY", &closed.member("key"));
    scene.send(&private.body("{{ config: secret }}")).with_status(200);
    assert_eq!(scene.psp.received_once().text(), "sk_live_1");
}

#[test]
fn two_tenants_never_share_a_connection_to_a_destination() {
    let scene = Scene::start();
    let other = scene.vault.tenant("test");
    let mut connections = Vec::new();
    for key in [&scene.vault.keys.private, &other.keys.private, &scene.vault.keys.private] {
        let call = post("/proxy").key(key).header("BT-PROXY-URL", &scene.psp.url("/echo"));
        scene.send(&call.body("no tokens")).with_status(200);
        connections.push(scene.psp.received_once().connection);
    }
    assert_ne!(connections[0], connections[1]);
    assert_ne!(connections[1], connections[2]);
}
