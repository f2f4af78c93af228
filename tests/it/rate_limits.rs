//! Rate limits as a client meets them. Their arithmetic is tested beside them.

use serde_json::json;

use crate::harness::{Vault, get};

#[test]
fn a_client_that_is_too_fast_is_told_how_long_to_wait() {
    let vault = Vault::start_with(&["--rate-limits", "on", "--stop-clock"]);
    let request =
        get("/permissions").key(&vault.keys.private).header("Origin", "https://a.example");
    let answers: Vec<_> = (0..70).map(|_| vault.send(&request)).collect();
    let first = answers.iter().position(|it| it.status == 429).expect("a refusal");
    assert_eq!(first, 50, "the published row lets 50 through");
    let refused = answers[first].clone().problem(429);
    let number = |name: &str| -> u64 { refused.header(name).unwrap().parse().unwrap() };
    assert!((1..=10).contains(&number("retry-after")));
    assert_eq!(number("x-ratelimit-limit"), 50);
    assert_eq!(number("x-ratelimit-remaining"), 0);
    assert!(number("x-ratelimit-reset") > 1_700_000_000);
    // Another key has a counter of its own.
    vault.get("/permissions", &vault.keys.management).with_status(200);
    vault.advance(10);
    vault.send(&request).with_status(200);
}

#[test]
fn each_token_of_a_tokenize_call_counts() {
    let vault = Vault::start_with(&["--rate-limits", "on", "--stop-clock"]);
    let body = json!(["a", "b", "c", "d", "e"]);
    let call = || vault.post("/tokenize", &vault.keys.private, body.clone());
    let answers: Vec<_> = (0..20).map(|_| call()).collect();
    let first = answers.iter().position(|it| it.status == 429).expect("a refusal");
    assert_eq!(first, 10, "50 tokens in calls of five");
    let refused = answers[first].clone().problem(429);
    assert!(refused.header("retry-after").is_some());
    vault.advance(10);
    call().with_status(200);
}

crate::harness::again_over_http2! {
    a_client_that_is_too_fast_is_told_how_long_to_wait,
    each_token_of_a_tokenize_call_counts,
}
