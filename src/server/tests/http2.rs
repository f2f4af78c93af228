use h2::client::SendRequest;
use hyper::http::request;

use super::*;

/// A client of one connection, which runs in the background.
pub(super) struct Client {
    requests: SendRequest<Bytes>,
    /// Resolves when the connection has ended.
    pub(super) closed: oneshot::Receiver<Result<(), h2::Error>>,
}

impl Client {
    pub(super) async fn connect(server: &Running) -> Self {
        Self::connect_with(server, &h2::client::Builder::new()).await
    }

    pub(super) async fn connect_with(server: &Running, builder: &h2::client::Builder) -> Self {
        let config = Arc::new(server.client(&[b"h2", b"http/1.1"]));
        let stream = server.connect_with(config).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let (requests, connection) = within!(builder.handshake(stream)).await.unwrap();
        let (ended, closed) = oneshot::channel();
        Tasks::new().spawn(async move {
            ended.send(connection.await).ok();
        });
        Self { requests, closed }
    }

    /// As [`Client::send`], for an answer that may fail.
    pub(super) fn try_send(
        &mut self,
        request: Request<()>,
    ) -> impl Future<Output = Result<Response<h2::RecvStream>, h2::Error>> + use<> {
        self.requests.send_request(request, true).unwrap().0
    }

    /// Sends at once and returns the future of the answer.
    pub(super) fn send(
        &mut self,
        request: Request<()>,
    ) -> impl Future<Output = (Response<()>, String)> + use<> {
        let (response, _) = self.requests.send_request(request, true).unwrap();
        async move {
            let (head, mut body) = within!(response).await.unwrap().into_parts();
            let mut text = Vec::new();
            while let Some(part) = within!(body.data()).await {
                text.extend_from_slice(&part.unwrap());
            }
            (Response::from_parts(head, ()), String::from_utf8(text).unwrap())
        }
    }
}

/// The preface, empty settings, and the acknowledgement of the server's settings.
const OPENING: &[u8] =
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\0\x04\x01\0\0\0\0";

fn builder(path: &str) -> request::Builder {
    Request::builder().uri(format!("https://localhost{path}"))
}

pub(super) fn get(path: &str) -> Request<()> {
    builder(path).body(()).unwrap()
}

#[tokio::test]
async fn http2_is_spoken_when_the_client_offers_it() {
    let server = start(Bounds::default(), echo);
    let mut client = Client::connect(&server).await;
    let (first, second) = (client.send(get("/first")), client.send(get("/second")));
    assert_eq!(second.await.1, "GET /second");
    assert_eq!(first.await.1, "GET /first");
}

#[tokio::test]
async fn oversized_headers_are_a_problem_and_the_connection_lives_on() {
    let server = start(Bounds::default(), echo);
    let mut client = Client::connect(&server).await;
    let size = crate::bounds::HEADER_BYTES_MAX + 100;
    let large = builder("/").header("x", "x".repeat(size)).body(()).unwrap();
    let many = (0..=crate::bounds::HEADERS_COUNT_MAX)
        .fold(builder("/"), |request, _| request.header("x", "y"))
        .body(())
        .unwrap();
    for request in [large, many] {
        let (head, body) = client.send(request).await;
        assert_eq!(head.status(), 431);
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["status"], 431);
    }
    // The HTTP/2 library refuses headers of more than twice the maximum, without a body.
    let huge = builder("/").header("x", "x".repeat(size * 2)).body(()).unwrap();
    assert_eq!(client.send(huge).await.0.status(), 431);
    assert_eq!(client.send(get("/after")).await.1, "GET /after");
}

#[tokio::test]
async fn a_panic_in_a_stream_answers_500_and_spares_the_others() {
    let server = start(Bounds::default(), |request: Request<Incoming>, peer| async move {
        match request.uri().path() {
            "/panic" => std::panic::resume_unwind(Box::new(())),
            _ => echo(request, peer).await,
        }
    });
    let mut client = Client::connect(&server).await;
    let (panic, other) = (client.send(get("/panic")), client.send(get("/other")));
    assert_eq!(panic.await.0.status(), 500);
    assert_eq!(other.await.1, "GET /other");
}

