//! Deleting tenants: by the operator and by the tenant itself, under load, interrupted, and what
//! other tenants notice of it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::backup_load::replace;
use crate::harness::{Running, Vault, needs_data_file, post, run, wait_until};
use crate::terminal::on_terminal;

const CLIENTS: usize = 3;
/// Answers before the deletion of a tenant under load.
const ANSWERS: usize = 60;
/// Tokens of a tenant whose deletion is interrupted: with their index entries more rows than the
/// server removes before it is killed.
const TOKENS: usize = 400;

fn fill(vault: &Vault, key: &str, count: usize) {
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                for number in (client..count).step_by(CLIENTS) {
                    let number = number.to_string();
                    let metadata = json!({"a": number, "b": number, "c": number});
                    let body = json!({"type": "token", "data": number, "metadata": metadata});
                    vault.post("/tokens", key, body).with_status(201);
                }
            });
        }
    });
}

#[test]
fn a_deleted_tenant_is_refused_at_once_and_other_tenants_keep_everything() {
    let mut vault = Vault::start();
    let own = vault.token(json!({"type": "token", "data": "own"}));
    let other = vault.tenant("production");
    let card = json!({"type": "card", "data": {"number": "4242424242424242", "cvc": "123"}});
    vault.post("/tokens", &other.keys.private, card.clone()).with_status(201);
    vault.post("/token-intents", &other.keys.private, card).with_status(201);
    vault.post("/keys", &other.keys.management, json!({})).with_status(201);
    vault.post("/sessions", &other.keys.public, json!({})).with_status(201);
    let hook = json!({"name": "h", "url": "https://hooks.example/x", "events": ["token.created"]});
    vault.post("/webhooks", &other.keys.management, hook).with_status(201);
    fill(&vault, &other.keys.private, 20);
    let said = vault.operator(&["tenant", "delete", "--tenant", &other.id, "--yes"]);
    assert!(said.stderr.contains("Backups"), "{}", said.stderr);
    let said = said.json();
    assert_eq!(said["deleted"], true);
    for key in [&other.keys.private, &other.keys.public, &other.keys.management] {
        vault.get("/applications/key", key).problem(401);
        vault.post("/tokens", key, json!({"type": "token", "data": "x"})).problem(401);
    }
    let listed = vault.operator(&["tenant", "list", "--json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let read = vault.read(&own).with_status(200);
    assert_eq!(read.json["data"], "own");
    let entries = vault.chain();
    let deleted = entries
        .iter()
        .find(|it| it["entity_id"] == other.id.as_str() && it["operation"] == "delete");
    let deleted = deleted.expect("an entry of the deletion");
    assert_eq!((&deleted["tenant_id"], &deleted["entity_type"]), (&Value::Null, &json!("tenant")));
    assert_eq!(deleted["actor_type"], "operator");
    assert!(entries.iter().any(|it| it["tenant_id"] == other.id.as_str()), "its entries stay");
    vault.operator(&["audit", "verify"]).with_code(0);
    let keys = vault.operator(&["key", "list", "--json"]).json();
    let keys: Vec<_> = keys["keys"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["scope"] == other.id.as_str())
        .collect();
    assert!(!keys.is_empty() && keys.iter().all(|it| it["state"] == "destroyed"), "{keys:?}");
    vault.operator(&["tenant", "delete", "--tenant", &other.id, "--yes"]).with_code(65);
    vault.stop_and_verify();
    vault.restart();
    vault.get("/applications/key", &other.keys.private).problem(401);
}

#[test]
fn a_tenant_deletes_itself_with_the_permission_for_it_alone() {
    let mut vault = Vault::start();
    let without = vault.key_with("management", &["tenant:read", "tenant:update"], &json!([]));
    let with = vault.key_with("management", &["tenant:delete"], &json!([]));
    vault.delete("/tenants/self", &without).problem(403);
    vault.delete("/tenants/self", &vault.keys.private).problem(403);
    vault.delete("/tenants/self", "").problem(401);
    let other = vault.tenant("test");
    vault.delete("/tenants/self", &with).with_status(204);
    vault.delete("/tenants/self", &with).problem(401);
    vault.get("/tenants/self", &vault.keys.management).problem(401);
    vault.get("/applications/key", &other.keys.private).with_status(200);
    wait_until("the end of the deletion", || vault.log().contains("tenant_deleted"));
    let entries = vault.chain();
    let id = vault.tenant_id.as_str();
    let deleted = entries.iter().find(|it| it["entity_id"] == id && it["operation"] == "delete");
    assert_eq!(deleted.expect("an entry")["actor_type"], "application");
    vault.stop_and_verify();
    // A development vault gets another tenant, since its directory would be of no use.
    let (data, log) = (vault.data(), vault.directory().join("log of the next start"));
    let arguments = ["dev", "--data", data.to_str().unwrap(), "--listen", "127.0.0.1:0", "--json"];
    let mut next = Running::start(&arguments, &log);
    let ready: Value = serde_json::from_str(&next.line().unwrap()).unwrap();
    assert_ne!(ready["tenant_id"], vault.tenant_id.as_str());
    assert_eq!(next.terminate(), Some(0));
}

#[test]
fn only_a_key_that_may_delete_the_tenant_gives_that_right_over_http() {
    let vault = Vault::start();
    let rights = ["application:create", "application:read", "application:update"];
    let weak = vault.key_with("management", &rights, &json!([]));
    let body = |name: &str, permission: &str| {
        let permissions = [permission];
        json!({"name": name, "type": "management", "permissions": permissions})
    };
    let refused = vault.post("/applications", &weak, body("a", "tenant:delete")).problem(403);
    assert!(refused.text().contains("tenant:delete"), "{}", refused.text());
    let harmless = vault.post("/applications", &weak, body("b", "tenant:read")).with_status(201);
    let harmless = format!("/applications/{}", harmless.id());
    vault.put(&harmless, &weak, body("b", "tenant:delete")).problem(403);
    let strong = vault.application("management", &["tenant:delete"], &json!([]));
    let strong = format!("/applications/{}", strong.id());
    vault.send(&post(&format!("{strong}/keys")).key(&weak)).problem(403);
    // A change of its name leaves the right as it is.
    vault.put(&strong, &weak, body("c", "tenant:delete")).with_status(200);
    vault.put(&strong, &weak, body("c", "tenant:read")).with_status(200);
    vault.put(&strong, &weak, body("c", "tenant:delete")).problem(403);
    let management = &vault.keys.management;
    vault.put(&harmless, management, body("b", "tenant:delete")).with_status(200);
    vault.send(&post(&format!("{harmless}/keys")).key(management)).with_status(201);
    let tenant = vault.tenant_id.as_str();
    let key = vault.operators_key(tenant, "management", "tenant:delete");
    vault.delete("/tenants/self", &key).with_status(204);
}

#[test]
fn no_write_of_a_deleted_tenant_survives_and_no_other_tenant_is_disturbed() {
    let mut vault = Vault::start();
    let other = vault.tenant("test");
    let (answers, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let body = || json!({"type": "token", "data": "x", "metadata": {"a": "b"}});
    thread::scope(|scope| {
        let (vault, answers, stop) = (&vault, &answers, &stop);
        let key = other.keys.private.as_str();
        for _ in 0..CLIENTS {
            scope.spawn(move || {
                loop {
                    let answer = vault.send(&post("/tokens").key(key).json(body()));
                    match answer.status {
                        201 => answers.fetch_add(1, Ordering::Relaxed),
                        401 => return,
                        _ => panic!("{}", answer.text()),
                    };
                }
            });
        }
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                vault.create(body()).with_status(201);
            }
        });
        wait_until("answers", || answers.load(Ordering::Relaxed) > ANSWERS);
        vault.operator(&["tenant", "delete", "--tenant", &other.id, "--yes"]).with_code(0);
        stop.store(true, Ordering::Relaxed);
    });
    let said = vault.stop_and_verify().stdout;
    assert!(said.contains("tenants:"), "{said}");
}

