//! Nothing that was entrusted to the vault stands in its data file, its log, its refusals or its metrics.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::harness::{Answer, Request, Vault, delete, get, on_postgres, post, put};
use crate::watch::on_socket;

const MARKERS: [&str; 8] = [
    "mARKdata7f3",
    "mARKmember2",
    "mARKmeta9c1",
    "mARKname44d",
    "mARKterm55e",
    "mARKexpr61b",
    "mARKfield0a",
    "4242424242424242",
];

fn stored() -> serde_json::Value {
    json!({
        "type": "token",
        "id": "mARKname44d",
        "data": {"mARKmember2": "mARKdata7f3", "term": "mARKterm55e"},
        "metadata": {"owner": "mARKmeta9c1"},
        "mask": {"shown": "mARKexpr61b"},
        "search_indexes": ["{{ data.term }}"],
        "fingerprint_expression": "{{ data.term }}",
        "containers": ["/general/high/"],
    })
}

/// Requests that fail, with markers wherever a request has room.
fn failing(vault: &Vault) -> Vec<Request> {
    let key = &vault.keys.private;
    let create = |body| post("/tokens").key(key).json(body);
    let raw =
        |body: &str| post("/tokens").key(key).header("Content-Type", "application/json").body(body);
    let mut requests = vec![
        create(stored()),
        create(json!({"type": "mARKdata7f3", "data": 1})),
        create(json!({"type": "card", "data": {"number": "mARKdata7f3", "cvc": "mARKdata7f3"}})),
        create(json!({"type": "card_number", "data": "42424242424242421"})),
        create(json!({"type": "bank", "data": "mARKdata7f3"})),
        create(json!({"type": "token", "data": 1, "id": "mARKname44d/"})),
        create(json!({"type": "token", "data": 1, "containers": ["mARKdata7f3"]})),
        create(json!({"type": "token", "data": 1, "metadata": {"k": ["mARKmeta9c1"]}})),
        create(json!({"type": "token", "data": 1, "mask": "{{ mARKexpr61b"})),
        create(json!({"type": "token", "data": 1, "mask": "{{ data | mARKexpr61b }}"})),
        create(json!({"type": "token", "data": 1, "fingerprint_expression": "{{ mARKexpr61b }}"})),
        create(json!({"type": "token", "data": 1, "search_indexes": ["{{ data.mARKexpr61b }}"]})),
        create(json!({"type": "token", "data": "mARK data7f3/", "id": "{{ data }}"})),
        create(json!({"type": "token", "data": 1, "expires_at": "mARKdata7f3"})),
        create(json!({"type": "token", "data": 1, "deduplicate_token": "mARKdata7f3"})),
        raw("{\"type\":\"token\",\"data\":\"mARKdata7f3"),
        raw("mARKdata7f3"),
        raw("[\"mARKdata7f3\"]"),
        post("/tokens").key(key).header("Content-Type", "text/mARKdata7f3").body("mARKdata7f3"),
        get("/tokens/mARKfield0a").key(key),
        get("/mARKfield0a").key(key),
        get("/applications?type=mARKfield0a&page=mARKfield0a").key(&vault.keys.management),
        delete("/tokens/mARKfield0a").key(key),
        Request::new("mARKfield0a", "/tokens").key(key),
        get("/permissions?application_type=mARKfield0a").key(key),
    ];
    let management = &vault.keys.management;
    let wrong = json!({
        "name": ["mARKdata7f3"], "type": "mARKdata7f3", "permissions": ["mARKdata7f3"],
        "rules": [{"container": "mARKdata7f3", "transform": "mARKdata7f3"}],
    });
    requests.push(post("/applications").key(management).json(wrong));
    let wrong = json!({"name": 1, "settings": {"deduplicate_tokens": "mARKdata7f3"}});
    requests.push(put("/tenants/self").key(management).json(wrong));
    requests
}

/// The files of a directory whose names begin like this, and their contents.
fn files_of(place: &Path, start: &'static str) -> impl Iterator<Item = (String, Vec<u8>)> + use<> {
    let entries = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.is_file()).map(|path| {
        (String::from(path.file_name().unwrap().to_str().unwrap()), fs::read(&path).unwrap())
    });
    files.filter(move |(name, _)| name.starts_with(start))
}

#[track_caller]
fn check_free(what: &str, bytes: &[u8], marker: &str) {
    let found = bytes.windows(marker.len()).any(|window| window == marker.as_bytes());
    assert!(!found, "{marker} is in {what}");
}

