//! Failures of calls through proxies: a refusal means that nothing was sent, every other failure that
//! the request may have been. Also the audit entries of calls, and that no value leaks.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{
    Clients, Cut, Offer, Psp, Request, get, needs_one_process, post, thorough, wait_until,
};
use crate::lifetimes::now_plus;
use crate::proxy::{CARD, Scene};
use crate::watch::on_socket;

#[test]
fn a_missing_and_an_unknown_key_are_answered_alike() {
    let scene = Scene::start();
    let url = scene.psp.url("/echo");
    let unknown = "key_test_self_pvt_4WbQfP5hKXe9Bb2xM3Wn7a.00112233445566778899aabbccddeeff";
    for key in ["", unknown, "x"] {
        let refused =
            scene.check_refused(&post("/proxy/a").key(key).header("BT-PROXY-URL", &url), 401);
        assert_eq!(refused.member("detail"), "The BT-API-KEY header is required");
        assert_eq!(refused.json["errors"], json!({}));
    }
}

#[test]
fn unknown_deleted_and_expired_tokens_and_bad_expressions_are_refused_with_400() {
    let scene = Scene::start_with(Offer::Both, Clients::Anyone, &["--stop-clock"]);
    let gone = scene.vault.token(json!({"type": "token", "data": "x"}));
    scene.vault.remove(&gone);
    let expired = scene.vault.token(json!({
        "type": "token", "data": "x", "expires_at": now_plus(&scene.vault, 3_600),
    }));
    scene.vault.advance(3_600);
    let check = |body: &str, detail: &str| {
        let refused = scene.check_refused(&scene.call("/echo").body(body), 400);
        assert_eq!(refused.member("title"), "Invalid proxy request");
        assert_eq!(refused.json["errors"], json!({}));
        assert!(refused.member("detail").starts_with(detail), "{}", refused.member("detail"));
    };
    let not_found =
        |ids: &str| format!("Failed to detokenize some tokens: {ids}. Tokens were not found.");
    check("{{ no-such-token }}", &not_found("no-such-token"));
    check(
        &format!(
            "{{{{ no-such-b }}}} {{{{ {gone} }}}} {{{{ token: no-such-a }}}} {{{{ token_intent: no-such-c }}}}"
        ),
        &not_found(&format!("{gone}, no-such-a, no-such-b, no-such-c")),
    );
    check(&format!("{{{{ {expired} }}}}"), &not_found(&expired));
    check("{{ unclosed", "An expression is malformed");
}

#[test]
fn a_destination_that_cannot_be_reached_is_502_without_its_header() {
    let scene = Scene::start();
    let call =
        |url: &str| post("/proxy").key(&scene.vault.keys.private).header("BT-PROXY-URL", url);
    let detail = scene.send(&call("https://localhost:1")).proxy_error(502).member("detail");
    assert!(detail.contains("nothing was sent"), "{detail}");
    // The vault does not know the authority of this server's certificate.
    let stranger = Psp::start();
    scene.send(&call(&stranger.url("/echo"))).proxy_error(502);
    assert!(stranger.received().is_empty());
    for path in ["/broken", "/huge/5000000", "/huge/5000000/chunked"] {
        let detail = scene.send(&scene.call(path)).proxy_error(502).member("detail");
        assert!(detail.contains("may have received"), "{detail}");
    }
}

#[test]
fn a_destination_slower_than_25_seconds_is_408() {
    if !thorough(false, true) {
        return;
    }
    let scene = Scene::start();
    let begun = Instant::now();
    let refused = scene.send(&scene.call("/slow/27")).proxy_error(408);
    assert!(begun.elapsed() >= Duration::from_secs(24));
    assert!(refused.member("detail").contains("may have received"));
    assert_eq!(scene.psp.received().len(), 1, "it was sent once");
}

