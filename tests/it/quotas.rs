//! Quotas: set by the operator, at the start and while the server runs.

use serde_json::{Value, json};

use crate::harness::{Ended, Vault, get, needs_one_process};
use crate::limits::check_row;

const DEFAULTS: [(&str, &str); 7] = [
    ("tokenize_limit", "5"),
    ("detokenize_limit", "5"),
    ("cvc_retention", "3600"),
    ("token_intent_retention", "86400"),
    ("log_retention", "86400"),
    ("rate_limit", "default"),
    ("token_limit", "unlimited"),
];

fn set(vault: &Vault, quota: &str) -> Ended {
    vault.operator(&["tenant", "set", "--tenant", &vault.tenant_id, "--quota", quota])
}

fn shown(vault: &Vault, name: &str) -> Value {
    let read = vault.get("/tenants/self", &vault.keys.management).with_status(200);
    read.json["settings"][name].clone()
}

#[test]
fn a_new_tenant_has_the_published_defaults_and_shows_them() {
    let vault = Vault::start();
    for (name, value) in DEFAULTS {
        assert_eq!(shown(&vault, name), value, "{name}");
    }
    let other = vault.tenant("production");
    let read = vault.get("/tenants/self", &other.keys.management).with_status(200);
    assert_eq!(read.json["settings"]["rate_limit"], "default");
}

#[test]
fn quotas_given_at_the_start_hold_and_stay() {
    let quotas = ["--quota", "tokenize_limit=1", "--quota", "cvc_retention=15m"];
    let mut vault = Vault::start_with(&quotas);
    assert_eq!(shown(&vault, "tokenize_limit"), "1");
    assert_eq!(shown(&vault, "cvc_retention"), "900");
    vault.post("/tokenize", &vault.keys.private, json!([1, 2])).problem(400);
    vault.serve("");
    assert_eq!(shown(&vault, "cvc_retention"), "900");
    assert_eq!(vault.stop(), Some(0));
}

#[test]
fn a_quota_set_while_the_server_runs_holds_for_the_next_request() {
    let vault = Vault::start();
    let key = &vault.keys.private;
    vault.post("/tokenize", key, json!([1, 2, 3, 4, 5, 6])).problem(400);
    set(&vault, "tokenize_limit=6").json();
    assert_eq!(shown(&vault, "tokenize_limit"), "6");
    vault.post("/tokenize", key, json!([1, 2, 3, 4, 5, 6])).with_status(200);
    let id = vault.token(json!({"type": "token", "data": 1}));
    let one = json!([format!("{{{{ {id} }}}}")]);
    set(&vault, "detokenize_limit=0").json();
    vault.post("/detokenize", key, one.clone()).problem(400);
    set(&vault, "detokenize_limit=1").json();
    vault.post("/detokenize", key, one).with_status(200);
    set(&vault, "token_intent_retention=60").json();
    let intent = vault.intent(key);
    vault.advance(60);
    vault.get(&format!("/token-intents/{intent}"), key).problem(404);
    // It is this tenant's alone.
    let other = vault.tenant("test");
    vault.post("/tokenize", &other.keys.private, json!([1, 2, 3, 4, 5, 6])).problem(400);
}

#[test]
fn the_rate_limit_quota_scales_and_lifts_the_rows() {
    needs_one_process!("each process counts its own requests");
    let vault = Vault::start_with(&["--rate-limits", "on", "--stop-clock"]);
    let request = get("/permissions").key(&vault.keys.private);
    check_row(&vault, &request, 50);
    set(&vault, "rate_limit=3x").json();
    vault.advance(10);
    check_row(&vault, &request, 150);
    set(&vault, "rate_limit=unlimited").json();
    for _ in 0..400 {
        vault.send(&request).with_status(200);
    }
    assert_eq!(shown(&vault, "rate_limit"), "unlimited");
    set(&vault, "rate_limit=default").json();
    vault.advance(10);
    check_row(&vault, &request, 50);
}

