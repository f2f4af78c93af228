//! Idempotency keys: one effect, one answer, for a day.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::bulk::count;
use crate::harness::{
    Answer, Connection, KillOnDrop, Request, Vault, card, delete, get, needs_one_process,
    only_rule, patch, post, put, wait_for, wait_for_clients,
};
use crate::race::at_once;

const DAY_S: u64 = 86_400;

fn with_key(request: Request, vault: &Vault, once: &str) -> Request {
    request.key(&vault.keys.private).once(once)
}

#[expect(clippy::needless_pass_by_value, reason = "data is written where it is sent")]
fn create(vault: &Vault, once: &str, data: Value) -> Answer {
    let request = post("/tokens").json(json!({"type": "token", "data": data}));
    vault.send(&with_key(request, vault, once))
}

fn replayed(answer: &Answer) -> bool {
    match answer.header("bt-idempotent-replayed") {
        None => false,
        Some(value) => {
            assert_eq!(value, "true");
            true
        }
    }
}

#[test]
fn a_repeated_key_gives_the_same_bytes_whatever_the_body() {
    let mut vault = Vault::start();
    let first = create(&vault, "k", json!("one")).with_status(201);
    assert!(!replayed(&first));
    for body in [json!("one"), json!("another"), json!(null)] {
        let again = create(&vault, "k", body).with_status(201);
        assert!(replayed(&again));
        assert_eq!(again.bytes, first.bytes);
        assert_eq!(again.header("location"), first.header("location"));
        assert_eq!(again.header("content-type"), first.header("content-type"));
    }
    for body in ["", "{", "[]"] {
        let again = vault.send(&with_key(post("/tokens").body(body), &vault, "k"));
        assert_eq!(again.with_status(201).bytes, first.bytes);
    }
    // The answer is the first one, also after the token has changed. After the token is deleted, no
    // new one is made, and the answer is an outline.
    vault.patch(&first.id(), json!({"data": "changed"})).with_status(200);
    assert_eq!(create(&vault, "k", json!(1)).with_status(201).bytes, first.bytes);
    let path = format!("/tokens/{}", first.id());
    vault.delete(&path, &vault.keys.private).with_status(204);
    assert_eq!(create(&vault, "k", json!(1)).with_status(201).id(), first.id());
    assert_eq!(count(&mut vault), 0);
}

#[test]
fn a_failure_is_not_remembered() {
    let vault = Vault::start();
    let bad = || post("/tokens").json(json!({"type": "card_number", "data": "1"}));
    vault.send(&with_key(bad(), &vault, "k")).problem(400);
    vault.send(&with_key(post("/tokens").body("{"), &vault, "k")).problem(400);
    let plain = post("/tokens").header("Content-Type", "text/plain").body("x");
    vault.send(&with_key(plain, &vault, "k")).problem(415);
    let made = create(&vault, "k", json!(1)).with_status(201);
    assert!(!replayed(&made));
    // Once it has succeeded it succeeds.
    let again = vault.send(&with_key(bad(), &vault, "k")).with_status(201);
    assert_eq!(again.bytes, made.bytes);
    let named = vault.token(json!({"type": "token", "data": 1, "id": "a-name"}));
    let taken = json!({"type": "token", "data": 1, "id": named});
    let taken = || with_key(post("/tokens").json(taken.clone()), &vault, "c");
    vault.send(&taken()).problem(409);
    vault.delete(&format!("/tokens/{named}"), &vault.keys.private).with_status(204);
    vault.send(&taken()).with_status(201);
}

/// A request whose head is sent and answered with "go on", and the rest of its body.
fn half_sent(vault: &Vault, once: &str) -> (Connection, Vec<u8>) {
    let body = json!({"type": "token", "data": "slow"}).to_string();
    let request = post("/tokens").header("Content-Type", "application/json");
    let request =
        with_key(request, vault, once).header("Expect", "100-continue").body(body.clone());
    let bytes = request.bytes(&vault.address.to_string());
    let (head, body) = bytes.split_at(bytes.len() - body.len());
    let mut connection = vault.connect();
    connection.send(head).unwrap();
    assert_eq!(connection.receive().unwrap().status, 100);
    connection.send(&body[..4]).unwrap();
    (connection, body[4..].to_vec())
}

#[test]
fn a_key_whose_first_request_is_still_being_sent_is_409_at_once() {
    needs_one_process!("requests in flight are known to their process");
    let vault = Vault::start();
    let (mut first, rest) = half_sent(&vault, "k");
    for _ in 0..3 {
        let refused = create(&vault, "k", json!("fast")).problem(409);
        assert_eq!(refused.header("retry-after"), Some("1"));
    }
    // Another key is another matter.
    create(&vault, "other", json!("fast")).with_status(201);
    first.send(&rest).unwrap();
    let made = first.receive().unwrap().with_status(201);
    assert!(!replayed(&made));
    assert_eq!(made.json["data"], "slow");
    let again = create(&vault, "k", json!("fast")).with_status(201);
    assert!(replayed(&again));
    assert_eq!(again.bytes, made.bytes);
}

