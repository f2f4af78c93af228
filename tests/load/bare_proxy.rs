//! The yardstick of the proxy: hyper and rustls alone, in a process of their own, passing each request on to one
//! destination. Each connection of a client has one to the destination, and nothing is looked at.

use crate::Outcome;
use crate::bare::{BareReady, acceptor, run_until_parent_ends, serve_connection};
use crate::client::{Target, connector};
use crate::proc::Process;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio_rustls::{TlsAcceptor, TlsConnector};

pub(crate) struct BareProxy {
    _process: Process,
    pub(crate) target: Target,
}

impl BareProxy {
    /// Starts this program again as a proxy to this destination.
    pub(crate) fn start(destination: &BareReady, key: &str, directory: &Path) -> Outcome<Self> {
        let (process, ready): (_, BareReady) =
            Process::start_part("--bare-proxy", destination, directory)?;
        let target = ready.target(&process, key)?;
        Ok(Self { _process: process, target })
    }
}

pub(crate) fn serve(destination: &Path) -> Outcome<()> {
    let upstream: BareReady = serde_json::from_slice(&std::fs::read(destination)?)?;
    let upstream = Arc::new(Upstream::new(&upstream)?);
    let ca = destination.with_file_name("bare-proxy-ca.pem");
    let acceptor = acceptor(&ca)?;
    run_until_parent_ends(ca, |listener| accept(listener, acceptor, upstream))
}

struct Upstream {
    address: SocketAddr,
    host: HeaderValue,
    tls: TlsConnector,
}

impl Upstream {
    fn new(ready: &BareReady) -> Outcome<Self> {
        let host = ready.url.strip_prefix("https://").ok_or("the destination is not https")?;
        Ok(Self { address: host.parse()?, host: host.parse()?, tls: connector(&ready.ca)? })
    }

    async fn connect(&self) -> Outcome<SendRequest<Full<Bytes>>> {
        let tcp = TcpStream::connect(self.address).await?;
        tcp.set_nodelay(true)?;
        let stream = self.tls.connect(ServerName::from(self.address.ip()), tcp).await?;
        let (sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }
}

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    upstream: Arc<Upstream>,
) -> Outcome<()> {
    loop {
        let (tcp, _) = listener.accept().await?;
        tcp.set_nodelay(true)?;
        let (acceptor, upstream) = (acceptor.clone(), Arc::clone(&upstream));
        tokio::spawn(async move {
            let (Ok(stream), Ok(sender)) = (acceptor.accept(tcp).await, upstream.connect().await)
            else {
                return;
            };
            let sender = Arc::new(Mutex::new(sender));
            let host = upstream.host.clone();
            let answer = move |request| pass_on(request, Arc::clone(&sender), host.clone());
            drop(serve_connection(stream, answer).await);
        });
    }
}

/// Reads the whole body and the whole answer, as the vault does.
async fn pass_on(
    request: Request<Incoming>,
    sender: Arc<Mutex<SendRequest<Full<Bytes>>>>,
    host: HeaderValue,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (mut head, body) = request.into_parts();
    head.headers.insert(HOST, host);
    let body = body.collect().await?.to_bytes();
    let request = Request::from_parts(head, Full::new(body));
    let response = sender.lock().await.send_request(request).await?;
    let (head, body) = response.into_parts();
    Ok(Response::from_parts(head, Full::new(body.collect().await?.to_bytes())))
}
