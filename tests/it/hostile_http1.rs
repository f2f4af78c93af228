//! Attacks by the bytes of HTTP/1.1 and of TLS: requests that two servers would read differently,
//! bodies that cost more than they carry, and protocols that this server does not speak.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;
use strongroom::testing::bounds::{BODY_BYTES_MAX, REFUSALS_MAX};

use crate::harness::{PATIENCE, Vault, get, post, wait_until};

/// Sends the bytes and returns everything until the server closes.
#[track_caller]
fn all_of(vault: &Vault, bytes: &[u8]) -> String {
    let mut connection = vault.connect();
    // The server may close before it has read everything.
    match connection.send(bytes) {
        Ok(()) => String::from_utf8_lossy(&connection.rest()).into_owned(),
        Err(_) => connection.last_words(),
    }
}

fn statuses(text: &str) -> Vec<u16> {
    let answers = text.split("HTTP/1.1 ").skip(1);
    answers.map(|answer| answer.split(' ').next().unwrap().parse().unwrap()).collect()
}

#[test]
fn a_request_that_two_servers_would_read_differently_is_refused_and_hides_no_other() {
    let vault = Vault::start();
    let key = &vault.keys.private;
    let hidden = format!("GET /permissions HTTP/1.1\r\nHost: h\r\nBT-API-KEY: {key}\r\n\r\n");
    let length = hidden.len();
    let heads = [
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {length}"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: 0\r\nContent-Length: {length}"),
        format!("Content-Length: 0\r\nContent-Length: {length}"),
        format!("Content-Length: 0, {length}"),
        format!("Content-Length: +{length}"),
        format!("Content-Length: -{length}"),
        format!("Content-Length: 0x{length:x}"),
        format!("Content-Length: {length} {length}"),
        format!("Content-Length: {length}.0"),
        String::from("Content-Length: 18446744073709551616"),
        String::from("Content-Length:"),
        format!("Content-Length : {length}"),
        format!("Content-Length\t: {length}"),
        format!(" Content-Length: {length}"),
        format!("X: y\r\n Content-Length: {length}"),
        format!("X: y\nContent-Length: {length}"),
        format!("X: y\rContent-Length: {length}"),
        format!("Content-Length: {length}\0"),
        format!("Content-Length\u{b2}: {length}"),
        String::from("Transfer-Encoding : chunked"),
        String::from("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"),
        String::from("Transfer-Encoding: identity, chunked"),
        String::from("Transfer-Encoding: chunked, identity"),
        String::from("Transfer-Encoding: gzip, chunked"),
        String::from("Transfer-Encoding: \u{b}chunked"),
        String::from("Transfer-Encoding: xchunked"),
        String::from("Transfer-Encoding: \"chunked\""),
        String::from("Transfer-Encoding:\r\n chunked"),
        String::from("Transfer-Encoding: chunked;q=1"),
    ];
    // A body that makes a token, for a server that takes the request as it pleases.
    let body = "19\r\n{\"type\":\"token\",\"data\":1}\r\n0\r\n\r\n";
    let line = "POST /tokens HTTP/1.1\r\nHost: h";
    let good = format!("{line}\r\nBT-API-KEY: {key}\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
    vault.raw(good.as_bytes()).with_status(201);
    for head in heads {
        let begun = format!("{line}\r\nBT-API-KEY: {key}\r\n{head}\r\n\r\n");
        let found = statuses(&all_of(&vault, format!("{begun}{body}{hidden}").as_bytes()));
        assert!(found == [400] || found == [501], "{head:?}: {found:?}");
    }
    // HTTP/1.0 knows no chunks.
    let old = format!(
        "POST /tokens HTTP/1.0\r\nBT-API-KEY: {key}\r\nTransfer-Encoding: chunked\r\n\r\n{body}"
    );
    assert_eq!(statuses(&all_of(&vault, format!("{old}{hidden}").as_bytes())), [400]);
}

