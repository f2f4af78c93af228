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

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::server::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::secret::SecretBody;
use crate::server::clients::{Authorities, Vouched};
use crate::server::conduct::Conduct;
use crate::server::flight::{Flight, Paced, Place};
use crate::server::heads::Heads;
use crate::server::http2::{self, Runner, Seen, Verdict, Vigil};
use crate::server::newcomer::Newcomer;
use crate::server::panics;
use crate::server::refusal::{self, Refusal, Refusals};
use crate::server::stream::{BareRefusals, Stream};
use crate::server::tasks::{Phase, Tasks, Watch};
use crate::server::{Answer, Bounds, Work};

/// What every connection shares.
#[derive(Debug, Clone)]
pub(super) struct Connections {
    pub(super) bounds: Arc<Bounds>,
    pub(super) tasks: Tasks,
    pub(super) refusals: Refusals,
    clients: Option<Authorities>,
    flight: Flight,
    http1: http1::Builder,
}

impl Connections {
    pub(super) fn new(
        bounds: Arc<Bounds>,
        tasks: Tasks,
        refusals: Refusals,
        clients: Option<Authorities>,
    ) -> Self {
        let http1 = http1_builder(&bounds);
        let flight = Flight::new(&bounds);
        Self { bounds, tasks, refusals, clients, flight, http1 }
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
        let mut newcomer = Newcomer::new(self.bounds.newcomer_max);
        let Some(stream) = self.handshake(socket, tls, &mut watch, &mut newcomer).await else {
            self.refusals.traffic.handshakes_failed.add(1);
            return;
        };
        let tls = stream.get_ref().1;
        let vouched = self.clients.as_ref().map(|clients| clients.vouch(tls.peer_certificates()));
        let from = Peer { address: peer, vouched };
        if tls.alpn_protocol() == Some(b"h2") {
            Box::pin(self.serve_http2(stream, from, answer, watch)).await;
        } else {
            Box::pin(self.serve_http1(stream, from, answer, watch, newcomer)).await;
        }
    }

    /// `None` if the peer was too slow, did not speak TLS, or a stop does not wait for it.
    async fn handshake(
        &self,
        socket: TcpStream,
        tls: Arc<ServerConfig>,
        watch: &mut Watch,
        newcomer: &mut Newcomer,
    ) -> Option<TlsStream<TcpStream>> {
        // Answers are written whole, so there is nothing that waiting could gather.
        socket.set_nodelay(true).ok()?;
        let handshake = timeout(self.bounds.handshake_max, TlsAcceptor::from(tls).accept(socket));
        let mut handshake = pin!(handshake);
        poll_fn(|cx| {
            let goes_on = match watch.poll_phase(cx) {
                Phase::Running => true,
                Phase::Stopping => newcomer.poll_is_waited_for(cx),
                Phase::Ended => false,
            };
            if goes_on {
                handshake.as_mut().poll(cx).map(|done| done.ok()?.ok())
            } else {
                Poll::Ready(None)
            }
        })
        .await
    }

    /// Over TLS, or plain for the operator.
    pub(super) async fn serve_http1<A: Answer>(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        peer: Peer,
        answer: A,
        watch: Watch,
        newcomer: Newcomer,
    ) {
        let heads = Heads { count_max: self.bounds.headers_count_max, bytes_max: None };
        // Of this connection alone, so that threads do not all count on the one that they share.
        let refusals = Arc::new(self.refusals.clone());
        let bare = BareRefusals::Explain(Arc::clone(&refusals));
        let asked = newcomer.asked();
        let conduct = Arc::new(Conduct::new(self.bounds.refusals_max));
        let after = Arc::clone(&conduct);
        let service = service_fn(move |request: Request<Incoming>| {
            asked.note();
            conduct.begin(|| answer.knows(&request));
            let sent = refusal::sent_trace(request.headers());
            let begun = begin(&answer, heads, request, &peer);
            let response = respond(begun, sent, Arc::clone(&refusals));
            respond_http1(response, Arc::clone(&conduct))
        });
        let stream = Stream::new(stream, bare, self.bounds.write_max);
        let connection = self.http1.serve_connection(TokioIo::new(stream), service);
        drive(connection, http1::Connection::graceful_shutdown, watch, None, Some(newcomer)).await;
        self.count_spent(&after);
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
        let refusals = Arc::new(self.refusals.clone());
        let seen = Arc::new(Seen::new(self.flight.clone(), &self.bounds));
        let runner = Runner::new(self.tasks.clone(), Arc::clone(&seen), &self.bounds);
        let vigil = Vigil::new(Arc::clone(&seen), &self.bounds);
        let after = Arc::clone(&seen);
        let service = service_fn(move |request: Request<Incoming>| {
            let place = seen.begin(|| answer.knows(&request));
            let sent = refusal::sent_trace(request.headers());
            // A refused request is not looked at, so that sending it again is safe.
            let response = place.as_ref().map(|_| {
                let begun = begin(&answer, heads, request, &peer);
                respond(begun, sent, Arc::clone(&refusals))
            });
            respond_http2(response, place, Arc::clone(&seen), Arc::clone(&refusals))
        });
        let stream = Stream::new(stream, BareRefusals::Pass, self.bounds.write_max);
        let connection =
            http2::builder(&self.bounds, runner).serve_connection(TokioIo::new(stream), service);
        drive(
            connection,
            hyper::server::conn::http2::Connection::graceful_shutdown,
            watch,
            Some(vigil),
            // Asked to finish, HTTP/2 still takes what was sent before the peer heard of it.
            None,
        )
        .await;
        self.count_spent(&after.conduct);
    }

