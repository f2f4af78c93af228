//! One connection: handshake, HTTP/1.1 or HTTP/2, and all their deadlines.
//!
//! Every setting of hyper is set here instead of left at its default. Without a timer hyper's
//! deadlines are off, so both builders get one.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, CONTENT_LENGTH, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::server::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::domain::shares::Claimant;
use crate::secret::SecretBody;
use crate::server::bounds::Bounds;
use crate::server::clients::{ClientAuthorities, ClientSubject, ClientVerifiers};
use crate::server::first_request_grace::FirstRequestGrace;
use crate::server::frame_budget::FrameBudget;
use crate::server::framing::Framing;
use crate::server::head_timer::HeadTimer;
use crate::server::header_limits::{HeaderLimits, KnownHost};
use crate::server::http2::{self, Http2State, IdleMonitor, MonitorDecision, Runner};
use crate::server::panics;
use crate::server::permits::{Permit, RequestInFlight};
use crate::server::plain_request::{self, is_plain_request};
use crate::server::problem::{ProblemContext, ProblemReporter, ServerProblem};
use crate::server::refusal_streak::RefusalStreak;
use crate::server::responder::{Responder, ResponseFuture};
use crate::server::stream::Stream;
use crate::server::stream_pool::{PacedBody, StreamPermit, StreamPool};
use crate::server::tasks::{StopSignal, Tasks};

