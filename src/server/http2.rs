//! What HTTP/2 needs beyond hyper's builder: streams that end, connections that are not kept for
//! nothing. hyper bounds neither.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::Context;
use std::time::Duration;

use hyper::rt::Executor;
use hyper::server::conn::http2::Builder;
use hyper_util::rt::TokioTimer;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout};

use crate::server::Bounds;
use crate::server::tasks::Tasks;

pub(super) fn builder(bounds: &Bounds, streams: Streams) -> Builder<Streams> {
    let mut builder = Builder::new(streams);
    // The library's own answer to oversized headers has no body, so it is given twice the room and
    // the refusal is ours; what is larger still is the library's to refuse.
    let header_bytes_max = bounds.header_bytes_max.saturating_mul(2);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(bounds.h2_streams_max)
        .max_header_list_size(u32::try_from(header_bytes_max).unwrap_or(u32::MAX))
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

/// Runs the streams of one connection, each by a deadline.
#[derive(Debug, Clone)]
pub(super) struct Streams {
    tasks: Tasks,
    seen: Arc<Seen>,
    stream_max: Duration,
}

/// What a connection has seen of streams.
#[derive(Debug, Default)]
struct Seen {
    open: AtomicU32,
    begun: AtomicU64,
}

impl Streams {
    pub(super) fn new(tasks: Tasks, stream_max: Duration) -> Self {
        Self { tasks, seen: Arc::default(), stream_max }
    }

    /// Notices when there has been no stream for `every`.
    pub(super) fn idle(&self, every: Duration) -> Idle {
        let mut ticks = interval_at(Instant::now() + every, every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Idle { ticks, seen: Arc::clone(&self.seen), begun_before: 0, quiet_ticks: 0 }
    }
}

/// hyper hands over a future for each stream; it covers the answer and the writing of it, so the
/// deadline also ends a stream whose peer opens no window. Dropping it resets the stream.
impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        self.seen.begun.fetch_add(1, Ordering::Relaxed);
        self.seen.open.fetch_add(1, Ordering::Relaxed);
        let open = Open(Arc::clone(&self.seen));
        let stream_max = self.stream_max;
        self.tasks.spawn_counted(async move {
            let _open = open;
            // A stream that ran out of time has been reset by being dropped.
            timeout(stream_max, stream).await.ok();
        });
    }
}

struct Open(Arc<Seen>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Watches one connection for idleness.
#[derive(Debug)]
pub(super) struct Idle {
    ticks: Interval,
    seen: Arc<Seen>,
    begun_before: u64,
    quiet_ticks: u8,
}

/// What to do with a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Idleness {
    Busy,
    /// It was asked to finish a while ago and has not: end it.
    Gone,
    /// Ask it to finish.
    Idle,
}

impl Idle {
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Idleness {
        while self.ticks.poll_tick(cx).is_ready() {
            let begun = self.seen.begun.load(Ordering::Relaxed);
            if self.seen.open.load(Ordering::Relaxed) > 0 || begun != self.begun_before {
                self.begun_before = begun;
                self.quiet_ticks = 0;
            } else {
                self.quiet_ticks = self.quiet_ticks.saturating_add(1);
            }
        }
        match self.quiet_ticks {
            0 => Idleness::Busy,
            1 => Idleness::Idle,
            _ => Idleness::Gone,
        }
    }
}
