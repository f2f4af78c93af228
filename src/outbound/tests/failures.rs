//! The failure rule: a failure that reports "nothing was sent" is true, and nothing is sent twice.

use super::*;

fn is_unsent(failure: OutboundFailure) -> bool {
    matches!(failure, OutboundFailure::Refused(_) | OutboundFailure::Unreachable(_))
}

/// The length of the request of [`Scene::ask`] in HTTP/1.1.
async fn request_length(ca: &Ca) -> usize {
    let server = Server::start(ca, HTTP1, None, |_| Act::Write(ok("x"))).await;
    client(ca).ask(server.port).await.unwrap();
    server.asked()[0].text.len()
}

#[tokio::test]
async fn a_request_that_is_cut_at_any_byte_may_have_been_sent_and_is_not_repeated() {
    let ca = Ca::new();
    let length = request_length(&ca).await;
    for bytes in 0..=length {
        let server = Server::start(&ca, HTTP1, None, move |_| Act::ReadAndClose(bytes)).await;
        let failure = client(&ca).ask(server.port).await.unwrap_err();
        assert!(bytes == 0 || !is_unsent(failure), "{bytes}: {failure:?}");
        assert_eq!((server.connections(), server.bytes()), (1, bytes));
    }
}

#[tokio::test]
async fn a_kept_connection_that_is_cut_at_any_byte_is_not_replaced_after_a_byte() {
    let ca = Ca::new();
    let length = request_length(&ca).await;
    for bytes in 0..=length {
        let server = Server::start(&ca, HTTP1, None, move |asked: &Asked| {
            if (asked.connection, asked.number) == (0, 1) {
                Act::ReadAndClose(bytes)
            } else {
                Act::Write(ok("x"))
            }
        })
        .await;
        let scene = client(&ca);
        scene.ask(server.port).await.unwrap();
        let second = scene.ask(server.port).await;
        match second {
            // Closed without a byte read: the request went over a new connection.
            Ok(_) => assert_eq!((bytes, server.connections(), server.asked().len()), (0, 2, 2)),
            Err(failure) => {
                assert!(!is_unsent(failure), "{bytes}: {failure:?}");
                assert_eq!((server.connections(), server.asked().len()), (1, 1));
            }
        }
    }
}

