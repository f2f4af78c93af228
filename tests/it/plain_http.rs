//! HTTP in clear on the port that speaks TLS.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;

use crate::harness::{PATIENCE, Vault, wait_until};

/// Sends these bytes in clear and returns everything that comes back.
fn answer_to(vault: &Vault, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(vault.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

#[test]
fn a_request_in_clear_is_answered_with_a_hint_and_the_connection_ends_cleanly() {
    let vault = Vault::start();
    let body = "x".repeat(100_000);
    let long = format!(
        "POST /tokens HTTP/1.1\r\nHost: x\r\nBT-API-KEY: key_secret\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let requests =
        ["GET / HTTP/1.1\r\nHost: x\r\n\r\n", "DELETE /tokens/x HTTP/1.1\r\n\r\n", &long];
    for request in requests {
        let answer = String::from_utf8(answer_to(&vault, request.as_bytes())).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
        assert!(head.contains("connection: close"), "{answer}");
        assert!(head.contains(&format!("content-length: {}", body.len())), "{answer}");
        assert!(body.contains("This port speaks HTTPS"), "{answer}");
        assert!(!answer.contains("key_secret"), "{answer}");
    }
    assert!(!vault.log().contains("key_secret"));
    // A connection is counted when it has ended.
    wait_until("all three are counted", || {
        let mut metrics = UnixStream::connect(vault.data().join("metrics.sock")).unwrap();
        let ask = b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        metrics.write_all(ask).unwrap();
        let mut text = String::new();
        metrics.read_to_string(&mut text).unwrap();
        text.lines().any(|it| it == "strongroom_tls_handshakes_failed_total 3")
    });
    vault.get("/permissions", &vault.keys.private).with_status(200);
}

#[test]
fn bytes_that_are_no_http_get_no_answer_in_clear() {
    let vault = Vault::start();
    for bytes in [&b"SSH-2.0-test\r\n"[..], b"get / http/1.1\r\n\r\n", b"\x16\x03\x01\x00\x01\x00"]
    {
        let mut stream = TcpStream::connect(vault.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok();
        assert!(!answer.starts_with(b"HTTP/"), "{bytes:?}");
    }
    vault.get("/permissions", &vault.keys.private).with_status(200);
}