#[test]
fn what_was_stored_is_in_no_file_no_log_and_no_refusal() {
    let mut vault = Vault::start();
    // The service logs a line a request, which the development server does not.
    assert_eq!(vault.stop(), Some(0));
    let archive = vault.directory().join("archive");
    fs::create_dir(&archive).unwrap();
    if !on_postgres() {
        vault.set(&format!("archive.directory = \"{}\"", archive.display()));
    }
    vault.restart_as_service();
    let key = vault.keys.private.clone();
    vault.post("/tokens", &key, stored()).with_status(201);
    let card = json!({"type": "card", "data": {"number": "4242424242424242", "cvc": "123"}});
    vault.post("/tokens", &key, card).with_status(201);
    let made = vault.application("private", &["token:create"], &json!([]));
    let imported = "mARKimportedkey123456";
    let place = ["--tenant", &vault.tenant_id, "--application", &made.id()].map(String::from);
    let place: Vec<_> = place.iter().map(String::as_str).collect();
    let import = [&["application", "key-import"], &place[..]].concat();
    vault.operator_with_input(&import, imported).with_code(0);
    vault.get("/applications/key", imported).with_status(200);
    let mut keys = vec![vault.keys.private.clone(), vault.keys.public.clone(), made.member("key")];
    keys.extend([vault.keys.management.clone(), String::from(imported)]);

    let mut refusals: Vec<Answer> = failing(&vault).iter().map(|it| vault.send(it)).collect();
    for wrong in ["mARKwrongkey1234567890", "mARK wrong"] {
        refusals.push(vault.send(&get("/permissions").key(wrong)));
    }
    let trace = get("/tokens/mARKfield0a").key(&key).header("BT-TRACE-ID", "4242424242424242");
    let traced = vault.send(&trace);
    assert_eq!(traced.header("bt-trace-id"), Some("4242424242424242"));
    for refusal in refusals {
        assert!(refusal.status >= 400, "{}", refusal.text());
        for marker in MARKERS.into_iter().chain(keys.iter().map(String::as_str)).chain(["mARK"]) {
            check_free(&format!("the body of a {}", refusal.status), &refusal.bytes, marker);
            for (name, value) in &refusal.headers {
                check_free(&format!("the header {name}"), value.as_bytes(), marker);
            }
        }
    }
    let mut watched = vec![vault.send(&get("/readyz")).text(), vault.send(&get("/healthz")).text()];
    watched.extend(["/metrics", "/status", "/readyz"].map(|path| on_socket(&vault, path).1));
    watched.push(vault.operator(&["status"]).with_code(0).stdout);
    assert!(watched.iter().any(|text| text.contains("ReadToken")), "requests were counted");
    let everything = MARKERS.into_iter().chain(keys.iter().map(String::as_str)).chain(["mARK"]);
    for marker in everything {
        for text in &watched {
            check_free("what is watched", text.as_bytes(), marker);
        }
    }
    assert_eq!(vault.stop(), Some(0));
    let log = vault.log();
    assert!(log.contains("\"route\":\"ReadToken\""), "the log has lines for requests: {log}");
    let files = files_of(&vault.data(), "strongroom.").chain(files_of(&archive, ""));
    let mut files: Vec<_> = files.collect();
    if let Some(database) = vault.database() {
        files.push((String::from("the database"), database.bytes()));
    } else {
        for part in ["strongroom.redb", "strongroom.log.", ".piece"] {
            assert!(
                files.iter().any(|(name, _)| name.contains(part)),
                "{part}: nothing to look at"
            );
        }
    }
    for marker in MARKERS.into_iter().chain(keys.iter().map(String::as_str)).chain(["mARK"]) {
        check_free("the log", log.as_bytes(), marker);
        for (name, bytes) in &files {
            check_free(name, bytes, marker);
        }
    }
    vault.verify().with_code(0);
}

#[test]
fn the_operators_commands_do_not_repeat_a_key_that_they_refuse() {
    let vault = Vault::start();
    let made = vault.application("private", &["token:create"], &json!([]));
    let tenant = vault.tenant_id.clone();
    let import = ["application", "key-import", "--tenant", &tenant, "--application", &made.id()]
        .map(String::from);
    let import: Vec<_> = import.iter().map(String::as_str).collect();
    for text in ["mARK!not-a-key-text", "mARK", &vault.keys.private] {
        let ended = vault.operator_with_input(&import, text).with_code(65);
        assert!(!ended.stderr.contains(text) && !ended.stdout.contains(text));
    }
}
