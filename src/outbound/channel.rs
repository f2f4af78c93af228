//! An open connection to a destination, and one exchange on it: a request and its whole answer.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::rt::Executor;
use hyper::{Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_rustls::client::TlsStream;

use crate::app::{OutboundFailure, OutboundResponse};
use crate::bounds::{
    H1_BUFFER_BYTES_MAX, H2_CONNECTION_WINDOW_BYTES, H2_FRAME_BYTES_MAX, H2_HEADER_TABLE_BYTES,
    H2_MISTAKES_MAX, H2_PING_AFTER, H2_PING_MAX, H2_SEND_BYTES_MAX, H2_STREAM_WINDOW_BYTES,
    OUTBOUND_ANSWER_BYTES_FREE, OUTBOUND_ANSWER_BYTES_PER_FRAME, OUTBOUND_ANSWER_FRAMES_FREE,
    OUTBOUND_BEFORE_HEAD_BYTES_MAX, OUTBOUND_BODY_BYTES_AHEAD, OUTBOUND_CLOSE_MAX,
    OUTBOUND_FIRST_BYTE_MAX, OUTBOUND_HEADER_BYTES_MAX, OUTBOUND_HEADERS_COUNT_MAX,
    OUTBOUND_STREAMS_MAX,
};
use crate::metrics::Gauge;
use crate::outbound::dial::{DialFailure, explain};
use crate::outbound::message::{Message, Protocol};
use crate::outbound::watched::{HttpTap, ReadAllowance, TlsTap, Watched, WriteAttempts};
use crate::secret::{Secret, SecretBody, SecretBuffer};
use crate::server::frame_budget::{FrameBudget, ServedRequests};
use crate::server::tasks::Tasks;

/// The reason for a failed exchange. The caller may retry only if no byte was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeFailure {
    Unsent(&'static str),
    Sent(OutboundFailure),
}

#[derive(Debug, Clone, Copy)]
pub struct Limits<'a> {
    pub deadline: Instant,
    pub response_bytes_max: usize,
    /// The memory of large answers, in bytes: of a tenant, of all tenants, and the parts of both
    /// for callers without a secret key.
    pub budgets: &'a [&'a Semaphore],
}

/// A connection that is ready for a request.
#[derive(Debug)]
pub struct Channel {
    sender: Sender,
    attempts: WriteAttempts,
    lease: Arc<Lease>,
}

#[derive(Debug)]
enum Sender {
    Http1(http1::SendRequest<SecretBody>, ReadAllowance),
    Http2(http2::SendRequest<SecretBody>, Arc<Streams>),
}

/// The streams of an HTTP/2 connection, which its requests share.
#[derive(Debug)]
struct Streams {
    in_flight: AtomicUsize,
    /// The peer's own maximum.
    most: AtomicUsize,
    sent: ServedRequests,
}

/// A request in flight on a shared connection.
struct InFlight(Arc<Streams>);

