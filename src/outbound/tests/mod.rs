mod bounds;
mod failures;
mod server;

use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::addresses::{LookingUp, Lookup};
use super::*;
use crate::app::Credential;
use crate::domain::https_url::HttpsUrl;
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::log::RequestLines;
use crate::secret::Secret;
use crate::waiting::{PATIENCE, within};

use server::{Act, Asked, Ca, Server, ok};

const HTTP1: &[&str] = &["http/1.1"];
const HTTP2: &[&str] = &["h2"];

/// Returns the addresses of one lookup after the other, then repeats the last ones.
#[derive(Debug)]
struct Scripted {
    answers: Mutex<Vec<Vec<IpAddr>>>,
    lookups: Arc<AtomicUsize>,
}

impl Lookup for Scripted {
    fn lookup<'a>(&'a self, _: &'a str) -> LookingUp<'a> {
        self.lookups.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let answer =
            if answers.len() > 1 { answers.remove(0) } else { answers.first().unwrap().clone() };
        Box::pin(async { answer })
    }
}

struct Scene {
    client: Arc<OutboundClient>,
    lookups: Arc<AtomicUsize>,
}

fn log() -> Log {
    let now = Arc::new(|| Timestamp::from_seconds(1_794_648_600));
    Log::start(std::io::sink(), RequestLines::Off, now).unwrap()
}

