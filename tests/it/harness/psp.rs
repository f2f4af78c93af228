//! A payment service provider of the tests' own: a TLS server on loopback with an authority of its
//! own, for everything that the program sends to destinations outside. HTTP/1.1 and HTTP/2.
//!
//! ```text
//! let psp = Psp::start();                               // or start_with(Offer::Http2, Clients::Shown)
//! let vault = Vault::start_with(&["--outbound-ca", psp.ca().to_str().unwrap()]);
//! .. psp.url("/echo") ..                                // https://localhost:PORT/echo
//! psp.received();                                       // the requests since the last look
//! ```
//!
//! The path of a request says how it is answered:
//!
//! | path | answer |
//! |---|---|
//! | `/echo`, `/echo/..` | 200, JSON: `method`, `path`, `query`, `headers` (pairs), `body` (text) |
//! | `/mirror` | 200, the body of the request with its content type |
//! | `/status/NNN` | this status, `{"status":NNN}` |
//! | `/slow/SECONDS` | as `/echo`, after this time |
//! | `/huge/BYTES` | 200, a body of this length; `/huge/BYTES/chunked` does not announce it |
//! | `/drip` | 200, a byte every 50 ms without an end; `/drip/N` ends after N bytes |
//! | `/broken` | the head of a 200, a part of its body, then the connection breaks |
//! | `/cut/N` | no answer: the connection breaks after N bytes of the request's body |
//! | `/headers` | 200 with headers of many kinds; `/headers/COUNT/BYTES` with as many of this length |
//! | `/latin` | 200, a header and a body that are not UTF-8 |
//! | `/redirect` | 302 to `/echo` |
//! | other | 404 |
//!
//! [`Psp::answer`] puts a closure before this table, and [`Psp::cut`] breaks connections at any byte.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::time::{Sleep, sleep};
use tokio_rustls::TlsAcceptor;

use crate::harness::directory::Directory;
use crate::harness::directory_server::{Authority, Certificate};

/// The pause between two bytes of `/drip`.
const DRIP: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    /// The client chooses.
    Both,
    Http1,
    Http2,
}

/// The clients that the PSP serves: anyone, or those that show a certificate of its authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clients {
    Anyone,
    Shown,
}

#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) method: String,
    /// The path and the query as they came.
    pub(crate) target: String,
    pub(crate) version: Version,
    /// In their order, with names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// The number of its connection, from 0.
    pub(crate) connection: usize,
}

impl Received {
    /// The value of a header; the first one if it came several times.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

/// The place at which connections break, in bytes inside TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    Never,
    /// After this many bytes from the client. With 0 right after the handshake.
    Reading(usize),
    /// After this many bytes to the client.
    Writing(usize),
}

/// A status, a content type and a body.
type Told = (u16, &'static str, String);
type Answering = Box<dyn Fn(&Received) -> Option<Told> + Send>;

struct Shared {
    answering: Mutex<Answering>,
    cut: Mutex<Cut>,
    received: Mutex<Vec<Received>>,
    connections: AtomicUsize,
    bytes: AtomicUsize,
}

pub(crate) struct Psp {
    pub(crate) address: SocketAddr,
    authority: Authority,
    shared: Arc<Shared>,
    directory: Directory,
    /// Ends all connections when dropped.
    runtime: Option<Runtime>,
}

impl Psp {
    /// Speaks both protocols and takes any client.
    pub(crate) fn start() -> Self {
        Self::start_with(Offer::Both, Clients::Anyone)
    }

    pub(crate) fn start_with(offer: Offer, clients: Clients) -> Self {
        let authority = Authority::new("Test PSP");
        let directory = Directory::new();
        directory.write("ca.pem", &authority.pem, 0o644);
        let config = config(&authority, offer, clients);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            answering: Mutex::new(Box::new(|_| None)),
            cut: Mutex::new(Cut::Never),
            received: Mutex::default(),
            connections: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
        });
        runtime.spawn({
            let (acceptor, shared) = (TlsAcceptor::from(config), Arc::clone(&shared));
            let handle = runtime.handle().clone();
            async move {
                while let Ok((socket, _)) = listener.accept().await {
                    handle.spawn(serve(socket, acceptor.clone(), Arc::clone(&shared)));
                }
            }
        });
        Self { address, authority, shared, directory, runtime: Some(runtime) }
    }

    pub(crate) fn ca(&self) -> PathBuf {
        self.directory.join("ca.pem")
    }

    /// A URL of it, for a path such as `/echo?a=b`.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }

    /// A certificate of its authority for a client: with its key, as one PEM text.
    pub(crate) fn client_pem(&self) -> String {
        let Certificate { certificate, key } = self.authority.issue();
        format!("{certificate}{key}")
    }

    /// From now on the closure answers, where it gives an answer: a status, a content type and a
    /// body.
    pub(crate) fn answer(
        &self,
        answering: impl Fn(&Received) -> Option<(u16, &'static str, String)> + Send + 'static,
    ) {
        *self.shared.answering.lock().unwrap() = Box::new(answering);
    }

    /// From now on new connections break there.
    pub(crate) fn cut(&self, cut: Cut) {
        *self.shared.cut.lock().unwrap() = cut;
    }

    /// The requests that arrived whole since the last look, in their order.
    pub(crate) fn received(&self) -> Vec<Received> {
        std::mem::take(&mut self.shared.received.lock().unwrap())
    }

    /// The only one that arrived since the last look.
    #[track_caller]
    pub(crate) fn received_once(&self) -> Received {
        let mut received = self.received();
        assert_eq!(received.len(), 1, "{received:?}");
        received.remove(0)
    }

    /// The connections so far, by their finished handshakes.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// The bytes inside TLS that it has read so far, of whole requests and of parts of them.
    pub(crate) fn bytes_read(&self) -> usize {
        self.shared.bytes.load(Ordering::SeqCst)
    }
}

