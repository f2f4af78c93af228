//! The origin of audit entries and log lines (user, address, key), and the entries of refused
//! attempts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use serde_json::{Value, json};
use strongroom::testing::bounds::REFUSAL_ROWS_OF_STRANGERS_MAX;

use crate::harness::{Request, Vault, delete, get, needs_one_process, output_of, post, wait_until};
use crate::proxy::Scene;
use crate::threeds;

const TRACE: &str = "5f0ddbaf-b3a2-4c5d-9e6f-a1b2c3d4e5fa";
const WRONG_KEY: &str = "key_test_us_pvt_7Vvk3pXQmCwHnRtYbZaLsE.0d1e2f3a4b5c6d7e8f901a2b3c4d5e6f";

/// The entries that this adds, without those of the exports themselves.
#[track_caller]
fn added(vault: &Vault, act: impl FnOnce()) -> Vec<Value> {
    let before = vault.chain().len();
    act();
    let mut entries = vault.chain().split_off(before);
    entries.retain(|entry| entry["entity_type"] != "audit_chain");
    entries
}

/// A vault that `serve` runs and that trusts proxies on this host.
fn behind_proxy() -> Vault {
    let mut vault = Vault::start();
    vault.serve("trusted_proxies = [\"127.0.0.0/8\"]");
    vault
}

fn key(vault: &Vault, permissions: &[&str]) -> (String, String) {
    let made = vault.application("private", permissions, &json!([]));
    let path = format!("/applications/{}/keys", made.id());
    let listed = vault.get(&path, &vault.keys.management).with_status(200).json;
    (made.member("key"), String::from(listed[0]["id"].as_str().unwrap()))
}

fn from(address: &str, request: Request) -> Request {
    request.header("X-Forwarded-For", address).header("BT-TRACE-ID", TRACE)
}

/// The number and the name of the user who runs the tests.
fn own_user() -> (u64, String) {
    let uid = u64::from(fs::metadata("/proc/self").unwrap().uid());
    let name = output_of(Command::new("id").arg("-un")).stdout;
    (uid, String::from(String::from_utf8(name).unwrap().trim()))
}

const ALL_OF_TOKENS: &[&str] =
    &["token:create", "token:read", "token:search", "token:update", "token:delete", "token:use"];

#[test]
fn reads_writes_lists_and_replays_carry_the_address_the_key_and_the_trace_of_their_request() {
    let vault = behind_proxy();
    let (key, id) = key(&vault, ALL_OF_TOKENS);
    let make = || post("/tokens").key(&key).once("once");
    let body = json!({"type": "token", "data": "x", "containers": ["/general/high/"]});
    let mut token = String::new();
    let check = |what: &str, address: &str, entries: &[Value], operation: &str| {
        assert!(!entries.is_empty(), "{what}");
        for entry in entries {
            assert_eq!(entry["operation"], operation, "{what}: {entry}");
            assert_eq!(entry["address"], address, "{what}: {entry}");
            assert_eq!(entry["key_id"], id, "{what}: {entry}");
            assert_eq!(entry["trace_id"], TRACE, "{what}: {entry}");
            assert_eq!((&entry["uid"], &entry["user"]), (&Value::Null, &Value::Null), "{what}");
            assert_eq!(entry["outcome"], "success", "{what}: {entry}");
        }
    };
    let found = added(&vault, || {
        token = vault.send(&from("203.0.113.1", make()).json(body.clone())).with_status(201).id();
    });
    check("create", "203.0.113.1", &found, "create");
    let path = format!("/tokens/{token}");
    let found = added(&vault, || {
        vault.send(&from("203.0.113.2", get(&path).key(&key))).with_status(200);
    });
    check("read", "203.0.113.2", &found, "read");
    // The replay is a read of its own, by the client that asked for it.
    let found = added(&vault, || {
        let again = vault.send(&from("2001:db8::3", make()).json(body)).with_status(201);
        assert_eq!(again.header("bt-idempotent-replayed"), Some("true"));
    });
    check("replay", "2001:db8::3", &found, "read");
    let found = added(&vault, || {
        vault.send(&from("203.0.113.4", get("/v2/tokens").key(&key))).with_status(200);
    });
    check("list", "203.0.113.4", &found, "read");
    let found = added(&vault, || {
        let shown = json!({"a": format!("{{{{ {token} }}}}")});
        let sent = from("203.0.113.5", post("/detokenize").key(&key)).json(shown);
        vault.send(&sent).with_status(200);
    });
    check("detokenize", "203.0.113.5", &found, "read");
    let found = added(&vault, || {
        vault.send(&from("203.0.113.6", delete(&path).key(&key))).with_status(204);
    });
    check("delete", "203.0.113.6", &found, "delete");
    let line = vault.log();
    let line = line.lines().rfind(|line| line.contains("DeleteToken")).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!((&line["address"], &line["key_id"]), (&json!("203.0.113.6"), &json!(id)));
    assert_eq!(line["trace"], TRACE);
}

