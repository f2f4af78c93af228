//! Every published row that can be reached, counted from outside.

use std::fs;
use std::thread;
use std::time::Instant;

use serde_json::json;

use crate::harness::{Answer, Request, Vault, delete, get, post};

const LEGACY: &str = "key_8sYQnqNfQ3yMZ2vXh5PqTk";

/// How a flood of one request went.
struct Flood {
    admitted: f64,
    /// From a moment that the caller chose to the end.
    elapsed_s: f64,
    refused: Answer,
}

/// Sends until it is refused.
#[track_caller]
fn flood(vault: &Vault, request: &Request, since: Instant) -> Flood {
    let mut admitted = 0.0;
    loop {
        let answer = vault.send(request);
        if answer.status == 429 {
            return Flood { admitted, elapsed_s: since.elapsed().as_secs_f64(), refused: answer };
        }
        admitted += 1.0;
        assert!(admitted < 5_000.0, "nothing stops it");
    }
}

/// Exactly the rate was admitted, and what came back to the counter while the flood went on.
#[track_caller]
pub(crate) fn check_row(vault: &Vault, request: &Request, requests: u32, period_s: u32) -> Answer {
    let flood = flood(vault, request, Instant::now());
    let rate = f64::from(requests);
    let refilled = flood.elapsed_s * rate / f64::from(period_s);
    let allowed = rate..=rate + refilled + 1.0;
    assert!(allowed.contains(&flood.admitted), "{} of {requests}", flood.admitted);
    let refused = flood.refused.problem(429);
    assert_eq!(number(&refused, "x-ratelimit-limit"), u64::from(requests));
    assert_eq!(number(&refused, "x-ratelimit-remaining"), 0);
    assert!(number(&refused, "retry-after") >= 1);
    refused
}

/// A request on a counter that others have just used up: only what came back since is admitted.
#[track_caller]
fn check_used_up(vault: &Vault, request: &Request, per_s: f64, since: Instant) {
    let flood = flood(vault, request, since);
    assert!(flood.admitted <= flood.elapsed_s * per_s + 1.0, "{}", flood.admitted);
}

#[track_caller]
fn number(answer: &Answer, name: &str) -> u64 {
    answer.header(name).unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
}

fn limited(kind: &str) -> Vault {
    Vault::start_with(&["--rate-limits", "on", "--tenant-type", kind])
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
    let vault = limited("test");
    let request = get("/permissions").key(&vault.keys.private);
    let before = now_s(&vault);
    let refused = check_row(&vault, &request, 50, 10);
    let since = Instant::now();
    assert_eq!(number(&refused, "retry-after"), 1);
    let reset = number(&refused, "x-ratelimit-reset");
    let after = now_s(&vault);
    assert!((before..=after + 2).contains(&reset), "{reset} from {before} to {after}");
    // Another key is another counter.
    vault.get("/permissions", &vault.keys.management).with_status(200);
    // One fifth of a second gives one request back.
    vault.advance(2);
    let again = flood(&vault, &request, since);
    let refilled = 10.0 + again.elapsed_s * 5.0;
    assert!((10.0..=refilled + 2.0).contains(&again.admitted), "{}", again.admitted);
    // No wait gives back more than the whole.
    vault.advance(3_600);
    check_row(&vault, &request, 50, 10);
}

#[test]
fn the_operations_have_rows_of_their_own() {
    let vault = limited("production");
    let key = vault.keys.private.as_str();
    let merge = |request: Request| request.header("Content-Type", "application/merge-patch+json");
    let update = merge(Request::new("PATCH", "/tokens/none").key(key)).body("{}");
    check_row(&vault, &update, 200, 10);
    check_row(&vault, &delete("/tokens/none").key(key), 200, 10);
    let empty = |path: &str| post(path).key(key).json(json!({}));
    check_row(&vault, &empty("/v2/tokens/search"), 50, 10);
    check_used_up(&vault, &empty("/tokens/search"), 5.0, Instant::now());
    check_row(&vault, &get("/v2/tokens").key(key), 100, 10);
    let since = Instant::now();
    check_used_up(&vault, &get("/tokens").key(key), 10.0, since);
    check_used_up(&vault, &empty("/detokenize"), 10.0, since);
    check_row(&vault, &empty("/tokenize"), 200, 10);
    check_used_up(&vault, &empty("/tokens"), 20.0, Instant::now());
    // Reading one token is counted with everything of the private key, and not otherwise.
    vault.get("/tokens/none", key).problem(404);
    vault.get("/permissions", key).with_status(200);
    // Another key of the same address starts anew.
    let other = vault.key_with("private", &["token:create"], &json!([]));
    vault.post("/tokens", &other, json!({"type": "token", "data": 1})).with_status(201);
}

#[test]
fn a_public_key_over_50_a_minute_is_blocked_for_10_seconds() {
    let vault = limited("production");
    let request = get("/permissions").key(&vault.keys.public);
    let refused = check_row(&vault, &request, 50, 60);
    assert_eq!(number(&refused, "retry-after"), 10);
    vault.advance(5);
    for _ in 0..20 {
        let still = vault.send(&request).problem(429);
        assert!(number(&still, "retry-after") <= 5);
    }
    // What came during the block has not made it longer. Ten of sixty seconds gave back 8 of 50.
    let since = Instant::now();
    vault.advance(5);
    let again = flood(&vault, &request, since);
    let refilled = 8.0 + again.elapsed_s * 50.0 / 60.0;
    assert!((8.0..=refilled + 2.0).contains(&again.admitted), "{}", again.admitted);
}