#[tokio::test]
async fn a_kept_connection_that_the_server_has_closed_is_replaced() {
    let (server, scene) = serving(HTTP1, |_| Act::WriteAndClose(ok("x"))).await;
    for connections in 1..4 {
        scene.ask(server.port).await.unwrap();
        assert_eq!(server.connections(), connections);
        let closed = async || scene.client.open.get() == 0;
        crate::waiting::wait_until("the close is seen", closed).await;
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_at_any_byte_is_broken_and_the_request_is_not_repeated() {
    let ca = Ca::new();
    let answer = ok("a body");
    for bytes in 0..answer.len() {
        let part: String = answer.chars().take(bytes).collect();
        let server =
            Server::start(&ca, HTTP1, None, move |_| Act::WriteAndClose(part.clone())).await;
        let failure = client(&ca).ask(server.port).await.unwrap_err();
        assert!(matches!(failure, OutboundFailure::Broken(_)), "{bytes}: {failure:?}");
        assert_eq!((server.connections(), server.asked().len()), (1, 1));
    }
}

#[tokio::test]
async fn a_stream_that_breaks_may_have_been_sent_and_is_not_repeated() {
    let (server, scene) = serving(HTTP2, |_| Act::ReadAndClose(0)).await;
    let failure = scene.ask(server.port).await.unwrap_err();
    assert!(matches!(failure, OutboundFailure::Broken(_)), "{failure:?}");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn silence_after_the_request_is_a_timeout_and_before_it_nothing_was_sent() {
    let ca = Ca::new();
    let short = |port| OutboundRequest { timeout: Duration::from_secs(1), ..request(port, "/") };
    for alpn in [HTTP1, HTTP2] {
        let server = Server::start(&ca, alpn, None, |_| Act::Silence).await;
        let failed = client(&ca).send(short(server.port)).await.unwrap_err();
        // On a slow machine the handshake may take the whole second.
        assert!(failed == OutboundFailure::TimedOut || server.asked().is_empty(), "{failed:?}");
    }
    // A peer that accepts the connection and never answers the handshake.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let failed = client(&ca).send(short(port)).await.unwrap_err();
    assert_eq!(failed, OutboundFailure::Unreachable(DialFailure::Silent.text()));
    drop(listener);
    let failed = client(&ca).ask(port).await.unwrap_err();
    assert_eq!(failed, OutboundFailure::Unreachable(DialFailure::Refused.text()));
}

#[tokio::test]
async fn a_name_with_an_address_that_is_not_public_is_not_called() {
    let ca = Ca::new();
    let server = Server::start(&ca, HTTP1, None, |_| Act::Write(ok("x"))).await;
    let unreachable = Err(OutboundFailure::Unreachable(NO_PUBLIC_ADDRESS));
    for answer in [&["10.0.0.1"][..], &["127.0.0.1", "10.0.0.1"], &["169.254.169.254"], &[]] {
        let answers = &[answer];
        let scene = client_with(Scope::Development, &ca, answers, PoolSizes::default());
        assert_eq!(scene.ask(server.port).await, unreachable);
    }
    let strict = client_with(Scope::Internet, &ca, &[&["127.0.0.1"]], PoolSizes::default());
    assert_eq!(strict.ask(server.port).await, Err(OutboundFailure::Refused(guard::PORT)));
    assert_eq!(strict.ask(443).await, unreachable);
    let mut literal = request(443, "/");
    literal.url.host = String::from("127.0.0.1");
    let refused = strict.send(literal).await.unwrap_err();
    assert_eq!(refused, OutboundFailure::Refused(guard::NOT_A_NAME));
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn the_address_that_was_judged_is_the_one_that_is_connected_to() {
    let ca = Ca::new();
    let server = Server::start(&ca, HTTP1, None, |_| Act::WriteAndClose(ok("x"))).await;
    // The first answer is allowed; a second lookup would give a private address.
    let answers: &[&[&str]] = &[&["127.0.0.1"], &["10.0.0.1"]];
    let scene = client_with(Scope::Development, &ca, answers, PoolSizes::default());
    scene.ask(server.port).await.unwrap();
    assert_eq!(scene.lookups.load(Ordering::SeqCst), 1);
    // A cached answer is checked like a new one: the guard of another scope refuses it.
    let remembered = scene.client.addresses.find("PSP.example").await;
    assert_eq!(remembered, addresses(&["127.0.0.1"]));
    assert!(!Admission::Judged(Scope::Internet).allows(&remembered));
    assert_eq!(scene.lookups.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn results_are_counted_and_no_host_stands_among_them() {
    let (server, scene) = serving(HTTP1, |_| Act::Write(ok("x"))).await;
    scene.ask(server.port).await.unwrap();
    scene.ask(server.port).await.unwrap();
    let mut literal = request(443, "/");
    literal.url.host = String::from("10.0.0.1");
    scene.send(literal).await.unwrap_err();
    let client = Arc::<OutboundClient>::clone(&scene.client);
    let page = crate::metrics::Registry::new(vec![client]).page();
    for line in [
        "strongroom_outbound_requests_total{result=\"answered\"} 2",
        "strongroom_outbound_requests_total{result=\"refused\"} 1",
        "strongroom_outbound_requests_total{result=\"broken\"} 0",
        "strongroom_outbound_waits_total 0",
        "strongroom_outbound_connections 1",
        "strongroom_outbound_connections_kept 1",
    ] {
        assert!(page.lines().any(|it| it == line), "{line}: {page}");
    }
    assert!(!page.contains("example") && !page.contains("10.0.0.1"), "{page}");
}
