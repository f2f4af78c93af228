//! A tenant, or a stranger, takes all it can get of something that all callers share. The second
//! tenant is served all the same.
//!
//! Bodies are in `floods.rs`; walks and sessions are tested beside their operations.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{Reason, RecvStream, SendStream};
use hyper::Response;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::json;
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use crate::harness::{Connection, Vault, get, only_http1, post, within};
use crate::proxy::Scene;

/// A destination's answer of nearly the most that a proxy passes on.
const HUGE: &str = "/huge/4000000";
const HUGE_BYTES: usize = 4_000_000;

/// Opens HTTP/2 connections whose windows stay closed: no answer is read.
struct Taker {
    server: SocketAddr,
    config: Arc<ClientConfig>,
    connections: JoinSet<()>,
}

impl Taker {
    fn of(vault: &Vault) -> Self {
        let mut config = vault.client().as_ref().clone();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let connections = JoinSet::new();
        Self { server: vault.address, config: Arc::new(config), connections }
    }

    /// From the address 127.0.0.`host`.
    async fn connect(&mut self, host: u8) -> SendRequest<Bytes> {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, host), 0))).unwrap();
        let stream: TcpStream = socket.connect(self.server).await.unwrap();
        let name = ServerName::from(IpAddr::from(Ipv4Addr::LOCALHOST));
        let connector = TlsConnector::from(Arc::clone(&self.config));
        let stream = within("a handshake", connector.connect(name, stream)).await.unwrap();
        let mut builder = h2::client::Builder::new();
        let handshake = builder.initial_window_size(0).handshake(stream);
        let (requests, connection) = within("a preface", handshake).await.unwrap();
        self.connections.spawn(async move { drop(connection.await) });
        requests
    }
}

