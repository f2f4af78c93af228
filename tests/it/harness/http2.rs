//! The same requests over HTTP/2, so that a test can run over both protocols.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use h2::client::SendRequest;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use crate::harness::answer::Answer;
use crate::harness::contract::{self, Asked};
use crate::harness::request::Request;
use crate::harness::wait::within;

/// Set to `h2`, it makes every vault of the suite answer over HTTP/2, for a run by hand.
const VARIABLE: &str = "STRONGROOM_TEST_PROTOCOL";

/// The protocol of the requests that a test sends by `Vault::send`. Bytes of the test's own making
/// are HTTP/1.1 always.
#[derive(Debug, Clone)]
pub(crate) enum Protocol {
    Http1,
    /// With the number of answers so far.
    Http2(Arc<AtomicUsize>),
}

thread_local! {
    static CHOSEN: RefCell<Option<Protocol>> = const { RefCell::new(None) };
}

impl Protocol {
    /// The protocol for a vault that this thread starts.
    pub(crate) fn of_thread() -> Self {
        let chosen = CHOSEN.with_borrow(Clone::clone);
        chosen.unwrap_or_else(|| match std::env::var_os(VARIABLE) {
            Some(name) if name == "h2" => Self::Http2(Arc::default()),
            _ => Self::Http1,
        })
    }
}

/// For a test of something that only HTTP/1.1 has: its vaults are asked over that.
pub(crate) fn only_http1() {
    CHOSEN.set(Some(Protocol::Http1));
}

/// For a test that ends before it starts a vault.
pub(crate) fn skip_protocol() {
    CHOSEN.set(None);
}

/// Runs a test with vaults that it talks to over HTTP/2.
pub(crate) fn over_http2(test: fn()) {
    let answers = Arc::new(AtomicUsize::new(0));
    CHOSEN.set(Some(Protocol::Http2(Arc::clone(&answers))));
    test();
    let is_skipped = CHOSEN.take().is_none();
    assert!(is_skipped || answers.load(Ordering::Relaxed) > 0, "nothing was answered over HTTP/2");
}

/// Makes tests of the file a second time, over HTTP/2.
macro_rules! again_over_http2 {
    ($($test:ident),+ $(,)?) => {
        mod over_http2 {
            $(
                #[test]
                fn $test() {
                    $crate::harness::over_http2(super::$test);
                }
            )+
        }
    };
}
pub(crate) use again_over_http2;

/// A connection for one request at a time. It is driven only while a request runs.
pub(crate) struct Http2Connection {
    requests: SendRequest<Bytes>,
    // Declared before the runtime that runs it.
    _driver: JoinSet<()>,
    runtime: Runtime,
}

impl Http2Connection {
    pub(crate) fn open(address: SocketAddr, config: &Arc<ClientConfig>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut config = config.as_ref().clone();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let connect = async {
            let tcp = TcpStream::connect(address).await?;
            tcp.set_nodelay(true)?;
            let name = ServerName::from(address.ip());
            let stream = TlsConnector::from(Arc::new(config)).connect(name, tcp).await?;
            assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]), "it speaks HTTP/2");
            h2::client::handshake(stream).await.map_err(io::Error::other)
        };
        let (requests, connection) = runtime.block_on(within("an HTTP/2 connection", connect))?;
        let mut driver = JoinSet::new();
        driver.spawn_on(async move { drop(connection.await) }, runtime.handle());
        Ok(Self { requests, _driver: driver, runtime })
    }

    #[track_caller]
    pub(crate) fn exchange(&mut self, request: &Request, host: &str) -> io::Result<Answer> {
        let requests = self.requests.clone();
        let exchange = within("an answer over HTTP/2", exchange(requests, request, host));
        let answer = self.runtime.block_on(exchange).map_err(io::Error::other)?;
        let body = request.body.clone().unwrap_or_default();
        let (method, target) = (request.method.clone(), request.path.clone());
        contract::check(&Asked { method, target, body }, &answer);
        Ok(answer)
    }
}

async fn exchange(
    requests: SendRequest<Bytes>,
    request: &Request,
    host: &str,
) -> Result<Answer, h2::Error> {
    let (answer, mut stream) = {
        let mut ready = requests.ready().await?;
        ready.send_request(head(request, host), request.body.is_none())?
    };
    if let Some(body) = &request.body {
        // A server that has answered already may have closed the stream.
        stream.send_data(Bytes::from(body.clone()), true).ok();
    }
    let (head, mut body) = answer.await?.into_parts();
    let mut bytes = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        bytes.extend_from_slice(&piece);
        body.flow_control().release_capacity(piece.len())?;
    }
    let headers = head.headers.iter().map(|(name, value)| {
        (String::from(name.as_str()), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    Ok(Answer::new(head.status.as_u16(), headers.collect(), bytes))
}

/// The head, with a length as clients send it. `Host` becomes the authority.
fn head(request: &Request, host: &str) -> hyper::Request<()> {
    let is_host = |name: &str| name.eq_ignore_ascii_case("host");
    let named = request.headers.iter().find(|(name, _)| is_host(name));
    let host = named.map_or(host, |(_, value)| value.as_str());
    let uri = format!("https://{host}{}", request.path);
    let mut head = hyper::Request::builder().method(request.method.as_str()).uri(uri);
    for (name, value) in request.headers.iter().filter(|(name, _)| !is_host(name)) {
        head = head.header(name, value);
    }
    if let Some(body) = &request.body {
        head = head.header("content-length", body.len());
    }
    head.body(()).unwrap_or_else(|error| panic!("{request:?} over HTTP/2: {error}"))
}
