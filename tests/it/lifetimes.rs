//! Expiry and deduplication of tokens.

use std::collections::BTreeSet;
use std::thread;

use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::harness::{Answer, Vault, names, run, wait_until};

/// The vault's own clock, in seconds, moved by `seconds`.
pub(crate) fn now_plus(vault: &Vault, seconds: i64) -> String {
    let now = time_of(vault.advance(0)["now"].as_str().unwrap());
    (now + time::Duration::seconds(seconds)).format(&Rfc3339).unwrap()
}

pub(crate) fn time_of(text: &str) -> OffsetDateTime {
    OffsetDateTime::parse(text, &Rfc3339).unwrap()
}

#[test]
fn an_expired_token_is_gone_at_once_and_its_record_with_the_sweep() {
    let mut vault = Vault::start();
    let stays = vault.token(json!({"type": "token", "data": "x"}));
    let body = json!({
        "type": "token", "data": "x", "id": "expiring", "expires_at": now_plus(&vault, 600),
    });
    let made = vault.create(body.clone()).with_status(201);
    assert!(made.member("expires_at").ends_with("+00:00"));
    assert_eq!(vault.advance(300)["removed"], 0);
    vault.read("expiring").with_status(200);
    vault.create(body.clone()).problem(409);
    assert_eq!(vault.advance(300)["removed"], 1);
    let gone = vault.read("expiring").problem(404);
    let never = vault.read("never-was").problem(404);
    assert_eq!(gone.without_trace(), never.without_trace());
    vault.delete("/tokens/expiring", &vault.keys.private).problem(404);
    vault.read(&stays).with_status(200);
    // The name is free again; its old time is over.
    vault.create(body).invalid(&["expires_at"]);
    vault.create(json!({"type": "token", "data": "y", "id": "expiring"})).with_status(201);
    let report = vault.stop_and_verify();
    assert!(report.stdout.contains("tokens:         2"), "{}", report.stdout);
}

#[test]
fn a_token_is_gone_the_moment_it_expires_though_its_record_is_still_there() {
    let mut vault = Vault::start();
    // A slow machine may see the shortest of these lifetimes end before its first read.
    let is_read = [3, 20, 90].into_iter().any(|seconds| {
        let expires_at = now_plus(&vault, seconds);
        let body =
            json!({"type": "token", "data": "x", "id": "short-lived", "expires_at": expires_at});
        vault.create(body).status == 201 && vault.read("short-lived").status == 200
    });
    assert!(is_read, "no token was read before its end");
    // Nothing is swept in between: the clock is not moved, and the next sweep is far away.
    wait_until("the token expires", || vault.read("short-lived").status != 200);
    vault.read("short-lived").problem(404);
    vault.delete("/tokens/short-lived", &vault.keys.private).problem(404);
    assert_eq!(vault.stop(), Some(0));
    let records = |vault: &Vault, count: u32| {
        let report = vault.verify().with_code(0).stdout;
        assert!(report.contains(&format!("tokens:         {count}\n")), "{report}");
    };
    records(&vault, 1);
    vault.restart();
    vault.advance(0);
    assert_eq!(vault.stop(), Some(0));
    records(&vault, 0);
}

#[test]
fn the_clock_of_a_vault_that_is_not_running_cannot_be_moved() {
    let mut vault = Vault::start();
    assert_eq!(vault.stop(), Some(0));
    let data = vault.data();
    run(&["dev-clock", "--data", data.to_str().unwrap(), "advance", "1"]).with_code(69);
}

#[test]
fn an_expiry_is_taken_in_the_published_forms_and_refused_otherwise() {
    let vault = Vault::start();
    let with =
        |text: Value| vault.create(json!({"type": "token", "data": "x", "expires_at": text}));
    for (text, kept) in [
        ("2100-01-02T03:04:05Z", "2100-01-02T03:04:05.0000000+00:00"),
        ("2100-01-02T03:04:05.1234567+02:00", "2100-01-02T01:04:05.1234560+00:00"),
        ("1/2/2100 3:04:05 AM -07:00", "2100-01-02T10:04:05.0000000+00:00"),
    ] {
        assert_eq!(with(json!(text)).with_status(201).json["expires_at"], kept, "{text}");
    }
    with(Value::Null).with_status(201);
    for bad in ["", "tomorrow", "2001-01-01"] {
        with(json!(bad)).invalid(&["expires_at"]);
    }
    with(json!(4_102_444_800_u64)).invalid(&["expires_at"]);
}

