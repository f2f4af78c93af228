//! Opened means audited: a request that fails after a value was opened has its entry in the log, with
//! the outcome, before it is answered.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use strongroom::testing::base64;

use crate::client_keys::{Key, encrypt, new_key};
use crate::harness::{Answer, Request, Vault, patch, post, thorough};
use crate::proxy::Scene;

/// A request that opens something and cannot succeed.
#[derive(Debug, Clone)]
enum Failing {
    /// The first expressions of the body are good, and the last one fails.
    Detokenize(Vec<usize>, &'static str),
    /// The same body names a token that is not there.
    DetokenizeMissing(Vec<usize>),
    Patch(usize, Value),
    Convert(Value),
    Tokenize(Value),
    Encrypted(Value),
    Proxy(Vec<usize>, &'static str),
    ProxyHeader(usize, &'static str),
    StoredProxy(&'static str),
    EncryptedHeader(&'static str),
    Threeds,
    BankAccount(usize),
}

/// Entries of failures, as `(operation, entity_id)`.
type Entries = BTreeSet<(String, String)>;

struct World {
    scene: Scene,
    tokens: [String; 3],
    intent: String,
    key: Key,
    proxy: (String, String),
}

/// An expression over the value of a token that fails for every value there is.
fn failing_filter() -> impl Strategy<Value = &'static str> {
    // All of these values are objects.
    select(vec!["plus: 1", "minus: 1", "times: 2", "divided_by: 3"])
}

fn requests() -> impl Strategy<Value = Failing> {
    let some = || subsequence(vec![0, 1, 2], 1..=3);
    let expression = select(vec!["{{ data.none }}", "{{ data | divided_by: 0 }}"]);
    let appearance = expression.prop_flat_map(|text| {
        select(vec![json!({"search_indexes": [text]}), json!({"fingerprint_expression": text})])
    });
    let data = select(vec![
        json!({"data": {"number": "4242424242424241"}}),
        json!({"data": {"expiration_month": 13}}),
        json!({"data": {"number": null}}),
    ]);
    prop_oneof![
        (some(), failing_filter()).prop_map(|(ids, filter)| Failing::Detokenize(ids, filter)),
        some().prop_map(Failing::DetokenizeMissing),
        (select(vec![0, 1]), prop_oneof![appearance.clone(), data])
            .prop_map(|(id, patch)| Failing::Patch(id, patch)),
        appearance.clone().prop_map(Failing::Convert),
        appearance.prop_map(Failing::Tokenize),
        select(vec![json!({"number": "1"}), json!("text"), json!({})]).prop_map(Failing::Encrypted),
        (some(), failing_filter()).prop_map(|(ids, filter)| Failing::Proxy(ids, filter)),
        (select(vec![0, 1]), failing_filter())
            .prop_map(|(id, filter)| Failing::ProxyHeader(id, filter)),
        failing_filter().prop_map(Failing::StoredProxy),
        failing_filter().prop_map(Failing::EncryptedHeader),
        Just(Failing::Threeds),
        select(vec![0, 2]).prop_map(Failing::BankAccount),
    ]
}

impl World {
    fn start() -> Self {
        let scene = Scene::start();
        let vault = &scene.vault;
        // No scheme knows this card.
        let odd = vault.token(json!({"type": "card", "data": {"number": "4100000000000003"}}));
        let text = vault.token(json!({"type": "token", "data": {"number": "text"}}));
        let tokens = [scene.card.clone(), odd, text];
        let intent = json!({"type": "card", "data": {"number": "4242424242424242", "cvc": "123"}});
        let intent = vault.post("/token-intents", &vault.keys.private, intent);
        let (intent, key) = (intent.with_status(201).id(), new_key(vault));
        let proxy = scene.proxy(json!({"configuration": {"SECRET": "well kept"}}));
        let proxy = (proxy.id(), proxy.member("key"));
        Self { scene, tokens, intent, key, proxy }
    }

    fn vault(&self) -> &Vault {
        &self.scene.vault
    }

    fn named(&self, ids: &[usize], last: &str) -> Value {
        let all = ids.iter().map(|at| format!("{{{{ {} }}}}", self.tokens[*at]));
        let failing = format!("{{{{ {} | {last} }}}}", self.tokens[ids[0]]);
        all.chain([failing]).map(Value::from).collect()
    }

    fn request(&self, failing: &Failing) -> Request {
        let encrypted = |data: &Value| encrypt(&self.key, data);
        let with = |mut body: Value, more: &Value| {
            body.as_object_mut().unwrap().append(&mut more.as_object().unwrap().clone());
            body
        };
        let request = match failing {
            Failing::Detokenize(ids, filter) => post("/detokenize").json(self.named(ids, filter)),
            Failing::DetokenizeMissing(ids) => {
                let mut body = self.named(ids, "json: '$'");
                body.as_array_mut().unwrap().push(json!("{{ none-such }}"));
                post("/detokenize").json(body)
            }
            Failing::Patch(at, change) => {
                let url = format!("/tokens/{}", self.tokens[*at]);
                patch(&url).body(change.to_string())
            }
            Failing::Convert(appearance) => {
                let body = with(json!({"token_intent_id": self.intent}), appearance);
                post("/tokens").json(body)
            }
            Failing::Tokenize(appearance) => {
                let part = with(json!({"token_intent_id": self.intent}), appearance);
                post("/tokenize").json(json!({"a": part, "b": "beside it"}))
            }
            Failing::Encrypted(data) => {
                post("/tokens").json(json!({"type": "card", "encrypted": encrypted(data)}))
            }
            Failing::Proxy(ids, filter) => self.scene.call("/echo").json(self.named(ids, filter)),
            Failing::ProxyHeader(at, filter) => {
                let text = format!("{{{{ {} | {filter} }}}}", self.tokens[*at]);
                self.scene.call("/echo").header("X-Value", &text).body("x")
            }
            Failing::StoredProxy(filter) => {
                let body = json!([format!("{{{{ config | {filter} }}}}")]);
                post("/proxy").header("BT-PROXY-KEY", &self.proxy.1).json(body)
            }
            Failing::EncryptedHeader(filter) => {
                let header =
                    json!({"type": "card", "encrypted": encrypted(&json!({"number": "x"}))});
                let header = base64::encode_url(header.to_string().as_bytes());
                let header = header.replace('-', "+").replace('_', "/");
                let body = json!([format!("{{{{ encrypted | {filter} }}}}")]);
                self.scene.call("/echo").header("BT-ENCRYPTED", &header).json(body)
            }
            Failing::Threeds => post("/3ds/sessions").json(json!({
                "token_id": self.tokens[1], "type": "customer", "device": "browser",
            })),
            Failing::BankAccount(at) => {
                let body = json!({"token_id": self.tokens[*at]});
                post("/enrichments/bank-account-verify").json(body)
            }
        };
        request.key(&self.vault().keys.private)
    }

    fn opened(&self, failing: &Failing) -> Entries {
        let entry = |act: &str, id: &str| (String::from(act), String::from(id));
        let tokens = |act: &str, ids: &[usize]| -> Entries {
            ids.iter().map(|at| entry(act, &self.tokens[*at])).collect()
        };
        let none = uuid::Uuid::nil().to_string();
        let through = |mut all: Entries| {
            all.insert(entry("invoke", &none));
            all
        };
        match failing {
            Failing::Detokenize(ids, _) | Failing::DetokenizeMissing(ids) => tokens("read", ids),
            Failing::Patch(at, _) | Failing::BankAccount(at) => tokens("read", &[*at]),
            Failing::Convert(_) | Failing::Tokenize(_) => {
                Entries::from([entry("read", &self.intent)])
            }
            Failing::Encrypted(_) => Entries::from([entry("use", self.key.id())]),
            Failing::Proxy(ids, _) => through(tokens("use", ids)),
            Failing::ProxyHeader(at, _) => through(tokens("use", &[*at])),
            Failing::StoredProxy(_) => Entries::from([entry("invoke", &self.proxy.0)]),
            Failing::EncryptedHeader(_) => through(Entries::from([entry("use", self.key.id())])),
            Failing::Threeds => tokens("use", &[1]),
        }
    }

    /// All entries of failures so far, newest first.
    fn failures(&self) -> Vec<(String, String)> {
        let text = |entry: &Value, name: &str| String::from(entry[name].as_str().unwrap());
        let failed = self.vault().logged("size=5000").into_iter();
        let failed = failed.filter(|it| it["outcome"] == "failure" && it["operation"] != "refuse");
        failed.map(|it| (text(&it, "operation"), text(&it, "entity_id"))).collect()
    }

    fn check(&self, failing: &Failing) -> Answer {
        let before = self.failures().len();
        let answer = self.vault().send(&self.request(failing));
        assert_eq!(answer.status, 400, "{failing:?}: {}", answer.text());
        let failures = self.failures();
        let added = &failures[..failures.len() - before];
        let found: Entries = added.iter().cloned().collect();
        assert_eq!(found, self.opened(failing), "{failing:?}: {}", answer.text());
        assert_eq!(found.len(), added.len(), "{failing:?}: each once");
        answer
    }
}

#[test]
fn every_request_that_opened_a_value_and_failed_is_in_the_log() {
    let world = World::start();
    let mut runner = TestRunner::new(Config { cases: thorough(24, 96), ..Config::default() });
    runner
        .run(&requests(), |failing| {
            let answer = world.check(&failing);
            if matches!(failing, Failing::Detokenize(..)) {
                let errors = answer.json["errors"].as_object().unwrap();
                prop_assert_eq!(errors.len(), 1, "one path");
            }
            Ok(())
        })
        .unwrap();
    assert!(world.scene.psp.received().is_empty(), "nothing was sent");
}

/// The text of a failure does not depend on the value, so it says one thing at most.
#[test]
fn a_failing_expression_is_named_by_its_first_path_with_one_text() {
    let vault = Vault::start();
    let key = &vault.keys.private;
    let secret =
        vault.token(json!({"type": "token", "data": {"number": "7391", "list": [1], "word": "x"}}));
    let body = |filters: &[&str]| -> Value {
        filters.iter().map(|it| Value::from(format!("{{{{ {secret} | {it} }}}}"))).collect()
    };
    let mut texts = BTreeSet::new();
    for filters in [
        ["json: '$.number'", "json: '$.word' | plus: 1", "plus: 1"],
        ["json: '$.list'", "json: '$.list' | plus: 1", "json: '$.word' | plus: 1"],
        ["json: '$.number'", "json: '$.number' | divided_by: 0", "plus: 1"],
    ] {
        let refused = vault.post("/detokenize", key, body(&filters)).problem(400);
        let errors = refused.json["errors"].as_object().unwrap();
        assert_eq!(errors.keys().collect::<Vec<_>>(), ["$[1]"], "{}", refused.text());
        texts.insert(errors["$[1]"].to_string());
    }
    assert_eq!(texts.len(), 1, "{texts:?}");
    let change = json!({
        "search_indexes": ["{{ data.none }}", "{{ data | plus: 1 }}"],
        "fingerprint_expression": "{{ data.number | divided_by: 0 }}",
    });
    vault.patch(&secret, change).invalid(&["fingerprint_expression"]);
}

#[test]
fn a_strict_server_that_is_killed_after_a_failure_has_its_entry() {
    let mut vault = Vault::start();
    let id = vault.token(json!({"type": "token", "data": "x"}));
    vault.serve("audit.reads = \"strict\"");
    let body = json!(format!("{{{{ {id} | divided_by: 0 }}}}"));
    vault.post("/detokenize", &vault.keys.private, body).problem(400);
    vault.signal("KILL");
    assert_eq!(vault.wait(), None);
    vault.restart_as_service();
    let entries = vault.logged("");
    let is_read = |it: &&Value| it["operation"] == "read" && it["outcome"] == "failure";
    let found = entries.iter().find(is_read).expect("the entry of the failure");
    assert_eq!(found["entity_id"], json!(id));
}