#[test]
fn chunks_that_two_servers_would_read_differently_end_the_connection() {
    let vault = Vault::start();
    let key = &vault.keys.private;
    let hidden = format!("GET /permissions HTTP/1.1\r\nHost: h\r\nBT-API-KEY: {key}\r\n\r\n");
    let head = format!(
        "POST /tokens HTTP/1.1\r\nHost: h\r\nBT-API-KEY: {key}\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    for body in [
        "0x1\r\n{\r\n0\r\n\r\n",
        "+1\r\n{\r\n0\r\n\r\n",
        "-1\r\n{\r\n0\r\n\r\n",
        "1\n{\r\n0\r\n\r\n",
        "1\r\n{\n0\r\n\r\n",
        "1\r\n{}\r\n0\r\n\r\n",
        "1;a\nb\r\n{\r\n0\r\n\r\n",
        "ffffffffffffffff1\r\n{\r\n0\r\n\r\n",
        "00000000000000001\r\n{\r\n0\r\n\r\n",
        "\r\n{\r\n0\r\n\r\n",
        "g\r\n{\r\n0\r\n\r\n",
        "1\r\n{\r\n0\r\nX: y\n\r\n",
    ] {
        let text = all_of(&vault, format!("{head}{body}{hidden}").as_bytes());
        let found = statuses(&text);
        // The request's own refusal is the only answer, if there is one.
        assert!(found.len() <= 1 && !found.contains(&200), "{body:?}: {text}");
    }
}

#[test]
fn a_body_in_chunks_of_one_byte_is_read_and_long_extensions_and_trailers_are_not() {
    let vault = Vault::start();
    let head = format!(
        "POST /tokens HTTP/1.1\r\nHost: h\r\nBT-API-KEY: {}\r\nTransfer-Encoding: chunked\r\n\r\n",
        vault.keys.private
    );
    let body = json!({"type": "token", "data": "x".repeat(20_000)}).to_string();
    let chunks = body.chars().flat_map(|byte| ['1', '\r', '\n', byte, '\r', '\n']);
    let chunks: String = chunks.collect();
    vault.raw(format!("{head}{chunks}0\r\n\r\n").as_bytes()).with_status(201);
    // A key among the trailers is no key.
    let keyless = "POST /tokens HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
    let key = &vault.keys.private;
    let late = format!("{keyless}2\r\n{{}}\r\n0\r\nBT-API-KEY: {key}\r\n\r\n");
    vault.raw(late.as_bytes()).problem(401);
    let before = vault.resident_kib();
    let extension = format!("{head}1;{}\r\n{{\r\n0\r\n\r\n", "x".repeat(4 << 20));
    let trailers = format!("{head}1\r\n{{\r\n0\r\n{}\r\n", "X: y\r\n".repeat(500_000));
    for bytes in [extension, trailers] {
        let found = statuses(&all_of(&vault, bytes.as_bytes()));
        assert!(found.iter().all(|status| (400..500).contains(status)), "{found:?}");
    }
    let grown = vault.resident_kib().saturating_sub(before);
    assert!(grown < 16 * 1024, "the memory grew by {grown} KiB");
}

#[test]
fn the_largest_body_is_taken_and_one_byte_more_is_not_however_it_is_announced() {
    let vault = Vault::start();
    let head =
        format!("POST /tokens HTTP/1.1\r\nHost: h\r\nBT-API-KEY: {}\r\n", vault.keys.private);
    for (length, status) in [(BODY_BYTES_MAX, 201), (BODY_BYTES_MAX + 1, 413)] {
        let json = json!({"type": "token", "data": 1}).to_string();
        let body = json + &" ".repeat(length - 25);
        assert_eq!(body.len(), length);
        let announced = format!("{head}Content-Length: {length}\r\n\r\n{body}");
        vault.raw(announced.as_bytes()).with_status(status);
        let chunked =
            format!("{head}Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n");
        vault.raw(chunked.as_bytes()).with_status(status);
        vault.send(&post("/tokens").key(&vault.keys.private).body(body)).with_status(status);
    }
    // The parser refuses the last one by itself, as too large a head.
    for (absurd, status) in
        [("9223372036854775807", 413), ("18446744073709551613", 413), ("18446744073709551615", 431)]
    {
        let text = all_of(&vault, format!("{head}Content-Length: {absurd}\r\n\r\n{{").as_bytes());
        assert_eq!(statuses(&text), [status], "{absurd}");
    }
}

#[test]
fn a_pipeline_of_refused_requests_is_cut() {
    let vault = Vault::start();
    let request = String::from_utf8(get("/x").bytes("h")).unwrap();
    let text = all_of(&vault, request.repeat(5_000).as_bytes());
    let found = statuses(&text);
    assert!(found.iter().all(|status| *status == 404), "{found:?}");
    assert!(found.len() <= usize::try_from(REFUSALS_MAX).unwrap() + 1, "{} answers", found.len());
}

