//! Expressions that were written to keep the server busy: they are cut off, and other callers do not
//! notice them.
//!
//! The bounds are those of a build without optimisation. Without a common budget each of these attacks
//! takes a minute or more.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Answer, Attacked, Request, Vault, post};

/// The most that the server may work during a simple request of another caller.
const OTHERS_MAX: Duration = Duration::from_secs(6);
/// The most that it may work from the first request of an attack to the last answer.
const ATTACK_MAX: Duration = Duration::from_secs(40);

/// Each state of this pattern is looked at for each of the letters, and it never matches.
const COSTLY: &str =
    r#"{{ data.text | split: "b" | json: "$[?search(@, '(a*)*(a|aa){50}b')]" | json_stringify }}"#;

fn letters(count: usize) -> Value {
    json!({"text": "a".repeat(count), "name": "Ada Lovelace"})
}

/// A draft with as many expressions as it can have, each of them costly.
fn hostile() -> Value {
    json!({
        "type": "token", "data": letters(100_000), "id": COSTLY, "mask": {"text": COSTLY},
        "search_indexes": vec![COSTLY; 10], "fingerprint_expression": COSTLY,
    })
}

#[track_caller]
fn check(attacked: &Attacked) {
    assert!(attacked.took <= ATTACK_MAX && attacked.slowest <= OTHERS_MAX, "{attacked:?}");
}

fn at_once(vault: &Vault, requests: &[Request], check: impl Fn(Answer) + Sync) {
    thread::scope(|scope| {
        for request in requests {
            scope.spawn(|| check(vault.send(request)));
        }
    });
}

#[test]
fn ten_costly_creates_at_once_are_refused_and_delay_nobody() {
    let mut vault = Vault::start();
    let create = post("/tokens").key(&vault.keys.public).json(hostile());
    let tokenize = post("/tokenize")
        .key(&vault.keys.public)
        .json(json!({"one": hostile(), "another": hostile()}));
    let attacked = Attacked::by(&vault, || {
        at_once(&vault, &vec![create; 10], |answer| {
            // On a slow machine the last of them wait too long for their turn.
            if answer.status != 503 {
                let answer = answer.problem(400);
                let text = answer.text();
                assert!(text.contains("the expression takes too long"), "{text}");
            }
        });
        vault.send(&tokenize).problem(400);
    });
    check(&attacked);
    let report = vault.stop_and_verify();
    assert!(report.stdout.contains("tokens:         1"), "{}", report.stdout);
}

#[test]
fn a_page_of_costly_masks_shares_one_budget_and_delays_nobody() {
    let vault = Vault::start();
    let mask = json!({"name": "{{ data.name | reveal_last: 4 }}", "text": COSTLY});
    let body =
        json!({"type": "token", "data": letters(4_000), "mask": mask, "containers": ["/a/"]});
    // A caller that reveals does not evaluate the mask.
    let create = post("/tokens").key(&vault.keys.private).json(body);
    for _ in 0..10 {
        at_once(&vault, &vec![create.clone(); 10], |answer| drop(answer.with_status(201)));
    }
    let key = vault.key_with("private", &["token:read"], &json!([]));
    for path in ["/v2/tokens?size=100&container=/a/", "/tokens?size=100"] {
        let pages = vec![Request::new("GET", path).key(&key); 4];
        let attacked = Attacked::by(&vault, || {
            at_once(&vault, &pages, |answer| {
                let answer = answer.with_status(200);
                let tokens = answer.json["data"].as_array().unwrap();
                let shown = tokens.iter().filter(|token| token.get("data").is_some()).count();
                assert_eq!(tokens.len(), 100);
                assert!(shown < 90, "{shown} of them were evaluated");
            });
        });
        check(&attacked);
    }
}

#[test]
fn a_costly_mask_is_refused_where_the_answer_is_masked_and_redacted_where_it_is_read() {
    let vault = Vault::start();
    let body = json!({"type": "token", "data": letters(100_000), "mask": {"text": COSTLY}});
    vault.post("/tokens", &vault.keys.public, body.clone()).invalid(&["mask"]);
    let id = vault.token(body);
    let key = vault.key_with("private", &["token:read", "token:use"], &json!([]));
    let read = vault.get(&format!("/tokens/{id}"), &key).with_status(200);
    assert!(read.json.get("data").is_none(), "{}", read.text());
    // The whole of a detokenize call fails when one of its expressions cannot be evaluated.
    let body = json!({"plain": format!("{{{{ {id} | json: '$.name' }}}}")});
    let plain = vault.post("/detokenize", &vault.keys.private, body).with_status(200);
    assert_eq!(plain.json["plain"], "Ada Lovelace");
    let pattern = "json: \"$[?search(@, '(a*)*(a|aa){50}b')]\"";
    let body = json!({"costly": format!("{{{{ {id} | {pattern} }}}}")});
    vault.post("/detokenize", &vault.keys.private, body).invalid(&["$.costly"]);
}

#[test]
fn a_body_of_very_many_values_is_refused() {
    let vault = Vault::start();
    let of = |values: usize| json!({"type": "token", "data": vec![1; values]});
    vault.create(of(30_000)).with_status(201);
    let answer = vault.create(of(40_000)).problem(400);
    assert!(answer.text().contains("too many values"), "{}", answer.text());
}
