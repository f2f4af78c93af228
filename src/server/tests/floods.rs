//! Peers that request more than they read, or that are refused.

use super::http2::{Client, get};
use super::*;
use crate::domain::id::TenantId;
use crate::domain::shares::Claimant;
use crate::server::ResponseFuture;

/// Answers with the closure; the header `key` counts as a known key of its own tenant.
#[derive(Clone)]
pub(super) struct Keyed<A>(pub(super) A);

impl<A: Responder> Responder for Keyed<A> {
    fn answer(&self, request: Request<Incoming>, peer: SocketAddr) -> ResponseFuture {
        self.0.answer(request, peer)
    }

    fn claimant(&self, request: &Request<Incoming>, peer: SocketAddr) -> Claimant {
        let key = request.headers().get("key").map(|key| key.as_bytes().to_vec());
        let tenant = |key: &Vec<u8>| {
            let bytes = key.iter().copied().chain(std::iter::repeat(0)).take(16);
            TenantId::new(uuid::Uuid::from_slice(&bytes.collect::<Vec<_>>()).unwrap())
        };
        match &key {
            Some(key) if key != b"public" => Claimant::Keyed(tenant(key)),
            other => Claimant::Stranger { address: peer.ip(), tenant: other.as_ref().map(tenant) },
        }
    }
}

fn with_key(path: &str) -> Request<()> {
    of_tenant("shown", path)
}

fn of_tenant(key: &'static str, path: &str) -> Request<()> {
    let mut request = get(path);
    request.headers_mut().insert("key", key.parse().unwrap());
    request
}

async fn not_found(_: Request<Incoming>, _: SocketAddr) -> Response<SecretBody> {
    let mut response = Response::new(SecretBody::from(String::from("nothing here")));
    *response.status_mut() = hyper::StatusCode::NOT_FOUND;
    response
}

#[tokio::test]
async fn streams_beyond_those_of_a_connection_without_a_key_are_refused() {
    let (answer, mut asks, go) = gated();
    let bounds = Bounds { h2_streams_unknown_max: 2, ..Bounds::default() };
    let mut server = start(bounds, Keyed(answer));
    let mut client = Client::connect(&server).await;
    let answers = ["/1", "/2"].map(|path| client.send(get(path)));
    within!(asks.recv()).await.unwrap();
    within!(asks.recv()).await.unwrap();
    let refused = within!(client.try_send(get("/3"))).await.unwrap_err();
    assert_eq!(refused.reason(), Some(h2::Reason::REFUSED_STREAM));
    // With a key the same request is served, and then all requests of this connection.
    let known = ["/4", "/5"].map(|path| client.send(with_key(path)));
    let after = client.send(get("/6"));
    for _ in 0..3 {
        within!(asks.recv()).await.unwrap();
    }
    go.send(true).unwrap();
    for answer in answers.into_iter().chain(known) {
        assert_eq!(answer.await.0.status(), 200);
    }
    assert_eq!(after.await.1, "GET /6");
    server.ask_to_stop();
    drop(client);
    assert_eq!(server.drained().await, DrainOutcome::Whole);
}

#[tokio::test]
async fn a_tenant_that_takes_all_streams_it_can_get_leaves_some_to_others() {
    let (answer, mut asks, go) = gated();
    // The share of a tenant is two of them.
    let bounds = Bounds { h2_shared_max: 4, ..Bounds::default() };
    let server = start(bounds, Keyed(answer));
    let mut greedy = Client::connect(&server).await;
    let held = ["/1", "/2", "/3"].map(|path| greedy.send(with_key(path)));
    for _ in 0..3 {
        within!(asks.recv()).await.unwrap();
    }
    assert!(within!(greedy.try_send(with_key("/4"))).await.is_err());
    let mut other = Client::connect(&server).await;
    let first = other.send(with_key("/first"));
    within!(asks.recv()).await.unwrap();
    assert!(within!(other.try_send(with_key("/second"))).await.is_err());
    let second = other.send(of_tenant("other", "/other"));
    within!(asks.recv()).await.unwrap();
    go.send(true).unwrap();
    assert_eq!(first.await.1, "GET /first");
    assert_eq!(second.await.1, "GET /other");
    for answer in held {
        answer.await;
    }
    // The places are free again.
    let more = ["/5", "/6", "/7"].map(|path| other.send(with_key(path)));
    for answer in more {
        assert_eq!(answer.await.0.status(), 200);
    }
}

#[tokio::test]
async fn a_connection_that_leaves_an_answer_half_read_is_ended() {
    let (answer, released) = large_answer(1024);
    let bounds = Bounds { h2_unread_max: SOON, ..Bounds::default() };
    let server = start(bounds, answer);
    let mut builder = h2::client::Builder::new();
    // The window admits one byte: it is sent, and the HTTP/2 library holds the rest of the answer.
    let mut client = Client::connect_with(&server, builder.initial_window_size(1)).await;
    let answer = client.try_send(get("/"));
    let body = within!(answer).await.unwrap().into_body();
    drop(within!(&mut client.closed).await);
    drop(body);
    assert!(within!(released).await.is_err());
}

