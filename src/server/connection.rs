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
use crate::server::bounds::Bounds;
use crate::server::clients::{ClientAuthorities, ClientVerifiers};
use crate::server::first_request_grace::FirstRequestGrace;
use crate::server::framing::Framing;
use crate::server::header_limits::HeaderLimits;
use crate::server::http2::{self, Http2State, IdleMonitor, MonitorDecision, Runner};
use crate::server::panics;
use crate::server::problem::{self, ProblemReporter, ServerProblem};
use crate::server::refusal_streak::RefusalStreak;
use crate::server::responder::{Responder, ResponseFuture};
use crate::server::stream::Stream;
use crate::server::stream_pool::{PacedBody, StreamPermit, StreamPool};
use crate::server::tasks::{StopSignal, Tasks};

/// What every connection shares.
#[derive(Debug, Clone)]
pub(super) struct Connections {
    pub(super) bounds: Arc<Bounds>,
    pub(super) tasks: Tasks,
    pub(super) refusals: ProblemReporter,
    clients: Option<ClientVerifiers>,
    pool: StreamPool,
    http1: http1::Builder,
}

impl Connections {
    pub(super) fn new(
        bounds: Arc<Bounds>,
        tasks: Tasks,
        refusals: ProblemReporter,
        clients: Option<ClientVerifiers>,
    ) -> Self {
        let http1 = http1_builder(&bounds);
        let pool = StreamPool::new(&bounds);
        Self { bounds, tasks, refusals, clients, pool, http1 }
    }

    /// Serves one connection until it ends. How it ends is the peer's affair: whatever goes wrong
    /// on the way concerns nobody else, and scanners would fill a log with it.
    pub(super) async fn serve<A: Responder>(
        &self,
        socket: TcpStream,
        peer: SocketAddr,
        tls: Arc<ServerConfig>,
        answer: A,
    ) {
        let mut stop = self.tasks.stop_signal();
        let mut grace = FirstRequestGrace::new(self.bounds.first_request_grace_max);
        let Some(stream) = self.handshake(socket, tls, &mut stop, &mut grace).await else {
            self.refusals.traffic.handshakes_failed.add(1);
            return;
        };
        let tls = stream.get_ref().1;
        let authorities =
            self.clients.as_ref().map(|clients| clients.verify(tls.peer_certificates()));
        let from = Peer { address: peer, authorities };
        if tls.alpn_protocol() == Some(b"h2") {
            Box::pin(self.serve_http2(stream, from, answer, stop)).await;
        } else {
            Box::pin(self.serve_http1(stream, from, answer, stop, grace)).await;
        }
    }

    /// `None` if the peer was too slow, did not speak TLS, or a stop does not wait for it.
    async fn handshake(
        &self,
        socket: TcpStream,
        tls: Arc<ServerConfig>,
        stop: &mut StopSignal,
        grace: &mut FirstRequestGrace,
    ) -> Option<TlsStream<TcpStream>> {
        // Answers are written whole, so there is nothing that waiting could gather.
        socket.set_nodelay(true).ok()?;
        let handshake = timeout(self.bounds.handshake_max, TlsAcceptor::from(tls).accept(socket));
        let mut handshake = pin!(handshake);
        poll_fn(|cx| {
            if !stop.poll_is_stopping(cx) || grace.poll_is_waited_for(cx) {
                handshake.as_mut().poll(cx).map(|done| done.ok()?.ok())
            } else {
                Poll::Ready(None)
            }
        })
        .await
    }

    /// Over TLS, or plain for the operator.
    pub(super) async fn serve_http1<A: Responder>(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        peer: Peer,
        answer: A,
        stop: StopSignal,
        grace: FirstRequestGrace,
    ) {
        let limits = HeaderLimits { count_max: self.bounds.headers_count_max, bytes_max: None };
        // Of this connection alone, so that threads do not all count on the one that they share.
        let refusals = Arc::new(self.refusals.clone());
        let reporter = Arc::clone(&refusals);
        let asked = grace.asked();
        let streak = Arc::new(RefusalStreak::new(self.bounds.refusals_max));
        let after = Arc::clone(&streak);
        let service = service_fn(move |request: Request<Incoming>| {
            asked.note();
            streak.begin(|| answer.knows(&request));
            let sent = problem::sent_trace(request.headers());
            let begun = begin(&answer, limits, request, &peer);
            let response = respond(begun, sent, Arc::clone(&refusals));
            respond_http1(response, Arc::clone(&streak))
        });
        let framing = Framing::new(&self.bounds);
        let mut stream = Stream::new(stream, Some(framing), self.bounds.write_max);
        let connection = self.http1.serve_connection(TokioIo::new(&mut stream), service);
        drive(connection, http1::Connection::graceful_shutdown, stop, None, Some(grace)).await;
        self.count_spent(&after);
        if let Some(problem) = stream.take_refusal() {
            self.refuse_http1(&mut stream, problem, &reporter).await;
        }
        stream.linger().await;
    }

    /// Answers a head that hyper was not shown. hyper writes this answer too, to a request made up
    /// here, so that all answers have the same form. Every earlier answer is written by now.
    async fn refuse_http1(
        &self,
        stream: &mut Stream<impl AsyncRead + AsyncWrite + Unpin>,
        problem: ServerProblem,
        reporter: &Arc<ProblemReporter>,
    ) {
        let service = service_fn(|_: Request<Incoming>| async {
            Ok::<_, Infallible>(respond(Err(problem), None, Arc::clone(reporter)).await)
        });
        let made_up = &b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n"[..];
        let io = TokioIo::new(tokio::io::join(made_up, stream));
        // A peer that is gone needs no answer.
        self.http1.serve_connection(io, service).await.ok();
    }

