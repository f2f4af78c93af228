//! The rules that proxies and reactors share as resources with a name: lists, patches, deletion,
//! repetition, and the application whose rights they use.

use serde_json::{Value, json};

use crate::harness::{Answer, Request, Vault, patch, post};

pub(crate) const MISSING: &str = "0190a1b2-c3d4-4e5f-8a6b-7c8d9e0f1a2b";

/// A vault, and a key that may do everything with resources of one kind.
pub(crate) struct Scene {
    pub(crate) vault: Vault,
    pub(crate) key: String,
    path: &'static str,
    smallest: Value,
}

impl Scene {
    pub(crate) fn of_proxies() -> Self {
        Self::start("proxy", "/proxies", json!({"destination_url": "https://psp.example/v1?a=b"}))
    }

    pub(crate) fn of_reactors(code: &str) -> Self {
        Self::start("reactor", "/reactors", json!({ "code": code }))
    }

    fn start(kind: &str, path: &'static str, mut smallest: Value) -> Self {
        smallest["name"] = json!("Charge");
        let vault = Vault::start();
        let permissions = ["create", "read", "update", "delete"].map(|it| format!("{kind}:{it}"));
        let permissions: Vec<_> = permissions.iter().map(String::as_str).collect();
        let key = vault.key_with("management", &permissions, &json!([]));
        Self { vault, key, path, smallest }
    }

    /// The smallest body, with further members.
    pub(crate) fn body(&self, extra: &Value) -> Value {
        let mut body = self.smallest.clone();
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        body
    }

    pub(crate) fn create(&self, body: Value) -> Answer {
        self.vault.post(self.path, &self.key, body)
    }

    /// Asks for one with the smallest body and these members.
    pub(crate) fn ask(&self, extra: &Value) -> Answer {
        self.create(self.body(extra))
    }

    #[track_caller]
    pub(crate) fn made(&self, extra: &Value) -> Answer {
        self.ask(extra).with_status(201)
    }

    pub(crate) fn place(&self, id: &str) -> String {
        format!("{}/{id}", self.path)
    }

    pub(crate) fn read(&self, id: &str) -> Answer {
        self.vault.get(&self.place(id), &self.key)
    }

    pub(crate) fn put(&self, id: &str, body: Value) -> Answer {
        self.vault.put(&self.place(id), &self.key, body)
    }

    pub(crate) fn patch(&self, id: &str, body: &Value) -> Answer {
        self.vault.send(&patch(&self.place(id)).key(&self.key).body(body.to_string()))
    }

    pub(crate) fn delete(&self, id: &str) -> Answer {
        self.vault.delete(&self.place(id), &self.key)
    }

    pub(crate) fn list(&self, query: &str) -> Answer {
        self.vault.get(&format!("{}{query}", self.path), &self.key).with_status(200)
    }
}

fn both() -> [Scene; 2] {
    [Scene::of_proxies(), Scene::of_reactors("module.exports = 1")]
}

#[test]
fn a_patch_merges_answers_204_without_a_body_and_null_removes_an_entry() {
    for scene in both() {
        let made = scene.made(&json!({"configuration": {"a": "1", "b": "2"}}));
        let id = made.id();
        let patch = json!({"name": "New", "configuration": {"a": null, "c": "", "b": "3"}});
        assert!(scene.patch(&id, &patch).with_status(204).bytes.is_empty());
        let read = scene.read(&id).with_status(200).json;
        let mut expected = scene.body(&patch);
        expected["configuration"] = json!({"b": "3", "c": ""});
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&read[name], value, "{name}");
        }
        assert_eq!(read.get("key"), made.json.get("key"));
        assert!(read["modified_at"].is_string());
        scene.patch(&id, &json!({"name": null})).invalid(&["name"]);
        scene.patch(&id, &json!([1])).invalid(&["$"]);
        let as_json = Request::new("PATCH", &scene.place(&id)).key(&scene.key);
        scene.vault.send(&as_json.json(json!({"name": "x"}))).problem(415);
        assert_eq!(scene.read(&id).json["name"], "New");
    }
}

