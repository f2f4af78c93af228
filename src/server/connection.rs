//! One connection: handshake, HTTP/1.1 or HTTP/2, and every deadline on the way.
//!
//! Everything that hyper could decide by a default is decided here. Without a timer its deadlines
//! are off, so both builders get one.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::server::ServerConfig;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::server::clients::{Authorities, Vouched};
use crate::server::http2::{self, Idle, Idleness, Streams};
use crate::server::panics;
use crate::server::refusal::Refusal;
use crate::server::stream::{BareRefusals, Stream};
use crate::server::tasks::{Phase, Tasks, Watch};
use crate::server::{Answer, Bounds};

/// What every connection shares.
#[derive(Debug, Clone)]
pub(super) struct Connections {
    pub(super) bounds: Arc<Bounds>,
    pub(super) tasks: Tasks,
    clients: Option<Authorities>,
    http1: http1::Builder,
}

impl Connections {
    pub(super) fn new(bounds: Arc<Bounds>, tasks: Tasks, clients: Option<Authorities>) -> Self {
        let http1 = http1_builder(&bounds);
        Self { bounds, tasks, clients, http1 }
    }

    /// Serves one connection until it ends. How it ends is the peer's affair: whatever goes wrong
    /// on the way concerns nobody else, and scanners would fill a log with it.
    pub(super) async fn serve<A: Answer>(
        &self,
        socket: TcpStream,
        peer: SocketAddr,
        tls: Arc<ServerConfig>,
        answer: A,
    ) {
        let mut watch = self.tasks.watch();
        let Some(stream) = self.handshake(socket, tls, &mut watch).await else {
            return;
        };
        let tls = stream.get_ref().1;
        let vouched = self.clients.as_ref().map(|clients| clients.vouch(tls.peer_certificates()));
        let from = Peer { address: peer, vouched };
        if tls.alpn_protocol() == Some(b"h2") {
            self.serve_http2(stream, from, answer, watch).await;
        } else {
            self.serve_http1(stream, from, answer, watch).await;
        }
    }

    /// `None` if the peer was too slow, did not speak TLS, or a stop was asked for.
    async fn handshake(
        &self,
        socket: TcpStream,
        tls: Arc<ServerConfig>,
        watch: &mut Watch,
    ) -> Option<TlsStream<TcpStream>> {
        // Answers are written whole, so there is nothing that waiting could gather.
        socket.set_nodelay(true).ok()?;
        let handshake = timeout(self.bounds.handshake_max, TlsAcceptor::from(tls).accept(socket));
        let mut handshake = pin!(handshake);
        poll_fn(|cx| match watch.poll_phase(cx) {
            Phase::Running => handshake.as_mut().poll(cx).map(|done| done.ok()?.ok()),
            Phase::Stopping | Phase::Ended => Poll::Ready(None),
        })
        .await
    }

    async fn serve_http1<A: Answer>(
        &self,
        stream: TlsStream<TcpStream>,
        peer: Peer,
        answer: A,
        watch: Watch,
    ) {
        let heads = Heads { count_max: self.bounds.headers_count_max, bytes_max: None };
        let service = service_fn(move |request| respond(begin(&answer, heads, request, &peer)));
        let stream = Stream::new(stream, BareRefusals::Explain, self.bounds.write_max);
        let connection = self.http1.serve_connection(TokioIo::new(stream), service);
        drive(connection, http1::Connection::graceful_shutdown, watch, None).await;
    }

    async fn serve_http2<A: Answer>(
        &self,
        stream: TlsStream<TcpStream>,
        peer: Peer,
        answer: A,
        watch: Watch,
    ) {
        let bytes_max = Some(self.bounds.header_bytes_max);
        let heads = Heads { count_max: self.bounds.headers_count_max, bytes_max };
        let service = service_fn(move |request| respond(begin(&answer, heads, request, &peer)));
        let streams = Streams::new(self.tasks.clone(), self.bounds.h2_stream_max);
        let idle = streams.idle(self.bounds.h2_idle_max);
        let stream = Stream::new(stream, BareRefusals::Pass, self.bounds.write_max);
        let connection =
            http2::builder(&self.bounds, streams).serve_connection(TokioIo::new(stream), service);
        drive(
            connection,
            hyper::server::conn::http2::Connection::graceful_shutdown,
            watch,
            Some(idle),
        )
        .await;
    }
}