fn addresses(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn client_with(scope: Scope, ca: &Ca, answers: &[&[&str]], sizes: PoolSizes) -> Scene {
    let lookups = Arc::default();
    let answers = Mutex::new(answers.iter().map(|answer| addresses(answer)).collect());
    let scripted = Scripted { answers, lookups: Arc::clone(&lookups) };
    let names = Addresses::of(Box::new(scripted), crate::bounds::NAME_KEPT);
    let guard = Guard::new(scope, Vec::new());
    let client =
        OutboundClient::with(guard, names, Some(ca.roots()), sizes, &Tasks::new(), &log()).unwrap();
    Scene { client: Arc::new(client), lookups }
}

fn client(ca: &Ca) -> Scene {
    client_with(Scope::Development, ca, &[&["127.0.0.1"]], PoolSizes::default())
}

async fn serving(
    alpn: &[&str],
    acting: impl Fn(&Asked) -> Act + Send + Sync + 'static,
) -> (Server, Scene) {
    let ca = Ca::new();
    (Server::start(&ca, alpn, None, acting).await, client(&ca))
}

fn tenant(id: u128) -> TenantId {
    TenantId::new(uuid::Uuid::from_u128(id))
}

fn request(port: u16, path: &str) -> OutboundRequest {
    OutboundRequest {
        tenant: tenant(1),
        credential: Credential::Secret,
        method: String::from("POST"),
        url: HttpsUrl::parse_with_query(&format!("https://psp.example:{port}{path}")).unwrap(),
        headers: vec![(String::from("X-Secret"), Secret::new(b"4242".to_vec()))],
        body: Secret::new(b"a body".to_vec()),
        timeout: PATIENCE,
        response_bytes_max: 1024 * 1024,
        identity: None,
    }
}

impl Scene {
    async fn send(&self, request: OutboundRequest) -> Result<OutboundResponse, OutboundFailure> {
        within("an answer or a failure", self.client.send(request)).await
    }

    async fn ask(&self, port: u16) -> Result<String, OutboundFailure> {
        self.send(request(port, "/a?b=c")).await.map(|answer| text(&answer))
    }
}

fn text(answer: &OutboundResponse) -> String {
    String::from_utf8(answer.body.expose().clone()).unwrap()
}

#[tokio::test]
async fn a_request_goes_out_as_it_is_and_its_answer_comes_back_as_it_is() {
    let ca = Ca::new();
    let answer = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 402 No\r\nX-A: 1\r\nX-A: 2\r\n\
                  Content-Length: 4\r\n\r\nbody";
    let server = Server::start(&ca, HTTP1, None, move |_| Act::Write(String::from(answer))).await;
    let scene = client(&ca);
    let answer = scene.send(request(server.port, "/a?b=c")).await.unwrap();
    assert_eq!((answer.status, text(&answer).as_str()), (402, "body"));
    let values: Vec<_> = answer.headers.iter().filter(|(name, _)| name == "x-a").collect();
    assert_eq!(values.iter().map(|it| it.1.expose().clone()).collect::<Vec<_>>(), [b"1", b"2"]);
    let host = format!("psp.example:{}", server.port);
    assert_eq!(
        server.asked()[0].text,
        format!(
            "POST /a?b=c HTTP/1.1\r\nx-secret: 4242\r\nhost: {host}\r\ncontent-length: 6\r\n\r\na body"
        )
    );
    let server = Server::start(&ca, HTTP2, None, |_| Act::Write(ok("two"))).await;
    assert_eq!(scene.ask(server.port).await.unwrap(), "two");
    let asked = server.asked()[0].text.clone();
    let url = format!("POST https://psp.example:{}/a?b=c", server.port);
    assert!(asked.starts_with(&url) && asked.ends_with("b\"a body\""), "{asked}");
    assert!(asked.contains("\"x-secret\": \"4242\""), "{asked}");
}

#[tokio::test]
async fn redirects_are_answers_and_are_not_followed() {
    let moved = "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n";
    let (server, scene) = serving(HTTP1, move |_| Act::Write(String::from(moved))).await;
    let answer = scene.send(request(server.port, "/a")).await.unwrap();
    assert_eq!((answer.status, server.asked().len()), (302, 1));
}

#[tokio::test]
async fn connections_are_reused_and_names_remembered() {
    let ca = Ca::new();
    for alpn in [HTTP1, HTTP2] {
        let server = Server::start(&ca, alpn, None, |_| Act::Write(ok("x"))).await;
        let scene = client(&ca);
        for _ in 0..5 {
            scene.ask(server.port).await.unwrap();
        }
        assert_eq!((server.connections(), server.asked().len()), (1, 5));
        assert_eq!(scene.lookups.load(Ordering::SeqCst), 1);
        // Another port needs another connection, but the name is cached.
        let other = Server::start(&ca, alpn, None, |_| Act::Write(ok("y"))).await;
        assert_eq!(scene.ask(other.port).await.unwrap(), "y");
        assert_eq!(scene.lookups.load(Ordering::SeqCst), 1);
        assert_eq!(scene.client.pool.kept(), 2);
    }
}

#[tokio::test]
async fn requests_share_an_http2_connection_at_the_same_time() {
    let (server, scene) = serving(HTTP2, |asked: &Asked| {
        if asked.text.contains("/silent") { Act::Silence } else { Act::Write(ok("x")) }
    })
    .await;
    scene.ask(server.port).await.unwrap();
    let silent = scene.client.send(request(server.port, "/silent"));
    let others = async {
        crate::waiting::wait_until("the silent one arrives", async || server.asked().len() > 1)
            .await;
        for _ in 0..3 {
            scene.ask(server.port).await.unwrap();
        }
    };
    tokio::select! {
        biased;
        answer = silent => panic!("{answer:?}"),
        () = others => (),
    }
    assert_eq!((server.connections(), server.asked().len()), (1, 5));
}

#[tokio::test]
async fn a_client_certificate_is_shown_and_its_connections_are_its_own() {
    let ca = Ca::new();
    for alpn in [HTTP1, HTTP2] {
        let server = Server::start(&ca, alpn, Some(&ca), |_| Act::Write(ok("x"))).await;
        let scene = client(&ca);
        let as_identity = |pem: &str| OutboundRequest {
            identity: Some(Arc::new(ClientIdentity { pem: Secret::new(String::from(pem)) })),
            ..request(server.port, "/")
        };
        let (one, two) = (ca.issue(&["one"]), ca.issue(&["two"]));
        for (pem, connections) in [(&one, 1), (&one, 1), (&two, 2), (&one, 2), (&two, 2)] {
            scene.send(as_identity(pem)).await.unwrap();
            assert_eq!(server.connections(), connections);
        }
        // The server refuses a client without a certificate, and one with a certificate of another
        // authority.
        let stranger = Ca::new().issue(&["one"]);
        let asked = server.asked().len();
        assert!(scene.ask(server.port).await.is_err());
        assert!(scene.send(as_identity(&stranger)).await.is_err());
        assert_eq!(server.asked().len(), asked);
        let (chain, _) = one.split_once("-----BEGIN PRIVATE KEY").unwrap();
        for wrong in
            ["", "nonsense", chain, &one.replace("CERTIFICATE", "X"), &one.replace('A', "?")]
        {
            let refused = scene.send(as_identity(wrong)).await.unwrap_err();
            assert!(matches!(refused, OutboundFailure::Refused(_)), "{refused:?}");
            let identity = ClientIdentity { pem: Secret::new(String::from(wrong)) };
            assert!(scene.client.check_identity(&identity).is_err());
        }
        let identity = ClientIdentity { pem: Secret::new(one) };
        assert_eq!(scene.client.check_identity(&identity), Ok(()));
    }
}

#[tokio::test]
async fn only_certificates_of_the_authorities_for_this_name_are_trusted() {
    let (ca, stranger) = (Ca::new(), Ca::new());
    let server = Server::start(&ca, HTTP1, None, |_| Act::Write(ok("x"))).await;
    let untrusted = Err(OutboundFailure::Unreachable(DialFailure::Certificate.text()));
    assert_eq!(client(&stranger).ask(server.port).await, untrusted);
    let mut other = request(server.port, "/");
    other.url.host = String::from("other.example");
    let scene = client(&ca);
    assert_eq!(scene.send(other).await.map(|it| text(&it)), untrusted);
    assert_eq!(scene.ask(server.port).await.unwrap(), "x");
    assert_eq!((server.asked().len(), server.bytes()), (1, server.asked()[0].text.len()));
    let names = Addresses::of_this_machine();
    let guard = Guard::new(Scope::Development, Vec::new());
    let sizes = PoolSizes::default();
    let nobody = OutboundClient::with(guard, names, None, sizes, &Tasks::new(), &log()).unwrap();
    let failed = nobody.send(request(server.port, "/")).await.unwrap_err();
    assert_eq!(failed, OutboundFailure::Unreachable(NO_AUTHORITIES));
}

#[tokio::test]
async fn no_header_path_or_method_makes_a_second_request() {
    let (server, scene) = serving(HTTP1, |_| Act::Write(ok("x"))).await;
    let with = |name: &str, value: &str| OutboundRequest {
        headers: vec![(String::from(name), Secret::new(value.as_bytes().to_vec()))],
        ..request(server.port, "/")
    };
    let refused = Err(OutboundFailure::Refused("the request cannot be sent over HTTP"));
    for (name, value) in
        [("x", "a\r\nb: c"), ("x", "a\n"), ("x\r\ny", "a"), ("", "a"), ("x y", "a"), ("x", "\0")]
    {
        assert_eq!(scene.send(with(name, value)).await.map(drop), refused, "{name}: {value}");
    }
    for path in ["/ HTTP/1.1\r\nx: y\r\n\r\nGET /", "/\n", "/a b", "/\u{e9}"] {
        let mut wrong = request(server.port, "/");
        wrong.url.path = String::from(path);
        let sent = scene.send(wrong).await.map(drop);
        assert!(path.contains('\u{e9}') || sent == refused, "{path}: {sent:?}");
    }
    for method in ["", "GET /x HTTP/1.1\r\n", "CONNECT", "G\0T"] {
        let wrong = OutboundRequest { method: String::from(method), ..request(server.port, "/") };
        assert_eq!(scene.send(wrong).await.map(drop), refused, "{method}");
    }
    let before = server.asked().len();
    for (name, value) in [
        ("Transfer-Encoding", "chunked"),
        ("Content-Length", "1"),
        ("Host", "other.example"),
        ("Connection", "close"),
        ("Expect", "100-continue"),
        ("Upgrade", "h2c"),
        ("Keep-Alive", "1"),
    ] {
        scene.send(with(name, value)).await.unwrap();
        let asked = server.asked().pop().unwrap().text;
        let head = format!("POST / HTTP/1.1\r\nhost: psp.example:{}\r\n", server.port);
        assert_eq!(asked, format!("{head}content-length: 6\r\n\r\na body"));
    }
    assert_eq!((server.asked().len() - before, server.connections()), (7, 1));
}