impl Drop for Psp {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn config(authority: &Authority, offer: Offer, clients: Clients) -> Arc<ServerConfig> {
    let clients = (clients == Clients::Shown).then_some(authority);
    let alpn: &[&str] = match offer {
        Offer::Both => &["h2", "http/1.1"],
        Offer::Http1 => &["http/1.1"],
        Offer::Http2 => &["h2"],
    };
    authority.issue().server(clients, alpn)
}

/// The other side reports failures; this one only ends the connection.
async fn serve(socket: TcpStream, acceptor: TlsAcceptor, shared: Arc<Shared>) {
    socket.set_nodelay(true).ok();
    let Ok(stream) = acceptor.accept(socket).await else { return };
    let connection = shared.connections.fetch_add(1, Ordering::SeqCst);
    let cut = *shared.cut.lock().unwrap();
    if cut == Cut::Reading(0) {
        return;
    }
    let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let stream = Cutting { inner: stream, cut, shared: Arc::clone(&shared) };
    let service = service_fn(move |request| answer(request, connection, Arc::clone(&shared)));
    let io = TokioIo::new(stream);
    if is_h2 {
        http2::Builder::new(TokioExecutor::new()).serve_connection(io, service).await.ok();
    } else {
        http1::Builder::new().serve_connection(io, service).await.ok();
    }
}

type PspBody = Either<Full<Bytes>, Dripping>;

async fn answer(
    request: Request<Incoming>,
    connection: usize,
    shared: Arc<Shared>,
) -> Result<Response<PspBody>, io::Error> {
    let (head, mut body) = request.into_parts();
    let target = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let path = String::from(head.uri.path());
    let words: Vec<&str> = path.split('/').skip(1).collect();
    let cut_at = match words.as_slice() {
        ["cut", bytes] => bytes.parse().unwrap(),
        _ => usize::MAX,
    };
    let mut bytes = Vec::new();
    while bytes.len() < cut_at
        && let Some(frame) = body.frame().await
    {
        let frame = frame.map_err(io::Error::other)?;
        bytes.extend(frame.data_ref().into_iter().flatten());
    }
    if cut_at < usize::MAX {
        return Err(io::ErrorKind::ConnectionReset.into());
    }
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = head.headers.iter().map(|(name, value)| (name.to_string(), text(value)));
    let received = Received {
        method: head.method.to_string(),
        target,
        version: head.version,
        headers: headers.collect(),
        body: bytes,
        connection,
    };
    shared.received.lock().unwrap().push(received.clone());
    if let Some((status, kind, body)) = shared.answering.lock().unwrap()(&received) {
        return Ok(whole(status, kind, body));
    }
    if let ["slow", seconds] = words.as_slice() {
        sleep(Duration::from_secs_f64(seconds.parse().unwrap())).await;
    }
    Ok(by_path(&words, &received))
}

fn by_path(words: &[&str], received: &Received) -> Response<PspBody> {
    const JSON: &str = "application/json";
    let number = |text: &str| text.parse::<usize>().unwrap();
    match words {
        ["echo", ..] | ["slow", _] => whole(200, JSON, echo(received).to_string()),
        ["mirror"] => {
            let mut answer = whole(200, "text/plain", received.body.clone());
            if let Some(kind) = received.header("content-type") {
                answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_str(kind).unwrap());
            }
            answer
        }
        ["status", status] => {
            let body = format!("{{\"status\":{status}}}");
            whole(status.parse().unwrap(), JSON, body)
        }
        ["huge", bytes] => whole(200, "text/plain", "x".repeat(number(bytes))),
        ["huge", bytes, "chunked"] => dripping(Some(number(bytes)), Duration::ZERO, None),
        ["drip"] => dripping(None, DRIP, None),
        ["drip", bytes] => dripping(Some(number(bytes)), DRIP, None),
        ["broken"] => dripping(Some(10), Duration::ZERO, Some(100)),
        ["headers"] => with_headers(),
        ["latin"] => {
            let mut answer = whole(200, "text/plain; charset=iso-8859-1", &b"caf\xe9"[..]);
            answer
                .headers_mut()
                .insert("x-latin-code", HeaderValue::from_bytes(b"caf\xe9").unwrap());
            answer
        }
        ["headers", count, bytes] => {
            let mut answer = whole(200, JSON, "{}");
            for at in 0..number(count) {
                let name = format!("x-{at}").parse::<hyper::header::HeaderName>().unwrap();
                let value = HeaderValue::from_str(&"x".repeat(number(bytes))).unwrap();
                answer.headers_mut().insert(name, value);
            }
            answer
        }
        ["redirect"] => {
            let mut answer = whole(302, JSON, "{}");
            let place = received.header("x-redirect-to").unwrap_or("/echo");
            answer.headers_mut().insert(LOCATION, HeaderValue::from_str(place).unwrap());
            answer
        }
        _ => whole(404, JSON, "{}"),
    }
}