#[test]
fn a_deleted_one_is_gone_with_a_problem_in_json() {
    for scene in both() {
        let id = scene.made(&json!({})).id();
        assert!(scene.delete(&id).with_status(204).bytes.is_empty());
        scene.read(&id).problem(404);
        scene.put(&id, scene.body(&json!({}))).problem(404);
        scene.patch(&id, &json!({})).problem(404);
        scene.delete(&id).problem(404);
        scene.read(MISSING).problem(404);
        assert_eq!(scene.list("").json["pagination"]["total_items"], 0);
    }
}

#[test]
fn lists_are_pages_by_number_with_filters_by_id_and_name() {
    for scene in both() {
        let names = ["Charge cards", "Refund", "charge banks"];
        let [cards, refund, banks] = names.map(|name| scene.made(&json!({ "name": name })).id());
        let check = |query: &str, ids: &[&String], count: u64| {
            let page = scene.list(query);
            assert_eq!(page.each("id").iter().collect::<Vec<_>>(), ids, "{query}");
            assert_eq!(page.json["pagination"]["total_items"], count, "{query}");
        };
        // The newest first.
        check("", &[&banks, &refund, &cards], 3);
        check("?size=1&page=2", &[&refund], 3);
        check(&format!("?id={cards}&id={refund}&id={MISSING}"), &[&refund, &cards], 2);
        check("?id=x", &[], 0);
        check("?name=charge*", &[&banks, &cards], 2);
        check("?name=*CARDS", &[&cards], 1);
        check("?name=fun", &[&refund], 1);
        scene.vault.get(&format!("{}?size=0", scene.path), &scene.key).invalid(&["size"]);
    }
}

#[test]
fn the_application_is_a_public_or_private_one_of_the_same_tenant_and_only_its_id_is_read() {
    for scene in both() {
        let [private, public, management] = ["private", "public", "management"].map(|kind| {
            let permission = if kind == "management" { "tenant:read" } else { "token:create" };
            scene.vault.application(kind, &[permission], &json!([]))
        });
        let of = |made: &Answer| {
            let json = &made.json;
            json.get("application_id").or_else(|| json["application"].get("id")).cloned()
        };
        for application in [&private, &public] {
            let made = scene.made(&json!({"application": application.json}));
            assert_eq!(of(&made), Some(json!(application.id())));
        }
        let other = scene.vault.tenant("test");
        let theirs = scene.vault.get("/applications/key", &other.keys.private).id();
        for id in [json!(management.id()), json!(theirs), json!(MISSING), json!("x"), json!(7)] {
            scene.ask(&json!({"application": {"id": id}})).invalid(&["application.id"]);
        }
        let id = scene.made(&json!({"application": {"id": private.id()}})).id();
        scene.patch(&id, &json!({"application": null})).with_status(204);
        assert_eq!(of(&scene.read(&id)), None);
    }
}

#[test]
fn a_repetition_gives_the_first_answer_and_nothing_secret_of_what_is_deleted() {
    for scene in both() {
        let body = scene.body(&json!({"configuration": {"secret": "markerofavalue"}}));
        let send = || {
            let request = post(scene.path).key(&scene.key).once("one");
            scene.vault.send(&request.json(body.clone())).with_status(201)
        };
        let first = send();
        assert_eq!(send().json, first.json);
        assert_eq!(scene.list("").json["pagination"]["total_items"], 1);
        scene.delete(&first.id()).with_status(204);
        let after = send();
        assert_eq!(after.id(), first.id());
        assert!(!after.text().contains("markerofavalue"));
        assert!(after.json.get("key").is_none() && after.json.get("code").is_none());
    }
}

crate::harness::again_over_http2! {
    a_patch_merges_answers_204_without_a_body_and_null_removes_an_entry,
}
