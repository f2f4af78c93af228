//! The audit chain from outside: what leaves an entry, who sees it, and that damage is found.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::thread;

use serde_json::{Value, json};
use strongroom::testing::{AuditRow, Clock};
use strongroom::testing::{Change, Store, Table, tables};

use crate::audit_follow::assert_consecutive;
use crate::harness::{
    Ended, KillOnDrop, Vault, get, needs_data_file, needs_one_process, only_rule, post, run,
    wait_for_clients,
};
use crate::threeds;

/// Operation, type and id of each entry of the log, oldest first.
fn log(vault: &Vault) -> Vec<(String, String, String)> {
    let page = vault.get("/logs?size=5000", &vault.keys.management).with_status(200);
    assert_eq!(page.json["pagination"].get("next"), None);
    let text = |entry: &Value, name: &str| String::from(entry[name].as_str().unwrap());
    let tell = |entry: &Value| {
        (text(entry, "operation"), text(entry, "entity_type"), text(entry, "entity_id"))
    };
    // Refused requests have entries of their own, which are written some time later. The looks of
    // this function have entries, too.
    let done = page.json["data"].as_array().unwrap().iter();
    let done = done.filter(|it| it["outcome"] == "success" && it["entity_type"] != "log");
    done.rev().map(tell).collect()
}

/// The log entries of these requests, without the ids.
#[track_caller]
fn check(vault: &Vault, expected: &[&str], act: impl FnOnce()) {
    let before = log(vault).len();
    act();
    let added: Vec<_> = log(vault).split_off(before);
    let told: Vec<_> = added.iter().map(|(act, kind, _)| format!("{act} {kind}")).collect();
    assert_eq!(told, expected);
}

fn audit(vault: &Vault, arguments: &[&str]) -> Ended {
    vault.operator(&[&["audit"], arguments].concat())
}

#[track_caller]
fn assert_whole(vault: &Vault) -> String {
    let said = audit(vault, &["verify"]).with_code(0).stdout;
    // A running server compares the signing key with its own.
    let verdict = if said.contains("the server's own key") {
        "The chain is intact.\n"
    } else {
        "Whether its signing key is the vault's was not checked.\n"
    };
    assert!(said.ends_with(verdict), "{said}");
    said
}