#[test]
fn a_deletion_that_kill_9_interrupts_goes_on_with_the_next_start_and_with_the_next_command() {
    for by_command in [false, true] {
        let mut vault = Vault::start();
        let own = vault.token(json!({"type": "token", "data": "own"}));
        let other = vault.tenant("test");
        fill(&vault, &other.keys.private, TOKENS);
        let key = vault.operators_key(&other.id, "management", "tenant:delete");
        vault.delete("/tenants/self", &key).with_status(204);
        vault.kill();
        // On a busy machine the deletion may be over before the server is killed.
        let is_under_way = vault.verify().with_code(0).stdout.contains("under deletion");
        if by_command {
            let code = if is_under_way { 0 } else { 65 };
            vault.operator(&["tenant", "delete", "--tenant", &other.id, "--yes"]).with_code(code);
            vault.restart();
        } else {
            vault.restart();
            vault.get("/applications/key", &other.keys.private).problem(401);
            let id = other.id.as_str();
            wait_until("the end of the deletion", || {
                // A deletion that is over is not found.
                vault.log().contains("tenant_deleted") || {
                    let status = vault.operator(&["tenant", "delete", "--tenant", id, "--yes"]);
                    status.code == Some(65)
                }
            });
        }
        vault.get("/applications/key", &other.keys.private).problem(401);
        vault.read(&own).with_status(200);
        let said = vault.stop_and_verify();
        assert!(!said.stdout.contains("under deletion"), "{}", said.stdout);
        vault.operator(&["tenant", "delete", "--tenant", &other.id, "--yes"]).with_code(65);
    }
}