#[test]
fn reads_that_are_written_together_keep_the_origin_of_their_own_request() {
    let vault = behind_proxy();
    let token = vault.token(json!({"type": "token", "data": "x"}));
    let path = format!("/tokens/{token}");
    let addresses: Vec<_> = (1..=40).map(|host| format!("198.51.100.{host}")).collect();
    let found = added(&vault, || {
        std::thread::scope(|scope| {
            for address in &addresses {
                let (vault, path) = (&vault, &path);
                scope.spawn(move || {
                    let request = get(path).key(&vault.keys.private);
                    let request = request.header("BT-TRACE-ID", &format!("read-of-{address}"));
                    vault.send(&request.header("X-Forwarded-For", address)).with_status(200);
                });
            }
        });
    });
    let told: BTreeSet<_> = found.iter().map(|it| it["address"].as_str().unwrap()).collect();
    assert_eq!(told, addresses.iter().map(String::as_str).collect());
    for entry in &found {
        let trace = format!("read-of-{}", entry["address"].as_str().unwrap());
        assert_eq!(entry["trace_id"], trace);
    }
}

#[test]
fn a_header_of_an_untrusted_peer_is_not_believed() {
    let vault = Vault::start();
    let found = added(&vault, || {
        let body = json!({"type": "token", "data": "x"});
        let request = post("/tokens").key(&vault.keys.private).json(body);
        vault.send(&from("203.0.113.1", request)).with_status(201);
    });
    assert_eq!(found[0]["address"], "127.0.0.1", "{found:?}");
}

#[test]
fn commands_carry_the_user_who_gave_them_with_and_without_a_server() {
    let mut vault = Vault::start();
    let (uid, name) = own_user();
    let check = |entries: &[Value]| {
        assert!(!entries.is_empty());
        for entry in entries {
            assert_eq!(entry["actor_type"], "operator", "{entry}");
            assert_eq!(entry["uid"], uid, "{entry}");
            assert_eq!(entry["user"], name, "{entry}");
            assert_eq!((&entry["address"], &entry["key_id"]), (&Value::Null, &Value::Null));
        }
    };
    let make = |vault: &Vault| {
        vault.operator(&["tenant", "create", "--name", "n", "--type", "test"]).with_code(0);
    };
    check(&added(&vault, || make(&vault)));
    assert_eq!(vault.stop(), Some(0));
    check(&added(&vault, || make(&vault)));
}

/// The counts of the refusals in these entries, by address.
fn refused(entries: &[Value]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for entry in entries.iter().filter(|it| it["operation"] == "refuse") {
        let address = entry["address"].as_str().unwrap_or("other");
        *counts.entry(String::from(address)).or_default() += entry["count"].as_u64().unwrap();
    }
    counts
}