#[test]
fn a_duplicate_answers_with_the_token_that_is_there() {
    let vault = Vault::start();
    let body = json!({"type": "token", "data": {"a": 1}, "deduplicate_token": true});
    let first = vault.create(body.clone()).with_status(201);
    let second = vault.create(body.clone()).with_status(201);
    assert_eq!(second.id(), first.id());
    assert_eq!(first.json["_extras"]["deduplicated"], false);
    let found = json!({"deduplicated": true, "deduplication_behavior": "read_existing"});
    assert_eq!(second.json["_extras"], found);
    let different = |name: &str, value: Value| {
        let mut other = body.clone();
        other[name] = value;
        assert_ne!(vault.create(other).with_status(201).id(), first.id(), "{name}");
    };
    different("deduplicate_token", json!(false));
    different("data", json!({"a": 2}));
    different("containers", json!(["/elsewhere/"]));
    different("fingerprint_expression", json!("{{ data.a }}"));
    let other = vault.tenant("test");
    let theirs = vault.post("/tokens", &other.keys.private, body.clone()).with_status(201);
    assert_ne!(theirs.id(), first.id());
    assert_ne!(theirs.json["fingerprint"], first.json["fingerprint"]);
    // Once it is gone, the next one is new.
    let path = format!("/tokens/{}", first.id());
    let mut gone = BTreeSet::from([first.id()]);
    vault.delete(&path, &vault.keys.private).with_status(204);
    // The one that asked not to be deduplicated is the same content and is found now.
    let next = vault.create(body.clone()).with_status(201);
    assert!(gone.insert(next.id()));
    assert_eq!(next.json["_extras"]["deduplicated"], true);
}

#[test]
fn a_tenant_can_deduplicate_by_default_and_a_request_can_differ() {
    let vault = Vault::start();
    vault.set_tenant(json!({"deduplicate_tokens": "true"}));
    let body = json!({"type": "token", "data": "same"});
    let first = vault.create(body.clone()).with_status(201).id();
    assert_eq!(vault.create(body.clone()).with_status(201).id(), first);
    let mut own = body;
    own["deduplicate_token"] = json!(false);
    assert_ne!(vault.create(own).with_status(201).id(), first);
}

#[test]
fn a_caller_who_may_not_read_the_duplicate_learns_only_what_it_is() {
    let vault = Vault::start();
    let body = json!({
        "type": "token", "data": "secret", "mask": "{{ data }}", "metadata": {"a": "b"},
        "deduplicate_token": true,
    });
    let first = vault.create(body.clone()).with_status(201);
    let key = vault.key_with("private", &["token:create"], &json!([]));
    let second = vault.post("/tokens", &key, body).with_status(201);
    assert_eq!(second.id(), first.id());
    let outline = ["_extras", "containers", "fingerprint", "id", "tenant_id", "type"];
    assert_eq!(names(&second.json), outline);
}

#[test]
fn simultaneous_creates_of_the_same_value_give_one_token() {
    let vault = Vault::start();
    for round in 0..3 {
        let body = json!({"type": "token", "data": round, "deduplicate_token": true});
        let answers: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..32).map(|_| scope.spawn(|| vault.create(body.clone()))).collect();
            threads.into_iter().map(|it| it.join().unwrap().with_status(201)).collect()
        });
        let ids: BTreeSet<_> = answers.iter().map(Answer::id).collect();
        assert_eq!(ids.len(), 1, "{ids:?}");
        let new = answers.iter().filter(|it| it.json["_extras"]["deduplicated"] == json!(false));
        assert_eq!(new.count(), 1);
    }
}