impl InFlight {
    fn begin(streams: &Arc<Streams>) -> Self {
        streams.in_flight.fetch_add(1, Ordering::Relaxed);
        streams.sent.add();
        Self(Arc::clone(streams))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Held by every handle of a connection. The tasks of the connection see when the last handle is
/// dropped.
#[derive(Debug)]
struct Lease(Arc<Semaphore>);

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Starts the tasks of a connection. They end soon after its last handle: otherwise a peer that
/// does not read would hold the last bytes, and so the connection, for ever.
#[derive(Debug, Clone)]
struct ConnectionTasks {
    tasks: Tasks,
    /// Closed with the lease.
    lease: Arc<Semaphore>,
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for ConnectionTasks {
    fn execute(&self, future: F) {
        let lease = Arc::clone(&self.lease);
        let expired = async move {
            // It has no permits, so this resolves when it is closed.
            drop(lease.acquire().await);
            sleep(OUTBOUND_CLOSE_MAX).await;
        };
        self.tasks.spawn(async move {
            tokio::select! {
                () = future => (),
                () = expired => (),
            }
        });
    }
}

impl Channel {
    /// Begins HTTP on a TLS connection, with the protocol of the handshake.
    pub async fn open(
        stream: TlsStream<Watched<TcpStream, TlsTap>>,
        tasks: &Tasks,
        open: &Arc<Gauge>,
    ) -> Result<Self, &'static str> {
        const NOT_HTTP: &str = "the server does not speak HTTP";
        let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let lease = Arc::new(Semaphore::new(0));
        let tasks = ConnectionTasks { tasks: tasks.clone(), lease: Arc::clone(&lease) };
        let lease = Arc::new(Lease(lease));
        let sent = ServedRequests::default();
        let frames = is_h2.then(|| FrameBudget::of_destination(sent.clone()));
        let tap = HttpTap::new(&stream.get_ref().0.tap, frames, Arc::clone(open));
        let (attempts, reads) = (tap.attempts.clone(), tap.reads.clone());
        let io = TokioIo::new(Watched::new(stream, tap));
        let sender = if is_h2 {
            let builder = http2_builder(tasks.clone());
            let (sender, connection) = builder.handshake(io).await.ok().ok_or(NOT_HTTP)?;
            let most = AtomicUsize::new(OUTBOUND_STREAMS_MAX);
            let streams = Arc::new(Streams { in_flight: AtomicUsize::new(0), most, sent });
            let seen = Arc::clone(&streams);
            let mut connection = Box::pin(connection);
            tasks.execute(poll_fn(move |cx| {
                let polled = connection.as_mut().poll(cx).map(drop);
                seen.most.store(connection.current_max_send_streams(), Ordering::Relaxed);
                polled
            }));
            Sender::Http2(sender, streams)
        } else {
            let mut builder = http1::Builder::new();
            builder
                .max_buf_size(H1_BUFFER_BYTES_MAX)
                .max_headers(OUTBOUND_HEADERS_COUNT_MAX)
                .max_header_size(OUTBOUND_HEADER_BYTES_MAX);
            let (sender, connection) = builder.handshake(io).await.ok().ok_or(NOT_HTTP)?;
            tasks.execute(async move { drop(connection.await) });
            Sender::Http1(sender, reads)
        };
        Ok(Self { sender, attempts, lease })
    }

    /// A further handle of the same connection for a concurrent request. `None` if it takes only
    /// one.
    pub(super) fn share(&self) -> Option<Self> {
        match &self.sender {
            Sender::Http1(..) => None,
            Sender::Http2(sender, streams) => {
                let sender = Sender::Http2(sender.clone(), Arc::clone(streams));
                let (attempts, lease) = (self.attempts.clone(), Arc::clone(&self.lease));
                Some(Self { sender, attempts, lease })
            }
        }
    }

    /// Returns whether the connection is open and takes one more request now.
    pub(super) fn has_room(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender, _) => !sender.is_closed(),
            Sender::Http2(sender, streams) => {
                let most = streams.most.load(Ordering::Relaxed).min(OUTBOUND_STREAMS_MAX);
                !sender.is_closed() && streams.in_flight.load(Ordering::Relaxed) < most
            }
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender, _) => sender.is_closed(),
            Sender::Http2(sender, _) => sender.is_closed(),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        match &self.sender {
            Sender::Http1(..) => true,
            Sender::Http2(_, streams) => streams.in_flight.load(Ordering::Relaxed) == 0,
        }
    }

    /// Returns whether both are handles of one connection.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.attempts.is_same(&other.attempts)
    }

    /// Resolves when the connection takes a request; false if it is closed.
    pub(super) async fn is_ready(&mut self) -> bool {
        match &mut self.sender {
            Sender::Http1(sender, _) => sender.ready().await.is_ok(),
            Sender::Http2(sender, _) => sender.ready().await.is_ok(),
        }
    }

    /// Returns whether nothing was written since `before`. If so, prevents later writes too: the
    /// task of the connection may be about to write. An HTTP/2 connection serves other requests
    /// too, so this is known only for HTTP/1.1.
    fn is_unsent(&self, before: u64) -> bool {
        match &self.sender {
            Sender::Http1(..) => self.attempts.seal(before),
            Sender::Http2(..) => false,
        }
    }

    /// Sends the message and reads the whole answer. Dropping the future ends the exchange, and on
    /// HTTP/1.1 the connection.
    pub async fn exchange(
        &mut self,
        message: &Message,
        limits: Limits<'_>,
    ) -> Result<OutboundResponse, ExchangeFailure> {
        let unsent = ExchangeFailure::Unsent;
        let before = self.attempts.get();
        let head_until = Instant::now().checked_add(OUTBOUND_FIRST_BYTE_MAX);
        let head_until = head_until.unwrap_or(limits.deadline).min(limits.deadline);
        let (answer, _in_flight) = match &mut self.sender {
            Sender::Http1(sender, reads) => {
                let request = message.request(Protocol::Http1).map_err(unsent)?;
                reads.allow(OUTBOUND_BEFORE_HEAD_BYTES_MAX);
                (timeout_at(head_until, sender.try_send_request(request)).await, None)
            }
            Sender::Http2(sender, streams) => {
                let request = message.request(Protocol::Http2).map_err(unsent)?;
                let in_flight = InFlight::begin(streams);
                let sending = sender.try_send_request(request);
                (timeout_at(head_until, sending).await, Some(in_flight))
            }
        };
        let answer = match answer {
            Ok(Ok(answer)) => answer,
            // hyper returns the request if it has not begun to write it.
            Ok(Err(failed)) if failed.message().is_some() || self.is_unsent(before) => {
                return Err(unsent(broken(failed.error())));
            }
            Ok(Err(failed)) => {
                let why = broken(failed.error());
                return Err(ExchangeFailure::Sent(OutboundFailure::Broken(why)));
            }
            Err(_) if self.is_unsent(before) => {
                return Err(unsent("the server did not take the request in time"));
            }
            Err(_) => return Err(ExchangeFailure::Sent(OutboundFailure::TimedOut)),
        };
        let reads = match &self.sender {
            Sender::Http1(_, reads) => Some(reads),
            Sender::Http2(..) => None,
        };
        let read = timeout_at(limits.deadline, read(answer, limits, reads)).await;
        read.unwrap_or(Err(OutboundFailure::TimedOut)).map_err(ExchangeFailure::Sent)
    }
}

