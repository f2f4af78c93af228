//! `/proxies`: what a proxy is made of, besides the rules of all resources with a name.

use serde_json::{Value, json};

use crate::harness::only_rule;
use crate::named::{MISSING, Scene};

fn certificate() -> (String, String) {
    let key = rcgen::KeyPair::generate().unwrap();
    let parameters = rcgen::CertificateParams::new(vec![String::from("shop.example")]).unwrap();
    (parameters.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

fn mask() -> Value {
    json!({"type": "mask", "matcher": "regex", "expression": "(\\d{12})\\d{4}", "replacement": "*"})
}

#[test]
fn a_proxy_is_active_at_once_and_every_read_shows_its_key() {
    let scene = Scene::of_proxies();
    let made = scene.made(&json!({}));
    let id = made.id();
    assert_eq!(made.json["state"], "active");
    assert_eq!(made.json["tenant_id"], json!(scene.vault.tenant_id));
    assert_eq!(made.json["destination_url"], "https://psp.example/v1?a=b");
    assert_eq!(made.json["require_auth"], true);
    assert_eq!(made.json["configuration"], json!({}));
    for absent in ["application_id", "request_transform", "response_transforms", "modified_at"] {
        assert!(made.json.get(absent).is_none(), "{absent}");
    }
    let location = format!("https://{}/proxies/{id}", scene.vault.address);
    assert_eq!(made.header("location"), Some(location.as_str()));
    let key = made.member("key");
    assert!((1..=100).contains(&key.len()) && key.bytes().all(|it| it.is_ascii_alphanumeric()));
    assert_eq!(scene.read(&id).with_status(200).json, made.json);
    assert_eq!(scene.list("").json["data"][0], made.json);
    assert_ne!(scene.made(&json!({})).member("key"), key);
}

#[test]
fn a_change_keeps_the_key_and_replaces_everything_else() {
    let scene = Scene::of_proxies();
    let made = scene.made(&json!({"configuration": {"a": "1"}, "require_auth": false}));
    let id = made.id();
    let body = json!({"name": "Other", "destination_url": "https://other.example"});
    let changed = scene.put(&id, body).with_status(200);
    assert_eq!(changed.json["name"], "Other");
    assert_eq!(changed.json["key"], made.json["key"]);
    assert_eq!(changed.json["require_auth"], true);
    assert_eq!(changed.json["configuration"], json!({}));
    assert_eq!(changed.json["created_at"], made.json["created_at"]);
    assert!(changed.json["modified_at"].is_string() && changed.json["modified_by"].is_string());
    assert_eq!(scene.read(&id).json, changed.json);
}

#[test]
fn a_patch_takes_transforms_in_the_other_spelling_or_away() {
    let scene = Scene::of_proxies();
    let id = scene.made(&json!({"response_transform": mask()})).id();
    scene.patch(&id, &json!({"name": "New"})).with_status(204);
    assert_eq!(scene.read(&id).json["response_transform"], mask());
    // The other spelling takes the place of the first.
    scene.patch(&id, &json!({"response_transforms": [mask()]})).with_status(204);
    let read = scene.read(&id);
    assert_eq!(read.json["response_transforms"], json!([mask()]));
    assert!(read.json.get("response_transform").is_none());
    scene.patch(&id, &json!({"response_transforms": null})).with_status(204);
    assert!(scene.read(&id).json.get("response_transforms").is_none());
    scene
        .patch(&id, &json!({"destination_url": "http://x", "name": null}))
        .invalid(&["destination_url", "name"]);
}

#[test]
fn transforms_come_back_in_the_spelling_of_the_request() {
    let scene = Scene::of_proxies();
    let list = json!([
        {"type": "tokenize", "options": {"identifier": "c", "token": {"type": "token", "data": "{{ res.pan }}"}}},
        {"type": "append_json", "options": {"location": "$.id", "value": "{{ transform_identifier: 'c' | json: '$.id' }}"}},
        {"type": "append_text", "options": {"value": "{{ config: secret }}"}},
        {"type": "append_header", "options": {"location": "X-Id", "value": "{{ res.id }}"}},
        {"type": "mask", "matcher": "chase_stratus_pan", "replacement": "*", "expression": ""},
    ]);
    let made = scene.made(&json!({"response_transforms": list, "request_transform": list[3]}));
    assert_eq!(made.json["response_transforms"], list);
    assert_eq!(made.json["request_transform"], list[3]);
    for absent in ["response_transform", "request_transforms"] {
        assert!(made.json.get(absent).is_none(), "{absent}");
    }
    let upper =
        json!({"type": "MASK", "matcher": "REGEX", "expression": "(.*)", "replacement": "*"});
    assert_eq!(scene.made(&json!({"response_transform": upper})).json["response_transform"], upper);
    // An empty list is none.
    scene.made(&json!({"response_transforms": [], "response_transform": null}));
}

#[test]
fn a_transform_without_a_type_is_code_and_reactors_of_proxies_are_refused() {
    let scene = Scene::of_proxies();
    scene.ask(&json!({"request_transform": {}})).invalid(&["request_transform.type"]);
    let reactors = json!({"request_reactor_id": MISSING, "response_reactor_id": MISSING});
    let refused = scene.ask(&reactors);
    let refused = refused.invalid(&["request_reactor_id", "response_reactor_id"]);
    assert!(refused.text().contains("type code"));
}

#[test]
fn all_mistakes_of_a_body_are_reported_at_once() {
    let scene = Scene::of_proxies();
    scene.create(json!({})).invalid(&["name", "destination_url"]);
    scene.create(json!([])).invalid(&["$"]);
    let many: Value =
        (0..26).map(|at| (format!("k{at}"), json!("v"))).collect::<serde_json::Map<_, _>>().into();
    scene
        .create(json!({
            "name": "n".repeat(201), "destination_url": "http://psp.example", "require_auth": "no",
            "application": {"id": "x"}, "configuration": many, "disable_detokenization": 1,
            "client_certificate": "PEM",
        }))
        .invalid(&[
            "name",
            "destination_url",
            "require_auth",
            "application.id",
            "configuration",
            "disable_detokenization",
            "client_certificate",
        ]);
    let long = format!("https://psp.example/{}", "a".repeat(381));
    scene.ask(&json!({"destination_url": long, "configuration": {"a": 1, "": "x"}})).invalid(&[
        "destination_url",
        "configuration.a",
        "configuration",
    ]);
    scene.ask(&json!({"configuration": {"a": "x".repeat(33_000)}})).invalid(&["configuration"]);
    let transforms = json!([
        {"type": "mask"},
        {"type": "mask", "matcher": "regex", "expression": "a", "replacement": "**"},
        {"type": "mask", "matcher": "chase_stratus_pan", "expression": "(a)", "replacement": "*"},
        {"type": "mask", "matcher": "regex", "expression": "(a", "replacement": "*"},
        {"type": "other"},
        {"type": "tokenize"},
        {"type": "append_json", "options": {"location": "a"}},
        {"type": "append_header", "options": {"location": "BT-TRACE-ID", "value": "{{ open"}},
        "text",
        {"type": "mask", "matcher": "regex", "expression": "(a.*#)|(a)", "replacement": "*"},
    ]);
    scene.ask(&json!({ "response_transforms": transforms })).invalid(&[
        "response_transforms[0].matcher",
        "response_transforms[0].replacement",
        "response_transforms[1].expression",
        "response_transforms[1].replacement",
        "response_transforms[2].expression",
        "response_transforms[3].expression",
        "response_transforms[4].type",
        "response_transforms[5].options",
        "response_transforms[6].options.location",
        "response_transforms[6].options.value",
        "response_transforms[7].options.location",
        "response_transforms[7].options.value",
        "response_transforms[8]",
        "response_transforms[9].expression",
    ]);
    let many = vec![mask(); 11];
    scene.ask(&json!({ "response_transforms": many })).invalid(&["response_transforms"]);
    scene
        .ask(&json!({"response_transforms": [mask()], "response_transform": mask()}))
        .invalid(&["response_transforms"]);
    scene.ask(&json!({"request_transform": mask()})).invalid(&["request_transform.type"]);
}

#[test]
fn identifiers_are_unique_and_expressions_name_no_tokens() {
    let scene = Scene::of_proxies();
    let tokenize = |identifier: &str| json!({"type": "tokenize", "options": {"identifier": identifier, "token": {"type": "token", "data": "x"}}});
    scene.made(&json!({"response_transforms": [tokenize("a"), tokenize("b")]}));
    scene
        .ask(&json!({"response_transforms": [tokenize("a"), tokenize("a")]}))
        .invalid(&["response_transforms[1].options.identifier"]);
    scene
        .ask(&json!({"response_transform": tokenize(&"a".repeat(101))}))
        .invalid(&["response_transform.options.identifier"]);
    for bad in [
        "{{ 5b0f4f5e-3b1c-4d33-8f0b-0a4b7f0f6a55 }}",
        "{{ token: x }}",
        "{{ res | nothing }}",
        "{{",
    ] {
        let text = json!({"type": "append_text", "options": {"value": bad}});
        scene
            .ask(&json!({ "response_transform": text }))
            .invalid(&["response_transform.options.value"]);
    }
}

#[test]
fn the_private_key_of_a_client_certificate_is_never_shown() {
    let scene = Scene::of_proxies();
    let (chain, key) = certificate();
    let made = scene.made(&json!({ "client_certificate": format!("{chain}{key}") }));
    let id = made.id();
    assert_eq!(made.json["client_certificate"], chain);
    for answer in [&made, &scene.read(&id), &scene.list("")] {
        assert!(!answer.text().contains(key.lines().nth(1).unwrap()));
    }
    // A client that sends back the object that it read keeps the key; another chain needs its own.
    let same = json!({ "client_certificate": chain });
    assert_eq!(
        scene.put(&id, scene.body(&same)).with_status(200).json["client_certificate"],
        chain
    );
    scene.ask(&same).invalid(&["client_certificate"]);
    scene.patch(&id, &json!({"name": "x"})).with_status(204);
    assert_eq!(scene.read(&id).json["client_certificate"], chain);
    scene.patch(&id, &json!({"client_certificate": null})).with_status(204);
    scene.put(&id, scene.body(&same)).invalid(&["client_certificate"]);
}

#[test]
fn every_act_on_a_proxy_is_in_the_log_and_so_is_the_right_it_passes_on() {
    let scene = Scene::of_proxies();
    let made = scene.made(&json!({}));
    let id = made.id();
    scene.read(&id);
    scene.patch(&id, &json!({"name": "x"})).with_status(204);
    let rule = only_rule("/", "reveal", &["token:use"]);
    let application = scene.vault.application("private", &[], &rule).id();
    let open = json!({"application": {"id": application}, "require_auth": false});
    scene.put(&id, scene.body(&open)).with_status(200);
    scene.delete(&id).with_status(204);
    crate::harness::wait_until("the entries of the proxy", || {
        let mut acts = scene.vault.acts(&format!("entity_type=proxy&entity_id={id}"));
        acts.sort_unstable();
        acts == ["create", "delete", "grant_reveal", "read", "update", "update"]
    });
}

#[test]
fn proxies_survive_a_restart_and_leave_nothing_in_clear_in_the_file() {
    let mut scene = Scene::of_proxies();
    let (chain, key) = certificate();
    let made = scene.made(&json!({
        "name": "markerofaname", "configuration": {"secret": "markerofavalue"},
        "client_certificate": format!("{chain}{key}"),
    }));
    scene.vault.stop();
    scene.vault.verify().with_code(0);
    let markers = ["markerofa", key.lines().nth(1).unwrap(), &made.member("key")];
    scene.vault.assert_nowhere(&markers);
    scene.vault.restart();
    assert_eq!(scene.read(&made.id()).with_status(200).json, made.json);
}