#[tokio::test]
async fn a_stream_whose_client_opens_no_window_is_ended() {
    let (answer, released) = large_answer(1024);
    let server = start(Bounds { h2_unread_max: SOON, ..Bounds::default() }, answer);
    let mut builder = h2::client::Builder::new();
    let mut client = Client::connect_with(&server, builder.initial_window_size(0)).await;
    let (response, _) = client.requests.send_request(get("/"), true).unwrap();
    let mut body = within!(response).await.unwrap().into_body();
    assert!(within!(body.data()).await.unwrap().unwrap_err().is_reset());
    assert!(within!(released).await.is_err());
}

#[tokio::test]
async fn an_idle_connection_is_asked_to_go() {
    let server = start(Bounds { h2_idle_max: SOON, ..Bounds::default() }, echo);
    let mut client = Client::connect(&server).await;
    assert_eq!(client.send(get("/")).await.1, "GET /");
    assert!(within!(client.closed).await.unwrap().is_ok());
}

#[tokio::test]
async fn a_client_that_never_begins_http2_is_closed() {
    let server = start(Bounds { h2_idle_max: SOON, ..Bounds::default() }, echo);
    let mut stream = server.connect_with(Arc::new(server.client(&[b"h2"]))).await.unwrap();
    within!(stream.read_to_end(&mut Vec::new())).await.ok();
}

#[tokio::test]
async fn a_client_that_does_not_answer_pings_is_closed() {
    let bounds = Bounds { h2_ping_after: SOON / 4, h2_ping_max: SOON, ..Bounds::default() };
    let server = start(bounds, echo);
    let mut stream = server.connect_with(Arc::new(server.client(&[b"h2"]))).await.unwrap();
    within!(stream.write_all(OPENING)).await.unwrap();
    let mut frames = Vec::new();
    within!(stream.read_to_end(&mut frames)).await.ok();
    let ping = [0, 0, 8, 6, 0, 0, 0, 0, 0];
    assert!(frames.windows(ping.len()).any(|part| part == ping));
}

#[tokio::test]
async fn a_client_that_resets_what_it_asks_for_is_stopped() {
    let server = start(Bounds::default(), echo);
    let mut stream = server.connect_with(Arc::new(server.client(&[b"h2"]))).await.unwrap();
    let mut frames = OPENING.to_vec();
    for number in 0..=u8::try_from(crate::bounds::H2_RESETS_MAX).unwrap() {
        let id = [0, 0, 0, 2 * number + 1];
        // Headers for GET https /, with the end of the stream; then a reset with CANCEL.
        frames.extend_from_slice(&[0, 0, 3, 1, 5]);
        frames.extend_from_slice(&id);
        frames.extend_from_slice(&[0x82, 0x87, 0x84]);
        frames.extend_from_slice(&[0, 0, 4, 3, 0]);
        frames.extend_from_slice(&id);
        frames.extend_from_slice(&[0, 0, 0, 8]);
    }
    within!(stream.write_all(&frames)).await.unwrap();
    let mut answered = Vec::new();
    within!(stream.read_to_end(&mut answered)).await.ok();
    // A GOAWAY frame is nine bytes of head, the last stream, then the reason: ENHANCE_YOUR_CALM.
    let mut goodbye = answered.windows(17).filter(|part| part[3] == 7 && part[5..9] == [0; 4]);
    assert_eq!(goodbye.next_back().map(|part| part[16]), Some(11));
}

#[tokio::test]
async fn streams_beyond_the_maximum_wait() {
    let (answer, mut asks, go) = gated();
    let bounds = Bounds { h2_streams_max: 2, ..Bounds::default() };
    let server = start(bounds, answer);
    let mut client = Client::connect(&server).await;
    let answers = ["/1", "/2"].map(|path| client.send(get(path)));
    within!(asks.recv()).await.unwrap();
    within!(asks.recv()).await.unwrap();
    let mut third = within!(client.requests.clone().ready()).await.unwrap();
    let (third, _) = third.send_request(get("/3"), true).unwrap();
    assert!(asks.try_recv().is_err());
    go.send(true).unwrap();
    for answer in answers {
        answer.await;
    }
    assert_eq!(within!(third).await.unwrap().status(), 200);
}