#[test]
fn a_flood_of_wrong_keys_leaves_few_entries_with_the_whole_count() {
    let vault = behind_proxy();
    let addresses: Vec<_> = (1..=20).map(|host| format!("203.0.113.{host}")).collect();
    let each = 15;
    let found = added(&vault, || {
        for number in 0..each {
            for address in &addresses {
                let key = format!("{WRONG_KEY}{number}");
                let guess = get("/tokens/any").key(&key).header("X-Forwarded-For", address);
                vault.send(&guess).problem(401);
            }
        }
    });
    let expected = addresses.iter().map(|it| (it.clone(), each)).collect();
    assert_eq!(refused(&found), expected);
    assert!(found.len() < 100, "{} entries of 300 attempts", found.len());
    for entry in &found {
        assert_eq!(entry["reason"], "wrong_key", "{entry}");
        assert_eq!((&entry["tenant_id"], &entry["key_id"]), (&Value::Null, &Value::Null));
        assert_eq!(entry["actor_type"], "unknown");
        assert_eq!(entry["outcome"], "failure");
        assert!(entry["first_at"].as_str() <= entry["last_at"].as_str(), "{entry}");
        assert!(entry["last_at"].as_str() <= entry["time"].as_str(), "{entry}");
        assert!(!entry.to_string().contains("7Vvk3pXQ"), "{entry}");
    }
}

#[test]
fn clients_that_try_every_route_do_not_hide_the_address_of_another() {
    let vault = behind_proxy();
    let paths = ["/tokens/any", "/tokens", "/logs", "/applications", "/proxies", "/tenants/self"];
    let clients: Vec<_> = (1..=120).map(|host| format!("198.51.{host}.1")).collect();
    let found = added(&vault, || {
        for client in &clients {
            for path in paths {
                let guess = get(path).key(WRONG_KEY).header("X-Forwarded-For", client);
                vault.send(&guess).problem(401);
            }
        }
        let guess = get("/tokens/any").key(WRONG_KEY).header("X-Forwarded-For", "203.0.113.7");
        vault.send(&guess).problem(401);
    });
    let mut expected: BTreeMap<_, _> = clients.into_iter().map(|it| (it, 6)).collect();
    expected.insert(String::from("203.0.113.7"), 1);
    assert_eq!(refused(&found), expected);
    assert!(found.iter().any(|it| it["entity_id"] == "several"));
}

#[test]
fn more_addresses_than_the_table_holds_are_counted_together() {
    let vault = behind_proxy();
    let floods = REFUSAL_ROWS_OF_STRANGERS_MAX + 100;
    let found = added(&vault, || {
        for number in 0..floods {
            // Each is a network of its own.
            let address = format!("2001:db8:{:x}:{:x}::1", number / 256, number % 256);
            let guess = get("/tokens/any").header("X-Forwarded-For", &address);
            vault.send(&guess).problem(401);
        }
    });
    let counts = refused(&found);
    assert_eq!(counts.values().sum::<u64>(), u64::try_from(floods).unwrap());
    assert!(found.iter().all(|it| it["reason"] == "no_key"));
    assert!(found.len() <= 2 * (REFUSAL_ROWS_OF_STRANGERS_MAX + 1), "{}", found.len());
}