/// Who is at the other end.
struct Peer {
    address: SocketAddr,
    /// Who vouches for it, where that is asked for.
    vouched: Option<Vouched>,
}

fn http1_builder(bounds: &Bounds) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // Runs from the end of an answer too, so it is the deadline of an idle connection.
        .header_read_timeout(bounds.headers_max)
        .max_header_size(bounds.header_bytes_max)
        .max_buf_size(bounds.h1_buffer_bytes_max)
        // A client that has sent its request may close its half and still read the answer.
        .half_close(true)
        .keep_alive(true)
        .auto_date_header(true)
        .ignore_invalid_headers(false)
        .pipeline_flush(false);
    // `max_headers` is left alone: setting it moves the parser's table from the stack to the heap
    // for each request. The parser's own 100 is the hard end, `respond` refuses earlier.
    builder
}

/// The headers that a request may have, beyond what the parser has let through.
#[derive(Debug, Clone, Copy)]
struct Heads {
    count_max: usize,
    /// HTTP/1's parser has counted already.
    bytes_max: Option<usize>,
}

impl Heads {
    fn admit(self, request: &Request<Incoming>) -> Result<(), Refusal> {
        if request.headers().len() > self.count_max {
            return Err(Refusal::HeadersTooLarge);
        }
        let Some(bytes_max) = self.bytes_max else {
            return Ok(());
        };
        let headers = request.headers().iter();
        let bytes = headers.fold(request.uri().path().len(), |bytes, (name, value)| {
            bytes.saturating_add(name.as_str().len()).saturating_add(value.len())
        });
        if bytes > bytes_max { Err(Refusal::HeadersTooLarge) } else { Ok(()) }
    }
}

/// Asks for the answer. The future is made here, by reference, so that requests on different
/// threads do not all count on the one answer they share.
fn begin<A: Answer>(
    answer: &A,
    heads: Heads,
    mut request: Request<Incoming>,
    peer: &Peer,
) -> Result<A::Future, Refusal> {
    heads.admit(&request)?;
    if let Some(vouched) = &peer.vouched {
        request.extensions_mut().insert(vouched.clone());
    }
    panics::call(|| answer.answer(request, peer.address)).map_err(Refusal::from)
}

async fn respond<F>(begun: Result<F, Refusal>) -> Result<Response<Full<Bytes>>, Infallible>
where
    F: Future<Output = Response<Full<Bytes>>>,
{
    let refusal = match begun {
        Ok(work) => match panics::catch(work).await {
            Ok(response) => return Ok(response),
            Err(panicked) => Refusal::from(panicked),
        },
        Err(refusal) => refusal,
    };
    Ok(refusal.response())
}

/// Runs a connection to its end, and asks it to finish when a stop is asked for or it is idle.
async fn drive<C: Future>(
    connection: C,
    finish: impl Fn(Pin<&mut C>),
    mut watch: Watch,
    mut idle: Option<Idle>,
) {
    let mut connection = pin!(connection);
    let mut finishing = Finishing::No;
    poll_fn(|cx| {
        let asked = watch.poll_phase(cx) != Phase::Running;
        let idleness = idle.as_mut().map_or(Idleness::Busy, |idle| idle.poll(cx));
        match (finishing, idleness) {
            (_, Idleness::Gone) => return Poll::Ready(()),
            (Finishing::No, Idleness::Idle) => {
                finishing = Finishing::Yes;
                finish(connection.as_mut());
            }
            (Finishing::No, Idleness::Busy) if asked => {
                finishing = Finishing::Yes;
                finish(connection.as_mut());
            }
            (Finishing::No | Finishing::Yes, Idleness::Busy | Idleness::Idle) => {}
        }
        connection.as_mut().poll(cx).map(drop)
    })
    .await;
}

/// Whether the connection was asked to finish; asking twice would begin again.
#[derive(Debug, Clone, Copy)]
enum Finishing {
    No,
    Yes,
}