    fn count_spent(&self, conduct: &Conduct) {
        if conduct.is_spent() {
            self.refusals.traffic.spent.add(1);
        }
    }
}

/// Who is at the other end.
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    /// Who vouches for it, where that is asked for.
    pub(super) vouched: Option<Vouched>,
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

/// Asks for the answer. The future is made here, by reference, so that requests on different
/// threads do not all count on the one answer they share.
fn begin(
    answer: &impl Answer,
    heads: Heads,
    mut request: Request<Incoming>,
    peer: &Peer,
) -> Result<Work, Refusal> {
    heads.admit(&request)?;
    if let Some(vouched) = &peer.vouched {
        request.extensions_mut().insert(vouched.clone());
    }
    panics::call(|| answer.answer(request, peer.address)).map_err(Refusal::from)
}

async fn respond(
    begun: Result<Work, Refusal>,
    sent: Option<HeaderValue>,
    refusals: Arc<Refusals>,
) -> Response<SecretBody> {
    let answered = match begun {
        Ok(work) => panics::catch(work).await.map_err(Refusal::from),
        Err(refusal) => Err(refusal),
    };
    let mut response =
        answered.unwrap_or_else(|refusal| refusal.response(&refusals.note(refusal, sent.as_ref())));
    refusals.hsts.guard(&mut response);
    response
}

/// The last answer of a connection says that it is.
async fn respond_http1(
    response: impl Future<Output = Response<SecretBody>>,
    conduct: Arc<Conduct>,
) -> Result<Response<SecretBody>, Infallible> {
    let mut response = response.await;
    conduct.answered(response.status());
    if conduct.is_spent() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response)
}

/// The answer keeps the stream's place until it is written. Without a place there is none.
async fn respond_http2(
    response: Option<impl Future<Output = Response<SecretBody>>>,
    place: Option<Arc<Place>>,
    seen: Arc<Seen>,
    refusals: Arc<Refusals>,
) -> Result<Response<Paced<SecretBody>>, h2::Error> {
    let (Some(response), Some(place)) = (response, place) else {
        refusals.traffic.streams_refused.add(1);
        return Err(h2::Reason::REFUSED_STREAM.into());
    };
    let response = response.await;
    seen.conduct.answered(response.status());
    place.moves();
    Ok(response.map(|body| Paced::new(body, place)))
}

/// Runs a connection to its end, and asks it to finish when a stop is asked for, when it is idle or
/// when it was refused too often.
async fn drive<C: Future>(
    connection: C,
    finish: impl Fn(Pin<&mut C>),
    mut watch: Watch,
    mut vigil: Option<Vigil>,
    mut newcomer: Option<Newcomer>,
) {
    let mut connection = pin!(connection);
    let mut finishing = Finishing::No;
    poll_fn(|cx| {
        loop {
            let stopping = watch.poll_phase(cx) != Phase::Running;
            let waiting = stopping && newcomer.as_mut().is_some_and(|it| it.poll_is_waited_for(cx));
            let asked = stopping && !waiting;
            let verdict = vigil.as_mut().map_or(Verdict::Keep, |vigil| vigil.poll(cx));
            match (finishing, verdict) {
                (_, Verdict::End) => return Poll::Ready(()),
                (Finishing::No, Verdict::Finish) => {
                    finishing = Finishing::Yes;
                    finish(connection.as_mut());
                }
                (Finishing::No, Verdict::Keep) if asked => {
                    finishing = Finishing::Yes;
                    finish(connection.as_mut());
                }
                (Finishing::No | Finishing::Yes, Verdict::Finish | Verdict::Keep) => {}
            }
            if connection.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            // The request that it was waited for is here: once more, to make it the last one. So for
            // one that used up the connection's refusals.
            let last = waiting && newcomer.as_ref().is_some_and(Newcomer::has_asked);
            let spent = finishing == Finishing::No && vigil.as_ref().is_some_and(Vigil::is_spent);
            if !last && !spent {
                return Poll::Pending;
            }
        }
    })
    .await;
}

/// Whether the connection was asked to finish; asking twice would begin again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finishing {
    No,
    Yes,
}