    async fn serve_http2<A: Responder>(
        &self,
        stream: TlsStream<TcpStream>,
        peer: Peer,
        answer: A,
        stop: StopSignal,
    ) {
        let bytes_max = Some(self.bounds.header_bytes_max);
        let limits = HeaderLimits { count_max: self.bounds.headers_count_max, bytes_max };
        let refusals = Arc::new(self.refusals.clone());
        let state = Arc::new(Http2State::new(self.pool.clone(), &self.bounds));
        let runner = Runner::new(self.tasks.clone(), Arc::clone(&state), &self.bounds);
        let monitor = IdleMonitor::new(Arc::clone(&state), &self.bounds);
        let after = Arc::clone(&state);
        let service = service_fn(move |request: Request<Incoming>| {
            let place = state.begin(|| answer.knows(&request));
            let sent = problem::sent_trace(request.headers());
            // A refused request is not looked at, so that sending it again is safe.
            let response = place.as_ref().map(|_| {
                let begun = begin(&answer, limits, request, &peer);
                respond(begun, sent, Arc::clone(&refusals))
            });
            respond_http2(response, place, Arc::clone(&state), Arc::clone(&refusals))
        });
        let stream = Stream::new(stream, None, self.bounds.write_max);
        let connection =
            http2::builder(&self.bounds, runner).serve_connection(TokioIo::new(stream), service);
        drive(
            connection,
            hyper::server::conn::http2::Connection::graceful_shutdown,
            stop,
            Some(monitor),
            // Asked to finish, HTTP/2 still takes what was sent before the peer heard of it.
            None,
        )
        .await;
        self.count_spent(&after.streak);
    }

    fn count_spent(&self, streak: &RefusalStreak) {
        if streak.is_spent() {
            self.refusals.traffic.spent.add(1);
        }
    }
}

/// Who is at the other end.
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    /// Who vouches for it, where that is asked for.
    pub(super) authorities: Option<ClientAuthorities>,
}

fn http1_builder(bounds: &Bounds) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // Runs from the end of an answer too, so it is the deadline of an idle connection.
        .header_read_timeout(bounds.headers_max)
        // [`Framing`] refuses earlier, and its answer has a body.
        .max_header_size(bounds.header_bytes_max.saturating_mul(2))
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
    answer: &impl Responder,
    limits: HeaderLimits,
    mut request: Request<Incoming>,
    peer: &Peer,
) -> Result<ResponseFuture, ServerProblem> {
    limits.admit(&request)?;
    if let Some(authorities) = &peer.authorities {
        request.extensions_mut().insert(authorities.clone());
    }
    panics::call(|| answer.answer(request, peer.address)).map_err(ServerProblem::from)
}

async fn respond(
    begun: Result<ResponseFuture, ServerProblem>,
    sent: Option<HeaderValue>,
    refusals: Arc<ProblemReporter>,
) -> Response<SecretBody> {
    let answered = match begun {
        Ok(work) => panics::catch(work).await.map_err(ServerProblem::from),
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
    streak: Arc<RefusalStreak>,
) -> Result<Response<SecretBody>, Infallible> {
    let mut response = response.await;
    streak.answered(response.status());
    if streak.is_spent() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response)
}

/// The answer keeps the stream's place until it is written. Without a place there is none.
async fn respond_http2(
    response: Option<impl Future<Output = Response<SecretBody>>>,
    place: Option<Arc<StreamPermit>>,
    state: Arc<Http2State>,
    refusals: Arc<ProblemReporter>,
) -> Result<Response<PacedBody<SecretBody>>, h2::Error> {
    let (Some(response), Some(place)) = (response, place) else {
        refusals.traffic.streams_refused.add(1);
        return Err(h2::Reason::REFUSED_STREAM.into());
    };
    let response = response.await;
    state.streak.answered(response.status());
    place.moves();
    Ok(response.map(|body| PacedBody::new(body, place)))
}

/// Runs a connection to its end, and asks it to finish when a stop is asked for, when it is idle or
/// when it was refused too often.
async fn drive<C: Future>(
    connection: C,
    finish: impl Fn(Pin<&mut C>),
    mut stop: StopSignal,
    mut monitor: Option<IdleMonitor>,
    mut grace: Option<FirstRequestGrace>,
) {
    let mut connection = pin!(connection);
    let mut finishing = Finishing::No;
    poll_fn(|cx| {
        loop {
            let stopping = stop.poll_is_stopping(cx);
            let waiting = stopping && grace.as_mut().is_some_and(|it| it.poll_is_waited_for(cx));
            let asked = stopping && !waiting;
            let verdict =
                monitor.as_mut().map_or(MonitorDecision::Keep, |monitor| monitor.poll(cx));
            match (finishing, verdict) {
                (_, MonitorDecision::End) => return Poll::Ready(()),
                (Finishing::No, MonitorDecision::Finish) => {
                    finishing = Finishing::Yes;
                    finish(connection.as_mut());
                }
                (Finishing::No, MonitorDecision::Keep) if asked => {
                    finishing = Finishing::Yes;
                    finish(connection.as_mut());
                }
                (
                    Finishing::No | Finishing::Yes,
                    MonitorDecision::Finish | MonitorDecision::Keep,
                ) => {}
            }
            if connection.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            // The request that it was waited for is here: once more, to make it the last one. So for
            // one that used up the connection's refusals.
            let last = waiting && grace.as_ref().is_some_and(FirstRequestGrace::has_asked);
            let spent =
                finishing == Finishing::No && monitor.as_ref().is_some_and(IdleMonitor::is_spent);
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
