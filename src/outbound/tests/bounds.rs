//! Every bound is reached.

use super::*;
use crate::bounds::{
    NAMES_KEPT_MAX, OUTBOUND_ANSWER_FRAMES_FREE, OUTBOUND_HEADER_BYTES_MAX,
    OUTBOUND_HEADERS_COUNT_MAX, OUTBOUND_IDLE_PER_DESTINATION_MAX, OUTBOUND_STREAMS_MAX,
    OUTBOUND_TENANT_ANSWERS_BYTES_MAX,
};
use crate::waiting::wait_until;

#[tokio::test]
async fn an_answer_that_is_too_large_is_broken() {
    let ca = Ca::new();
    let broken = Err(OutboundFailure::Broken("the server's answer is too large"));
    let exact = "x".repeat(5_000);
    let chunked = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{exact}\r\n0\r\n\r\n",
        exact.len()
    );
    for answer in [ok(&exact), chunked] {
        let server = Server::start(&ca, HTTP1, None, move |_| Act::Write(answer.clone())).await;
        let most = |response_bytes_max| OutboundRequest {
            response_bytes_max,
            ..request(server.port, "/")
        };
        assert_eq!(client(&ca).send(most(5_000)).await.unwrap().body.expose().len(), 5_000);
        assert_eq!(client(&ca).send(most(4_999)).await.map(drop), broken);
    }
}

#[tokio::test]
async fn the_memory_of_all_answers_is_bounded() {
    let (server, scene) = serving(HTTP1, |_| Act::Write(ok(&"x".repeat(100_000)))).await;
    assert_eq!(scene.ask(server.port).await.unwrap().len(), 100_000);
    let all = scene.client.budget.all.available_permits();
    let held =
        scene.client.budget.all.acquire_many(u32::try_from(all - 50_000).unwrap()).await.unwrap();
    let failed = scene.ask(server.port).await.unwrap_err();
    assert_eq!(failed, OutboundFailure::Broken("no memory is left for the answer"));
    drop(held);
    assert_eq!(scene.ask(server.port).await.unwrap().len(), 100_000);
    assert_eq!(scene.client.budget.all.available_permits(), all);
}

#[tokio::test]
async fn one_tenant_takes_only_its_share_of_the_memory_of_answers() {
    let large = ok(&"x".repeat(OUTBOUND_TENANT_ANSWERS_BYTES_MAX + 100_000));
    let (server, scene) = serving(HTTP1, move |_| Act::Write(large.clone())).await;
    let sent = OutboundRequest {
        response_bytes_max: 2 * OUTBOUND_TENANT_ANSWERS_BYTES_MAX,
        ..request(server.port, "/")
    };
    let failed = scene.send(sent).await.unwrap_err();
    assert_eq!(failed, OutboundFailure::Broken("no memory is left for the answer"));
}

#[tokio::test]
async fn a_head_that_is_too_large_and_an_answer_without_end_are_broken() {
    let ca = Ca::new();
    let long = format!("X-Long: {}\r\n", "x".repeat(OUTBOUND_HEADER_BYTES_MAX));
    let many = "X: 1\r\n".repeat(OUTBOUND_HEADERS_COUNT_MAX + 1);
    let with = |headers: &str| format!("HTTP/1.1 200 OK\r\n{headers}");
    let interim = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(8_192);
    let size = "0".repeat(2 * 1024 * 1024);
    for (what, answer) in [
        ("a long header", with(&format!("{long}Content-Length: 0\r\n\r\n"))),
        ("many headers", with(&format!("{many}Content-Length: 0\r\n\r\n"))),
        ("interim answers", interim),
        (
            "the size of a chunk",
            with(&format!("Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n{size}")),
        ),
    ] {
        let server = Server::start(&ca, HTTP1, None, move |_| Act::Write(answer.clone())).await;
        let failed = client(&ca).ask(server.port).await.unwrap_err();
        assert!(matches!(failed, OutboundFailure::Broken(_)), "{what}: {failed:?}");
    }
}