#[test]
fn no_request_changes_the_protocol_or_opens_a_tunnel() {
    let vault = Vault::start();
    let key = format!("BT-API-KEY: {}", vault.keys.private);
    let upgrades = [
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Connection: Upgrade\r\nUpgrade: TLS/1.2",
    ];
    for upgrade in upgrades {
        let bytes = format!("GET /permissions HTTP/1.1\r\nHost: h\r\n{key}\r\n{upgrade}\r\n\r\n");
        vault.raw(bytes.as_bytes()).with_status(200);
    }
    for (line, host) in [
        ("CONNECT example.com:443 HTTP/1.1", "example.com:443"),
        ("CONNECT / HTTP/1.1", "h"),
        ("TRACE /permissions HTTP/1.1", "h"),
        ("GET * HTTP/1.1", "h"),
        ("GET https://other.example/permissions HTTP/1.1", "h"),
        ("GET permissions HTTP/1.1", "h"),
        ("GET //permissions HTTP/1.1", "h"),
        ("GET /./permissions HTTP/1.1", "h"),
        ("GET /tokens/../permissions HTTP/1.1", "h"),
        ("GET /%70ermissions%00 HTTP/1.1", "h"),
        ("GET /permissions%2f..%2ftokens HTTP/1.1", "h"),
        ("PRI * HTTP/2.0", "h"),
    ] {
        let bytes = format!(
            "{line}\r\nHost: {host}\r\n{key}\r\nX-Marked: marked\r\nConnection: close\r\n\r\n"
        );
        let text = all_of(&vault, bytes.as_bytes());
        let found = statuses(&text);
        assert!(found.len() == 1 && (400..500).contains(&found[0]), "{line}: {text}");
        assert!(!text.contains("marked"), "{line}: {text}");
    }
}

#[test]
fn a_compressed_body_is_not_unpacked() {
    let vault = Vault::start();
    // gzip of `{"type":"token","data":1}`, stored without compression.
    let text = br#"{"type":"token","data":1}"#;
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 25, 0, 0xe6, 0xff];
    packed.extend(text);
    packed.extend(crc32fast::hash(text).to_le_bytes());
    packed.extend([25, 0, 0, 0]);
    let request =
        post("/tokens").key(&vault.keys.private).header("Content-Type", "application/json");
    vault.send(&request.header("Content-Encoding", "gzip").body(packed)).problem(400);
}

#[test]
fn a_hello_that_never_ends_is_refused_early_and_leaves_nothing_behind() {
    let vault = Vault::start();
    let before = vault.resident_kib();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(vault.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        // Records of 16 KiB that begin a ClientHello of 16 MiB.
        let mut record = vec![0x16, 3, 1, 0x40, 0];
        record.extend([1, 0xff, 0xff, 0xff]);
        record.resize(5 + 0x4000, 0);
        let mut sent = 0;
        while sent < 64 && stream.write_all(&record).is_ok() {
            record.truncate(5);
            record.resize(5 + 0x4000, 0);
            sent += 1;
        }
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok();
        assert!(sent < 64 || answer.len() < 100, "an alert, at most");
    }
    wait_until("the memory of the hellos is given back", || {
        vault.resident_kib().saturating_sub(before) < 16 * 1024
    });
    vault.get("/permissions", &vault.keys.private).with_status(200);
}

#[test]
fn hundreds_of_resumed_sessions_leave_nothing_behind() {
    let vault = Vault::start();
    let bytes = get("/healthz").bytes("h");
    let ask = || {
        let mut connection = vault.connect();
        connection.send(&bytes).unwrap();
        connection.receive().unwrap().with_status(200);
    };
    (0..50).for_each(|_| ask());
    let before = vault.resident_kib();
    (0..600).for_each(|_| ask());
    let grown = vault.resident_kib().saturating_sub(before);
    assert!(grown < 8 * 1024, "600 connections left {grown} KiB");
}

crate::harness::again_over_http2! {
    a_compressed_body_is_not_unpacked,
    the_largest_body_is_taken_and_one_byte_more_is_not_however_it_is_announced,
}
