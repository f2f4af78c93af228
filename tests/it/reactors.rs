//! `/reactors`: create, list, read, replace, patch and delete; and calls where no program can run.

use serde_json::{Value, json};

use crate::harness::{Answer, Request, Vault, patch, post};

const MISSING: &str = "0190a1b2-c3d4-4e5f-8a6b-7c8d9e0f1a2b";
/// Quotes, a backslash, a line break and a comment that swallows the end of the program.
const CODE: &str = "module.exports = async (req) => {\r\n\treturn \"\\u0041\u{1f512}\"; /* }\n";

/// A vault, and a key that may do everything with reactors.
struct Scene {
    vault: Vault,
    key: String,
}

impl Scene {
    fn start() -> Self {
        let vault = Vault::start();
        let permissions = ["create", "read", "update", "delete"].map(|it| format!("reactor:{it}"));
        let permissions: Vec<_> = permissions.iter().map(String::as_str).collect();
        let key = vault.key_with("management", &permissions, &json!([]));
        Self { vault, key }
    }

    fn create(&self, body: Value) -> Answer {
        self.vault.post("/reactors", &self.key, body)
    }

    #[track_caller]
    fn made(&self, extra: &Value) -> Answer {
        self.create(reactor(extra)).with_status(201)
    }

    fn read(&self, id: &str) -> Answer {
        self.vault.get(&format!("/reactors/{id}"), &self.key)
    }

    fn patch(&self, id: &str, body: &Value) -> Answer {
        let request = patch(&format!("/reactors/{id}"));
        self.vault.send(&request.key(&self.key).body(body.to_string()))
    }
}

/// The smallest body, with further members.
fn reactor(extra: &Value) -> Value {
    let mut body = json!({"name": "Charge", "code": CODE});
    for (name, value) in extra.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

#[test]
fn a_reactor_is_active_at_once_and_its_code_comes_back_byte_for_byte() {
    let scene = Scene::start();
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
fn of_an_application_only_the_id_is_read() {
    let scene = Scene::start();
    let whole = scene.vault.application("private", &["token:create"], &json!([]));
    let made = scene.made(&json!({ "application": whole.json }));
    assert_eq!(made.json["application"], json!({"id": whole.id()}));
    let management = scene.vault.application("management", &["tenant:read"], &json!([]));
    for id in [MISSING, &management.id(), "x"] {
        scene.create(reactor(&json!({"application": {"id": id}}))).invalid(&["application.id"]);
    }
    scene.create(reactor(&json!({"application": {"id": 7}}))).invalid(&["application.id"]);
}

#[test]
fn all_mistakes_of_a_body_are_reported_at_once() {
    let scene = Scene::start();
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
fn a_patch_merges_and_answers_nothing() {
    let scene = Scene::start();
    let made =
        scene.made(&json!({"configuration": {"a": "1", "b": "2"}, "runtime": {"timeout": 9}}));
    let id = made.id();
    let changed = scene.patch(&id, &json!({"configuration": {"a": null, "c": "3"}}));
    assert!(changed.with_status(204).text().is_empty());
    let read = scene.read(&id).with_status(200);
    assert_eq!(read.json["configuration"], json!({"b": "2", "c": "3"}));
    assert_eq!(read.json["code"], CODE);
    assert_eq!(read.json["runtime"], json!({"timeout": 9}));
    assert!(read.json["modified_at"].is_string());
    scene.patch(&id, &json!({"runtime": null, "name": "Other"})).with_status(204);
    let read = scene.read(&id).with_status(200);
    assert!(read.json.get("runtime").is_none());
    assert_eq!(read.json["name"], "Other");
    scene.patch(&id, &json!({"code": null})).invalid(&["code"]);
    let path = format!("/reactors/{id}");
    let as_json = Request::new("PATCH", &path).key(&scene.key).json(json!({"name": "n"}));
    scene.vault.send(&as_json).problem(415);
}

#[test]
fn reactors_are_listed_by_name_and_id_and_deleted() {
    let scene = Scene::start();
    let first = scene.made(&json!({"name": "Card charge"})).id();
    let second = scene.made(&json!({"name": "Refund"})).id();
    let ids = |query: &str| {
        let list = scene.vault.get(&format!("/reactors{query}"), &scene.key).with_status(200);
        let ids = list.json["data"].as_array().unwrap().iter();
        let ids: Vec<_> = ids.map(|it| it["id"].as_str().unwrap()).collect();
        ids.join(" ")
    };
    assert_eq!(ids(""), format!("{second} {first}"));
    assert_eq!(ids("?name=card*"), first);
    assert_eq!(ids(&format!("?id={second}&id={MISSING}")), second);
    assert_eq!(ids("?id=x"), "");
    assert_eq!(ids("?page=2&size=1"), first);
    scene.vault.delete(&format!("/reactors/{first}"), &scene.key).with_status(204);
    scene.read(&first).problem(404);
    scene.vault.put(&format!("/reactors/{first}"), &scene.key, reactor(&json!({}))).problem(404);
    assert_eq!(ids(""), second);
}

#[test]
fn a_repeated_creation_shows_the_code_only_while_the_reactor_exists() {
    let scene = Scene::start();
    let create = || {
        let request = post("/reactors").key(&scene.key).header("BT-IDEMPOTENCY-KEY", "once");
        scene.vault.send(&request.json(reactor(&json!({"configuration": {"a": "s3cret"}}))))
    };
    let made = create().with_status(201);
    assert_eq!(create().with_status(201).json, made.json);
    scene.vault.delete(&format!("/reactors/{}", made.id()), &scene.key).with_status(204);
    let repeated = create().with_status(201);
    assert_eq!(repeated.id(), made.id());
    assert!(repeated.json.get("code").is_none() && !repeated.text().contains("s3cret"));
}

#[test]
fn where_no_program_can_run_a_call_says_so_and_a_wrong_one_is_refused_first() {
    let mut scene = Scene::start();
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
fn formulas_are_gone_and_name_what_replaces_them() {
    let vault = Vault::start();
    for (method, path) in [
        ("GET", "/reactor-formulas"),
        ("POST", "/reactor-formulas"),
        ("GET", "/reactor-formulas/a"),
        ("PUT", "/reactor-formulas/a"),
        ("DELETE", "/reactor-formulas/a"),
    ] {
        let request = Request::new(method, path).key(&vault.keys.management);
        let gone = vault.send(&request).problem(410);
        assert!(gone.member("detail").contains("code"), "{}", gone.text());
    }
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
