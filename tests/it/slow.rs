//! Clients that stop, hesitate or send too much: they get their answer, and nothing of theirs stays.
//!
//! Bodies that are slower than their deadline are tested beside the server, where deadlines can be
//! shortened.

use std::time::Instant;

use serde_json::json;
use strongroom::testing::bounds::BODY_MAX;

use crate::harness::{Vault, post, wait_until};

fn head(vault: &Vault, key: &str, more: &str) -> Vec<u8> {
    format!(
        "POST /tokens HTTP/1.1\r\nHost: {}\r\nBT-API-KEY: {key}\r\nContent-Type: \
         application/json\r\n{more}\r\n",
        vault.address
    )
    .into_bytes()
}

#[test]
fn a_client_that_leaves_in_the_middle_of_a_body_leaves_nothing_behind() {
    let mut vault = Vault::start();
    let body = json!({"type": "token", "data": "x"}).to_string();
    for cut in [0, 1, body.len() / 2, body.len() - 1] {
        let length = format!("Content-Length: {}\r\n", body.len());
        let mut connection = vault.connect();
        connection.send(&head(&vault, &vault.keys.private, &length)).unwrap();
        connection.send(&body.as_bytes()[..cut]).unwrap();
        drop(connection);
        let mut connection = vault.connect();
        connection
            .send(&head(&vault, &vault.keys.private, "Transfer-Encoding: chunked\r\n"))
            .unwrap();
        let piece = [format!("{:x}\r\n", body.len()).as_bytes(), &body.as_bytes()[..cut]].concat();
        connection.send(&piece).unwrap();
        drop(connection);
    }
    vault.get("/permissions", &vault.keys.private).with_status(200);
    let report = vault.stop_and_verify();
    assert!(report.stdout.contains("tokens:         0"), "{}", report.stdout);
}

#[test]
fn a_large_body_that_stops_is_given_up_long_before_its_deadline() {
    let vault = Vault::start();
    let started = Instant::now();
    let mut connection = vault.connect();
    connection.send(&head(&vault, &vault.keys.public, "Content-Length: 200000\r\n")).unwrap();
    connection.send(&vec![b' '; 20_000]).unwrap();
    connection.receive().unwrap().problem(408);
    let waited = started.elapsed();
    assert!(waited < BODY_MAX / 2, "{waited:?}");
}

#[test]
fn a_refused_request_gets_its_answer_however_much_it_still_sends() {
    let vault = Vault::start();
    let management = vault.keys.management.clone();
    for (key, status, length) in
        [("", 401, 200 * 1024), (&management, 403, 200 * 1024), ("", 401, 4 * 1024 * 1024)]
    {
        let mut connection = vault.connect();
        let more = format!("Content-Length: {length}\r\n");
        connection.send(&head(&vault, key, &more)).unwrap();
        // The server need not read the rest of a refused request.
        let piece = vec![b' '; 64 * 1024];
        let sent = (0..length / piece.len()).try_for_each(|_| connection.send(&piece));
        if sent.is_ok() {
            connection.send(&piece[..length % piece.len()]).unwrap();
            connection.receive().unwrap().problem(status);
        } else {
            let words = connection.last_words();
            assert!(words.starts_with(&format!("HTTP/1.1 {status} ")), "{length}: {words:?}");
        }
    }
}

#[test]
fn a_connection_serves_on_after_a_refusal() {
    let vault = Vault::start();
    let mut connection = vault.connect();
    let host = vault.address.to_string();
    let large = json!({"type": "token", "data": "x".repeat(100_000)});
    for _ in 0..3 {
        let refused = post("/tokens").json(large.clone()).bytes(&host);
        connection.send(&refused).unwrap();
        connection.receive().unwrap().problem(401);
    }
    let good = post("/tokens").key(&vault.keys.private).json(json!({"type": "token", "data": 1}));
    connection.send(&good.bytes(&host)).unwrap();
    connection.receive().unwrap().with_status(201);
}

#[test]
fn a_request_in_flight_is_finished_when_the_server_is_told_to_end() {
    let mut vault = Vault::start();
    let body = json!({"type": "token", "data": "x"}).to_string();
    let mut connection = vault.connect();
    let length = format!("Content-Length: {}\r\nExpect: 100-continue\r\n", body.len());
    connection.send(&head(&vault, &vault.keys.private, &length)).unwrap();
    // From here on the request is under way.
    connection.receive().unwrap().with_status(100);
    vault.signal("TERM");
    wait_until("new connections are refused", || vault.try_connect().is_err());
    connection.send(body.as_bytes()).unwrap();
    let id = connection.receive().unwrap().with_status(201).id();
    assert_eq!(vault.wait(), Some(0));
    vault.restart();
    vault.read(&id).with_status(200);
}
