//! Real sockets on loopback, a certificate made for the test, short deadlines. No test waits for a
//! fixed time: each waits for the event itself, and fails after `waiting::PATIENCE`.

/// Awaits a future; if it does not end, the test fails with the text of its expression.
macro_rules! within {
    ($work:expr) => {
        crate::waiting::within(stringify!($work), $work)
    };
}

mod bind;
mod drain;
mod floods;
mod head_timer;
mod http2;
mod limits;
mod requests;
mod tls;

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ::bytes::Bytes;
use hyper::body::Incoming;
use hyper::{Request, Response};
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::domain::time::Timestamp;
use crate::log::RequestLines;
use crate::secret::SecretBody;

use super::*;

/// A deadline that a test waits for. The test's own requests must fit into it on a busy machine.
const SOON: Duration = Duration::from_secs(3);
/// A deadline that no test reaches.
const NEVER: Duration = Duration::from_hours(1);

/// A directory with a certificate and its key, removed at the end.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("strongroom-server-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self { path }
    }

    fn certificate(&self) -> PathBuf {
        self.path.join("certificate.pem")
    }

    fn private_key(&self) -> PathBuf {
        self.path.join("key.pem")
    }

    fn renew(&self) -> CertificateDer<'static> {
        self.issue(&KeyPair::generate().unwrap())
    }

    fn issue(&self, key: &KeyPair) -> CertificateDer<'static> {
        let params = CertificateParams::new(vec![String::from("localhost")]).unwrap();
        let certificate = params.self_signed(key).unwrap();
        std::fs::write(self.certificate(), certificate.pem()).unwrap();
        std::fs::write(self.private_key(), key.serialize_pem()).unwrap();
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(self.private_key(), mode).unwrap();
        certificate.der().clone()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.path).ok();
    }
}