/// The rule that programs repeat calls by: after the first byte, only 408 and 5xx, or the answer.
#[test]
fn no_4xx_is_given_once_bytes_have_left_wherever_the_connection_breaks() {
    needs_one_process!("each process keeps its own connections to a destination");
    let scene = Scene::start_with(Offer::Http1, Clients::Anyone, &[]);
    let call = scene.call("/status/201").body(format!("{{\"n\":\"{}\"}}", scene.field("number")));
    scene.send(&call).with_status(201);
    let whole = scene.psp.bytes_read();
    let mut answered = Vec::new();
    let mut check = |cut: Cut| {
        // Ends the kept connection: the next call makes one of its own.
        scene.psp.cut(Cut::Never);
        scene.send(&scene.call("/broken")).proxy_error(502);
        scene.psp.cut(cut);
        let connections = scene.psp.connections();
        let answer = scene.send(&call);
        assert!(scene.psp.connections() > connections, "{cut:?} met a new connection");
        if answer.header("bt-proxy-destination-status").is_some() {
            assert_eq!(answer.status, 201, "{cut:?}");
            answered.push(cut);
        } else {
            answer.proxy_error(502);
        }
    };
    let step = thorough(7, 1);
    (0..=whole).rev().step_by(step).for_each(|at| check(Cut::Reading(at)));
    check(Cut::Reading(whole - 1));
    // The head and the body of the answer have about 110 bytes.
    (0..200).rev().step_by(step).for_each(|at| check(Cut::Writing(at)));
    check(Cut::Writing(60));
    assert!(!answered.contains(&Cut::Reading(whole - 1)), "a part of a request is not answered");
    assert!(!answered.contains(&Cut::Writing(60)), "a part of an answer is none");
    assert!(answered.contains(&Cut::Writing(199)), "a whole answer is one");
    scene.psp.cut(Cut::Never);
    scene.psp.received();
    for at in [0, 1, 5] {
        scene.send(&scene.call(&format!("/cut/{at}")).body("0123456789")).proxy_error(502);
    }
}

#[test]
fn a_body_that_is_too_large_is_refused_before_anything_is_sent() {
    let scene = Scene::start();
    let max = strongroom::testing::bounds::PROXY_BODY_BYTES_MAX;
    scene.check_refused(&scene.call("/mirror").body(vec![b'x'; max + 1]), 413);
    let answer = scene.send(&scene.call("/mirror").body(vec![b'x'; max])).with_status(200);
    assert_eq!(answer.bytes.len(), max);
    let large = scene.send(&scene.call("/huge/4000000")).with_status(200);
    assert_eq!(large.bytes.len(), 4_000_000);
}

#[test]
fn an_idempotency_key_has_no_effect() {
    let scene = Scene::start();
    let call = scene.call("/echo").once("the-same").body("x");
    for _ in 0..2 {
        let answer = scene.send(&call).with_status(200);
        assert_eq!(answer.header("bt-idempotent-replayed"), None);
    }
    assert_eq!(scene.psp.received().len(), 2);
}

#[test]
fn calls_without_an_api_key_are_limited_by_proxy_and_address() {
    needs_one_process!("each process counts its own requests");
    let scene =
        Scene::start_with(Offer::Both, Clients::Anyone, &["--rate-limits", "on", "--stop-clock"]);
    let proxy = scene.proxy(json!({"require_auth": false}));
    let call = get("/proxy").header("BT-PROXY-KEY", &proxy.member("key"));
    for _ in 0..50 {
        scene.send(&call).with_status(200);
    }
    let refused = scene.send(&call).proxy_error(429);
    assert_eq!(refused.header("x-ratelimit-limit"), Some("50"));
    assert!(refused.header("retry-after").is_some());
    scene.vault.advance(10);
    scene.send(&call).with_status(200);
}

// Audit and leaks.