/// A server that answers no request, one that does, and a client with these sizes.
async fn crowded(sizes: PoolSizes) -> (Server, Server, Scene) {
    let ca = Ca::new();
    let silent = Server::start(&ca, HTTP1, None, |_| Act::Silence).await;
    let lively = Server::start(&ca, HTTP1, None, |_| Act::Write(ok("x"))).await;
    (silent, lively, client_with(Scope::Development, &ca, &[&["127.0.0.1"]], sizes))
}

/// Runs `others` while the silent server holds a request.
async fn while_silent(silent: &Server, held: Sending<'_>, others: impl Future<Output = ()>) {
    let others = async {
        wait_until("the place is taken", async || silent.asked().len() == 1).await;
        others.await;
    };
    tokio::select! {
        biased;
        answer = held => panic!("{answer:?}"),
        () = others => (),
    }
}

#[tokio::test]
async fn a_destination_has_so_many_places_and_a_full_one_leaves_room_for_others() {
    let sizes = PoolSizes {
        requests: 6,
        requests_per_destination: 2,
        wait: Duration::from_millis(50),
        ..PoolSizes::default()
    };
    let (silent, lively, scene) = crowded(sizes).await;
    let hold = || {
        let client = Arc::clone(&scene.client);
        async move { client.send(request(silent.port, "/")).await }
    };
    let (one, two) = (hold(), hold());
    let others = async {
        wait_until("both places are taken", async || silent.asked().len() == 2).await;
        let full = Err(OutboundFailure::Unreachable(NO_PLACE));
        assert_eq!(scene.ask(silent.port).await, full);
        assert_eq!(scene.ask(lively.port).await.unwrap(), "x");
        assert_eq!((silent.connections(), scene.client.pool.waits()), (2, 1));
    };
    tokio::select! {
        biased;
        answer = one => panic!("{answer:?}"),
        answer = two => panic!("{answer:?}"),
        () = others => (),
    }
    // Abandoned requests leave no place, no connection and no destination.
    wait_until("the connections are closed", async || scene.client.open.get() <= 1).await;
    assert_eq!(scene.client.pool.destinations(), 1);
}

#[tokio::test]
async fn the_places_of_all_destinations_are_bounded_together() {
    let sizes = PoolSizes { requests: 1, wait: Duration::from_millis(50), ..PoolSizes::default() };
    let (silent, lively, scene) = crowded(sizes).await;
    let others = async {
        let full = Err(OutboundFailure::Unreachable(NO_PLACE));
        assert_eq!(scene.ask(lively.port).await, full);
        assert_eq!(lively.connections(), 0);
    };
    while_silent(&silent, scene.client.send(request(silent.port, "/")), others).await;
    assert_eq!(scene.ask(lively.port).await.unwrap(), "x");
}

#[tokio::test]
async fn the_slow_destinations_of_one_tenant_leave_places_for_others() {
    let wait = Duration::from_millis(50);
    let (silent, lively, scene) =
        crowded(PoolSizes { requests: 4, wait, ..PoolSizes::default() }).await;
    let of = |id: u128, port| {
        scene.client.send(OutboundRequest { tenant: tenant(id), ..request(port, "/") })
    };
    let full = OutboundFailure::Unreachable(NO_PLACE);
    let others = async {
        wait_until("three places are taken", async || silent.asked().len() == 3).await;
        // Half of all places, then half of those that are left; the next tenant finds one.
        assert_eq!(of(1, lively.port).await.unwrap_err(), full);
        assert_eq!(of(2, lively.port).await.unwrap_err(), full);
        assert!(of(3, lively.port).await.is_ok());
    };
    tokio::select! {
        biased;
        answer = of(1, silent.port) => panic!("{answer:?}"),
        answer = of(1, silent.port) => panic!("{answer:?}"),
        answer = of(2, silent.port) => panic!("{answer:?}"),
        () = others => (),
    }
    assert_eq!(scene.client.pool.tenants(), 0);
}

