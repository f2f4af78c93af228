//! Deadlines of HTTP/2 that hyper's builder does not have: for streams and for idle connections.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hyper::rt::Executor;
use hyper::server::conn::http2::Builder;
use hyper_util::rt::TokioTimer;
use tokio::time::{Instant, Interval, MissedTickBehavior, Sleep, interval_at, sleep};

use crate::bounds::H2_HALF_FRAME_MAX;
use crate::domain::shares::Claimant;
use crate::lock::Lock;
use crate::server::bounds::Bounds;
use crate::server::frame_budget::ServedRequests;
use crate::server::refusal_streak::RefusalStreak;
use crate::server::stream_pool::{ConnectionStreams, StreamPermit, StreamPool};
use crate::server::tasks::Tasks;

pub(super) fn builder(bounds: &Bounds, runner: Runner) -> Builder<Runner> {
    let mut builder = Builder::new(runner);
    // The library's own answer to oversized headers has no body. With twice the maximum, our check
    // answers first; the library refuses only larger ones.
    let header_bytes_max = bounds.header_bytes_max.saturating_mul(2);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(bounds.h2_streams_max)
        // A maximum that the protocol cannot express lets no header through.
        .max_header_list_size(u32::try_from(header_bytes_max).unwrap_or(0))
        .max_pending_accept_reset_streams(bounds.h2_resets_max)
        .max_local_error_reset_streams(bounds.h2_mistakes_max)
        .initial_stream_window_size(bounds.h2_stream_window_bytes)
        .initial_connection_window_size(bounds.h2_connection_window_bytes)
        .adaptive_window(false)
        .max_frame_size(bounds.h2_frame_bytes_max)
        .header_table_size(bounds.h2_header_table_bytes)
        .max_send_buf_size(bounds.h2_send_bytes_max)
        .keep_alive_interval(bounds.h2_ping_after)
        .keep_alive_timeout(bounds.h2_ping_max)
        .auto_date_header(true);
    builder
}

/// The streams and the refusals of one connection, and the permit of the stream that is starting.
#[derive(Debug)]
pub(super) struct Http2State {
    pub(super) streams: Arc<ConnectionStreams>,
    pub(super) streak: RefusalStreak,
    pub(super) served: ServedRequests,
    beginning: Lock<Option<Arc<StreamPermit>>>,
}

impl Http2State {
    pub(super) fn new(pool: Arc<StreamPool>, bounds: &Bounds) -> Self {
        Self {
            streams: Arc::new(ConnectionStreams::new(pool)),
            streak: RefusalStreak::new(bounds.refusals_max),
            served: ServedRequests::default(),
            beginning: Lock::new(None),
        }
    }

    /// Takes a permit for a new request; `None` refuses it. hyper passes the stream to the
    /// [`Runner`] right after, which takes the permit from here.
    pub(super) fn begin(&self, claimant: impl Fn() -> Claimant) -> Option<Arc<StreamPermit>> {
        // Requests that the peer sent before it saw GOAWAY are refused too; it sends them again on
        // another connection.
        let place = if self.streak.is_spent() {
            None
        } else {
            self.streak.begin(|| claimant().tenant().is_some());
            self.streams.admit(&claimant)
        };
        if place.is_some() {
            self.served.add();
        } else if !self.streams.is_known() {
            self.streak.refused();
        }
        self.beginning.lock().clone_from(&place);
        place
    }
}

/// Runs the streams of one connection, each with a deadline.
#[derive(Debug, Clone)]
pub(super) struct Runner {
    tasks: Tasks,
    state: Arc<Http2State>,
    stream_max: Duration,
    unread_max: Duration,
}

impl Runner {
    pub(super) const fn new(tasks: Tasks, state: Arc<Http2State>, bounds: &Bounds) -> Self {
        Self { tasks, state, stream_max: bounds.h2_stream_max, unread_max: bounds.h2_unread_max }
    }
}

/// hyper passes a future for each stream, which computes and writes the answer, so the deadline
/// also ends a stream whose peer opens no window. Dropping it resets the stream. Once an answer has
/// begun, its pieces must be read at a rate: each piece extends the time, up to the deadline of a
/// single piece.
impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Runner {
    fn execute(&self, stream: F) {
        // Boxed: each future that wraps another stores it.
        let mut stream = Box::pin(stream);
        let Some(place) = self.state.beginning.lock().take() else {
            // A refused stream is ready at its first poll, so a flood of them starts no tasks.
            let _done = stream.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            return;
        };
        let (stream_max, unread_max) = (self.stream_max, self.unread_max);
        self.tasks.spawn_tracked(async move {
            let mut deadline = pin!(sleep(stream_max));
            let mut pieces = 0;
            poll_fn(|cx| {
                if stream.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(());
                }
                let moved = place.pieces();
                if moved != pieces {
                    let latest = Instant::now() + unread_max;
                    // A piece counts when hyper takes it, and again when it is written.
                    let earned = H2_HALF_FRAME_MAX.saturating_mul(moved.wrapping_sub(pieces));
                    let next = match pieces {
                        0 => latest,
                        _ => latest.min(deadline.deadline() + earned),
                    };
                    pieces = moved;
                    deadline.as_mut().reset(next);
                }
                deadline.as_mut().poll(cx)
            })
            .await;
        });
    }
}

/// Watches one connection for reasons to end it.
#[derive(Debug)]
pub(super) struct IdleMonitor {
    idle_ticks: Interval,
    unread_ticks: Interval,
    state: Arc<Http2State>,
    begun_before: u64,
    quiet_ticks: u8,
    is_stalled: bool,
    spent_max: Duration,
    /// Starts when the connection is asked to finish because of its refusals.
    leaving: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MonitorDecision {
    /// End it: it has not finished in time, or it leaves answers unread.
    End,
    /// Ask it to finish: it is idle, or its requests were refused too often.
    Finish,
    Keep,
}

impl IdleMonitor {
    pub(super) fn new(state: Arc<Http2State>, bounds: &Bounds) -> Self {
        Self {
            idle_ticks: every(bounds.h2_idle_max),
            unread_ticks: every(bounds.h2_unread_max),
            state,
            begun_before: 0,
            quiet_ticks: 0,
            is_stalled: false,
            spent_max: bounds.spent_max,
            leaving: None,
        }
    }

    pub(super) fn is_spent(&self) -> bool {
        self.state.streak.is_spent()
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> MonitorDecision {
        while self.unread_ticks.poll_tick(cx).is_ready() {
            self.is_stalled |= self.state.streams.look_is_stalled();
        }
        while self.idle_ticks.poll_tick(cx).is_ready() {
            let begun = self.state.streams.begun();
            if self.state.streams.open() > 0 || begun != self.begun_before {
                self.begun_before = begun;
                self.quiet_ticks = 0;
            } else {
                self.quiet_ticks = self.quiet_ticks.saturating_add(1);
            }
        }
        if self.is_spent() {
            let spent_max = self.spent_max;
            let leaving = self.leaving.get_or_insert_with(|| Box::pin(sleep(spent_max)));
            self.is_stalled |= leaving.as_mut().poll(cx).is_ready();
        }
        match self.quiet_ticks {
            _ if self.is_stalled => MonitorDecision::End,
            0 if self.is_spent() => MonitorDecision::Finish,
            0 => MonitorDecision::Keep,
            1 => MonitorDecision::Finish,
            _ => MonitorDecision::End,
        }
    }
}

pub(super) fn every(period: Duration) -> Interval {
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
