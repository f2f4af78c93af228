//! Every published row that can be reached, counted from outside.

use std::thread;

use serde_json::json;

use crate::harness::{Answer, Request, Vault, delete, get, needs_one_process, post};

const LEGACY: &str = "key_8sYQnqNfQ3yMZ2vXh5PqTk";

/// Sends until it is refused; returns how many were admitted, and the refusal.
#[track_caller]
fn flood(vault: &Vault, request: &Request) -> (u32, Answer) {
    for admitted in 0..5_000 {
        let answer = vault.send(request);
        if answer.status == 429 {
            return (admitted, answer);
        }
    }
    panic!("5000 requests were admitted: {request:?}")
}

/// Exactly the rate is admitted. The clock of the vault is stopped, so no request comes back to the
/// counter while the flood goes on.
#[track_caller]
pub(crate) fn check_row(vault: &Vault, request: &Request, requests: u32) -> Answer {
    let (admitted, refused) = flood(vault, request);
    assert_eq!(admitted, requests);
    let refused = refused.problem(429);
    assert_eq!(number(&refused, "x-ratelimit-limit"), u64::from(requests));
    assert_eq!(number(&refused, "x-ratelimit-remaining"), 0);
    assert!(number(&refused, "retry-after") >= 1);
    refused
}

/// A request on a counter that another operation has just used up.
#[track_caller]
fn check_used_up(vault: &Vault, request: &Request) {
    vault.send(request).problem(429);
}

/// Sends in four threads until each is refused; returns how many were admitted in all, and the
/// refusals. `request` makes the n-th request of a thread.
fn flood_by_four(
    vault: &Vault,
    status: u16,
    request: impl Fn(usize, u32) -> Request + Sync,
) -> (u32, Vec<Answer>) {
    let flood = |thread: usize| {
        for at in 0..5_000 {
            let answer = vault.send(&request(thread, at));
            if answer.status == 429 {
                return (at, answer.problem(429));
            }
            answer.with_status(status);
        }
        panic!("5000 requests were admitted")
    };
    let flood = &flood;
    let outcomes: Vec<(u32, Answer)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|at| scope.spawn(move || flood(at))).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let admitted = outcomes.iter().map(|(admitted, _)| admitted).sum();
    (admitted, outcomes.into_iter().map(|(_, refused)| refused).collect())
}

#[track_caller]
fn number(answer: &Answer, name: &str) -> u64 {
    answer.header(name).unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
}

/// With a clock that stands still: a slow machine takes longer, and counts the same.
fn limited(kind: &str) -> Vault {
    Vault::start_with(&["--rate-limits", "on", "--stop-clock", "--tenant-type", kind])
}

/// The vault's own time in seconds since 1970.
fn now_s(vault: &Vault) -> u64 {
    let now = vault.advance(0)["now"].as_str().map(String::from).unwrap();
    let format = time::format_description::well_known::Rfc3339;
    let now = time::OffsetDateTime::parse(&now, &format).unwrap();
    u64::try_from(now.unix_timestamp()).unwrap()
}

#[test]
fn a_test_tenant_has_50_requests_in_10_seconds_for_each_key() {
    needs_one_process!("each process counts its own requests");
    let vault = limited("test");
    let request = get("/permissions").key(&vault.keys.private);
    let refused = check_row(&vault, &request, 50);
    assert_eq!(number(&refused, "retry-after"), 1);
    let (reset, now) = (number(&refused, "x-ratelimit-reset"), now_s(&vault));
    // A fifth of a second from now, and both are whole seconds: `now` is cut, `reset` is rounded up.
    assert!((now..=now + 2).contains(&reset), "{reset} at {now}");
    // Another key is another counter.
    vault.get("/permissions", &vault.keys.management).with_status(200);
    // One fifth of a second gives one request back.
    vault.advance(2);
    assert_eq!(flood(&vault, &request).0, 10);
    // No wait gives back more than the whole.
    vault.advance(3_600);
    check_row(&vault, &request, 50);
}

#[test]
fn the_operations_have_rows_of_their_own() {
    needs_one_process!("each process counts its own requests");
    let vault = limited("production");
    let key = vault.keys.private.as_str();
    let merge = |request: Request| request.header("Content-Type", "application/merge-patch+json");
    let update = merge(Request::new("PATCH", "/tokens/none").key(key)).body("{}");
    check_row(&vault, &update, 200);
    check_row(&vault, &delete("/tokens/none").key(key), 200);
    let empty = |path: &str| post(path).key(key).json(json!({}));
    check_row(&vault, &empty("/v2/tokens/search"), 50);
    check_used_up(&vault, &empty("/tokens/search"));
    check_row(&vault, &get("/v2/tokens").key(key), 100);
    check_used_up(&vault, &get("/tokens").key(key));
    check_used_up(&vault, &empty("/detokenize"));
    check_row(&vault, &empty("/tokenize"), 200);
    check_used_up(&vault, &empty("/tokens"));
    // Reading one token is counted with everything of the private key, and not otherwise.
    vault.get("/tokens/none", key).problem(404);
    vault.get("/permissions", key).with_status(200);
    // Another key of the same address has a counter of its own.
    let other = vault.key_with("private", &["token:create"], &json!([]));
    vault.post("/tokens", &other, json!({"type": "token", "data": 1})).with_status(201);
}