/// Begins a request with these headers; its body follows.
async fn begin(
    requests: &mut SendRequest<Bytes>,
    path: &str,
    headers: &[(&str, &str)],
) -> (ResponseFuture, SendStream<Bytes>) {
    let mut ready = within("a stream", requests.clone().ready()).await.unwrap();
    let mut request = hyper::Request::post(format!("https://localhost{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    ready.send_request(request.body(()).unwrap(), false).unwrap()
}

/// Sends a call and waits for the head of its answer.
async fn call(requests: &mut SendRequest<Bytes>, headers: &[(&str, &str)]) -> Response<RecvStream> {
    let (answer, mut body) = begin(requests, "/proxy", headers).await;
    body.send_data(Bytes::new(), true).unwrap();
    within("the head of an answer", answer).await.unwrap()
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn a_second_tenant_gets_large_answers_while_strangers_and_the_first_leave_theirs_unread() {
    only_http1();
    let scene = Scene::start();
    let second = scene.vault.tenant("test");
    let url = scene.psp.url(HUGE);
    let open = scene.proxy(json!({"require_auth": false, "destination_url": &url})).member("key");
    let stranger = [("BT-PROXY-KEY", open.as_str())];
    let first = [("BT-API-KEY", scene.vault.keys.private.as_str()), ("BT-PROXY-URL", &url)];
    let mut taker = Taker::of(&scene.vault);
    runtime().block_on(async {
        let mut unread = Vec::new();
        // An address without a key has one of these; the answer itself holds its memory.
        let mut requests = taker.connect(2).await;
        unread.push(call(&mut requests, &stranger).await);
        assert_eq!(unread[0].status(), 200);
        // There is memory for a small answer, so the call is sent; the answer says that it was.
        assert_eq!(call(&mut requests, &stranger).await.status(), 502);
        // The tenant has some, and then no more. A slow machine needs more of them, since an answer
        // that is not read is dropped after a while.
        let mut requests = taker.connect(3).await;
        for tries in 1.. {
            let answer = call(&mut requests, &first).await;
            if answer.status() != 200 {
                assert!([502, 503].contains(&answer.status().as_u16()), "{}", answer.status());
                break;
            }
            assert!(tries < 40, "{tries} answers of four megabytes wait");
            unread.push(answer);
        }
        assert!(unread.len() > 2, "{} answers", unread.len());
        let request = post("/proxy").key(&second.keys.private).header("BT-PROXY-URL", &url);
        assert_eq!(scene.send(&request).with_status(200).bytes.len(), HUGE_BYTES);
        drop(unread);
    });
}

#[test]
fn answers_of_programs_have_the_shares_of_answers_of_destinations() {
    only_http1();
    let scene = Scene::start();
    let code = "module.exports = async () =>
        ({ res: { statusCode: 200, body: { text: 'x'.repeat(3900000) } } });";
    let node = json!({"runtime": {"image": "node22"}});
    let transform = json!({"type": "code", "code": code, "options": node});
    let open = scene
        .proxy(json!({"require_auth": false, "request_transforms": [transform]}))
        .member("key");
    let stranger = [("BT-PROXY-KEY", open.as_str())];
    let mut taker = Taker::of(&scene.vault);
    runtime().block_on(async {
        let mut requests = taker.connect(2).await;
        let unread = call(&mut requests, &stranger).await;
        assert_eq!(unread.status(), 200);
        assert_eq!(call(&mut requests, &stranger).await.status(), 502);
        drop(unread);
    });
}

#[test]
fn a_program_that_ran_without_memory_for_its_answer_is_not_to_be_run_again() {
    only_http1();
    let scene = Scene::start();
    let code = "module.exports = async () => ({ raw: { text: 'x'.repeat(3900000) } });";
    let reactor = json!({"name": "r", "code": code});
    let id =
        scene.vault.post("/reactors", &scene.vault.keys.management, reactor).with_status(201).id();
    let path = format!("/reactors/{id}/react");
    let body = Bytes::from_static(b"{\"args\":1}");
    let headers =
        [("BT-API-KEY", scene.vault.keys.private.as_str()), ("Content-Type", "application/json")];
    let mut taker = Taker::of(&scene.vault);
    runtime().block_on(async {
        let mut unread = Vec::new();
        let refused = loop {
            assert!(unread.len() < 40, "{} answers of four megabytes wait", unread.len());
            let mut requests = taker.connect(2).await;
            let (answer, mut content) = begin(&mut requests, &path, &headers).await;
            content.send_data(body.clone(), true).unwrap();
            let answer = within("the head of an answer", answer).await.unwrap();
            if answer.status() != 200 {
                break answer;
            }
            unread.push(answer);
        };
        assert_eq!((refused.status().as_u16(), refused.headers().get("retry-after")), (500, None));
    });
}

#[test]
fn a_second_tenant_has_streams_while_the_first_holds_all_it_can_get() {
    only_http1();
    let vault = Vault::start();
    let second = vault.tenant("test");
    let mut taker = Taker::of(&vault);
    runtime().block_on(async {
        let key = [("BT-API-KEY", vault.keys.private.as_str())];
        let mut held = Vec::new();
        let mut refused = JoinSet::new();
        // More than all streams of the pool, if it had no shares.
        for number in 0..72 {
            let mut requests = taker.connect(2 + number % 8).await;
            for _ in 0..64 {
                let (answer, body) = begin(&mut requests, "/tokens", &key).await;
                refused.spawn(async move { answer.await.err().and_then(|error| error.reason()) });
                held.push(body);
            }
        }
        let reason = within("a stream is refused", refused.join_next()).await;
        assert_eq!(reason.unwrap().unwrap(), Some(Reason::REFUSED_STREAM));
        let key = [("BT-API-KEY", second.keys.private.as_str())];
        let mut requests = taker.connect(20).await;
        let mut begun = Vec::new();
        for _ in 0..8 {
            begun.push(begin(&mut requests, "/tokens", &key).await);
        }
        for (answer, mut body) in begun {
            let token = json!({"type": "token", "data": "x"}).to_string();
            body.send_data(Bytes::from(token), true).unwrap();
            let answer = within("an answer", answer).await;
            assert_eq!(answer.expect("the stream was admitted").status(), 201);
        }
        drop(held);
    });
}

#[test]
fn a_second_tenant_has_connections_while_the_first_holds_all_it_can_get() {
    only_http1();
    let mut vault = Vault::start();
    let second = vault.tenant("test");
    vault.serve("rate_limits = false\nconnections.max = 64");
    let ask = |connection: &mut Connection, key: &str| {
        connection.send(&get("/permissions").key(key).bytes("x"))?;
        connection.receive()
    };
    // Some of these lose their place to later ones.
    let mut held = Vec::new();
    for _ in 0..80 {
        let mut connection = vault.connect();
        ask(&mut connection, &vault.keys.private).unwrap().with_status(200);
        held.push(connection);
    }
    let mut connection = vault.connect();
    ask(&mut connection, &second.keys.private).unwrap().with_status(200);
    for _ in 0..40 {
        let mut more = vault.connect();
        ask(&mut more, &vault.keys.private).unwrap().with_status(200);
        held.push(more);
    }
    // The place of the second tenant is within its share, and so is that of the first connection.
    for (connection, key) in
        [(&mut connection, &second.keys.private), (&mut held[0], &vault.keys.private)]
    {
        ask(connection, key).unwrap().with_status(200);
    }
}
