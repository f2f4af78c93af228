//! The rights of callers of proxies beyond single tokens, against a payment service provider of the
//! tests' own.

use serde_json::{Value, json};
use strongroom::testing::base64;

use crate::client_keys::{encrypt, new_key};
use crate::harness::{Request, only_rule, post, wait_until};
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
    let rule = only_rule("/pci/", "reveal", &["token:use"]);
    let limited = scene.vault.key_with("private", &[], &rule);
    for key in [with(&["proxy:invoke"]), session(&scene, &["proxy:invoke"]), limited] {
        scene.check_refused(&call(&key), 403);
    }
    scene.send(&call(&with(&["token:use"]))).with_status(200);
    assert_eq!(scene.psp.received_once().text(), CARD);
    let acts = scene.vault.acts("entity_type=client_key");
    assert!(acts.iter().any(|act| act == "use"), "{acts:?}");
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
fn only_a_key_that_may_use_all_tokens_names_the_configuration() {
    let scene = Scene::start();
    let members = json!({
        "configuration": {"secret": "sk_live_1"},
        "request_transforms": [{"type": "append_header", "options": {
            "location": "X-Key", "value": "{{ config: secret | upcase }} {{ proxy.config.secret }}",
        }}],
    });
    let application = scene.vault.application("private", &["token:use"], &json!([]));
    let closed = scene.proxy(members.clone());
    let mut open = members;
    open["require_auth"] = json!(false);
    open["application"] = json!({"id": application.id()});
    let open = scene.proxy(open);
    let by = |key: &str| post("/proxy").key(key).header("BT-PROXY-KEY", &closed.member("key"));
    let with = |permissions: &[&str]| scene.vault.key_with("private", permissions, &json!([]));
    let rule = only_rule("/pci/", "reveal", &["token:use"]);
    let others = [
        by(&session(&scene, &["proxy:invoke"])),
        by(&session(&scene, &["proxy:invoke", "token:use"])),
        by(&with(&["proxy:invoke"])),
        by(&scene.vault.key_with("private", &["proxy:invoke"], &rule)),
        post("/proxy").header("BT-PROXY-KEY", &open.member("key")),
    ];
    for call in others {
        scene.check_refused(&call.clone().body("{{ config: secret }}"), 403);
        let header = call.clone().header("Authorization", "Bearer {{ config: secret }}");
        scene.check_refused(&header, 403);
        let call = call.header("X-Own", "a{{ proxy.config.secret }}");
        scene.send(&call.body("{{ proxy.config.secret }}")).with_status(200);
        let received = scene.psp.received_once();
        assert_eq!((received.text().as_str(), received.header("x-own")), ("", Some("a")));
        // The tenant's own transforms have it for every caller.
        assert_eq!(received.header("x-key"), Some("SK_LIVE_1 sk_live_1"));
    }
    let call = by(&with(&["token:use"]));
    scene.send(&call.body("{{ config: secret | upcase }}")).with_status(200);
    assert_eq!(scene.psp.received_once().text(), "SK_LIVE_1");
}

#[test]
fn a_caller_that_may_not_see_a_value_places_it_without_filters() {
    let scene = Scene::start();
    let application = scene.vault.application("private", &["token:use"], &json!([]));
    let open = scene.proxy(json!({"require_auth": false, "application": {"id": application.id()}}));
    let closed = scene.proxy(json!({})).member("key");
    let by = |key: &str| post("/proxy").key(key).header("BT-PROXY-KEY", &closed);
    let invoker = scene.vault.key_with("private", &["proxy:invoke"], &json!([]));
    let user = scene.vault.key_with("private", &["token:use"], &json!([]));
    let keyless = post("/proxy").header("BT-PROXY-KEY", &open.member("key"));
    let filtered = format!("{{{{ {} | json: '$.number' | last4 }}}}", scene.card);
    for call in [by(&invoker), keyless] {
        scene.check_refused(&call.clone().body(filtered.clone()), 403);
        for (body, arrived) in [
            (scene.field("number"), CARD),
            (format!("{{{{ token: {} | json: '$.data.number' }}}}", scene.card), CARD),
            (format!("{{{{ token: {} | json: '$.data' | json: '$.cvc' }}}}", scene.card), "917"),
        ] {
            scene.send(&call.clone().body(body)).with_status(200);
            assert_eq!(scene.psp.received_once().text(), arrived);
        }
    }
    scene.send(&by(&user).body(filtered)).with_status(200);
    assert_eq!(scene.psp.received_once().text(), "4242");
    // A session that may use one token in plain computes over this one, and over no other.
    let header = encrypted_card(&scene);
    let call = by(&session(&scene, &["proxy:invoke", "token:use"]));
    scene
        .send(&call.body(scene.field("number | last4").replace(" | last4'", "' | last4")))
        .with_status(200);
    scene.psp.received();
    let call = by(&session(&scene, &["proxy:invoke"])).header("BT-ENCRYPTED", &header);
    scene.check_refused(&call.body("{{ encrypted.data.number | last4 }}"), 403);
}