#[test]
fn a_client_that_leaves_before_its_body_is_sent_frees_its_key() {
    needs_one_process!("requests in flight are known to their process");
    let vault = Vault::start();
    let (first, _) = half_sent(&vault, "k");
    create(&vault, "k", json!("fast")).problem(409);
    drop(first);
    // The server learns of it as soon as it reads; until then it says to come back.
    let made = wait_for("the key is free", || {
        Some(create(&vault, "k", json!("fast"))).filter(|answer| answer.status != 409)
    });
    let made = made.with_status(201);
    assert!(!replayed(&made));
    assert_eq!(made.json["data"], "fast");
}

#[test]
fn a_client_that_leaves_after_its_body_is_sent_neither_undoes_nor_doubles_its_write() {
    let mut vault = Vault::start();
    for at in 0..20 {
        let once = format!("k{at}");
        let request = post("/tokens").json(json!({"type": "token", "data": at}));
        let mut connection = vault.connect();
        let bytes = with_key(request, &vault, &once).bytes(&vault.address.to_string());
        connection.send(&bytes).unwrap();
        drop(connection);
        let retry = || create(&vault, &once, json!(at));
        let made = std::iter::repeat_with(retry).take(10_000).find(|it| it.status != 409);
        made.expect("an answer in the end").with_status(201);
    }
    assert_eq!(count(&mut vault), 20);
}

#[test]
fn reads_and_deletes_ignore_the_key() {
    let vault = Vault::start();
    let id = vault.token(json!({"type": "token", "data": 1}));
    let path = format!("/tokens/{id}");
    let read = || vault.send(&with_key(get(&path), &vault, "k"));
    assert_eq!(read().with_status(200).json["data"], 1);
    vault.patch(&id, json!({"data": 2})).with_status(200);
    let changed = read().with_status(200);
    assert!(!replayed(&changed) && changed.json["data"] == 2);
    let expression = json!({"x": format!("{{{{ {id} }}}}")});
    let use_it =
        || vault.send(&with_key(post("/detokenize").json(expression.clone()), &vault, "k"));
    assert_eq!(use_it().with_status(200).json["x"], 2);
    vault.patch(&id, json!({"data": 3})).with_status(200);
    assert_eq!(use_it().with_status(200).json["x"], 3);
    let gone = || vault.send(&with_key(delete(&path), &vault, "k"));
    gone().with_status(204);
    gone().problem(404);
    let formulas =
        || vault.send(&with_key(post("/orchestration/connection_formulas"), &vault, "k"));
    assert!(!replayed(&formulas().with_status(200)) && !replayed(&formulas().with_status(200)));
    // Nor do they mind one that would be refused elsewhere.
    vault.send(&with_key(get("/permissions"), &vault, "two words")).with_status(200);
}

#[test]
fn a_key_belongs_to_a_tenant_an_application_a_method_and_a_path() {
    let vault = Vault::start();
    let first = create(&vault, "k", json!(1)).with_status(201);
    let body = json!({"type": "token", "data": 2});
    let as_key = |key: &str, path: &str| {
        let request = post(path).key(key).once("k").json(body.clone());
        vault.send(&request)
    };
    let other = vault.tenant("test");
    let application = vault.application("private", &["token:create"], &json!([]));
    for key in [&other.keys.private, &application.member("key")] {
        let theirs = as_key(key, "/tokens").with_status(201);
        assert!(!replayed(&theirs));
        assert_ne!(theirs.id(), first.id());
    }
    let elsewhere = as_key(&vault.keys.private, "/tokenize").with_status(200);
    assert!(!replayed(&elsewhere));
    // The same path in another spelling is the same path; another key of the application is it too.
    assert!(replayed(&as_key(&vault.keys.private, "/tokens/").with_status(201)));
    let path = format!("/applications/{}/keys", application.id());
    let second = vault.send(&post(&path).key(&vault.keys.management)).with_status(201);
    assert!(replayed(&as_key(&second.member("key"), "/tokens").with_status(201)));
    let change = |id: &str, data: u32| {
        let request = patch(&format!("/tokens/{id}"));
        vault.send(&with_key(request.body(json!({"data": data}).to_string()), &vault, "k"))
    };
    let id = elsewhere.id();
    let one = change(&first.id(), 10).with_status(200);
    assert!(!replayed(&one) && !replayed(&change(&id, 20).with_status(200)));
    let again = change(&first.id(), 30).with_status(200);
    assert!(replayed(&again) && again.bytes == one.bytes);
    let read = vault.read(&first.id());
    assert_eq!(read.json["data"], 10);
}