#[tokio::test]
async fn a_large_answer_that_is_read_slowly_arrives_whole() {
    let bytes = 40 * usize::try_from(crate::bounds::H2_FRAME_BYTES_MAX).unwrap();
    // A slow machine may pause for longer than the shortest of these. With a deadline on the whole
    // answer, each of them would fail: reading takes several times as long as any.
    let mut read = 0;
    for unread_max in [SOON / 3, SOON, 5 * SOON] {
        read = read_slowly(bytes, unread_max).await;
        if read == bytes {
            break;
        }
    }
    assert_eq!(read, bytes);
}

/// Reads an answer of this size in 40 parts with a pause after each; returns the number of bytes.
async fn read_slowly(bytes: usize, unread_max: Duration) -> usize {
    let (answer, _released) = large_answer(bytes);
    let bounds = Bounds { h2_unread_max: unread_max, ..Bounds::default() };
    let server = start(bounds, answer);
    let mut builder = h2::client::Builder::new();
    let window = crate::bounds::H2_FRAME_BYTES_MAX;
    let mut client = Client::connect_with(&server, builder.initial_window_size(window)).await;
    let mut body = within!(client.try_send(get("/"))).await.unwrap().into_body();
    let mut read = 0;
    while let Some(Ok(part)) = within!(body.data()).await {
        read += part.len();
        tokio::time::sleep(unread_max / 10).await;
        body.flow_control().release_capacity(part.len()).ok();
    }
    read
}

/// The reason in the last GOAWAY among these frames.
fn goodbye(frames: &[u8]) -> Option<u8> {
    let mut goodbye = frames.windows(17).filter(|part| part[3] == 7 && part[5..9] == [0; 4]);
    goodbye.next_back().map(|part| part[16])
}

#[tokio::test]
async fn a_flood_of_frames_without_requests_is_stopped() {
    let mut opening = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    opening.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    let ping = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let bounds = Bounds { h2_control_frames_max: 50, ..Bounds::default() };
    for (pings, reason) in [(40, None), (60, Some(11))] {
        let server = start(bounds.clone(), echo);
        let mut stream = server.connect_with(Arc::new(server.client(&[b"h2"]))).await.unwrap();
        let flood = [opening.clone(), ping.repeat(pings)].concat();
        within!(stream.write_all(&flood)).await.unwrap();
        let mut answered = Vec::new();
        if reason.is_some() {
            // The server closes the connection.
            within!(stream.read_to_end(&mut answered)).await.ok();
        } else {
            let mut piece = [0; 1_000];
            while answered.len() < pings * ping.len() {
                let read = within!(stream.read(&mut piece)).await.unwrap();
                answered.extend_from_slice(&piece[..read]);
            }
        }
        assert_eq!(goodbye(&answered), reason, "{pings} of them");
    }
}

#[tokio::test]
async fn a_connection_that_is_only_refused_is_asked_to_go() {
    let bounds = Bounds { refusals_max: 3, ..Bounds::default() };
    let server = start(bounds, Keyed(not_found));
    let mut known = Client::connect(&server).await;
    for _ in 0..10 {
        assert_eq!(known.send(with_key("/")).await.0.status(), 404);
    }
    let mut client = Client::connect(&server).await;
    for _ in 0..4 {
        assert_eq!(client.send(get("/")).await.0.status(), 404);
    }
    assert!(within!(client.closed).await.unwrap().is_ok());
}

#[tokio::test]
async fn a_refused_peer_that_does_not_go_is_ended() {
    let bounds = Bounds { refusals_max: 3, spent_max: SOON, ..Bounds::default() };
    let server = start(bounds, Keyed(not_found));
    let mut builder = h2::client::Builder::new();
    let mut client = Client::connect_with(&server, builder.initial_window_size(0)).await;
    let mut unread = Vec::new();
    for _ in 0..4 {
        unread.push(within!(client.try_send(get("/"))).await.unwrap());
    }
    // Its streams wait for a window until the connection is gone.
    drop(within!(client.closed).await);
}

#[tokio::test]
async fn the_last_answer_of_a_refused_connection_says_so() {
    let bounds = Bounds { refusals_max: 3, ..Bounds::default() };
    let server = start(bounds, Keyed(not_found));
    let mut stream = server.connect().await;
    for last in [false, false, false, true] {
        let (head, _) = ask(&mut stream, &super::get("/")).await;
        assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
        assert_eq!(head.contains("connection: close\r\n"), last, "{head}");
    }
    assert_eq!(read_to_close(&mut stream).await, "");
}
