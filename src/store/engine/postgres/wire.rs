//! Moves the bytes of a connection on the thread that waits for an answer.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use tokio::task::unconstrained;

use crate::store::engine::postgres::socket::Socket;
use crate::store::engine::postgres::wait::in_two_parts;

/// The connection half of a client: it sends the client's messages and receives the answers.
type Connection = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) struct Wire {
    socket: Socket,
    connection: Connection,
    is_over: bool,
}

impl Wire {
    pub(super) fn new(socket: Socket, connection: Connection) -> Self {
        Self { socket, connection, is_over: false }
    }

    /// Runs work on this connection's client. Returns `None` on timeout or if the connection ends.
    pub(super) fn run<F: Future>(&mut self, work: F, at_most: Duration) -> Option<F::Output> {
        let mut output = None;
        {
            let work = pin!(async { output = Some(work.await) });
            self.drive(work, at_most);
        }
        output
    }

    fn drive(&mut self, mut work: Pin<&mut dyn Future<Output = ()>>, at_most: Duration) {
        let Self { socket, connection, is_over } = self;
        let both = poll_fn(|cx| {
            if work.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            *is_over = *is_over || connection.as_mut().poll(cx).is_ready();
            // An answer may have arrived, or the connection may have ended.
            match work.as_mut().poll(cx) {
                Poll::Pending if !*is_over => Poll::Pending,
                Poll::Pending | Poll::Ready(()) => Poll::Ready(()),
            }
        });
        // The work's own output says whether it ended.
        let _: Option<()> = run(socket, both, at_most);
    }

    /// Lets another thread end this one's wait.
    pub(super) fn socket(&self) -> Socket {
        self.socket.clone()
    }

    /// Closes the connection on both sides.
    pub(super) fn close(&mut self) {
        self.is_over = true;
        self.socket.close();
    }

    /// Sends the client's queued messages without waiting.
    pub(super) fn push(&mut self) {
        let mut cx = Context::from_waker(Waker::noop());
        self.is_over = self.is_over || self.connection.as_mut().poll(&mut cx).is_ready();
    }

    /// Returns false if the connection is known to have ended. Its next use detects an end while
    /// idle.
    pub(super) const fn is_open(&self) -> bool {
        !self.is_over
    }
}

/// Polls work that uses this socket until it is done. Returns `None` on timeout.
pub(super) fn run<F: Future>(socket: &Socket, work: F, at_most: Duration) -> Option<F::Output> {
    let woken = Arc::new(Woken(AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&woken));
    let mut cx = Context::from_waker(&waker);
    // Exempt from the budget of the task that this thread may be running: no task runs in between
    // to renew it.
    let mut work = pin!(unconstrained(work));
    in_two_parts(at_most, |deadline| {
        loop {
            if let Poll::Ready(output) = work.as_mut().poll(&mut cx) {
                return Some(output);
            }
            // One part of the work has woken another.
            if woken.0.swap(false, Ordering::Relaxed) {
                continue;
            }
            let left = deadline.checked_duration_since(Instant::now());
            socket.wait(left.filter(|left| !left.is_zero())?);
        }
    })
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

opaque_debug!(Wire);