#[test]
fn a_refusal_with_a_known_key_names_it_in_the_log_of_its_tenant_alone_and_soon() {
    needs_one_process!("each process writes the refusals that it counted");
    let vault = Vault::start();
    let (weak, id) = key(&vault, &["token:create"]);
    let other = vault.tenant("test");
    vault.send(&get("/tokens/any").key(&weak).header("BT-TRACE-ID", TRACE)).problem(403);
    vault.get("/tokens/any", &weak).problem(403);
    let logs = "/logs?entity_type=request";
    let own = || vault.get(logs, &vault.keys.management).with_status(200).json["data"].clone();
    wait_until("the entry of the refusals", || !own().as_array().unwrap().is_empty());
    let entry = own()[0].clone();
    assert_eq!(entry["key_id"], id);
    // On a busy machine the second may come after the first was written.
    let count = entry["count"].as_u64().unwrap();
    assert!((1..=2).contains(&count), "{entry}");
    assert_eq!(entry["reason"], "not_allowed");
    assert_eq!((&entry["operation"], &entry["outcome"]), (&json!("refuse"), &json!("failure")));
    assert_eq!(entry["actor_type"], "application");
    assert_eq!(entry["address"], "127.0.0.1");
    assert_eq!((&entry["entity_id"], &entry["trace_id"]), (&json!("ReadToken"), &json!(TRACE)));
    assert_eq!(entry["message"], "Request refused without the right to do it");
    let reader = vault.operators_key(&other.id, "management", "log:read");
    let theirs = vault.get(logs, &reader).with_status(200).json;
    assert_eq!(theirs["data"], json!([]));
    let log = vault.log();
    let line = log.lines().find(|line| line.contains("\"refused_attempts\"")).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!((&line["count"], &line["entries"]), (&json!(count), &json!(1)));
}

#[test]
fn a_wrong_key_at_a_probe_is_a_refused_attempt_though_the_answer_is_the_same() {
    needs_one_process!("each process writes the refusals that it counted");
    let vault = Vault::start();
    let found = added(&vault, || {
        let told = vault.get("/readyz", "").with_status(200);
        for key in [WRONG_KEY, "no key at all"] {
            let answer = vault.get("/readyz", key).with_status(200);
            assert_eq!(answer.json, told.json);
        }
        vault.get("/readyz", &vault.keys.private).with_status(200);
        vault.get("/readyz", &vault.keys.management).with_status(200);
    });
    assert_eq!(refused(&found), BTreeMap::from([(String::from("127.0.0.1"), 2)]), "{found:?}");
    for entry in &found {
        let told = (&entry["reason"], &entry["entity_id"]);
        assert_eq!(told, (&json!("wrong_key"), &json!("Readyz")));
    }
}