fn echo(received: &Received) -> Value {
    let query = received.target.split_once('?').map(|(_, query)| query);
    json!({
        "method": received.method, "path": received.path(), "query": query,
        "headers": received.headers, "body": received.text(),
    })
}

fn with_headers() -> Response<PspBody> {
    let mut answer = whole(200, "text/plain", "many");
    for (name, value) in [
        ("set-cookie", "a=1; Path=/"),
        ("set-cookie", "b=2; HttpOnly"),
        ("server", "psp"),
        ("x-empty-code", ""),
        ("x-request-id", "7"),
        ("content-encoding", "identity"),
        ("access-control-allow-origin", "*"),
        ("strict-transport-security", "max-age=1"),
        ("cache-control", "public, max-age=3600"),
        ("cdn-cache-control", "max-age=3600"),
        ("surrogate-control", "max-age=3600"),
        ("expires", "Thu, 01 Jan 2099 00:00:00 GMT"),
        ("link", "</evil.js>; rel=preload"),
        ("refresh", "0; url=https://evil.example"),
        ("www-authenticate", "Basic realm=vault"),
        ("x-accel-redirect", "/tokens"),
        ("x-accel-expires", "3600"),
        ("x-content-type-options", "none"),
        ("x-frame-options", "ALLOWALL"),
        ("x-sendfile", "/etc/passwd"),
        ("x-own", "1"),
    ] {
        answer.headers_mut().append(name, HeaderValue::from_static(value));
    }
    answer
}

fn whole(status: u16, kind: &'static str, body: impl Into<Bytes>) -> Response<PspBody> {
    let body = Either::Left(Full::new(body.into()));
    Response::builder().status(status).header(CONTENT_TYPE, kind).body(body).unwrap()
}

/// A body of single bytes with a pause after each. Without a pause, of pieces. With `announced` it
/// breaks at its end.
fn dripping(left: Option<usize>, pause: Duration, announced: Option<u64>) -> Response<PspBody> {
    let body = Dripping { left, pause, announced, pausing: None };
    let kind = "text/plain";
    Response::builder().header(CONTENT_TYPE, kind).body(Either::Right(body)).unwrap()
}

struct Dripping {
    /// `None` without an end.
    left: Option<usize>,
    pause: Duration,
    announced: Option<u64>,
    pausing: Option<Pin<Box<Sleep>>>,
}

impl Body for Dripping {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        const PIECE: usize = 8 * 1024;
        if let Some(pausing) = &mut self.pausing {
            std::task::ready!(pausing.as_mut().poll(cx));
            self.pausing = None;
        }
        if self.left == Some(0) {
            return Poll::Ready(None);
        }
        let piece = if self.pause.is_zero() { PIECE } else { 1 };
        let piece = piece.min(self.left.unwrap_or(usize::MAX));
        if !self.pause.is_zero() {
            self.pausing = Some(Box::pin(sleep(self.pause)));
        }
        self.left = self.left.map(|left| left - piece);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from("x".repeat(piece))))))
    }

    /// hyper breaks the connection of a body that is shorter than it said.
    fn size_hint(&self) -> SizeHint {
        self.announced.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// Counts the bytes inside TLS, and ends the stream at the cut.
struct Cutting<T> {
    inner: T,
    cut: Cut,
    shared: Arc<Shared>,
}

impl<T: AsyncRead + Unpin> AsyncRead for Cutting<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let most = match self.cut {
            Cut::Reading(0) => return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            Cut::Reading(left) => left,
            Cut::Never | Cut::Writing(_) => usize::MAX,
        };
        let mut bytes = vec![0; most.min(buffer.remaining())];
        let mut part = ReadBuf::new(&mut bytes);
        std::task::ready!(Pin::new(&mut self.inner).poll_read(cx, &mut part))?;
        let read = part.filled().len();
        buffer.put_slice(part.filled());
        if let Cut::Reading(left) = &mut self.cut {
            *left -= read;
        }
        self.shared.bytes.fetch_add(read, Ordering::SeqCst);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Cutting<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let most = match self.cut {
            Cut::Writing(0) => return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            Cut::Writing(left) => left.min(bytes.len()),
            Cut::Never | Cut::Reading(_) => bytes.len(),
        };
        let written = std::task::ready!(Pin::new(&mut self.inner).poll_write(cx, &bytes[..most]))?;
        if let Cut::Writing(left) = &mut self.cut {
            *left -= written;
        }
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
