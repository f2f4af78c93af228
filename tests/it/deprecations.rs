//! Operations that the published interface has shut down, and those that this server lacks.

use serde_json::json;

use crate::harness::{Request, Vault, get, post};

#[test]
fn regenerating_a_key_is_gone_and_names_what_replaces_it() {
    let vault = Vault::start();
    let made = vault.application("private", &["token:create"], &json!([]));
    let path = format!("/applications/{}/regenerate", made.id());
    for request in [post(&path), post(&path).json(json!({}))] {
        let gone = vault.send(&request.key(&vault.keys.management)).problem(410);
        assert!(gone.member("detail").contains("POST /applications/{id}/keys"), "{}", gone.text());
    }
    // Nothing has happened to the key.
    vault.get("/applications/key", &made.member("key")).with_status(200);
    vault.post(&path, &vault.keys.private, json!({})).problem(403);
}

#[test]
fn what_this_server_does_not_have_says_so() {
    let vault = Vault::start();
    let paths = [
        "/proxies",
        "/proxies/5b0f4f5e-3b1c-4d33-8f0b-0a4b7f0f6a55",
        "/proxy",
        "/proxy/any/path",
        "/reactors",
        "/reactors/x/react",
        "/reactors/x/react-async",
        "/webhooks",
        "/webhooks/",
        "/webhooks/event-types",
        "/account-updater/jobs",
        "/account-updater/real-time",
        "/network-tokens",
        "/documents",
    ];
    for path in paths {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let request = Request::new(method, path).key(&vault.keys.private);
            let answer = vault.send(&request).problem(404);
            let detail = answer.member("detail");
            for word in ["proxies", "reactors", "webhooks", "account updater"] {
                assert!(detail.contains(word), "{method} {path}: {detail}");
            }
        }
    }
    // A path that was never published is only not found.
    let unknown = vault.get("/no-such-path", &vault.keys.private).problem(404);
    assert!(!unknown.member("detail").contains("proxies"));
    let nested = vault.send(&get("/tokens/x/proxies").key(&vault.keys.private)).problem(404);
    assert!(!nested.member("detail").contains("proxies"));
}

#[test]
fn privacy_is_taken_and_ignored() {
    let vault = Vault::start();
    let body = json!({
        "type": "token", "data": "x",
        "privacy": {"classification": "pci", "impact_level": "low", "restriction_policy": "redact"},
    });
    let made = vault.post("/tokens", &vault.keys.private, body).with_status(201);
    assert_eq!(made.json["containers"], json!(["/general/high/"]));
    assert_eq!(made.json.get("privacy"), None);
    assert_eq!(made.json["data"], "x");
}