#[test]
fn each_call_and_each_token_that_it_uses_is_in_the_log_of_the_tenant() {
    needs_one_process!("calls of two processes have no order in the log");
    let scene = Scene::start();
    let proxy = scene.proxy(json!({}));
    let stored = post("/proxy").key(&scene.vault.keys.private);
    let stored = stored.header("BT-PROXY-KEY", &proxy.member("key"));
    scene.send(&stored.body(scene.field("number").repeat(2))).with_status(200);
    scene.send(&scene.call("/echo")).with_status(200);
    scene.send(&scene.call("/echo").body("{{ no-such-token }}")).proxy_error(400);
    let entries_of = |kind: &str, operation: &str, outcome: &str| {
        let found = scene.vault.logged(&format!("entity_type={kind}&size=100")).into_iter();
        let found = found.filter(|it| it["operation"] == operation && it["outcome"] == outcome);
        found.map(|it| String::from(it["entity_id"].as_str().unwrap())).collect::<Vec<_>>()
    };
    let entries = |kind: &str, operation: &str| entries_of(kind, operation, "success");
    wait_until("the entries are written", || entries("proxy", "invoke").len() == 2);
    let ephemeral = "00000000-0000-0000-0000-000000000000";
    assert_eq!(entries("proxy", "invoke"), [ephemeral, &proxy.id()], "the newest first");
    assert_eq!(entries("token", "use"), [scene.card.as_str()]);
    assert_eq!(entries_of("proxy", "invoke", "failure"), [ephemeral]);
}

#[test]
fn values_that_went_through_are_in_no_log_no_file_no_metric_and_no_error() {
    let mut scene = Scene::start();
    let secret = scene.vault.token(json!({"type": "token", "data": "mARKdata7f3"}));
    let stored = scene.proxy(json!({"configuration": {"SECRET": "mARKconfig4"}}));
    let body = format!("mARKbody55e {{{{ {secret} }}}} {}", scene.field("number"));
    let marked = |request: Request| {
        let request =
            request.header("X-Own", "mARKheader1").header("X-Config", "{{ config: SECRET }}");
        request.body(body.as_str())
    };
    let by_key = |path: &str| {
        let request = post(path).key(&scene.vault.keys.private);
        request.header("BT-PROXY-KEY", &stored.member("key"))
    };
    scene.send(&marked(scene.call("/mirror"))).with_status(200);
    scene.send(&marked(by_key("/proxy/mARKpath9c1?mARKquery=mARKquery"))).with_status(200);
    let failing = [
        scene.call("/broken"),
        scene.call("/cut/1"),
        scene.call("/mARKpath9c1/.."),
        by_key("/proxy/mARKpath9c1/.."),
        post("/proxy/mARKpath9c1")
            .key(&scene.vault.keys.private)
            .header("BT-PROXY-URL", "https://localhost:1/mARKpath9c1"),
        post("/proxy/mARKpath9c1")
            .key(&scene.vault.keys.private)
            .header("BT-PROXY-URL", "https://mARKhost.invalid"),
    ];
    let mut texts: Vec<String> = Vec::new();
    for request in failing {
        let answer = scene.send(&marked(request));
        assert!(answer.status >= 400, "{}", answer.text());
        texts.push(format!("{:?} {}", answer.headers, answer.text()));
    }
    texts.extend(["/metrics", "/status"].map(|path| on_socket(&scene.vault, path).1));
    assert!(texts.iter().any(|text| text.contains("InvokeProxy")), "calls are counted");
    assert_eq!(scene.vault.stop(), Some(0));
    texts.push(scene.vault.log());
    let files = fs::read_dir(scene.vault.data()).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.is_file()).map(|path| fs::read(path).unwrap());
    let all = texts.into_iter().map(String::into_bytes).chain(files);
    for bytes in all {
        for marker in ["mARK", CARD, &stored.member("key")] {
            let found = bytes.windows(marker.len()).any(|part| part == marker.as_bytes());
            assert!(!found, "{marker} is in {}", String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn a_caller_that_disconnects_leaves_a_vault_that_serves_others() {
    let scene = Scene::start();
    let mut connection = scene.vault.connect();
    connection.send(&scene.call("/slow/5").body("x").bytes("x")).unwrap();
    wait_until("the call arrives", || !scene.psp.received().is_empty());
    drop(connection);
    scene.send(&scene.call("/echo")).with_status(200);
}
