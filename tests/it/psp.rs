//! The tests' own payment service provider does what its table says; otherwise the tests that use it
//! would prove nothing.

use std::io;

use serde_json::json;

use crate::harness::{Answer, Clients, Connection, Cut, Offer, Psp, Received, get, post, trusting};

fn try_send(psp: &Psp, bytes: &[u8]) -> io::Result<Answer> {
    let mut connection = Connection::open(psp.address, &trusting(&psp.ca()))?;
    connection.send(bytes)?;
    connection.receive()
}

#[track_caller]
fn ask(psp: &Psp, path: &str) -> Answer {
    try_send(psp, &get(path).bytes("localhost")).unwrap()
}

#[test]
fn the_test_psp_answers_as_its_paths_say_and_remembers_requests() {
    let psp = Psp::start();
    let request = post("/echo/a?b=c").header("X-One", "1").body("some text").bytes("localhost");
    let answer = try_send(&psp, &request).unwrap().with_status(200).json;
    assert_eq!(
        (&answer["method"], &answer["path"], &answer["query"], &answer["body"]),
        (&json!("POST"), &json!("/echo/a"), &json!("b=c"), &json!("some text"))
    );
    assert!(answer["headers"].as_array().unwrap().contains(&json!(["x-one", "1"])));
    let received = psp.received_once();
    assert_eq!((received.target.as_str(), received.path()), ("/echo/a?b=c", "/echo/a"));
    assert_eq!((received.header("x-one"), received.text().as_str()), (Some("1"), "some text"));
    assert_eq!((received.version, received.connection), (hyper::Version::HTTP_11, 0));
    assert_eq!((psp.connections(), psp.bytes_read()), (1, request.len()));
    ask(&psp, "/status/503").with_status(503);
    ask(&psp, "/slow/0.01").with_status(200);
    ask(&psp, "/redirect").with_status(302);
    ask(&psp, "/nothing").with_status(404);
    assert_eq!(ask(&psp, "/huge/100000").bytes.len(), 100_000);
    assert_eq!(ask(&psp, "/headers").header("x-request-id"), Some("7"));
    assert_eq!(ask(&psp, "/headers/3/5").header("x-2"), Some("xxxxx"));
    let mirrored = post("/mirror").header("Content-Type", "text/css").body("b").bytes("localhost");
    let mirrored = try_send(&psp, &mirrored).unwrap();
    assert_eq!(
        (mirrored.header("content-type"), mirrored.text().as_str()),
        (Some("text/css"), "b")
    );
    psp.answer(|received: &Received| {
        (received.path() == "/own").then(|| (418, "text/plain", String::from("mine")))
    });
    assert_eq!(ask(&psp, "/own").with_status(418).text(), "mine");
    ask(&psp, "/echo").with_status(200);
    assert!(psp.url("/echo").starts_with("https://localhost:"));
}

#[test]
fn the_test_psp_breaks_connections_where_it_is_told_to() {
    let psp = Psp::start_with(Offer::Http1, Clients::Anyone);
    let sent = post("/echo").body("0123456789").bytes("localhost");
    assert!(try_send(&psp, &post("/cut/3").body("0123456789").bytes("localhost")).is_err());
    assert!(try_send(&psp, &get("/broken").bytes("localhost")).is_err());
    psp.received();
    let before = psp.bytes_read();
    for (cut, read) in [(Cut::Reading(0), 0), (Cut::Reading(1), 1), (Cut::Reading(40), 40)] {
        psp.cut(cut);
        let before = psp.bytes_read();
        assert!(try_send(&psp, &sent).is_err());
        assert_eq!(psp.bytes_read() - before, read);
    }
    assert!(psp.received().is_empty() && psp.bytes_read() > before);
    psp.cut(Cut::Writing(5));
    assert!(try_send(&psp, &sent).is_err());
    psp.received_once();
    psp.cut(Cut::Never);
    try_send(&psp, &sent).unwrap();
}

#[test]
fn the_test_psp_asks_for_a_certificate_of_its_authority() {
    let psp = Psp::start_with(Offer::Both, Clients::Shown);
    assert_ne!(Offer::Http1, Offer::Http2);
    assert!(try_send(&psp, &get("/echo").bytes("localhost")).is_err());
    assert!(psp.received().is_empty());
    let pem = psp.client_pem();
    assert!(pem.contains("BEGIN CERTIFICATE") && pem.contains("PRIVATE KEY"));
}