/// State that all connections share.
#[derive(Debug, Clone)]
pub(super) struct Connections {
    pub(super) bounds: Arc<Bounds>,
    pub(super) tasks: Tasks,
    pub(super) refusals: ProblemReporter,
    clients: Option<ClientVerifiers>,
    pool: Arc<StreamPool>,
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
        let pool = Arc::new(StreamPool::new(&bounds));
        Self { bounds, tasks, refusals, clients, pool, http1 }
    }

    /// Serves one connection until it ends. Connection errors are not logged: scanners would flood
    /// the log.
    pub(super) async fn serve<A: Responder>(
        &self,
        socket: TcpStream,
        peer: SocketAddr,
        tls: Arc<ServerConfig>,
        answer: A,
        permit: &Arc<Permit>,
    ) {
        let mut stop = self.tasks.stop_signal();
        let mut grace = FirstRequestGrace::new(self.bounds.first_request_grace_max);
        let Some(stream) = self.handshake(socket, tls, &mut stop, &mut grace).await else {
            self.refusals.traffic.handshakes_failed.add(1);
            return;
        };
        permit.secured();
        let tls = stream.get_ref().1;
        let authorities =
            self.clients.as_ref().map(|clients| clients.verify(tls.peer_certificates()));
        let subject = self.clients.as_ref().map(|_| ClientSubject::read(tls.peer_certificates()));
        // A client certificate counts as a known key.
        permit.show(|| authorities.as_ref().map(|_| Claimant::Certified(peer.ip())));
        let from = Peer { authorities, subject, ..Peer::of(peer, permit) };
        if tls.alpn_protocol() == Some(b"h2") {
            Box::pin(self.serve_http2(stream, from, answer, stop)).await;
        } else {
            Box::pin(self.serve_http1(stream, from, answer, stop, grace)).await;
        }
    }

    /// Returns `None` if the peer was too slow, did not speak TLS, or a drain does not wait for it.
    async fn handshake(
        &self,
        socket: TcpStream,
        tls: Arc<ServerConfig>,
        stop: &mut StopSignal,
        grace: &mut FirstRequestGrace,
    ) -> Option<TlsStream<TcpStream>> {
        // Answers are written whole, so delaying small writes would only cost time.
        socket.set_nodelay(true).ok()?;
        let handshake = async {
            if is_plain_request(&socket).await {
                plain_request::refuse(socket).await;
                return None;
            }
            TlsAcceptor::from(tls).accept(socket).await.ok()
        };
        let mut handshake = pin!(timeout(self.bounds.handshake_max, handshake));
        poll_fn(|cx| {
            if !stop.poll_is_stopping(cx) || grace.poll_is_waited_for(cx) {
                handshake.as_mut().poll(cx).map(|done| done.ok()?)
            } else {
                Poll::Ready(None)
            }
        })
        .await
    }

    /// Serves HTTP/1 over TLS, or in plain text for the operator.
    pub(super) async fn serve_http1<A: Responder>(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        peer: Peer,
        answer: A,
        stop: StopSignal,
        grace: FirstRequestGrace,
    ) {
        let limits = HeaderLimits { count_max: self.bounds.headers_count_max, bytes_max: None };
        // A copy for this connection, so that threads do not contend for one reference count.
        let refusals = Arc::new(self.refusals.of_connection(peer.address));
        let reporter = Arc::clone(&refusals);
        let begun = Arc::clone(&grace.begun);
        let refusal_streak = Arc::new(RefusalStreak::new(self.bounds.refusals_max));
        let after = Arc::clone(&refusal_streak);
        let service = service_fn(move |request: Request<Incoming>| {
            begun.store(true, Ordering::Relaxed);
            let claimant = || peer.claimant(&answer, &request);
            peer.show(claimant);
            refusal_streak.begin(|| claimant().tenant().is_some());
            let context = ProblemContext::of(request.headers());
            let in_flight = peer.permit.begin();
            let work = begin(&answer, limits, request, &peer);
            let response = respond(work, context, Arc::clone(&refusals), in_flight);
            respond_http1(response, Arc::clone(&refusal_streak))
        });
        let framing = Framing::new(&self.bounds);
        let mut stream = Stream::new(stream, Some(framing), self.bounds.write_max);
        let mut http1 = self.http1.clone();
        http1.timer(HeadTimer::default());
        let connection = http1.serve_connection(TokioIo::new(&mut stream), service);
        drive(connection, http1::Connection::graceful_shutdown, stop, None, Some(grace)).await;
        self.count_spent(&after);
        if let Some(problem) = stream.take_refusal() {
            Box::pin(self.refuse_http1(&mut stream, problem, &reporter)).await;
        }
        stream.linger().await;
    }

    /// Answers a head that was withheld from hyper. hyper writes this answer too, to a request made
    /// up here, so that all answers have the same form. All earlier answers have been written.
    async fn refuse_http1(
        &self,
        stream: &mut Stream<impl AsyncRead + AsyncWrite + Unpin>,
        problem: ServerProblem,
        reporter: &Arc<ProblemReporter>,
    ) {
        let service = service_fn(|_: Request<Incoming>| async {
            let context = ProblemContext::unknown();
            Ok::<_, Infallible>(respond(Err(problem), context, Arc::clone(reporter), None).await)
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
        let refusals = Arc::new(self.refusals.of_connection(peer.address));
        let state = Arc::new(Http2State::new(Arc::clone(&self.pool), &self.bounds));
        let runner = Runner::new(self.tasks.clone(), Arc::clone(&state), &self.bounds);
        let monitor = IdleMonitor::new(Arc::clone(&state), &self.bounds);
        let after = Arc::clone(&state);
        let service = service_fn(move |request: Request<Incoming>| {
            let claimant = || peer.claimant(&answer, &request);
            peer.show(claimant);
            let place = state.begin(claimant);
            let context = ProblemContext::of(request.headers());
            let is_head = request.method() == Method::HEAD;
            // A refused request is not processed, so the client may send it again.
            let response = place.as_ref().map(|_| {
                let in_flight = peer.permit.begin();
                let begun = begin(&answer, limits, request, &peer);
                let response = respond(begun, context, Arc::clone(&refusals), in_flight);
                async move { if is_head { without_body(response.await) } else { response.await } }
            });
            respond_http2(response, place, Arc::clone(&state), Arc::clone(&refusals))
        });
        let budget = FrameBudget::new(&self.bounds, after.served.clone());
        let mut stream = Stream::new(stream, None, self.bounds.write_max).with_budget(budget);
        let connection = http2::builder(&self.bounds, runner)
            .serve_connection(TokioIo::new(&mut stream), service);
        drive(
            connection,
            hyper::server::conn::http2::Connection::graceful_shutdown,
            stop,
            Some(monitor),
            // HTTP/2 needs no grace: after GOAWAY it still accepts requests that were sent before.
            None,
        )
        .await;
        self.count_spent(&after.streak);
        if stream.is_flooded() {
            self.refusals.traffic.spent.add(1);
            stream.say_goodbye().await;
        }
    }

    fn count_spent(&self, streak: &RefusalStreak) {
        if streak.is_spent() {
            self.refusals.traffic.spent.add(1);
        }
    }
}

pub(super) struct Peer {
    pub(super) address: SocketAddr,
    /// The authorities that signed the peer's certificate, if the listener requires one.
    pub(super) authorities: Option<ClientAuthorities>,
    pub(super) subject: Option<Arc<ClientSubject>>,
    pub(super) permit: Arc<Permit>,
    pub(super) host: KnownHost,
}

impl Peer {
    /// Without a certificate.
    pub(super) fn of(address: SocketAddr, permit: &Arc<Permit>) -> Self {
        let (permit, host) = (Arc::clone(permit), KnownHost::default());
        Self { address, authorities: None, subject: None, permit, host }
    }

    fn claimant(&self, answer: &impl Responder, request: &Request<Incoming>) -> Claimant {
        match self.authorities {
            Some(_) => Claimant::Certified(self.address.ip()),
            None => answer.claimant(request, self.address),
        }
    }

    fn show(&self, claimant: impl FnOnce() -> Claimant) {
        self.permit.show(|| Some(claimant()).filter(|it| it.keyed().is_some()));
    }
}

fn http1_builder(bounds: &Bounds) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // It also starts after an answer, so it is the deadline of an idle connection.
        .header_read_timeout(bounds.headers_max)
        // [`Framing`] refuses earlier, and its answer has a body.
        .max_header_size(bounds.header_bytes_max.saturating_mul(2))
        .max_buf_size(bounds.h1_buffer_bytes_max)
        // A client may close its sending half after the request and still read the answer.
        .half_close(true)
        .keep_alive(true)
        .auto_date_header(true)
        .ignore_invalid_headers(false)
        .pipeline_flush(false);
    // `max_headers` is not set: with it the parser allocates its table on the heap for each
    // request. Its default is 100, and `HeaderLimits` refuses earlier.
    builder
}