#[tokio::test]
async fn strangers_take_half_of_the_places_of_a_tenant_and_of_its_destinations() {
    let wait = Duration::from_millis(50);
    let sizes = PoolSizes { requests: 4, wait, ..PoolSizes::default() };
    let (silent, lively, scene) = crowded(sizes).await;
    let of =
        |credential, port| scene.client.send(OutboundRequest { credential, ..request(port, "/") });
    let others = async {
        let full = OutboundFailure::Unreachable(NO_PLACE);
        assert_eq!(of(Credential::Public, lively.port).await.unwrap_err(), full);
        assert!(of(Credential::Secret, lively.port).await.is_ok());
    };
    while_silent(&silent, of(Credential::Public, silent.port), others).await;
}

#[tokio::test]
async fn an_answer_in_very_many_small_pieces_is_broken() {
    let ca = Ca::new();
    let broken = Err(OutboundFailure::Broken("the server's answer has too many pieces or headers"));
    let chunked = |count: usize, piece: &str| {
        let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        format!("{head}{}0\r\n\r\n", chunk.repeat(count))
    };
    let line = "a line of a report, which the server sends by itself, without a buffer.\n";
    for (count, piece, expected) in [
        (OUTBOUND_ANSWER_FRAMES_FREE, "x", Ok(())),
        (2 * OUTBOUND_ANSWER_FRAMES_FREE, "x", broken),
        (3 * OUTBOUND_ANSWER_FRAMES_FREE, line, Ok(())),
    ] {
        let answer = chunked(count, piece);
        let server = Server::start(&ca, HTTP1, None, move |_| Act::Write(answer.clone())).await;
        assert_eq!(client(&ca).ask(server.port).await.map(drop), expected, "{count} of {piece}");
    }
}

#[tokio::test]
async fn a_connection_serves_one_tenant_only() {
    let (server, scene) = serving(HTTP1, |_| Act::Write(ok("x"))).await;
    for (id, connections) in [(1, 1), (1, 1), (2, 2), (1, 2), (2, 2)] {
        let sent = OutboundRequest { tenant: tenant(id), ..request(server.port, "/") };
        scene.send(sent).await.unwrap();
        assert_eq!(server.connections(), connections);
    }
}

#[tokio::test]
async fn a_connection_is_not_used_again_after_a_body_that_servers_may_take_for_a_request() {
    let (server, scene) = serving(HTTP1, |_| Act::Write(ok("x"))).await;
    let with = |method: &str, body: &str| OutboundRequest {
        method: String::from(method),
        body: Secret::new(body.as_bytes().to_vec()),
        ..request(server.port, "/")
    };
    for (method, body, connections) in
        [("GET", "", 1), ("GET", "x", 1), ("GET", "", 2), ("DELETE", "x", 2), ("POST", "x", 3)]
    {
        scene.send(with(method, body)).await.unwrap();
        assert_eq!(server.connections(), connections, "{method} {body}");
    }
}

#[tokio::test]
async fn a_server_that_reads_nothing_does_not_hold_a_connection_after_its_request() {
    let ca = Ca::new();
    for alpn in [HTTP1, HTTP2] {
        let server = Server::start(&ca, alpn, None, |_| Act::Deaf).await;
        let scene = client(&ca);
        let sent = scene.send(OutboundRequest {
            body: Secret::new(vec![b'x'; 32 * 1024 * 1024]),
            timeout: Duration::from_secs(1),
            ..request(server.port, "/")
        });
        sent.await.unwrap_err();
        wait_until("the connection is gone", async || {
            // The HTTP/2 connection is kept for other requests until its time is over.
            scene.client.pool.close_all();
            scene.client.open.get() == 0
        })
        .await;
    }
}

