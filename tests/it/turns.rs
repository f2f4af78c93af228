//! The turns of shards: two processes keep a maximum together, and a shard whose turn is held delays
//! its own tenants alone.

use std::sync::Arc;
use std::thread;

use serde_json::{Value, json};

use crate::harness::{
    Answer, Cluster, Database, Directory, Request, Vault, post, run, wait_for, wait_until,
};
use crate::lifetimes::now_plus;

fn vault() -> Option<(Vault, Arc<Database>)> {
    let database = Arc::new(Database::new(&Cluster::shared()?));
    let vault = Vault::start_over(Directory::new(), &[], Some(Arc::clone(&database)));
    Some((vault, database))
}

fn token(key: &str) -> Request {
    post("/tokens").key(key).json(json!({"type": "token", "data": "value"}))
}

/// The shard of the tenant of this key.
fn shard_of(vault: &Vault, database: &Database, key: &str) -> String {
    let found = database.shards_of(|| drop(vault.send(&token(key)).with_status(201)));
    let [only] = found.as_slice() else { panic!("one shard was written: {found:?}") };
    only.clone()
}

/// Sends both while the turn of the shard is held, so that each is decided before the other is
/// written.
fn at_once(database: &Database, shard: &str, sent: [(&Vault, &Request); 2]) -> [Answer; 2] {
    let held = database.hold_turn(shard);
    thread::scope(|scope| {
        let clients = sent.map(|(vault, request)| scope.spawn(|| vault.send(request)));
        wait_until("both wait for a turn", || database.waiting() >= 2);
        drop(held);
        clients.map(|client| client.join().unwrap())
    })
}

#[test]
fn two_processes_do_not_exceed_the_maximum_of_keys_and_webhooks_together() {
    let Some((one, database)) = vault() else { return };
    let two = one.beside(&database.url());
    let shard = shard_of(&one, &database, &one.keys.private);
    let management = &one.keys.management;
    let application = one.application("private", &["token:create"], &json!([])).id();
    let keys = format!("/applications/{application}/keys");
    let hook = json!({
        "name": "Hook", "url": "https://hooks.example.com/", "events": ["token.created"],
    });
    for (path, body, before) in [(&*keys, Value::Null, 1), ("/webhooks", hook, 4)] {
        let request = post(path).key(management);
        let request = if body.is_null() { request } else { request.json(body) };
        for _ in 0..before {
            one.send(&request).with_status(201);
        }
        let answers = at_once(&database, &shard, [(&one, &request), (&two, &request)]);
        let mut statuses = answers.map(|answer| answer.status);
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 422], "{path}");
    }
    let listed = two.get(&keys, management).with_status(200);
    assert_eq!(listed.json.as_array().unwrap().len(), 3);
}

/// The expiries of a tenant that no sweep has removed.
fn expiries(database: &Database, tenant: &str) -> String {
    let tenant = tenant.replace('-', "");
    database.ask(&format!(
        "SELECT count(*) FROM strongroom_rows WHERE tbl = 10 \
         AND encode(substring(key from 10 for 16), 'hex') = '{tenant}'"
    ))
}

#[test]
fn a_held_shard_delays_neither_writes_nor_upkeep_of_tenants_in_other_shards() {
    let Some((vault, database)) = vault() else { return };
    let shard = shard_of(&vault, &database, &vault.keys.private);
    let other = wait_for("a tenant of another shard", || {
        let tenant = vault.tenant("test");
        (shard_of(&vault, &database, &tenant.keys.private) != shard).then_some(tenant)
    });
    let expires_at = now_plus(&vault, 600);
    let body = json!({"type": "token", "data": "x", "expires_at": expires_at});
    for keys in [&vault.keys, &other.keys] {
        vault.post("/tokens", &keys.private, body.clone()).with_status(201);
    }
    // It changes rows of the vault too, by which other processes know that access has changed.
    let body = json!({"name": "New", "type": "public", "permissions": ["token:create"]});
    let application = |key: &str| post("/applications").key(key).json(body.clone());
    let data = vault.data();
    let sweep =
        |seconds: &str| run(&["dev-clock", "--data", data.to_str().unwrap(), "advance", seconds]);
    let held = database.hold_turn(&shard);
    thread::scope(|scope| {
        let delayed = scope.spawn(|| vault.send(&application(&vault.keys.management)));
        wait_until("a batch waits for the held turn", || database.waiting() >= 1);
        vault.send(&token(&other.keys.private)).with_status(201);
        vault.send(&application(&other.keys.management)).with_status(201);
        assert!(sweep("700").code != Some(0), "a shard was left out");
        assert_eq!(expiries(&database, &other.id), "0");
        assert_eq!(expiries(&database, &vault.tenant_id), "1");
        drop(held);
        // A busy machine may have exceeded the deadline for a turn.
        let status = delayed.join().unwrap().status;
        assert!([201, 503].contains(&status), "{status}");
    });
    sweep("0").with_code(0);
    assert_eq!(expiries(&database, &vault.tenant_id), "0");
}

/// Before it answers, a list of log entries waits until the entries of earlier reads are durable. Only
/// those of its own shard count.
#[test]
fn a_held_shard_delays_no_entry_of_a_read_of_a_tenant_in_another_shard() {
    let Some((vault, database)) = vault() else { return };
    let shard = shard_of(&vault, &database, &vault.keys.private);
    let other = wait_for("a tenant of another shard", || {
        let tenant = vault.tenant("test");
        (shard_of(&vault, &database, &tenant.keys.private) != shard).then_some(tenant)
    });
    let tokens = [&vault.keys, &other.keys].map(|keys| {
        let made = vault.send(&token(&keys.private)).with_status(201);
        format!("/tokens/{}", made.id())
    });
    let reader = vault.operators_key(&other.id, "management", "log:read");
    let held = database.hold_turn(&shard);
    vault.get(&tokens[0], &vault.keys.private).with_status(200);
    vault.get("/logs", &vault.keys.management).problem(503);
    vault.get(&tokens[1], &other.keys.private).with_status(200);
    let listed = vault.get("/logs", &reader).with_status(200);
    let id = tokens[1].trim_start_matches("/tokens/");
    let reads = |listed: &Answer| {
        let entries = listed.json["data"].as_array().unwrap().clone();
        entries.iter().filter(|it| it["operation"] == "read" && it["entity_id"] == id).count()
    };
    assert_eq!(reads(&listed), 1, "{}", listed.text());
    drop(held);
    wait_until("the shard writes again", || {
        vault.get("/logs", &vault.keys.management).status == 200
    });
}