fn http2_builder(tasks: ConnectionTasks) -> http2::Builder<ConnectionTasks> {
    let mut builder = http2::Builder::new(tasks);
    builder
        .timer(TokioTimer::new())
        .initial_stream_window_size(H2_STREAM_WINDOW_BYTES)
        .initial_connection_window_size(H2_CONNECTION_WINDOW_BYTES)
        .adaptive_window(false)
        .max_frame_size(H2_FRAME_BYTES_MAX)
        .header_table_size(H2_HEADER_TABLE_BYTES)
        .max_header_list_size(u32::try_from(OUTBOUND_HEADER_BYTES_MAX).unwrap_or(0))
        .max_send_buf_size(H2_SEND_BYTES_MAX)
        // Streams that the peer opens are never used.
        .max_concurrent_streams(0)
        .max_local_error_reset_streams(H2_MISTAKES_MAX)
        .keep_alive_interval(H2_PING_AFTER)
        .keep_alive_timeout(H2_PING_MAX);
    builder
}

fn broken(error: &hyper::Error) -> &'static str {
    if error.is_parse() {
        return "the server's answer is not HTTP, or its head is too large";
    }
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        if let Some(io) = inner.downcast_ref::<std::io::Error>()
            && explain(io) == DialFailure::OurCertificate
        {
            return DialFailure::OurCertificate.text();
        }
        source = inner.source();
    }
    "the connection broke"
}

async fn read(
    answer: Response<Incoming>,
    limits: Limits<'_>,
    reads: Option<&ReadAllowance>,
) -> Result<OutboundResponse, OutboundFailure> {
    const TOO_LARGE: OutboundFailure = OutboundFailure::Broken("the server's answer is too large");
    const NO_ROOM: OutboundFailure = OutboundFailure::Broken("no memory is left for the answer");
    const TOO_MANY: OutboundFailure =
        OutboundFailure::Broken("the server's answer has too many pieces or headers");
    let (head, mut body) = answer.into_parts();
    if head.status == StatusCode::SWITCHING_PROTOCOLS {
        return Err(OutboundFailure::Broken("the server changed the protocol"));
    }
    // hyper counts only the headers of HTTP/1.1.
    if head.headers.len() > OUTBOUND_HEADERS_COUNT_MAX {
        return Err(TOO_MANY);
    }
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limits.response_bytes_max {
        return Err(TOO_LARGE);
    }
    let mut shares: Vec<Option<SemaphorePermit<'_>>> =
        limits.budgets.iter().map(|_| None).collect();
    let mut bytes = SecretBuffer::with_capacity(announced.min(OUTBOUND_ANSWER_BYTES_FREE));
    let mut frames = 0_usize;
    if let Some(reads) = reads {
        reads.allow(OUTBOUND_BODY_BYTES_AHEAD);
    }
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| OutboundFailure::Broken(broken(&error)))?;
        // Each piece costs a microsecond, whatever its length.
        frames = frames.saturating_add(1);
        let earned = bytes.len().checked_div(OUTBOUND_ANSWER_BYTES_PER_FRAME).unwrap_or(0);
        if frames > OUTBOUND_ANSWER_FRAMES_FREE.saturating_add(earned) {
            return Err(TOO_MANY);
        }
        let Some(data) = frame.data_ref() else { continue };
        if let Some(reads) = reads {
            reads.allow_piece(data.len());
        }
        let length = bytes.len().saturating_add(data.len());
        if length > limits.response_bytes_max {
            return Err(TOO_LARGE);
        }
        if length > OUTBOUND_ANSWER_BYTES_FREE {
            let more = u32::try_from(data.len()).ok().ok_or(NO_ROOM)?;
            for (budget, share) in limits.budgets.iter().zip(&mut shares) {
                let more = budget.try_acquire_many(more).ok().ok_or(NO_ROOM)?;
                match share {
                    Some(share) => share.merge(more),
                    None => *share = Some(more),
                }
            }
        }
        bytes.extend(data);
    }
    if let Some(reads) = reads {
        reads.allow_all();
    }
    let value = |value: &[u8]| Secret::new(value.to_vec());
    let headers = head.headers.iter().map(|(name, it)| (name.to_string(), value(it.as_bytes())));
    let headers = headers.collect();
    Ok(OutboundResponse { status: head.status.as_u16(), headers, body: bytes.finish() })
}

/// The time for which the server keeps an idle connection, if announced: `Keep-Alive: timeout=5`.
pub(super) fn announced_idle(answer: &OutboundResponse) -> Option<Duration> {
    let (_, value) = answer.headers.iter().find(|(name, _)| name == "keep-alive")?;
    let value = std::str::from_utf8(value.expose()).ok()?;
    let seconds = value.split(',').find_map(|part| part.trim().strip_prefix("timeout="))?;
    seconds.trim().parse().ok().map(Duration::from_secs)
}