#[test]
fn a_backup_that_fails_is_no_success_in_the_chain() {
    let vault = Vault::start();
    let file = vault.directory().text("a.backup");
    vault.operator(&["backup", &file]).with_code(0);
    assert_ne!(vault.operator(&["backup", &file]).code, Some(0));
    assert_ne!(vault.operator(&["backup", "/proc/nope.backup"]).code, Some(0));
    let backups: Vec<_> =
        vault.chain().into_iter().filter(|entry| entry["operation"] == "backup").collect();
    let outcomes: Vec<_> = backups.iter().map(|entry| entry["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["success", "failure", "failure"], "{backups:?}");
    assert_whole(&vault);
}

/// The path of a file with a receipt.
pub(crate) fn receipt(vault: &Vault, name: &str) -> String {
    let text = audit(vault, &["receipt"]).with_code(0).stdout;
    vault.directory().write(name, text, 0o600);
    vault.directory().text(name)
}

#[test]
fn every_access_to_a_token_leaves_an_entry() {
    let vault =
        Vault::start_with(&["--quota", "tokenize_limit=9", "--quota", "detokenize_limit=9"]);
    let key = &vault.keys.private;
    let one = vault.token(json!({"type": "token", "data": "one", "id": "my-own-name"}));
    let two = vault.token(json!({"type": "token", "data": "two"}));
    check(&vault, &["read token"], || {
        vault.get(&format!("/tokens/{one}"), key).with_status(200);
    });
    assert_eq!(log(&vault).pop().unwrap().2, "my-own-name");
    check(&vault, &["read token"; 2], || drop(vault.get("/v2/tokens", key).with_status(200)));
    check(&vault, &["read token"; 1], || drop(vault.get("/v2/tokens?size=1", key)));
    check(&vault, &["read token"; 2], || drop(vault.get("/tokens", key).with_status(200)));
    for path in ["/v2/tokens/search", "/tokens/search"] {
        check(&vault, &["read token"; 2], || {
            vault.post(path, key, json!({})).with_status(200);
        });
    }
    // The same token twice is one access.
    check(&vault, &["read token"; 2], || {
        let body = json!([
            format!("{{{{ {one} }}}}"),
            format!("{{{{ {two} }}}}"),
            format!("{{{{ {one} | json: '$' }}}}")
        ]);
        vault.post("/detokenize", key, body).with_status(200);
    });
    check(&vault, &[], || {
        vault.get("/tokens/nobody", key).problem(404);
        vault.get(&format!("/tokens/{one}"), &vault.keys.public).problem(403);
        vault.post("/detokenize", key, json!("{{ nobody }}")).problem(400);
        vault.get("/v2/tokens?fingerprint=none", key).with_status(200);
    });
    let wanted = json!({"type": "token", "data": "two", "deduplicate_token": true});
    check(&vault, &["read token"], || drop(vault.post("/tokens", key, wanted).with_status(201)));
}

#[test]
fn every_change_leaves_an_entry_and_a_refused_one_none() {
    let vault = Vault::start();
    let (key, management) = (&vault.keys.private, &vault.keys.management);
    let card = json!({"type": "card", "data": {"number": "4242424242424242"}});
    check(&vault, &["create token", "update token", "delete token"], || {
        let id = vault.token(json!({"type": "token", "data": 1}));
        let path = format!("/tokens/{id}");
        vault.patch(&id, json!({"data": 2})).with_status(200);
        vault.delete(&path, key).with_status(204);
        vault.delete(&path, key).problem(404);
        vault.post("/tokens", key, json!({"type": "token"})).problem(400);
    });
    check(&vault, &["create token"; 2], || {
        vault.post("/tokenize", key, json!({"a": 1, "b": [2]})).with_status(200);
        vault.post("/tokenize", key, json!({"a": {"type": "card", "data": 1}})).problem(400);
    });
    let intent = || vault.intent(key);
    let path = format!("/token-intents/{}", intent());
    check(&vault, &["read token_intent"], || drop(vault.get(&path, key).with_status(200)));
    check(&vault, &["delete token_intent"], || drop(vault.delete(&path, key).with_status(204)));
    check(&vault, &["create token_intent", "convert token_intent", "create token"], || {
        vault.token(json!({"token_intent_id": intent()}));
    });
    let application = json!({"name": "n", "type": "private", "permissions": ["token:create"]});
    let expected = [
        "create application",
        "create application_key",
        "create application_key",
        "delete application_key",
        "update application",
        "delete application",
        "delete application_key",
    ];
    check(&vault, &expected, || {
        let id = vault.post("/applications", management, application.clone()).with_status(201).id();
        let path = format!("/applications/{id}");
        let keys = format!("{path}/keys");
        let made = vault.send(&post(&keys).key(management)).with_status(201).id();
        vault.delete(&format!("{keys}/{made}"), management).with_status(204);
        vault
            .put(&path, management, json!({"name": "m", "permissions": ["token:read"]}))
            .with_status(200);
        vault.delete(&path, management).with_status(204);
    });
    check(&vault, &["update tenant"], || {
        vault.put("/tenants/self", management, json!({"name": "n"})).with_status(200);
        vault.put("/tenants/self", management, json!({"name": ""})).problem(400);
    });
    let token = vault.token(card.clone());
    let session = json!({"token_id": token, "device": "browser"});
    let mut path = String::new();
    check(&vault, &["use token", "create 3ds_session"], || {
        let id = vault.post("/3ds/sessions", key, session).with_status(201).id();
        path = format!("/3ds/sessions/{id}/authenticate");
    });
    check(&vault, &["use token", "authenticate 3ds_session", "update 3ds_session"], || {
        vault.post(&path, key, threeds::body()).with_status(200);
    });
    assert_whole(&vault);
}

#[test]
fn a_repeated_answer_is_an_access_to_what_it_shows() {
    let vault = Vault::start();
    let key = &vault.keys.private;
    let create = post("/tokens")
        .key(key)
        .once("once")
        .json(json!({"type": "token", "data": 1, "id": "chosen-name"}));
    let tokenize =
        post("/tokenize").key(key).once("twice").json(json!([1, {"type": "token", "data": 2}]));
    check(&vault, &["create token", "read token"], || {
        for replayed in [None, Some("true")] {
            let answer = vault.send(&create).with_status(201);
            assert_eq!(answer.header("bt-idempotent-replayed"), replayed);
        }
    });
    assert_eq!(log(&vault).pop().unwrap().2, "chosen-name");
    check(&vault, &["create token", "create token", "read token", "read token"], || {
        for _ in 0..2 {
            vault.send(&tokenize).with_status(200);
        }
    });
}

#[test]
fn clients_page_through_the_log_by_number_and_by_cursor() {
    let vault = Vault::start();
    let management = &vault.keys.management;
    let ids: Vec<_> = (0..7).map(|n| vault.token(json!({"type": "token", "data": n}))).collect();
    let newest_first: Vec<_> = ids.iter().rev().cloned().collect();
    // As the published clients do it: until a page is empty.
    let mut by_number = Vec::new();
    for page in 1.. {
        let path = format!("/logs?entity_type=token&size=3&page={page}");
        let found = vault.get(&path, management).with_status(200);
        assert_eq!(found.json["pagination"]["page_number"], page);
        if found.each("entity_id").is_empty() {
            break;
        }
        by_number.extend(found.each("entity_id"));
    }
    assert_eq!(by_number, newest_first);
    let mut by_cursor = Vec::new();
    let mut path = String::from("/logs?entity_type=token&size=3");
    for page in 0.. {
        assert!(page < 100, "the log has no end");
        let found = vault.get(&path, management).with_status(200);
        by_cursor.extend(found.each("entity_id"));
        let Some(next) = found.json["pagination"]["next"].as_str() else { break };
        path = format!("/logs?entity_type=token&size=3&start={next}");
    }
    assert_eq!(by_cursor, newest_first);

    let one = vault.logged(&format!("entity_id={}", ids[2]));
    let [entry] = one.as_slice() else { panic!("{one:?}") };
    assert_eq!(entry["tenant_id"], json!(vault.tenant_id));
    assert_eq!(entry["actor_type"], "application");
    assert_eq!(entry["message"], "Token created");
    assert!(entry["actor_id"].is_string() && entry["id"].is_string());
    let at = entry["created_at"].as_str().unwrap().replace('+', "%2B");
    let from = vault.get(&format!("/logs?entity_type=token&start_date={at}"), management);
    assert_eq!(from.each("entity_id"), newest_first[..5]);
    let to = vault.get(&format!("/logs?entity_type=token&end_date={at}"), management);
    assert_eq!(to.each("entity_id"), newest_first[5..]);

    let kinds = vault.get("/logs/entity-types", management).with_status(200).json;
    assert!(
        kinds.as_array().unwrap().contains(&json!({"display_name": "Token", "value": "token"}))
    );
    vault.get("/logs?entity_type=card&start_date=x&size=0&start=y", management).invalid(&[
        "entity_type",
        "size",
        "start",
        "start_date",
    ]);
}

#[test]
fn whoever_is_let_see_data_in_plain_is_marked_in_the_log() {
    let vault = Vault::start();
    let management = &vault.keys.management;
    let rule = |transform: &str| only_rule("/", transform, &["token:read"]);
    let masked = json!({"name": "n", "type": "private", "rules": rule("mask")});
    let mut made = None;
    check(&vault, &["create application", "create application_key"], || {
        made = Some(vault.post("/applications", management, masked).with_status(201).id());
    });
    let path = format!("/applications/{}", made.unwrap());
    let keys = format!("{path}/keys");
    check(&vault, &["create application_key"], || {
        vault.send(&post(&keys).key(management)).with_status(201);
    });
    check(&vault, &["update application", "grant_reveal application"], || {
        let revealing = json!({"name": "n", "rules": rule("reveal")});
        vault.put(&path, management, revealing).with_status(200);
    });
    check(&vault, &["create application_key", "grant_reveal application_key"], || {
        vault.send(&post(&keys).key(management)).with_status(201);
    });
    let told = vault.get("/logs?size=1&entity_type=application_key", management).with_status(200);
    assert_eq!(told.json["data"][0]["message"], "Application key may see data in plain");
    check(&vault, &["update application"], || {
        vault.put(&path, management, json!({"name": "n", "rules": rule("redact")}));
    });
}

#[test]
fn a_tenant_sees_neither_the_log_of_another_nor_what_its_quota_hides() {
    let vault = Vault::start_with(&["--quota", "log_retention=2h"]);
    let other = vault.tenant("test");
    let reader = vault.operators_key(&other.id, "management", "log:read");
    let id = vault.token(json!({"type": "token", "data": 1}));
    let seen =
        |key: &str| vault.get("/logs?entity_type=token", key).with_status(200).json["data"].clone();
    assert_eq!(seen(&vault.keys.management)[0]["entity_id"], json!(id));
    assert_eq!(seen(&reader), json!([]));
    let made = vault.get("/logs", &reader).with_status(200).json["data"].clone();
    assert!(
        made.as_array()
            .unwrap()
            .iter()
            .all(|it| it["actor_type"] == "operator" || it["entity_type"] == "log"),
        "{made}"
    );
    let next = vault.get("/logs?size=1", &reader).json["pagination"]["next"].clone();
    let path = format!("/logs?start={}", next.as_str().unwrap());
    vault.get(&path, &vault.keys.management).invalid(&["start"]);
    vault.advance(2 * 3_600 + 1);
    assert_eq!(seen(&vault.keys.management), json!([]));
    assert!(vault.chain().iter().any(|it| it["entity_id"] == json!(id)));
}

#[test]
fn what_the_operator_does_is_in_the_chain_running_or_not() {
    needs_one_process!("each process has an entry of its own end");
    let mut vault = Vault::start();
    let before = vault.chain().len();
    let tenant = vault.tenant("test");
    assert_eq!(vault.stop(), Some(0));
    vault.operator(&["tenant", "set", "--tenant", &tenant.id, "--name", "New"]).with_code(0);
    let entries = vault.chain().split_off(before);
    let told: Vec<_> = entries
        .iter()
        .map(|it| {
            format!("{} {}", it["operation"].as_str().unwrap(), it["entity_type"].as_str().unwrap())
        })
        .collect();
    let application = ["create application", "create application_key"];
    // The private one of the three reveals.
    let revealing = [
        "create application",
        "grant_reveal application",
        "create application_key",
        "grant_reveal application_key",
    ];
    let expected = [
        ["create tenant"].as_slice(),
        &revealing,
        &application,
        &application,
        &["stop vault", "update tenant", "export audit_chain"],
    ];
    assert_eq!(told, expected.concat());
    let own = |it: &&Value| it["operation"] == "stop";
    assert!(entries.iter().filter(own).all(|it| it["actor_type"] == "system"));
    assert!(entries.iter().filter(|it| !own(it)).all(|it| it["actor_type"] == "operator"));
    let last = entries.last().unwrap();
    assert_eq!((&last["tenant_id"], &last["actor_id"]), (&Value::Null, &Value::Null));
    assert_consecutive(&vault.chain());
    assert!(assert_whole(&vault).contains("unanchored:   0 "), "the end was signed");
}

#[test]
fn an_export_is_narrowed_by_time_and_never_overwrites() {
    let vault = Vault::start();
    vault.token(json!({"type": "token", "data": "old"}));
    let now = vault.advance(3_600)["now"].as_str().unwrap().to_owned();
    let id = vault.token(json!({"type": "token", "data": "new"}));
    let file = &vault.directory().text("export.jsonl");
    audit(&vault, &["export", "--from", &now, "--out", file]).with_code(0);
    let lines = std::fs::read_to_string(file).unwrap();
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["entity_id"], json!(id));
    assert_eq!(lines.lines().count(), 2, "the export itself is the last: {lines}");
    // A file is not overwritten.
    audit(&vault, &["export", "--out", file]).with_code(65);
    audit(&vault, &["export", "--to", "yesterday"]).with_code(64);
    assert_eq!(audit(&vault, &["export", "--to", "2001-01-01"]).with_code(0).stdout, "");
    run(&["audit", "export"]).with_code(64);
    run(&["audit", "verify", "--since", file]).with_code(64);
    audit(&vault, &["verify", "--since", file]).with_code(65);
}

/// The rows of the chain, in its order, of a stopped vault.
fn rows(store: &Store) -> Vec<AuditRow> {
    let stored = store.snapshot().unwrap().first(&Table::Audit.whole(), usize::MAX).unwrap();
    let mut rows: Vec<_> =
        stored.iter().map(|(key, value)| AuditRow::decode(key, value).unwrap()).collect();
    rows.sort_by_key(|row| row.sequence);
    rows
}

/// The report of `audit verify` on a stopped vault after this damage, which is undone again.
#[track_caller]
fn damaged(vault: &Vault, arguments: &[&str], damage: impl FnOnce(&Store) -> Change) -> String {
    let file = vault.data().join(Store::FILE);
    let whole = std::fs::read(&file).unwrap();
    let store = Store::open(&vault.data(), &Clock::new()).unwrap();
    store.amend(damage(&store)).unwrap();
    store.close();
    // Without the master key: it is not needed.
    let data = vault.data();
    let data = ["--data", data.to_str().unwrap()];
    let ended = run(&[&["audit", "verify"], arguments, &data].concat()).with_code(65);
    vault.put_back(&whole);
    ended.stderr
}

#[test]
fn a_changed_byte_a_removed_entry_and_a_cut_tail_are_found() {
    needs_data_file!("it plants damage in the file");
    let mut vault = Vault::start();
    for number in 0..5 {
        vault.token(json!({"type": "token", "data": number}));
    }
    let kept = &receipt(&vault, "receipt.json");
    let id = vault.token(json!({"type": "token", "data": "later"}));
    vault.read(&id).with_status(200);
    let said = audit(&vault, &["verify", "--since", kept]).with_code(0).stdout;
    assert!(said.contains("unanchored:   3 (after the receipt)"), "{said}");
    assert_eq!(vault.stop(), Some(0));
    assert_whole(&vault);
    audit(&vault, &["verify", "--since", kept]).with_code(0);

    let found = damaged(&vault, &[], |store| {
        let row = rows(store).swap_remove(3);
        let mut value = store.snapshot().unwrap().value(Table::Audit, &row.key()).unwrap().unwrap();
        *value.last_mut().unwrap() ^= 1;
        Change::new().put(Table::Audit, row.key(), value)
    });
    assert!(found.contains("was changed: the links differ"), "{found}");
    let found = damaged(&vault, &[], |store| {
        let row = rows(store).swap_remove(3);
        Change::new().delete(Table::Audit, row.key())
    });
    assert!(found.contains("are missing"), "{found}");

    // Cut with care: the head, the checkpoints and the rows agree with each other afterwards.
    let cut = |store: &Store| {
        let rows = rows(store);
        let at = rows.len() - 6;
        let mut change =
            Change::new().delete(Table::Meta, tables::meta::AUDIT_NEWEST_CHECKPOINT.to_vec());
        for (key, _) in
            store.snapshot().unwrap().first(&Table::AuditCheckpoints.whole(), usize::MAX).unwrap()
        {
            change = change.delete(Table::AuditCheckpoints, key);
        }
        let mut link = strongroom::testing::Link::default();
        for row in &rows[..at] {
            link = row.link_after(&link);
        }
        for row in &rows[at..] {
            change = change.delete(Table::Audit, row.key());
        }
        let head = [rows[at].sequence.to_be_bytes().as_slice(), link.bytes()].concat();
        change.put(Table::Meta, tables::meta::AUDIT_HEAD.to_vec(), head)
    };
    let found = damaged(&vault, &["--since", kept], cut);
    assert!(found.contains("its tail was cut"), "{found}");
    assert_whole(&vault);
    vault.verify().with_code(0);
}

#[test]
fn a_kill_leaves_the_entry_of_every_write_that_was_answered() {
    needs_one_process!("the kill ends one process, and its clients go on with the others");
    let mut vault = Vault::start();
    let told = Mutex::new(BTreeSet::new());
    thread::scope(|scope| {
        let client = |client: usize| {
            let (vault, told) = (&vault, &told);
            scope.spawn(move || {
                for number in 0.. {
                    let body = json!({"type": "token", "data": format!("{client}-{number}")});
                    let request = post("/tokens").key(&vault.keys.private).json(body);
                    let Ok(made) = vault.try_send(&request) else { return };
                    told.lock().unwrap().insert(made.with_status(201).id());
                }
            })
        };
        let kill = KillOnDrop(&vault);
        let clients: Vec<_> = (0..4).map(client).collect();
        wait_for_clients("100 answers", &clients, || told.lock().unwrap().len() >= 100);
        drop(kill);
    });
    assert_eq!(vault.wait(), None);
    vault.verify().with_code(0);
    let entries = vault.chain();
    let known: BTreeSet<_> = entries
        .iter()
        .filter(|it| it["operation"] == "create")
        .map(|it| String::from(it["entity_id"].as_str().unwrap()))
        .collect();
    assert!(told.lock().unwrap().is_subset(&known));
    assert_whole(&vault);
}

#[test]
fn a_strict_server_has_the_entry_of_every_read_that_was_answered() {
    let mut vault = Vault::start();
    let id = vault.token(json!({"type": "token", "data": 1}));
    vault.serve("audit.reads = \"strict\"");
    for _ in 0..5 {
        vault.read(&id).with_status(200);
    }
    vault.get("/v2/tokens", &vault.keys.private).with_status(200);
    vault.signal("KILL");
    assert_eq!(vault.wait(), None);
    let reads = vault.chain().iter().filter(|it| it["operation"] == "read").count();
    assert_eq!(reads, 6);
    assert_whole(&vault);
}

#[test]
fn a_clean_stop_writes_down_the_last_reads_and_signs_them() {
    let mut vault = Vault::start();
    let id = vault.token(json!({"type": "token", "data": 1}));
    let request = get(&format!("/tokens/{id}")).key(&vault.keys.private);
    for _ in 0..20 {
        vault.send(&request).with_status(200);
    }
    assert_eq!(vault.stop(), Some(0));
    let said = assert_whole(&vault);
    assert!(said.contains("unanchored:   0 "), "{said}");
    assert_eq!(vault.chain().iter().filter(|it| it["operation"] == "read").count(), 20);
}

#[test]
fn old_entries_go_and_the_chain_stays_whole() {
    let mut vault = Vault::start();
    vault.token(json!({"type": "token", "data": "old"}));
    let old = receipt(&vault, "old.json");
    let day = 24 * 3_600;
    vault.token(json!({"type": "token", "data": "a little later"}));
    vault.advance(61);
    vault.advance(399 * day);
    let id = vault.token(json!({"type": "token", "data": "new"}));
    vault.advance(60);
    vault.advance(2 * day);
    let creates: Vec<_> =
        vault.chain().iter().filter(|it| it["operation"] == "create").cloned().collect();
    let [kept] = creates.as_slice() else { panic!("{creates:?}") };
    assert_eq!(kept["entity_id"], json!(id));
    assert!(kept["number"].as_u64().unwrap() > 0);
    assert_whole(&vault);
    let found = audit(&vault, &["verify", "--since", &old]).with_code(65);
    assert!(found.stderr.contains("a newer receipt is needed"), "{}", found.stderr);
    vault.stop_and_verify();
}

#[test]
fn a_repeated_answer_that_shows_an_intent_or_a_key_again_is_a_read_of_it() {
    let vault = Vault::start();
    let (private, management) = (&vault.keys.private, &vault.keys.management);
    let card = json!({"type": "card", "data": {"number": "4242424242424242"}});
    let application = json!({"name": "a", "type": "private", "permissions": ["token:create"], "create_key": true});
    let proxy = json!({"name": "p", "destination_url": "https://psp.example"});
    for (path, key, body, kind) in [
        ("/token-intents", private, card, "token_intent"),
        ("/applications", management, application, "application_key"),
        ("/proxies", management, proxy, "proxy"),
    ] {
        let send =
            || vault.send(&post(path).key(key).once("k").json(body.clone())).with_status(201);
        let first = send();
        check(&vault, &[&format!("read {kind}")], || assert_eq!(send().text(), first.text()));
    }
}

#[test]
fn a_confirmed_guess_of_an_indexed_value_is_a_read_also_if_the_page_is_empty() {
    let vault = Vault::start();
    let token = json!({
        "type": "token", "data": "987-65-4321", "containers": ["/pii/"], "search_indexes": ["{{ data }}"],
    });
    vault.token(token);
    let searcher = vault.key_with("private", &[], &only_rule("/pii/", "redact", &["token:search"]));
    let guess = |text: &str, page: u32| {
        let query = json!({"query": format!("data:\"{text}\""), "page": page, "size": 1});
        vault.post("/tokens/search", &searcher, query).with_status(200).json
    };
    for (text, page, total, reads) in [
        ("987-65-4320", 1, 0, &[][..]),
        ("987-65-4320", 1_000, 0, &[]),
        ("987-65-4321", 1, 1, &["read token"]),
        ("987-65-4321", 1_000, 1, &["read token"]),
    ] {
        check(&vault, reads, || {
            let found = guess(text, page);
            assert_eq!(found["pagination"]["total_items"], total, "{text} {page}");
            let shown = found["data"].as_array().unwrap().len();
            assert_eq!(shown, usize::from(page == 1 && total == 1), "{text} {page}");
        });
    }
}