struct Lines(mpsc::UnboundedSender<String>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for line in String::from_utf8_lossy(bytes).lines() {
            self.0.send(line.to_owned()).ok();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn log() -> (Log, mpsc::UnboundedReceiver<String>) {
    let (lines, read) = mpsc::unbounded_channel();
    let now = Arc::new(|| Timestamp::from_seconds(1_794_648_600));
    (Log::start(Lines(lines), RequestLines::On, now).unwrap(), read)
}

struct Running {
    address: SocketAddr,
    folder: Folder,
    root: CertificateDer<'static>,
    lines: mpsc::UnboundedReceiver<String>,
    stop: Option<oneshot::Sender<()>>,
    drained: oneshot::Receiver<DrainOutcome>,
}

fn start(bounds: Bounds, answer: impl Responder) -> Running {
    let folder = Folder::new();
    let key = KeyPair::generate().unwrap();
    start_with(bounds, answer, folder, &key, Arc::new(|_| true))
}

fn start_with(
    bounds: Bounds,
    answer: impl Responder,
    folder: Folder,
    key: &KeyPair,
    trusted: TrustedAddresses,
) -> Running {
    let root = folder.issue(key);
    let (log, lines) = log();
    let listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    let mut settings = Settings::new(listen, folder.certificate(), folder.private_key());
    settings.bounds = bounds;
    settings.trusted = trusted;
    let server = Server::bind(settings, log).unwrap();
    let address = server.addresses()[0];
    let (stop, stopped) = oneshot::channel();
    let (done, drained) = oneshot::channel();
    Tasks::new().spawn(async move {
        let outcome = server.run(answer, async { drop(stopped.await) }).await;
        done.send(outcome).ok();
    });
    Running { address, folder, root, lines, stop: Some(stop), drained }
}

impl Running {
    /// A client that trusts the certificate with which the server was started.
    fn client(&self, protocols: &[&[u8]]) -> ClientConfig {
        client(&self.root, protocols, &[&rustls::version::TLS13, &rustls::version::TLS12])
    }

    async fn connect_with(&self, config: Arc<ClientConfig>) -> io::Result<TlsStream<TcpStream>> {
        let socket = within!(TcpStream::connect(self.address)).await?;
        handshake(config, socket).await
    }

    /// Completes the handshake of a connection that has only been opened.
    async fn shake_hands(&self, socket: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        handshake(Arc::new(self.client(&[b"http/1.1"])), socket).await
    }

    async fn try_connect(&self) -> io::Result<TlsStream<TcpStream>> {
        self.connect_with(Arc::new(self.client(&[b"http/1.1"]))).await
    }

    async fn connect(&self) -> TlsStream<TcpStream> {
        self.try_connect().await.unwrap()
    }

    async fn event(&mut self, name: &str) -> serde_json::Value {
        loop {
            let line = within!(self.lines.recv()).await.unwrap();
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            if line["event"] == name {
                return line;
            }
        }
    }

    fn ask_to_stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    async fn drained(self) -> DrainOutcome {
        within!(self.drained).await.unwrap()
    }
}

async fn handshake(
    config: Arc<ClientConfig>,
    socket: TcpStream,
) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from("localhost").unwrap();
    within!(TlsConnector::from(config).connect(name, socket)).await
}

fn client(
    root: &CertificateDer<'static>,
    protocols: &[&[u8]],
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(root.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    config
}

/// Answers with the method and path, so that tests can distinguish answers.
async fn echo(request: Request<Incoming>, _peer: SocketAddr) -> Response<SecretBody> {
    let text = format!("{} {}", request.method(), request.uri().path());
    Response::new(SecretBody::from(text))
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")
}

/// Reads one answer: its head and a body of the announced length.
async fn read_answer(stream: &mut TlsStream<TcpStream>) -> (String, String) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(within!(stream.read_u8()).await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    within!(stream.read_exact(&mut body)).await.unwrap();
    (head, String::from_utf8(body).unwrap())
}

/// Reads until the server closes, cleanly or not.
async fn read_to_close(stream: &mut TlsStream<TcpStream>) -> String {
    let mut text = Vec::new();
    within!(stream.read_to_end(&mut text)).await.ok();
    String::from_utf8(text).unwrap()
}

async fn ask(stream: &mut TlsStream<TcpStream>, request: &str) -> (String, String) {
    within!(stream.write_all(request.as_bytes())).await.unwrap();
    read_answer(stream).await
}

#[track_caller]
fn check_problem((head, body): &(String, String), status: u16) {
    assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
    assert!(head.contains("content-type: application/json; charset=utf-8\r\n"), "{head}");
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["status"], status);
    let trace = body["trace_id"].as_str().unwrap();
    assert!(head.contains(&format!("bt-trace-id: {trace}\r\n")), "{head}");
}

/// A responder that reports each request and answers when the gate opens.
fn gated() -> (impl Responder, mpsc::UnboundedReceiver<()>, tokio::sync::watch::Sender<bool>) {
    let (go, gate) = tokio::sync::watch::channel(false);
    let (asked, asks) = mpsc::unbounded_channel();
    let answer = move |request, peer| {
        let mut gate = gate.clone();
        asked.send(()).unwrap();
        async move {
            gate.wait_for(|open| *open).await.unwrap();
            echo(request, peer).await
        }
    };
    (answer, asks, go)
}

struct Held(
    Vec<u8>,
    #[expect(dead_code, reason = "dropping it is the message")] oneshot::Sender<()>,
);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// A responder with an answer of this size, and a receiver that ends when the server has dropped
/// it.
fn large_answer(bytes: usize) -> (impl Responder, oneshot::Receiver<()>) {
    let (held, released) = oneshot::channel();
    let body = std::sync::Mutex::new(Some(Bytes::from_owner(Held(vec![b'x'; bytes], held))));
    let body = Arc::new(body);
    let answer = move |_: Request<Incoming>, _: SocketAddr| {
        let body = body.lock().unwrap().take().unwrap_or_default();
        async move { Response::new(SecretBody::shared(body)) }
    };
    (answer, released)
}