/// Starts the answer. Takes the responder by reference, so that threads do not contend for one
/// reference count.
fn begin(
    answer: &impl Responder,
    limits: HeaderLimits,
    mut request: Request<Incoming>,
    peer: &Peer,
) -> Result<ResponseFuture, ServerProblem> {
    limits.admit(&request, &peer.host)?;
    if let Some(authorities) = &peer.authorities {
        request.extensions_mut().insert(authorities.clone());
    }
    if let Some(subject) = &peer.subject {
        request.extensions_mut().insert(Arc::clone(subject));
    }
    panics::call(|| answer.answer(request, peer.address)).map_err(ServerProblem::from)
}

async fn respond(
    begun: Result<ResponseFuture, ServerProblem>,
    context: ProblemContext,
    refusals: Arc<ProblemReporter>,
    in_flight: Option<RequestInFlight>,
) -> Response<SecretBody> {
    let answered = match begun {
        Ok(work) => panics::catch(work).await.map_err(ServerProblem::from),
        Err(refusal) => Err(refusal),
    };
    let mut response = answered.unwrap_or_else(|refusal| refusals.response(refusal, &context));
    refusals.hsts.guard(&mut response);
    match in_flight {
        Some(in_flight) => response.map(|body| body.holding(in_flight)),
        None => response,
    }
}

/// The last answer of a connection has `Connection: close`.
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

/// The answer to a HEAD request: the length of the body without the body. hyper leaves the body out
/// by itself only over HTTP/1.
fn without_body(mut response: Response<SecretBody>) -> Response<SecretBody> {
    let bytes = std::mem::take(response.body_mut()).len();
    if !response.status().is_informational() && response.status() != StatusCode::NO_CONTENT {
        response.headers_mut().entry(CONTENT_LENGTH).or_insert_with(|| bytes.into());
    }
    response
}

/// The answer holds the stream's permit until it is written. A stream without a permit is refused.
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

/// Runs a connection to its end. Asks it to finish on a stop, when it is idle, and when too many of
/// its requests were refused.
async fn drive<C: Future>(
    connection: C,
    finish: impl Fn(Pin<&mut C>),
    mut stop: StopSignal,
    mut monitor: Option<IdleMonitor>,
    mut grace: Option<FirstRequestGrace>,
) {
    let mut connection = pin!(connection);
    // A second request would restart the shutdown of the connection.
    let mut is_finishing = false;
    poll_fn(|cx| {
        loop {
            let stopping = stop.poll_is_stopping(cx);
            let waiting = stopping && grace.as_mut().is_some_and(|it| it.poll_is_waited_for(cx));
            let verdict =
                monitor.as_mut().map_or(MonitorDecision::Keep, |monitor| monitor.poll(cx));
            let is_asked = match verdict {
                MonitorDecision::End => return Poll::Ready(()),
                MonitorDecision::Finish => true,
                MonitorDecision::Keep => stopping && !waiting,
            };
            if is_asked && !is_finishing {
                is_finishing = true;
                finish(connection.as_mut());
            }
            if connection.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            // Poll once more to make this request the last one: it is the first request after a
            // stop, or the one that used up the connection's refusals.
            let last = waiting && grace.as_ref().is_some_and(FirstRequestGrace::has_begun);
            let spent = !is_finishing && monitor.as_ref().is_some_and(IdleMonitor::is_spent);
            if !last && !spent {
                return Poll::Pending;
            }
        }
    })
    .await;
}
