use super::*;
use crate::waiting::wait_until;

#[tokio::test]
async fn a_drain_finishes_what_has_begun_and_takes_nothing_new() {
    let (answer, mut asks, go) = gated();
    let mut server = start(Bounds::default(), answer);
    let mut stream = server.connect().await;
    within!(stream.write_all(get("/slow").as_bytes())).await.unwrap();
    within!(asks.recv()).await.unwrap();
    let mut idle = server.connect().await;
    server.ask_to_stop();
    // The drain does not wait long for an idle connection; by then the listener is closed too.
    assert_eq!(read_to_close(&mut idle).await, "");
    // The listener closes in another task; until then the kernel still accepts connections.
    wait_until("a new connection is refused", async || {
        match TcpStream::connect(server.address).await {
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
                true
            }
            Ok(mut early) => {
                early.read_to_end(&mut Vec::new()).await.ok();
                false
            }
        }
    })
    .await;
    go.send(true).unwrap();
    let (head, body) = read_answer(&mut stream).await;
    assert!(head.contains("connection: close\r\n"), "{head}");
    assert_eq!(body, "GET /slow");
    assert_eq!(read_to_close(&mut stream).await, "");
    assert_eq!(server.drained().await, DrainOutcome::Whole);
}

#[tokio::test]
async fn the_deadline_ends_a_request_that_is_stuck() {
    let (answer, mut asks, _go) = gated();
    let mut server = start(Bounds { drain_max: SOON, ..Bounds::default() }, answer);
    let mut stream = server.connect().await;
    within!(stream.write_all(get("/stuck").as_bytes())).await.unwrap();
    within!(asks.recv()).await.unwrap();
    server.ask_to_stop();
    assert_eq!(read_to_close(&mut stream).await, "");
    assert_eq!(server.event("drained").await["cut"], 1);
    assert_eq!(server.drained().await, DrainOutcome::Cut { connections: 1 });
}

#[tokio::test]
async fn a_handshake_that_is_under_way_does_not_hold_the_drain_up() {
    let mut server =
        start(Bounds { handshake_max: NEVER, drain_max: NEVER, ..Bounds::default() }, echo);
    let mut socket = within!(TcpStream::connect(server.address)).await.unwrap();
    // A complete connection after it: by then the first one has been accepted too.
    ask(&mut server.connect().await, &get("/")).await;
    server.ask_to_stop();
    assert_eq!(server.drained().await, DrainOutcome::Whole);
    within!(socket.read_to_end(&mut Vec::new())).await.ok();
}

#[tokio::test]
async fn who_was_accepted_before_the_stop_may_still_shake_hands_and_ask_once() {
    let bounds =
        || Bounds { first_request_grace_max: NEVER, drain_max: NEVER, ..Bounds::default() };
    for with_handshake in [false, true] {
        let (answer, mut asks, go) = gated();
        let mut server = start(bounds(), answer);
        let mut socket = Some(within!(TcpStream::connect(server.address)).await.unwrap());
        let mut early = None;
        if with_handshake {
            early = Some(server.shake_hands(socket.take().unwrap()).await.unwrap());
        }
        // When this request arrives, the first connection has been accepted too.
        let mut second = server.connect().await;
        within!(second.write_all(get("/second").as_bytes())).await.unwrap();
        within!(asks.recv()).await.unwrap();
        server.ask_to_stop();
        server.event("draining").await;
        let mut stream = match (early, socket) {
            (Some(stream), _) => stream,
            (None, socket) => server.shake_hands(socket.unwrap()).await.unwrap(),
        };
        within!(stream.write_all(get("/first").as_bytes())).await.unwrap();
        within!(asks.recv()).await.unwrap();
        go.send(true).unwrap();
        let (head, body) = read_answer(&mut stream).await;
        assert!(head.contains("connection: close\r\n"), "{head}");
        assert_eq!(body, "GET /first");
        assert_eq!(server.drained().await, DrainOutcome::Whole);
    }
}

#[tokio::test]
async fn a_server_without_connections_stops_at_once() {
    let mut server = start(Bounds::default(), echo);
    server.ask_to_stop();
    assert_eq!(server.event("draining").await["connections"], 0);
    assert_eq!(server.drained().await, DrainOutcome::Whole);
}

#[tokio::test]
async fn an_http2_request_is_finished_too() {
    let (answer, mut asks, go) = gated();
    let mut server = start(Bounds::default(), answer);
    let mut client = http2::Client::connect(&server).await;
    let answer = client.send(http2::get("/slow"));
    within!(asks.recv()).await.unwrap();
    server.ask_to_stop();
    server.event("draining").await;
    go.send(true).unwrap();
    assert_eq!(answer.await.1, "GET /slow");
    assert!(within!(client.closed).await.is_ok());
    assert_eq!(server.drained().await, DrainOutcome::Whole);
}