#[tokio::test]
async fn idle_connections_are_bounded_and_closed_in_time() {
    let ca = Ca::new();
    let count = OUTBOUND_IDLE_PER_DESTINATION_MAX + 5;
    let barrier = Arc::new(AtomicUsize::new(0));
    let arrived = Arc::clone(&barrier);
    let server = Server::start(&ca, HTTP1, None, move |asked: &Asked| {
        arrived.fetch_add(usize::from(!asked.text.is_empty()), Ordering::SeqCst);
        Act::Write(ok("x"))
    })
    .await;
    let sizes = PoolSizes { idle_time: Duration::from_secs(2), ..PoolSizes::default() };
    let scene = client_with(Scope::Development, &ca, &[&["127.0.0.1"]], sizes);
    // All at once, so that each needs its own connection.
    let tasks = Tasks::new();
    for _ in 0..count {
        let (client, port) = (Arc::clone(&scene.client), server.port);
        tasks.spawn(async move { drop(client.send(request(port, "/")).await) });
    }
    within("all are answered", tasks.finished()).await;
    assert_eq!(barrier.load(Ordering::SeqCst), count);
    let most = u64::try_from(OUTBOUND_IDLE_PER_DESTINATION_MAX).unwrap();
    assert!(scene.client.pool.kept() <= most);
    wait_until("idle ones are closed", async || {
        scene.client.pool.close_expired();
        scene.client.open.get() == 0
    })
    .await;
    assert_eq!((scene.client.pool.kept(), scene.client.pool.destinations()), (0, 0));
}

#[tokio::test]
async fn a_server_that_announces_a_short_time_is_not_kept_for_longer() {
    let answer = "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1, max=5\r\nContent-Length: 0\r\n\r\n";
    let (server, scene) = serving(HTTP1, move |_| Act::Write(String::from(answer))).await;
    for connections in 1..3 {
        scene.ask(server.port).await.unwrap();
        assert_eq!((server.connections(), scene.client.pool.kept()), (connections, 0));
    }
}

#[tokio::test]
async fn an_http2_connection_carries_so_many_requests_at_a_time() {
    let (server, scene) = serving(HTTP2, |asked: &Asked| {
        if asked.text.contains("/silent") { Act::Silence } else { Act::Write(ok("x")) }
    })
    .await;
    scene.ask(server.port).await.unwrap();
    let tasks = Tasks::new();
    for _ in 0..=OUTBOUND_STREAMS_MAX {
        let (client, port) = (Arc::clone(&scene.client), server.port);
        tasks.spawn(async move { drop(client.send(request(port, "/silent")).await) });
    }
    let all = OUTBOUND_STREAMS_MAX + 2;
    wait_until("all have arrived", async || server.asked().len() == all).await;
    assert_eq!(server.connections(), 2);
    tasks.end();
    within("the requests end", tasks.finished()).await;
    assert_eq!(scene.ask(server.port).await.unwrap(), "x");
}

#[tokio::test]
async fn names_are_remembered_for_a_while_and_only_so_many() {
    let names = |kept_for| {
        let lookups = Arc::new(AtomicUsize::new(0));
        let answers = Mutex::new(vec![addresses(&["127.0.0.1"])]);
        let scripted = Scripted { answers, lookups: Arc::clone(&lookups) };
        (Addresses::of(Box::new(scripted), kept_for), lookups)
    };
    let (short, lookups) = names(Duration::ZERO);
    for _ in 0..3 {
        assert_eq!(short.find("a.example").await, addresses(&["127.0.0.1"]));
    }
    assert_eq!(lookups.load(Ordering::SeqCst), 3);
    let (long, lookups) = names(Duration::from_hours(1));
    for at in (0..NAMES_KEPT_MAX).chain(0..NAMES_KEPT_MAX) {
        long.find(&format!("{at}.example")).await;
    }
    assert_eq!(lookups.load(Ordering::SeqCst), NAMES_KEPT_MAX);
    // One more name is not cached.
    for _ in 0..2 {
        long.find("more.example").await;
    }
    assert_eq!(lookups.load(Ordering::SeqCst), NAMES_KEPT_MAX + 2);
}
