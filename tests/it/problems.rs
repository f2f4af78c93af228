//! The content type of failures.

use serde_json::json;

use crate::harness::{Vault, get, only_http1, post};

#[test]
fn a_failure_is_plain_json_unless_the_client_names_the_type_of_problems() {
    // HTTP/2 has no second header for the host.
    only_http1();
    let vault = Vault::start();
    let key = &vault.keys.private;
    let requests = [
        (get("/tokens/none").key(key), 404),
        (get("/none"), 404),
        (get("/tokens/none"), 401),
        (post("/tokens").key(key).json(json!({})), 400),
        // The server refuses this one before it looks for a route.
        (get("/tokens").header("Host", "another.example"), 400),
    ];
    let (json, problem) = ("application/json; charset=utf-8", "application/problem+json");
    for (request, status) in requests {
        for (accept, expected) in [
            ("*/*", json),
            ("application/json", json),
            ("application/problem+json", problem),
            ("application/json, application/problem+json;q=0.5", problem),
        ] {
            let answer = vault.send(&request.clone().header("Accept", accept)).with_status(status);
            assert_eq!(answer.header("content-type"), Some(expected), "{status} for {accept}");
            assert_eq!(answer.json["status"], status);
        }
    }
    let found = get("/permissions").key(key).header("Accept", problem);
    assert_eq!(vault.send(&found).with_status(200).header("content-type"), Some(json));
}