#[test]
fn nothing_is_deleted_without_a_confirmation() {
    let vault = Vault::start();
    let other = vault.tenant("test");
    let refused = vault.operator(&["tenant", "delete", "--tenant", &other.id]).with_code(64);
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    for id in ["nonsense", "0190a1b2-c3d4-4e5f-8a6b-7c8d9e0f1a2b"] {
        let refused = vault.operator(&["tenant", "delete", "--tenant", id, "--yes"]).with_code(65);
        assert!(refused.stderr.contains("There is no such tenant."), "{}", refused.stderr);
    }
    let config = vault.config();
    let arguments =
        ["tenant", "delete", "--tenant", &other.id, "--config", config.to_str().unwrap()];
    let Some((code, said)) = on_terminal(&arguments, "yes") else { return };
    assert_eq!(code, 65, "{said}");
    assert!(said.contains("Type Further to go on") && said.contains("not confirmed"), "{said}");
    vault.get("/applications/key", &other.keys.private).with_status(200);
    let (code, said) = on_terminal(&arguments, "Further").unwrap();
    assert_eq!(code, 0, "{said}");
    vault.get("/applications/key", &other.keys.private).problem(401);
}

#[test]
fn a_backup_from_before_still_has_the_tenant() {
    needs_data_file!("it puts a restored file in its place");
    let mut vault = Vault::start();
    let other = vault.tenant("test");
    let made = vault.post("/tokens", &other.keys.private, json!({"type": "token", "data": "kept"}));
    let id = made.with_status(201).id();
    let file = &vault.directory().text("before.backup");
    vault.operator(&["backup", file]).with_code(0);
    vault.operator(&["tenant", "delete", "--tenant", &other.id, "--yes"]).with_code(0);
    run(&["verify", file]).with_code(0);
    assert_eq!(vault.stop(), Some(0));
    replace(&vault, file);
    vault.restart();
    let read = vault.get(&format!("/tokens/{id}"), &other.keys.private).with_status(200);
    assert_eq!(read.json["data"], "kept");
}