#[test]
fn a_public_key_over_50_a_minute_is_blocked_for_10_seconds() {
    needs_one_process!("each process counts its own requests");
    let vault = limited("production");
    let request = get("/permissions").key(&vault.keys.public);
    let refused = check_row(&vault, &request, 50);
    assert_eq!(number(&refused, "retry-after"), 10);
    vault.advance(5);
    for _ in 0..20 {
        let still = vault.send(&request).problem(429);
        assert_eq!(number(&still, "retry-after"), 5);
    }
    // Requests during the block have not made it longer. Ten of sixty seconds gave back 8 of 50.
    vault.advance(5);
    assert_eq!(flood(&vault, &request).0, 8);
}

#[test]
fn a_management_key_over_200_a_minute_is_blocked_for_a_minute() {
    needs_one_process!("each process counts its own requests");
    let vault = limited("production");
    let request = get("/applications").key(&vault.keys.management);
    let refused = check_row(&vault, &request, 200);
    assert_eq!(number(&refused, "retry-after"), 60);
    vault.advance(50);
    let still = vault.send(&request).problem(429);
    assert_eq!(number(&still, "retry-after"), 10);
    vault.get("/permissions", &vault.keys.private).with_status(200);
    vault.advance(10);
    vault.send(&request).with_status(200);
}

#[test]
fn a_legacy_key_has_100_requests_a_minute() {
    needs_one_process!("each process counts its own requests");
    let vault = limited("production");
    let made = vault.application("private", &["token:create"], &json!([])).id();
    let import =
        ["application", "key-import", "--tenant", &vault.tenant_id, "--application", &made];
    vault.operator_with_input(&import, LEGACY).json();
    check_row(&vault, &get("/permissions").key(LEGACY), 100);
    // The row does not block: a second gives more than one request back.
    vault.advance(1);
    vault.get("/permissions", LEGACY).with_status(200);
}

#[test]
fn an_address_over_2000_in_10_seconds_is_blocked_for_30_whoever_it_says_it_is() {
    needs_one_process!("each process counts its own requests");
    let vault = limited("production");
    let keys = ["", "key_prod_self_pvt_4WbQfP5hKXe9Bb2xM3Wn7a.00112233445566778899aabbccddeeff"];
    // The address that an untrusted peer claims changes nothing.
    let request = |thread: usize, _: u32| {
        let claimed = format!("198.51.100.{thread}");
        get("/permissions").key(keys[thread % 2]).header("X-Forwarded-For", &claimed)
    };
    let (admitted, refusals) = flood_by_four(&vault, 401, request);
    assert_eq!(admitted, 2_000);
    for refused in &refusals {
        assert_eq!(number(refused, "x-ratelimit-limit"), 2_000);
        assert_eq!(number(refused, "retry-after"), 30);
    }
    // The address is blocked with every key it has, and on every path.
    vault.get("/permissions", &vault.keys.private).problem(429);
    vault.get("/no-such-path", "").problem(429);
    vault.advance(15);
    vault.get("/permissions", &vault.keys.private).problem(429);
    vault.advance(15);
    vault.get("/permissions", &vault.keys.private).with_status(200);
    vault.get("/permissions", "").problem(401);
}

#[test]
fn behind_a_trusted_proxy_the_client_counts_and_a_key_has_2000_wherever_it_comes_from() {
    needs_one_process!("each process counts its own requests");
    let vault = Vault::start_with(&[
        "--rate-limits",
        "on",
        "--stop-clock",
        "--trusted-proxy",
        "127.0.0.0/8",
        "--tenant-type",
        "production",
    ]);
    let from = |address: &str, key: &str| {
        get("/permissions").key(key).header("X-Forwarded-For", &format!("203.0.113.9, {address}"))
    };
    // The pair of key and address is counted. The entry left of the client is the client's claim.
    check_row(&vault, &from("198.51.100.1", &vault.keys.public), 50);
    vault.send(&from("198.51.100.2", &vault.keys.public)).with_status(200);
    let request = |thread: usize, at: u32| {
        let address = format!("192.0.2.{}", thread * 60 + usize::try_from(at).unwrap() % 60);
        from(&address, &vault.keys.private)
    };
    let (admitted, refusals) = flood_by_four(&vault, 200, request);
    assert_eq!(admitted, 2_000);
    for refused in &refusals {
        assert_eq!(number(refused, "x-ratelimit-limit"), 2_000);
        assert_eq!(number(refused, "retry-after"), 1);
    }
}

#[test]
fn each_token_of_a_tokenize_call_counts() {
    needs_one_process!("each process counts its own requests");
    let vault = limited("test");
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
    a_test_tenant_has_50_requests_in_10_seconds_for_each_key,
    each_token_of_a_tokenize_call_counts,
    a_public_key_over_50_a_minute_is_blocked_for_10_seconds,
}