#[test]
fn a_key_is_new_again_after_24_hours() {
    let vault = Vault::start();
    let first = create(&vault, "k", json!(1)).with_status(201).id();
    vault.advance(DAY_S - 60);
    let again = create(&vault, "k", json!(1)).with_status(201);
    assert!(replayed(&again) && again.id() == first);
    vault.advance(60);
    let new = create(&vault, "k", json!(1)).with_status(201);
    assert!(!replayed(&new) && new.id() != first);
    assert_eq!(create(&vault, "k", json!(1)).with_status(201).id(), new.id());
    vault.advance(10 * DAY_S);
    assert!(!replayed(&create(&vault, "k", json!(1)).with_status(201)));
}

#[test]
fn an_answer_survives_a_restart_and_a_kill() {
    let mut vault = Vault::start();
    let first = create(&vault, "k", json!(1)).with_status(201);
    vault.stop_and_restart();
    // The host is another one now, the rest of the answer is not.
    let again = create(&vault, "k", json!(2)).with_status(201);
    assert!(replayed(&again) && again.bytes == first.bytes);
    let second = create(&vault, "l", json!(1)).with_status(201);
    vault.signal("KILL");
    assert_eq!(vault.wait(), None, "a signal ended it");
    vault.restart();
    let again = create(&vault, "l", json!(2)).with_status(201);
    assert!(replayed(&again) && again.bytes == second.bytes);
}

