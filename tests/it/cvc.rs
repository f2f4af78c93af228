//! Card verification codes: gone after their retention, for every caller and from every copy.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Answer, Vault, needs_data_file, post};

const HOUR_S: u64 = 3_600;
/// In the file of keys a slot has 128 bytes; the sealed key is at these of them.
const SLOT_BYTES: usize = 128;
const SEALED: std::ops::Range<usize> = 24..93;

fn card(cvc: &str) -> Value {
    json!({"number": "4242424242424242", "expiration_month": 12, "cvc": cvc})
}

fn token(vault: &Vault, cvc: &str) -> String {
    vault.token(json!({"type": "card", "data": card(cvc)}))
}

/// The code as a key with full access reads it.
fn code(vault: &Vault, id: &str) -> Option<String> {
    let read = vault.read(id).with_status(200);
    assert_eq!(read.json["data"]["number"], "4242424242424242");
    read.json["data"].get("cvc").map(|code| String::from(code.as_str().unwrap()))
}

fn detokenized(vault: &Vault, expression: &str) -> Answer {
    vault.post("/detokenize", &vault.keys.private, json!({"x": expression})).with_status(200)
}

#[test]
fn a_code_is_gone_for_every_caller_when_its_hour_is_over() {
    let mut vault = Vault::start();
    let body = json!({
        "type": "card", "data": card("987"), "mask": {"c": "{{ data.cvc }}", "n": "{{ data.number | last4 }}"},
    });
    let id = vault.token(body);
    let masked = vault.key_with("private", &["token:read"], &json!([]));
    vault.advance(HOUR_S - 30);
    assert_eq!(code(&vault, &id).as_deref(), Some("987"));
    assert_eq!(vault.read_as(&masked, &id).json["data"], json!({"c": "XXX", "n": "4242"}));
    let expression = format!("{{{{ token: {id} | json: '$.data' }}}}");
    assert_eq!(detokenized(&vault, &expression).json["x"]["cvc"], "987");
    vault.advance(30);
    assert_eq!(code(&vault, &id), None);
    assert_eq!(vault.read_as(&masked, &id).json["data"], json!({"n": "4242"}));
    assert_eq!(detokenized(&vault, &expression).json["x"].get("cvc"), None);
    let patched = vault.patch(&id, json!({"metadata": {"a": "b"}})).with_status(200);
    assert_eq!(patched.json["data"].get("cvc"), None);
    let report = vault.stop_and_verify().stdout;
    assert!(report.contains("cvcs:           0 (0 more"), "{report}");
}

#[test]
fn the_retention_is_the_tenants_quota_at_the_time_of_writing() {
    let vault = Vault::start_with(&["--quota", "cvc_retention=10m"]);
    let early = token(&vault, "111");
    let set = ["tenant", "set", "--tenant", &vault.tenant_id, "--quota", "cvc_retention=20m"];
    vault.operator(&set).json();
    let late = token(&vault, "222");
    vault.advance(600);
    assert_eq!((code(&vault, &early), code(&vault, &late)), (None, Some(String::from("222"))));
    vault.advance(600);
    assert_eq!(code(&vault, &late), None);
}

#[test]
fn a_new_code_restarts_its_clock_and_other_changes_do_not() {
    let vault = Vault::start();
    let (kept, renewed) = (token(&vault, "111"), token(&vault, "111"));
    vault.advance(HOUR_S / 2);
    vault
        .patch(&kept, json!({"metadata": {"a": "b"}, "data": {"expiration_month": 3}}))
        .with_status(200);
    vault.patch(&renewed, json!({"data": {"cvc": "222"}})).with_status(200);
    assert_eq!(code(&vault, &kept).as_deref(), Some("111"));
    assert_eq!(code(&vault, &renewed).as_deref(), Some("222"));
    vault.advance(HOUR_S / 2);
    assert_eq!(code(&vault, &kept), None);
    assert_eq!(code(&vault, &renewed).as_deref(), Some("222"));
    // One can be given back, and taken away before its time.
    vault.patch(&kept, json!({"data": {"cvc": 3333}})).with_status(200);
    assert_eq!(code(&vault, &kept).as_deref(), Some("3333"));
    vault.patch(&kept, json!({"data": {"cvc": null}})).with_status(200);
    assert_eq!(code(&vault, &kept), None);
    vault.advance(HOUR_S / 2);
    assert_eq!(code(&vault, &renewed), None);
}

#[test]
fn an_intents_code_goes_after_its_hour_and_the_intent_stays() {
    let vault = Vault::start();
    let body = json!({"type": "card", "data": card("987")});
    let id = vault.post("/token-intents", &vault.keys.private, body).with_status(201).id();
    let expression = format!("{{{{ token_intent: {id} | json: '$.data' }}}}");
    assert_eq!(detokenized(&vault, &expression).json["x"]["cvc"], "987");
    vault.advance(HOUR_S);
    let seen = detokenized(&vault, &expression);
    assert_eq!(seen.json["x"], json!({"number": "4242424242424242", "expiration_month": 12}));
    vault.get(&format!("/token-intents/{id}"), &vault.keys.private).with_status(200);
}

#[test]
fn expressions_for_id_fingerprint_and_indexes_do_not_see_a_code() {
    let vault = Vault::start();
    let create = |name: &str, value: Value| {
        let mut body = json!({"type": "card", "data": card("9876")});
        body[name] = value;
        vault.create(body)
    };
    create("search_indexes", json!(["{{ data.cvc }}"])).invalid(&["search_indexes[0]"]);
    create("id", json!("{{ data.cvc }}")).invalid(&["id"]);
    let print = |cvc: &str| {
        let body = json!({
            "type": "card", "data": card(cvc),
            "fingerprint_expression": "{{ data | stringify }}",
        });
        let made = vault.create(body).with_status(201);
        made.member("fingerprint")
    };
    assert_eq!(print("111"), print("222"));
}