#[test]
fn a_management_key_over_200_a_minute_is_blocked_for_a_minute() {
    let vault = limited("production");
    let request = get("/applications").key(&vault.keys.management);
    let refused = check_row(&vault, &request, 200, 60);
    assert_eq!(number(&refused, "retry-after"), 60);
    vault.advance(50);
    let still = vault.send(&request).problem(429);
    assert!(number(&still, "retry-after") <= 10);
    vault.get("/permissions", &vault.keys.private).with_status(200);
    vault.advance(10);
    vault.send(&request).with_status(200);
}

#[test]
fn a_legacy_key_has_100_requests_a_minute() {
    let vault = limited("production");
    let made = vault.application("private", &["token:create"], &json!([])).id();
    let import =
        ["application", "key-import", "--tenant", &vault.tenant_id, "--application", &made];
    vault.operator_with_input(&import, LEGACY).json();
    check_row(&vault, &get("/permissions").key(LEGACY), 100, 60);
    // It is no block: a second gives more than one back.
    vault.advance(1);
    vault.get("/permissions", LEGACY).with_status(200);
}

#[test]
fn an_address_over_2000_in_10_seconds_is_blocked_for_30_whoever_it_says_it_is() {
    let vault = limited("production");
    let keys = ["", "key_prod_self_pvt_4WbQfP5hKXe9Bb2xM3Wn7a.00112233445566778899aabbccddeeff"];
    let started = Instant::now();
    let outcomes: Vec<(u32, Answer)> = thread::scope(|scope| {
        let flood = |at: usize| {
            let request = get("/permissions").key(keys[at % 2]);
            // An untrusted peer's word about its address changes nothing.
            let request = request.header("X-Forwarded-For", &format!("198.51.100.{at}"));
            let mut refused = 0;
            loop {
                let answer = vault.send(&request);
                if answer.status == 429 {
                    return (refused, answer);
                }
                answer.problem(401);
                refused += 1;
                assert!(refused < 20_000, "nothing stops it");
            }
        };
        let threads: Vec<_> = (0..4).map(|at| scope.spawn(move || flood(at))).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let elapsed_s = started.elapsed().as_secs_f64();
    let admitted = f64::from(outcomes.iter().map(|it| it.0).sum::<u32>());
    assert!((2_000.0..=2_001.0 + 200.0 * elapsed_s).contains(&admitted), "{admitted}");
    let mut waits = Vec::new();
    for (_, refused) in &outcomes {
        let refused = refused.clone().problem(429);
        assert_eq!(number(&refused, "x-ratelimit-limit"), 2_000);
        waits.push(number(&refused, "retry-after"));
    }
    // Whoever went over it is told all of it; the others may have been slow to ask.
    assert!(waits.iter().all(|wait| (1..=30).contains(wait)), "{waits:?}");
    assert!(waits.iter().any(|wait| *wait >= 29), "{waits:?}");
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
    let mut vault = Vault::start_with(&["--tenant-type", "production"]);
    assert_eq!(vault.stop(), Some(0));
    let config = fs::read_to_string(vault.config()).unwrap();
    vault.directory().write(
        "strongroom.toml",
        format!("trusted_proxies = [\"127.0.0.0/8\"]\n{config}"),
        0o600,
    );
    vault.restart_as_service();
    let from = |address: &str, key: &str| {
        get("/permissions").key(key).header("X-Forwarded-For", &format!("203.0.113.9, {address}"))
    };
    // The pair of key and address is counted: what is left of the client is another's word.
    check_row(&vault, &from("198.51.100.1", &vault.keys.public), 50, 60);
    vault.send(&from("198.51.100.2", &vault.keys.public)).with_status(200);
    let started = Instant::now();
    let counts: Vec<(u32, Answer)> = thread::scope(|scope| {
        let flood = |worker: usize| {
            for at in 0_u32.. {
                let address =
                    format!("192.0.2.{}", worker * 60 + usize::try_from(at).unwrap() % 60);
                let answer = vault.send(&from(&address, &vault.keys.private));
                if answer.status == 429 {
                    return (at, answer);
                }
                assert!(answer.status == 200 && at < 20_000, "{}", answer.text());
            }
            unreachable!("it is stopped before")
        };
        let threads: Vec<_> = (0..4).map(|at| scope.spawn(move || flood(at))).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let elapsed_s = started.elapsed().as_secs_f64();
    let admitted = f64::from(counts.iter().map(|it| it.0).sum::<u32>());
    assert!((2_000.0..=2_004.0 + 200.0 * elapsed_s).contains(&admitted), "{admitted}");
    for (_, refused) in counts {
        let refused = refused.problem(429);
        assert_eq!(number(&refused, "x-ratelimit-limit"), 2_000);
        assert_eq!(number(&refused, "retry-after"), 1);
    }
    assert_eq!(vault.stop(), Some(0));
}