#[test]
fn refusals_that_are_not_written_yet_are_written_at_the_stop() {
    let mut vault = Vault::start();
    vault.get("/tokens/any", WRONG_KEY).problem(401);
    vault.get("/tokens/any", "").problem(401);
    assert_eq!(vault.stop(), Some(0));
    let entries = vault.chain();
    let refused: Vec<_> = entries.iter().filter(|it| it["operation"] == "refuse").collect();
    let reasons: BTreeSet<_> = refused.iter().map(|it| it["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, BTreeSet::from(["no_key", "wrong_key"]));
    vault.verify().with_code(0);
}

/// Does everything that this test can provoke.
fn act_in_every_way(vault: &Vault) {
    let (private, management) = (&vault.keys.private, &vault.keys.management);
    let token = vault.token(json!({"type": "token", "data": "x", "id": "named"}));
    let path = format!("/tokens/{token}");
    vault.get(&path, private).with_status(200);
    vault.patch(&token, json!({"data": 2})).with_status(200);
    vault.delete(&path, private).with_status(204);
    let card = json!({"type": "card", "data": {"number": "4242424242424242", "cvc": "123"}});
    let intent = vault.post("/token-intents", private, card.clone()).with_status(201).id();
    vault.token(json!({"token_intent_id": intent}));
    vault.post("/token-intents", private, card).with_status(201);
    vault.post("/tokenize", private, json!({"a": 1})).with_status(200);
    let number = threeds::card(vault, "4000020000000000");
    let session = threeds::create(vault, &number).with_status(201).id();
    threeds::authenticate(vault, &session, threeds::body());
    let number = threeds::card(vault, "4200000000000004");
    let session = threeds::create(vault, &number).with_status(201).id();
    let creq = threeds::creq(&session, &threeds::authenticate(vault, &session, threeds::body()));
    threeds::form(vault, threeds::ACS, &[("creq", &creq), ("code", "0000")]).with_status(200);
    vault.key_with("private", &["token:read"], &json!([]));
    vault.put("/tenants/self", management, json!({"name": "n"})).with_status(200);
    vault.get("/logs", private).problem(403);
    vault.get(&path, WRONG_KEY).problem(401);
    vault.get(&path, "").problem(401);
    let tenant = ["--tenant", &vault.tenant_id];
    vault.operator(&[&["key", "rotate"], tenant.as_slice()].concat()).with_code(0);
    vault.operator(&["key", "rotate", "--audit"]).with_code(0);
    let backup = vault.directory().join("a.backup");
    vault.operator(&["backup", backup.to_str().unwrap()]).with_code(0);
    vault.tenant("test");
    // Token intents expire after a day.
    vault.advance(25 * 3_600);
}

/// PCI DSS 4.0.1, requirement 10.2.2, records for each auditable event: user identification, type of
/// event, date and time, success and failure indication, origination of event, and identity or name
/// of affected data, system component, resource or service.
#[test]
fn each_audit_entry_has_the_fields_of_pci_dss_10_2_2() {
    let mut scene = Scene::start();
    let open = scene.proxy(json!({"require_auth": false}));
    let call = post("/proxy").header("BT-PROXY-KEY", &open.member("key"));
    scene.send(&call.body("no tokens")).with_status(200);
    act_in_every_way(&scene.vault);
    assert_eq!(scene.vault.stop(), Some(0));
    let entries = scene.vault.chain();
    let mut seen = BTreeSet::new();
    for entry in &entries {
        let has = |name: &str| entry[name].as_str().is_some_and(|text| !text.is_empty());
        let (actor, outcome) = (entry["actor_type"].as_str().unwrap(), entry["outcome"].as_str());
        // User identification, and origination of the event.
        match actor {
            "application" => {
                assert!(has("actor_id") && has("key_id"), "{entry}");
                assert!(has("address") && has("trace_id"), "{entry}");
            }
            "cardholder" | "directory_server" | "proxy_caller" => {
                assert!(has("address") && has("trace_id"), "{entry}");
            }
            "operator" => assert!(entry["uid"].is_u64() && has("user"), "{entry}"),
            // The server itself, which is the host of the chain.
            "system" => assert!(entry["address"].is_null() && entry["uid"].is_null(), "{entry}"),
            "unknown" => assert!(has("address") || entry["uid"].is_u64(), "{entry}"),
            _ => panic!("{entry}"),
        }
        // Type of event.
        assert!(has("operation") && has("entity_type"), "{entry}");
        // Date and time.
        assert!(entry["time"].as_str().unwrap().starts_with("20"), "{entry}");
        // Success and failure indication.
        let refused = entry["operation"] == "refuse";
        assert_eq!(outcome, Some(if refused { "failure" } else { "success" }), "{entry}");
        assert_eq!(entry["count"].is_u64() && has("reason") && has("first_at"), refused, "{entry}");
        // Identity or name of the affected data, component, resource or service.
        assert!(has("entity_id") && has("record_id"), "{entry}");
        seen.insert((actor, entry["operation"].as_str().unwrap()));
    }
    for expected in [
        ("application", "authenticate"),
        ("application", "convert"),
        ("application", "create"),
        ("application", "delete"),
        ("application", "read"),
        ("application", "refuse"),
        ("application", "update"),
        ("application", "use"),
        ("cardholder", "update"),
        ("operator", "backup"),
        ("operator", "create"),
        ("operator", "export"),
        ("operator", "grant_reveal"),
        ("operator", "rotate"),
        ("proxy_caller", "invoke"),
        ("system", "expire"),
        ("system", "start"),
        ("system", "stop"),
        ("unknown", "refuse"),
    ] {
        assert!(seen.contains(&expected), "{expected:?} is not in {seen:?}");
    }
}