#[test]
fn a_bad_value_is_refused_says_what_is_allowed_and_changes_nothing() {
    let vault = Vault::start();
    for (quota, word) in [
        ("tokenize_limit=-1", "0 to 1000"),
        ("tokenize_limit=1001", "0 to 1000"),
        ("detokenize_limit=many", "0 to 1000"),
        ("cvc_retention=0", "1 to 86400 seconds"),
        ("cvc_retention=25h", "1 to 86400 seconds"),
        ("token_intent_retention=49h", "1 to 172800 seconds"),
        ("log_retention=", "seconds"),
        ("rate_limit=0x", "1x to 1000x"),
        ("rate_limit=1001x", "1x to 1000x"),
        ("token_limit=many", "'unlimited', or a number"),
        ("token_limit=-1", "'unlimited', or a number"),
        ("colour=blue", "tokenize_limit"),
    ] {
        let refused = set(&vault, quota).with_code(65);
        assert!(refused.stderr.contains(word), "{quota}: {}", refused.stderr);
        assert!(refused.stdout.is_empty());
    }
    set(&vault, "tokenize_limit").with_code(64);
    for (name, value) in DEFAULTS {
        assert_eq!(shown(&vault, name), value, "{name}");
    }
    // Of several, one bad one refuses all.
    let both = ["--quota", "tokenize_limit=9", "--quota", "rate_limit=often"];
    let command = [&["tenant", "set", "--tenant", &vault.tenant_id], &both[..]].concat();
    vault.operator(&command).with_code(65);
    assert_eq!(shown(&vault, "tokenize_limit"), "5");
}

#[test]
fn a_management_key_cannot_change_its_own_quotas() {
    let vault = Vault::start();
    let body =
        json!({"name": "n", "settings": {"tokenize_limit": "100", "rate_limit": "unlimited"}});
    vault.put("/tenants/self", &vault.keys.management, body);
    vault.post("/tokenize", &vault.keys.private, json!([1, 2, 3, 4, 5, 6])).problem(400);
    assert_eq!(shown(&vault, "tokenize_limit"), "5");
    assert_eq!(
        vault.operator(&["tenant", "list", "--json"]).json()[0]["quotas"]["tokenize_limit"],
        "5"
    );
}

#[test]
fn a_tenant_has_at_most_as_many_tokens_and_intents_as_its_quota_says() {
    let vault = Vault::start_with(&["--quota", "token_limit=4"]);
    let key = &vault.keys.private;
    let card = json!({"type": "card", "data": {"number": "4242424242424242"}});
    let first = vault.token(json!({"type": "token", "data": 1}));
    vault.token(json!({"type": "token", "data": 2}));
    let intent = vault.post("/token-intents", key, card.clone()).with_status(201).id();
    // Two more would be five, one more is four: all or nothing.
    let refused = vault.post("/tokenize", key, json!(["a", "b"])).invalid(&["$"]);
    assert!(refused.text().contains("at most 4 tokens"), "{}", refused.text());
    vault.post("/tokenize", key, json!(["a"])).with_status(200);
    vault.post("/tokens", key, json!({"type": "token", "data": 3})).invalid(&["$"]);
    vault.post("/token-intents", key, card).invalid(&["$"]);
    // Requests that add nothing still work.
    let converted = vault.post("/tokens", key, json!({"token_intent_id": intent}));
    converted.with_status(201);
    let again = json!({"type": "token", "data": 2, "deduplicate_token": true});
    vault.post("/tokens", key, again).with_status(201);
    vault.delete(&format!("/tokens/{first}"), key).with_status(204);
    vault.token(json!({"type": "token", "data": 3}));
    vault.post("/tokens", key, json!({"type": "token", "data": 4})).invalid(&["$"]);
    // It is this tenant's alone, and the operator may lift it.
    let other = vault.tenant("test");
    let body = json!({"type": "token", "data": 1});
    vault.post("/tokens", &other.keys.private, body.clone()).with_status(201);
    set(&vault, "token_limit=unlimited").json();
    vault.token(body);
}

#[test]
fn creates_at_the_same_time_do_not_pass_the_quota_together() {
    let vault = Vault::start_with(&["--quota", "token_limit=20"]);
    let made: usize = std::thread::scope(|scope| {
        let create = || {
            let mut made = 0;
            for at in 0..10 {
                let body = json!({"type": "token", "data": at});
                let answer = vault.create(body);
                match answer.status {
                    201 => made += 1,
                    status => assert_eq!(status, 400, "{}", answer.text()),
                }
            }
            made
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(create)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(made, 20);
}