#[test]
fn however_often_the_server_is_killed_each_key_has_one_effect() {
    let mut vault = Vault::start();
    let mut answered: BTreeMap<String, Option<String>> = BTreeMap::new();
    for round in 0..4 {
        let (sent, done) = (Mutex::new(BTreeMap::new()), AtomicUsize::new(0));
        let mut connections: Vec<_> = (0..8).map(|_| vault.connect()).collect();
        let host = vault.address.to_string();
        let key = vault.keys.private.clone();
        thread::scope(|scope| {
            let mut clients = Vec::new();
            for (worker, connection) in connections.iter_mut().enumerate() {
                let (sent, done, host, key) = (&sent, &done, &host, &key);
                clients.push(scope.spawn(move || {
                    for at in 0.. {
                        let once = format!("{round}-{worker}-{at}");
                        let request = post("/tokens").json(json!({"type": "token", "data": once}));
                        let request = request.key(key).once(&once);
                        sent.lock().unwrap().insert(once.clone(), None);
                        let answer = connection
                            .send(&request.bytes(host))
                            .and_then(|()| connection.receive());
                        let Ok(answer) = answer else { return };
                        let id = answer.with_status(201).id();
                        sent.lock().unwrap().insert(once, Some(id));
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                }));
            }
            let kill = KillOnDrop(&vault);
            let enough = 20 * (round + 1);
            let is_enough = || done.load(Ordering::Relaxed) >= enough;
            wait_for_clients(&format!("{enough} answers"), &clients, is_enough);
            drop(kill);
        });
        assert_eq!(vault.wait(), None, "a signal ended it");
        vault.restart();
        answered.extend(sent.into_inner().unwrap());
    }
    for (once, id) in &answered {
        let retried = create(&vault, once, json!("again")).with_status(201);
        if let Some(id) = id {
            assert!(replayed(&retried), "{once}");
            assert_eq!(&retried.id(), id);
        }
        let again = create(&vault, once, json!("again")).with_status(201);
        assert!(replayed(&again) && again.id() == retried.id());
    }
    assert_eq!(count(&mut vault), answered.len());
}

#[test]
fn sixty_four_connections_with_one_key_have_one_effect() {
    let mut vault = Vault::start();
    let body = |at| post("/tokens").json(json!({"type": "token", "data": at}));
    let requests: Vec<_> = (0..64).map(|at| with_key(body(at), &vault, "k")).collect();
    let answers = at_once(&vault, &requests);
    let made: Vec<_> = answers.iter().filter(|it| it.status == 201).collect();
    let first: Vec<_> = made.iter().filter(|it| !replayed(it)).collect();
    assert_eq!(first.len(), 1);
    assert!(made.iter().all(|it| it.bytes == first[0].bytes));
    for refused in answers.iter().filter(|it| it.status != 201) {
        let refused = refused.clone().problem(409);
        assert_eq!(refused.header("retry-after"), Some("1"));
    }
    assert_eq!(count(&mut vault), 1);
}

#[test]
fn a_key_has_1_to_255_visible_characters() {
    let vault = Vault::start();
    let longest = "k".repeat(255);
    for good in ["1", "*8d0c9a52-3f3c-4b6f-9a8e-2a3e6f0f5f10", "a/b?c=d&e", longest.as_str()] {
        create(&vault, good, json!(1)).with_status(201);
        assert!(replayed(&create(&vault, good, json!(1)).with_status(201)), "{good}");
    }
    let long = "k".repeat(256);
    for bad in ["", "two words", "tab\there", "\u{e9}t\u{e9}", long.as_str()] {
        create(&vault, bad, json!(1)).problem(400);
    }
}

#[test]
fn a_replay_needs_todays_permission_and_a_key_that_is_still_there() {
    let vault = Vault::start();
    let rule = |container: &str| only_rule(container, "reveal", &["token:create"]);
    let application = vault.application("private", &[], &rule("/general/"));
    let key = application.member("key");
    let send = || {
        let request = post("/tokens").json(json!({"type": "token", "data": "secret"}));
        vault.send(&request.key(&key).once("k"))
    };
    let first = send().with_status(201);
    let path = format!("/applications/{}", application.id());
    vault.set_rules(&application, &rule("/pci/"));
    let refused = send().problem(403);
    assert!(!refused.text().contains("secret"));
    let none = json!({"name": "n", "permissions": ["token:read"]});
    vault.put(&path, &vault.keys.management, none).with_status(200);
    send().problem(403);
    vault.set_rules(&application, &rule("/"));
    assert_eq!(send().with_status(201).bytes, first.bytes);
    let keys = vault.get(&format!("{path}/keys"), &vault.keys.management).with_status(200);
    let id = keys.json[0]["id"].as_str().unwrap();
    vault.delete(&format!("{path}/keys/{id}"), &vault.keys.management).with_status(204);
    send().problem(401);
}

#[test]
fn applications_keys_tenants_webhooks_and_sessions_are_written_once_too() {
    let vault = Vault::start();
    let (management, private) = (&vault.keys.management, &vault.keys.private);
    // The second request has another body, and the answer of the first.
    let twice = |key: &str, request: &Request, bodies: [Value; 2]| {
        let send = |body| vault.send(&request.clone().key(key).once("k").json(body));
        let [first, again] = bodies.map(send);
        assert!(!replayed(&first) && replayed(&again) && first.status < 300, "{}", first.text());
        assert_eq!(again.bytes, first.bytes);
        first
    };
    let of = |body: fn(&str) -> Value| ["one", "two"].map(body);
    let counted = |path: &str| vault.get(path, management).with_status(200).json;
    let application =
        |name: &str| json!({"name": name, "type": "private", "permissions": ["token:create"]});
    let first = twice(management, &post("/applications"), of(application));
    // The text of the new key is part of the answer, and is a key.
    vault.get("/applications/key", &first.member("key")).with_status(200);
    let path = format!("/applications/{}", first.id());
    twice(management, &put(&path), of(|name| json!({"name": name, "permissions": ["token:read"]})));
    assert_eq!(counted(&path)["name"], "one");
    let keys = format!("{path}/keys");
    let made = twice(management, &post(&keys), of(|_| json!({})));
    vault.get("/applications/key", &made.member("key")).with_status(200);
    assert_eq!(counted(&keys).as_array().unwrap().len(), 2);
    twice(management, &put("/tenants/self"), of(|name| json!({ "name": name })));
    assert_eq!(counted("/tenants/self")["name"], "one");
    let webhook =
        |name: &str| json!({"name": name, "url": "https://a.example", "events": ["token.read"]});
    twice(management, &post("/webhooks"), of(webhook));
    assert_eq!(counted("/webhooks")["data"].as_array().unwrap().len(), 1);
    twice(private, &post("/token-intents"), of(|_| json!({"type": "card", "data": card()})));
    let session = vault.send(&post("/sessions").key(&vault.keys.public)).with_status(201);
    let rights = json!({"nonce": session.member("nonce"), "permissions": ["token:read"]});
    twice(private, &post("/sessions/authorize"), [rights.clone(), rights]);
}

#[test]
fn a_replay_does_not_show_more_than_the_key_may_see_today() {
    let vault = Vault::start();
    let rule = |transform: &str| only_rule("/", transform, &["token:create"]);
    let made = vault.application("private", &[], &rule("reveal"));
    let key = made.member("key");
    let body = json!({"type": "token", "data": "plain"});
    let request = || post("/tokens").key(&key).once("r").json(body.clone());
    vault.send(&request()).with_status(201);
    assert!(replayed(&vault.send(&request())));
    vault.set_rules(&made, &rule("redact"));
    vault.send(&request()).problem(403);
}

crate::harness::again_over_http2! {
    a_repeated_key_gives_the_same_bytes_whatever_the_body,
    a_failure_is_not_remembered,
    reads_and_deletes_ignore_the_key,
    a_key_belongs_to_a_tenant_an_application_a_method_and_a_path,
    an_answer_survives_a_restart_and_a_kill,
    a_key_has_1_to_255_visible_characters,
}
