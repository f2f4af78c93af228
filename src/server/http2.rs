//! What HTTP/2 needs beyond hyper's builder: streams that end, connections that are not kept for
//! nothing. hyper bounds neither.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hyper::rt::Executor;
use hyper::server::conn::http2::Builder;
use hyper_util::rt::TokioTimer;
use tokio::time::{Instant, Interval, MissedTickBehavior, Sleep, interval_at, sleep};

use crate::server::bounds::Bounds;
use crate::server::refusal_streak::RefusalStreak;
use crate::server::stream_pool::{ConnectionStreams, StreamPermit, StreamPool};
use crate::server::tasks::Tasks;

pub(super) fn builder(bounds: &Bounds, runner: Runner) -> Builder<Runner> {
    let mut builder = Builder::new(runner);
    // The library's own answer to oversized headers has no body, so it is given twice the room and
    // the refusal is ours; what is larger still is the library's to refuse.
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

/// One connection: its streams, its refusals, and the place of the stream that begins just now.
#[derive(Debug)]
pub(super) struct Http2State {
    pub(super) streams: Arc<ConnectionStreams>,
    pub(super) streak: RefusalStreak,
    beginning: Mutex<Option<Arc<StreamPermit>>>,
}

impl Http2State {
    pub(super) fn new(pool: StreamPool, bounds: &Bounds) -> Self {
        Self {
            streams: Arc::new(ConnectionStreams::new(pool)),
            streak: RefusalStreak::new(bounds.refusals_max),
            beginning: Mutex::new(None),
        }
    }

    /// A place for a request that has come, unless it is to be refused. hyper hands the stream to the
    /// [`Runner`] right after, which finds the place here.
    pub(super) fn begin(&self, knows: impl Fn() -> bool) -> Option<Arc<StreamPermit>> {
        // What was sent before the peer could know is refused as well: it will be sent again.
        let place = if self.streak.is_spent() {
            None
        } else {
            self.streak.begin(&knows);
            self.streams.admit(&knows)
        };
        if place.is_none() && !self.streams.is_known() {
            self.streak.refused();
        }
        self.beginning().clone_from(&place);
        place
    }

    fn beginning(&self) -> std::sync::MutexGuard<'_, Option<Arc<StreamPermit>>> {
        // Nothing in here panics half way, so a poisoned lock still guards whole data.
        self.beginning.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs the streams of one connection, each by a deadline.
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

/// hyper hands over a future for each stream; it covers the answer and the writing of it, so the
/// deadline also ends a stream whose peer opens no window. Dropping it resets the stream. Once there
/// is an answer, the deadline is a short one that begins again with each piece of it.
impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Runner {
    fn execute(&self, stream: F) {
        // In memory of its own: a future within futures is stored by each of them.
        let mut stream = Box::pin(stream);
        let Some(place) = self.state.beginning().take() else {
            // A refused stream is done at once, and a flood of them is worth no tasks.
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
                    pieces = moved;
                    deadline.as_mut().reset(Instant::now() + unread_max);
                }
                deadline.as_mut().poll(cx)
            })
            .await;
        });
    }
}

/// Watches one connection for a reason to end it.
#[derive(Debug)]
pub(super) struct IdleMonitor {
    idle_ticks: Interval,
    unread_ticks: Interval,
    state: Arc<Http2State>,
    begun_before: u64,
    quiet_ticks: u8,
    is_stalled: bool,
    spent_max: Duration,
    /// Runs from the moment at which the connection was asked to go for its refusals.
    leaving: Option<Pin<Box<Sleep>>>,
}

/// What to do with a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MonitorDecision {
    /// End it: it was asked to finish a while ago and has not, or it leaves answers unread.
    End,
    /// Ask it to finish: it is idle, or was refused too often.
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

fn every(period: Duration) -> Interval {
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
