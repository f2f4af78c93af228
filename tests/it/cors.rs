//! CORS: preflight requests of browsers, and the headers of answers to them.

use serde_json::json;

use crate::harness::{Vault, delete, get, options, post};

/// Headers that the published browser clients send.
const SENT: [&str; 11] = [
    "BT-API-KEY",
    "Content-Type",
    "BT-CLIENT-USER-AGENT",
    "BT-TRACE-ID",
    "BT-IDEMPOTENCY-KEY",
    "BT-DEVICE-INFO",
    "BT-ENCRYPTED",
    "X-Fern-Language",
    "X-Fern-SDK-Name",
    "X-Fern-SDK-Version",
    "X-Fern-Runtime",
];

fn listed(header: &str) -> Vec<String> {
    header.split(',').map(|it| it.trim().to_ascii_lowercase()).collect()
}

#[test]
fn a_preflight_allows_what_the_published_clients_send() {
    let vault = Vault::start();
    for path in [
        "/tokens",
        "/tokens/x",
        "/sessions",
        "/sessions/authorize",
        "/applications/x/keys",
        "/no/such/path",
    ] {
        let request = options(path)
            .header("Origin", "https://shop.example")
            .header("Access-Control-Request-Method", "POST")
            .header("Access-Control-Request-Headers", "bt-api-key,content-type");
        let answer = vault.send(&request).with_status(204);
        assert!(answer.bytes.is_empty());
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        let allowed = listed(answer.header("access-control-allow-headers").unwrap());
        for name in SENT {
            assert!(allowed.contains(&name.to_ascii_lowercase()), "{name}");
        }
        let methods = listed(answer.header("access-control-allow-methods").unwrap());
        for method in ["get", "post", "put", "patch", "delete"] {
            assert!(methods.contains(&String::from(method)), "{method}");
        }
        let age: u32 = answer.header("access-control-max-age").unwrap().parse().unwrap();
        assert!(age > 0);
        assert_eq!(answer.header("access-control-allow-credentials"), None);
    }
}

#[test]
fn an_answer_to_another_origin_may_be_read_with_its_headers_failures_too() {
    let vault = Vault::start();
    let origin = "https://shop.example";
    let create = post("/tokens").key(&vault.keys.public).json(json!({"type": "token", "data": 1}));
    for (request, status) in [
        (create.clone(), 201),
        (post("/tokens").json(json!({})), 401),
        (get("/none"), 404),
        (delete("/permissions"), 405),
    ] {
        let answer = vault.send(&request.header("Origin", origin));
        assert_eq!(answer.status, status, "{}", answer.text());
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        let exposed = listed(answer.header("access-control-expose-headers").unwrap());
        for name in ["bt-trace-id", "location", "retry-after", "x-ratelimit-reset"] {
            assert!(exposed.contains(&String::from(name)), "{name}");
        }
    }
    let answer = vault.send(&create).with_status(201);
    assert_eq!(answer.header("access-control-allow-origin"), None, "nobody asked");
}

crate::harness::again_over_http2! {
    a_preflight_allows_what_the_published_clients_send,
    an_answer_to_another_origin_may_be_read_with_its_headers_failures_too,
}