#[test]
fn text_around_a_hidden_value_is_refused_before_a_transform_can_fail_on_it() {
    let scene = Scene::start();
    let transform = json!({"type": "append_json", "options": {"location": "$.a", "value": "b"}});
    let proxy = scene.proxy(json!({"request_transforms": [transform]})).member("key");
    let invoker = scene.vault.key_with("private", &["proxy:invoke"], &json!([]));
    let call = |kind: &str, body: String| {
        let call = post("/proxy").key(&invoker).header("BT-PROXY-KEY", &proxy);
        call.header("Content-Type", kind).body(body)
    };
    let code = scene.field("cvc");
    for (kind, body) in [
        ("text/plain", format!("{{\"a\":{code}}}")),
        ("text/plain", format!("{{\"a\":\"\\uD{code}\"}}")),
        ("text/plain", code.clone()),
        ("application/json", json!({"a": format!("411111111111{code}0")}).to_string()),
    ] {
        scene.check_refused(&call(kind, body), 403);
    }
    let alone = call("application/json", json!({ "code": code }).to_string());
    scene.send(&alone).with_status(200);
    let arrived = scene.psp.received_once().text();
    assert_eq!(arrived, r#"{"code":"917","a":"b"}"#);
}

#[test]
fn a_call_whose_transform_fails_is_in_the_log_as_a_failure() {
    let scene = Scene::start();
    let transform = json!({"type": "append_json", "options": {"location": "$.a", "value": "b"}});
    let proxy = scene.proxy(json!({"request_transforms": [transform]})).member("key");
    let user = scene.vault.key_with("private", &["token:use"], &json!([]));
    let call = post("/proxy").key(&user).header("BT-PROXY-KEY", &proxy);
    scene.check_refused(&call.body(scene.field("number")), 400);
    wait_until("the use of the card is in the log as a failure", || {
        let entries = scene.vault.logged(&format!("entity_id={}", scene.card));
        entries.iter().any(|it| it["operation"] == "use" && it["outcome"] == "failure")
    });
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

#[test]
fn a_guarded_value_that_a_transform_reads_is_a_whole_header_or_a_whole_string() {
    let scene = Scene::start();
    // It fails for one beginning of the header, and the caller would learn whether it did.
    let code = "module.exports = async ({ args }) => {
        if (args.headers['x-a']?.startsWith('k4')) throw new Error('x');
        return { headers: args.headers, body: args.body }; };";
    let proxy = scene.proxy(json!({"request_transforms": [{"type": "code", "code": code}]}));
    let guarded = scene.vault.key_with("private", &["proxy:invoke"], &json!([]));
    let call = |text: &str| {
        let call = post("/proxy").key(&guarded).header("BT-PROXY-KEY", &proxy.member("key"));
        call.header("X-A", text).body("x")
    };
    let number = scene.field("number");
    for text in [format!("k{number}"), format!("{number}k"), format!("{number}{number}")] {
        let refused = scene.check_refused(&call(&text), 403);
        assert!(refused.text().contains("a whole header"), "{}", refused.text());
    }
    scene.send(&call(&number)).with_status(200);
    assert_eq!(scene.psp.received_once().header("x-a"), Some(CARD));
}