#[test]
fn a_repeated_answer_has_the_code_for_its_hour_and_not_longer() {
    let vault = Vault::start();
    let request = |path: &str, body: Value| {
        vault.send(&post(path).key(&vault.keys.private).once("k").json(body))
    };
    let one = json!({"type": "card", "data": card("987"), "metadata": {"a": "b"}});
    let two = json!({"x": [one, "plain"], "y": {"type": "card", "data": card("654")}});
    for (path, body, codes) in
        [("/tokens", one, vec!["987"]), ("/tokenize", two, vec!["987", "654"])]
    {
        let first = request(path, body);
        for code in &codes {
            assert!(first.text().contains(&format!(r#""cvc":"{code}""#)), "{}", first.text());
        }
        let again = request(path, json!({}));
        assert_eq!(again.header("bt-idempotent-replayed"), Some("true"));
        assert_eq!(again.bytes, first.bytes);
        vault.advance(HOUR_S);
        let later = request(path, json!({}));
        assert_eq!(later.header("bt-idempotent-replayed"), Some("true"));
        let mut expected = first.json.clone();
        strip(&mut expected);
        assert_eq!(later.json, expected);
        assert!(!later.text().contains("cvc"), "{}", later.text());
    }
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("cvc");
            members.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

fn sealed_keys(data: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(data.join("cvc.keys")).unwrap();
    let slots = bytes.chunks(SLOT_BYTES).filter(|slot| slot.iter().any(|byte| *byte != 0));
    slots.map(|slot| slot[SEALED].to_vec()).collect()
}

fn holders(directory: &Path, bytes: &[u8]) -> Vec<String> {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.is_file());
    let holds = files.filter(|path| {
        let whole = fs::read(path).unwrap();
        whole.windows(bytes.len()).any(|window| window == bytes)
    });
    holds.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

#[test]
fn no_copy_of_the_database_gives_a_code_back_once_its_key_was_destroyed() {
    needs_data_file!("it copies the file");
    let mut vault = Vault::start();
    let id = token(&vault, "9876");
    let other = vault.post(
        "/token-intents",
        &vault.keys.private,
        json!({"type": "card", "data": card("8765")}),
    );
    let intent = other.with_status(201).id();
    let once = post("/tokens").key(&vault.keys.private).once("k");
    let once = once.json(json!({"type": "card", "data": card("7654")}));
    assert_eq!(vault.send(&once).with_status(201).json["data"]["cvc"], "7654");
    assert_eq!(vault.stop(), Some(0));
    // A backup holds the database, and not the file of keys.
    let data = vault.data();
    let backup = vault.directory().join("backup.redb");
    fs::copy(data.join("strongroom.redb"), &backup).unwrap();
    let keys = sealed_keys(&data);
    assert!(!keys.is_empty());
    for key in &keys {
        assert_eq!(holders(&data, key), ["cvc.keys"]);
    }
    vault.restart();
    assert_eq!(code(&vault, &id).as_deref(), Some("9876"));
    // A key is destroyed when the whole minute of its codes has passed.
    vault.advance(HOUR_S + 60);
    assert_eq!(vault.stop(), Some(0));
    assert_eq!(sealed_keys(&data), [[0; 0]; 0]);
    for key in &keys {
        assert_eq!(holders(&data, key), [""; 0]);
    }
    // The old database, on a clock that says the hour is not over: its codes are gone all the same.
    vault.put_back(&fs::read(&backup).unwrap());
    let report = vault.verify().with_code(0).stdout;
    assert!(report.contains("cvcs:           0 (3 more without a key: gone)"), "{report}");
    vault.restart();
    assert_eq!(code(&vault, &id), None);
    let expression = format!("{{{{ token_intent: {intent} | json: '$.data' }}}}");
    assert_eq!(detokenized(&vault, &expression).json["x"].get("cvc"), None);
    let replayed = vault.send(&once).with_status(201);
    assert_eq!(replayed.header("bt-idempotent-replayed"), Some("true"));
    assert_eq!(replayed.json["data"].get("cvc"), None);
    assert_eq!(replayed.json["data"]["number"], "4242424242424242");
}

#[test]
fn a_code_survives_a_kill_and_still_ends_on_time() {
    needs_data_file!("over a database a restart loses the codes");
    let mut vault = Vault::start();
    let id = token(&vault, "987");
    vault.signal("KILL");
    assert_eq!(vault.wait(), None, "a signal ended it");
    vault.restart();
    assert_eq!(code(&vault, &id).as_deref(), Some("987"));
    vault.advance(HOUR_S);
    assert_eq!(code(&vault, &id), None);
}

#[test]
fn a_mask_shows_the_length_of_a_code_at_most_and_only_while_there_is_one() {
    let vault = Vault::start();
    let key = vault.key_with("private", &["token:create"], &json!([]));
    let mask = json!({"code": "{{ data.cvc }}", "number": "{{ data.number | last4 }}"});
    let body = json!({"type": "card", "data": card("357"), "mask": mask});
    let request = || post("/tokens").key(&key).once("m").json(body.clone());
    let first = vault.send(&request()).with_status(201);
    assert_eq!(first.json["data"]["code"], "XXX");
    assert_eq!(vault.send(&request()).bytes, first.bytes);
    vault.advance(HOUR_S + 60);
    let later = vault.send(&request()).with_status(201);
    assert!(!later.text().contains("XXX\""), "{}", later.text());
    assert_eq!(later.json["id"], first.json["id"]);
}
