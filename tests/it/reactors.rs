//! `/reactors`: what a reactor is made of, besides the rules of all resources with a name; and calls
//! where no program can run.

use serde_json::{Value, json};

use crate::harness::Vault;
use crate::named::{MISSING, Scene};

/// Quotes, a backslash, a line break and a comment that swallows the end of the program.
const CODE: &str = "module.exports = async (req) => {\r\n\treturn \"\\u0041\u{1f512}\"; /* }\n";

#[test]
fn a_reactor_is_active_at_once_and_its_code_comes_back_byte_for_byte() {
    let scene = Scene::of_reactors(CODE);
    let runtime = json!({"image": "node22", "timeout": 20, "async": false,
        "permissions": ["token:create"], "dependencies": {"stripe": "17.0.0"}});
    let made = scene.made(&json!({"configuration": {"b": "1", "a": "2"}, "runtime": runtime}));
    assert_eq!(made.json["state"], "active");
    assert_eq!(made.json["code"], CODE);
    assert_eq!(made.json["configuration"], json!({"b": "1", "a": "2"}));
    assert_eq!(made.json["runtime"], runtime);
    assert_eq!(made.json["tenant_id"], json!(scene.vault.tenant_id));
    assert!(made.json.get("modified_at").is_none() && made.json.get("application").is_none());
    let read = scene.read(&made.id()).with_status(200);
    assert_eq!(read.json, made.json);
    let plain = scene.made(&json!({"configuration": null, "runtime": null}));
    assert_eq!(plain.json["configuration"], json!({}));
    assert!(plain.json.get("runtime").is_none());
}

#[test]
fn all_mistakes_of_a_body_are_reported_at_once() {
    let scene = Scene::of_reactors(CODE);
    scene.create(json!({})).invalid(&["name", "code"]);
    scene.create(json!([])).invalid(&["$"]);
    scene
        .create(json!({"name": "", "code": "x".repeat(50_001), "configuration": {"a": 1},
            "runtime": {"image": "deno", "permissions": ["tenant:delete"]}}))
        .invalid(&["name", "code", "configuration.a", "runtime.image", "runtime.permissions[0]"]);
    scene.made(&json!({"code": "\u{e9}".repeat(50_000)}));
    scene.create(json!({"name": "n", "formula": {"id": MISSING}})).invalid(&["formula", "code"]);
}

#[test]
fn a_patch_keeps_code_and_runtime_unless_it_names_them() {
    let scene = Scene::of_reactors(CODE);
    let id = scene.made(&json!({"runtime": {"timeout": 9}})).id();
    scene.patch(&id, &json!({"name": "Other"})).with_status(204);
    let read = scene.read(&id).with_status(200);
    assert_eq!((&read.json["code"], &read.json["runtime"]), (&json!(CODE), &json!({"timeout": 9})));
    scene.patch(&id, &json!({"runtime": null})).with_status(204);
    assert!(scene.read(&id).with_status(200).json.get("runtime").is_none());
    scene.patch(&id, &json!({"code": null})).invalid(&["code"]);
}

#[test]
fn where_no_program_can_run_a_call_says_so_and_a_wrong_one_is_refused_first() {
    let mut scene = Scene::of_reactors(CODE);
    let id = scene.made(&json!({})).id();
    let invoke = scene.vault.key_with("private", &["reactor:invoke"], &json!([]));
    // A service runs no programs unless its settings say so.
    assert_eq!(scene.vault.stop(), Some(0));
    scene.vault.set("");
    scene.vault.restart_as_service();
    for call in ["react", "react-async"] {
        let path = format!("/reactors/{id}/{call}");
        let refused = scene.vault.post(&path, &invoke, json!({"args": {"a": 1}})).problem(501);
        assert!(refused.member("detail").contains("programs"), "{}", refused.text());
        scene.vault.post(&path, &scene.key, json!({"args": 1})).problem(403);
        let missing = format!("/reactors/{MISSING}/{call}");
        scene.vault.post(&missing, &invoke, json!({"args": 1})).problem(404);
    }
    let results = format!("/reactors/{id}/results/{MISSING}");
    scene.vault.get(&results, &invoke).problem(404);
    let react = format!("/reactors/{id}/react");
    let callback = json!({"args": 1, "callback_url": "http://receiver.example"});
    scene.vault.post(&react, &invoke, callback).invalid(&["callback_url"]);
}

#[test]
fn code_transforms_are_stored_as_sent_and_one_of_each_side() {
    let vault = Vault::start();
    let key = vault.key_with("management", &["proxy:create", "proxy:read"], &json!([]));
    let proxy = |extra: &Value| {
        let mut body = json!({"name": "Charge", "destination_url": "https://psp.example"});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        vault.post("/proxies", &key, body)
    };
    let one = json!({"code": CODE, "options": {"runtime": {"image": "node24"}}});
    let made = proxy(&json!({"request_transform": one})).with_status(201);
    assert_eq!(made.json["request_transform"], one);
    let list = json!([
        {"type": "append_header", "options": {"location": "X-A", "value": "1"}},
        {"type": "CODE", "code": "module.exports = 1", "matcher": "", "expression": ""},
    ]);
    let made = proxy(&json!({"response_transforms": list})).with_status(201);
    assert_eq!(made.json["response_transforms"], list);
    let two = json!([{"code": "a"}, {"type": "code", "code": "b"}]);
    proxy(&json!({"request_transforms": two})).invalid(&["request_transforms[1].type"]);
    proxy(&json!({"request_transform": {"type": "code"}})).invalid(&["request_transform.code"]);
    let long = json!({"code": "x".repeat(50_001)});
    proxy(&json!({"request_transform": long})).invalid(&["request_transform.code"]);
    let wrong = json!({"code": "x", "options": {"runtime": {"image": "deno"}}});
    proxy(&json!({"request_transform": wrong}))
        .invalid(&["request_transform.options.runtime.image"]);
}
