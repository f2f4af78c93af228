//! The yardstick: hyper and rustls alone, in a process of their own, answering the bytes that the vault answered first.
//! It never looks at a key, a path below the first segment or a body; it only reads them.

use crate::Outcome;
use crate::client::{Keys, Ready, Target};
use crate::model::{Model, Reply};
use crate::proc::Process;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

pub(crate) struct Bare {
    _process: Process,
    pub(crate) ready: BareReady,
    pub(crate) target: Target,
}

impl Bare {
    /// Starts this program again as the bare server.
    pub(crate) fn start(model: &Model, directory: &Path) -> Outcome<Self> {
        Self::start_under(&[], model, directory)
    }

    pub(crate) fn start_under(tool: &[OsString], model: &Model, directory: &Path) -> Outcome<Self> {
        let (process, ready): (_, BareReady) =
            Process::start_part_under(tool, "--bare", model, directory)?;
        let target = ready.target(&process, &model.key)?;
        Ok(Self { _process: process, ready, target })
    }
}

/// The line that a bare server prints when it is ready.
#[derive(Deserialize, Serialize)]
pub(crate) struct BareReady {
    pub(crate) url: String,
    pub(crate) ca: PathBuf,
}

impl BareReady {
    pub(crate) fn target(&self, process: &Process, key: &str) -> Outcome<Target> {
        let keys = Keys { private: key.to_owned(), management: String::new() };
        Target::new(Ready { url: self.url.clone(), ca: self.ca.clone(), keys }, process.pid())
    }
}

/// The bare server's own main function: runs until its standard input closes.
pub(crate) fn serve(model: &Path) -> Outcome<()> {
    let replies = Arc::new(Replies::new(&serde_json::from_slice(&std::fs::read(model)?)?)?);
    let ca = model.with_file_name("bare-ca.pem");
    let acceptor = acceptor(&ca)?;
    run_until_parent_ends(ca, |listener| {
        accept(listener, acceptor, move |request| answer(request, Arc::clone(&replies)))
    })
}

/// Prints the ready line and serves until the standard input closes.
pub(crate) fn run_until_parent_ends<F: Future<Output = Outcome<()>>>(
    ca: PathBuf,
    accept: impl FnOnce(TcpListener) -> F,
) -> Outcome<()> {
    let (closed, parent_gone) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        drop(std::io::stdin().read_to_end(&mut Vec::new()));
        drop(closed);
    });
    tokio::runtime::Runtime::new()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("https://{}", listener.local_addr()?);
        println!("{}", serde_json::to_string(&BareReady { url, ca })?);
        std::io::stdout().flush()?;
        tokio::select! {
            result = accept(listener) => result,
            _ = parent_gone => Ok(()),
        }
    })
}

/// Answers the requests of every connection.
pub(crate) async fn accept<F>(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    answer: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static,
) -> Outcome<()>
where
    F: Future<Output = Result<Response<Full<Bytes>>, hyper::Error>> + Send + 'static,
{
    loop {
        let (tcp, _) = listener.accept().await?;
        tcp.set_nodelay(true)?;
        let (acceptor, answer) = (acceptor.clone(), answer.clone());
        tokio::spawn(async move {
            if let Ok(stream) = acceptor.accept(tcp).await {
                // A client that leaves ends its connection with an error here, and that is how every slice ends.
                drop(serve_connection(stream, answer).await);
            }
        });
    }
}

pub(crate) async fn serve_connection<F>(
    stream: TlsStream<TcpStream>,
    answer: impl Fn(Request<Incoming>) -> F,
) -> hyper::Result<()>
where
    F: Future<Output = Result<Response<Full<Bytes>>, hyper::Error>>,
{
    let builder = hyper::server::conn::http1::Builder::new();
    builder.serve_connection(TokioIo::new(stream), service_fn(answer)).await
}

async fn answer(
    request: Request<Incoming>,
    replies: Arc<Replies>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    if request.method() == Method::POST {
        request.into_body().collect().await?;
        return Ok(replies.create.response());
    }
    if request.uri().path().starts_with("/v2/") {
        return Ok(replies.page.response());
    }
    Ok(replies.get.response())
}

struct Replies {
    create: Prepared,
    get: Prepared,
    page: Prepared,
}

impl Replies {
    fn new(model: &Model) -> Outcome<Self> {
        Ok(Self {
            create: Prepared::new(&model.create)?,
            get: Prepared::new(&model.get)?,
            page: Prepared::new(&model.page)?,
        })
    }
}

pub(crate) struct Prepared {
    status: StatusCode,
    headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Prepared {
    pub(crate) fn new(reply: &Reply) -> Outcome<Self> {
        let mut headers = HeaderMap::new();
        for (name, value) in &reply.headers {
            headers.append(name.parse::<HeaderName>()?, value.parse::<HeaderValue>()?);
        }
        let status = StatusCode::from_u16(reply.status)?;
        Ok(Self { status, headers, body: Bytes::from(reply.body.clone()) })
    }

    pub(crate) fn response(&self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body.clone()));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers.clone();
        response
    }
}

/// ECDSA P-256, as the vault's own development certificate; handshakes lie outside the measured windows anyway.
pub(crate) fn acceptor(ca: &Path) -> Outcome<TlsAcceptor> {
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()])?.self_signed(&key)?;
    std::fs::write(ca, certificate.pem())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::try_from(key.serialize_der())?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
