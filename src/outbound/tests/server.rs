//! The tests' own destination: TLS on loopback, HTTP/1.1 by hand so that it can break anywhere, and
//! HTTP/2 by hyper.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::server::tasks::Tasks;

pub(super) struct Ca {
    pub(super) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Ca {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// A certificate for these names and its key, in one text.
    pub(super) fn issue(&self, names: &[&str]) -> String {
        let names: Vec<_> = names.iter().map(|name| String::from(*name)).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        params.signed_by(&key, &self.issuer).unwrap().pem() + &key.serialize_pem()
    }

    pub(super) fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.pem.as_bytes()).unwrap()).unwrap();
        Arc::new(roots)
    }
}

/// The reaction of the server to a request over HTTP/1.1.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// Reads the whole request, writes these bytes and waits for the next request.
    Write(String),
    /// As `Write`, then closes the connection.
    WriteAndClose(String),
    /// Closes after this number of bytes of the request.
    ReadAndClose(usize),
    /// Reads the whole request and does not answer.
    Silence,
    Deaf,
}

pub(super) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

type Acting = Box<dyn Fn(&Asked) -> Act + Send + Sync>;

/// A request by its number on its connection, both from 0. `text` is empty before it was read.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) connection: usize,
    pub(super) number: usize,
    pub(super) text: String,
}

pub(super) struct Server {
    pub(super) port: u16,
    state: Arc<State>,
}

struct State {
    acting: Acting,
    asked: Mutex<Vec<Asked>>,
    connections: AtomicUsize,
    bytes: AtomicUsize,
}

#[derive(Clone)]
struct TestExecutor(Tasks);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for TestExecutor {
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}

impl Server {
    /// `alpn` are the offered protocols; with `clients`, clients need a certificate of that
    /// authority.
    pub(super) async fn start(
        ca: &Ca,
        alpn: &[&str],
        clients: Option<&Ca>,
        acting: impl Fn(&Asked) -> Act + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            acting: Box::new(acting),
            asked: Mutex::default(),
            connections: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
        });
        let acceptor = TlsAcceptor::from(config(ca, alpn, clients));
        let tasks = Tasks::new();
        tasks.clone().spawn({
            let state = Arc::clone(&state);
            async move {
                while let Ok((socket, _)) = listener.accept().await {
                    let (acceptor, state) = (acceptor.clone(), Arc::clone(&state));
                    let inner = tasks.clone();
                    tasks.spawn(async move {
                        serve(socket, acceptor, state, inner).await;
                    });
                }
            }
        });
        Self { port, state }
    }

    pub(super) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    pub(super) fn bytes(&self) -> usize {
        self.state.bytes.load(Ordering::SeqCst)
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }
}

fn config(ca: &Ca, alpn: &[&str], clients: Option<&Ca>) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(clients) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(clients.roots(), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let pem = ca.issue(&["localhost", "psp.example", "127.0.0.1"]);
    let chain = vec![CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).unwrap();
    let mut config = builder.with_single_cert(chain, key).unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config)
}

async fn serve(socket: TcpStream, acceptor: TlsAcceptor, state: Arc<State>, tasks: Tasks) {
    let Ok(stream) = acceptor.accept(socket).await else { return };
    let connection = state.connections.fetch_add(1, Ordering::SeqCst);
    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
        serve_http2(stream, connection, state, tasks).await;
    } else {
        serve_http1(stream, connection, &state).await;
    }
}

async fn serve_http1(
    mut stream: TlsStream<TcpStream>,
    connection: usize,
    state: &State,
) -> Option<()> {
    for number in 0.. {
        let act = (state.acting)(&Asked { connection, number, text: String::new() });
        if matches!(act, Act::Deaf) {
            std::future::pending::<()>().await;
        }
        let most = if let Act::ReadAndClose(most) = act { most } else { usize::MAX };
        let mut text = Vec::new();
        while text.len() < most && !is_whole(&text) {
            let byte = stream.read_u8().await.ok()?;
            state.bytes.fetch_add(1, Ordering::SeqCst);
            text.push(byte);
        }
        let asked = Asked { connection, number, text: String::from_utf8(text).unwrap() };
        if matches!(act, Act::ReadAndClose(_)) {
            return None;
        }
        state.asked.lock().unwrap().push(asked.clone());
        match (state.acting)(&asked) {
            Act::Write(bytes) => stream.write_all(bytes.as_bytes()).await.ok()?,
            Act::WriteAndClose(bytes) => {
                stream.write_all(bytes.as_bytes()).await.ok()?;
                return stream.shutdown().await.ok();
            }
            Act::ReadAndClose(_) => return None,
            Act::Silence | Act::Deaf => std::future::pending().await,
        }
        stream.flush().await.ok()?;
    }
    None
}

/// Returns whether the text has a head and a body of the announced length.
fn is_whole(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.is_none_or(|length| body.len() >= length.parse().unwrap())
}

async fn serve_http2(
    stream: TlsStream<TcpStream>,
    connection: usize,
    state: Arc<State>,
    tasks: Tasks,
) {
    let act = (state.acting)(&Asked { connection, number: 0, text: String::new() });
    if matches!(act, Act::Deaf) {
        std::future::pending::<()>().await;
    }
    let service = service_fn(move |request: Request<Incoming>| {
        let state = Arc::clone(&state);
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let text = format!("{} {}\n{:?}\n{body:?}", head.method, head.uri, head.headers);
            let number = state.asked.lock().unwrap().len();
            let asked = Asked { connection, number, text };
            state.asked.lock().unwrap().push(asked.clone());
            match (state.acting)(&asked) {
                Act::Write(text) | Act::WriteAndClose(text) => {
                    let body = text.split_once("\r\n\r\n").unwrap().1.to_owned();
                    Ok(Response::new(Full::new(Bytes::from(body))))
                }
                Act::Silence | Act::Deaf => std::future::pending().await,
                Act::ReadAndClose(_) => Err(std::io::Error::other("closed")),
            }
        }
    });
    let builder = http2::Builder::new(TestExecutor(tasks));
    builder.serve_connection(TokioIo::new(stream), service).await.ok();
}
