//! The turns of shards: two processes keep a maximum together.

use std::sync::Arc;
use std::thread;

use serde_json::{Value, json};

use crate::harness::{Answer, Cluster, Database, Directory, Request, Vault, post, wait_until};

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
