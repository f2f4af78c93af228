//! Waits for a future on a thread that may run no tasks. The storage interface is synchronous; its
//! callers are separate threads or workers of the server's runtime.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::{block_in_place, unconstrained};

use crate::bounds::DATABASE_WAIT_IN_PLACE;

/// Returns `None` on timeout.
pub(super) fn wait<F: Future>(work: F, at_most: Duration) -> Option<F::Output> {
    blocking(|| poll_until(work, Instant::now().checked_add(at_most)?))
}

/// Waits in two parts: until the first deadline the thread just blocks, after it the runtime's
/// other tasks move to another thread. Most waits are short, and moving tasks takes longer than
/// many of them. `look` returns `None` at its deadline.
pub(super) fn in_two_parts<T>(
    at_most: Duration,
    mut look: impl FnMut(Instant) -> Option<T>,
) -> Option<T> {
    let begun = Instant::now();
    let deadline = begun.checked_add(at_most)?;
    let short = begun.checked_add(DATABASE_WAIT_IN_PLACE)?.min(deadline);
    look(short).or_else(|| blocking(|| look(deadline)))
}

/// Runs blocking work. On a worker of a runtime, other tasks move to another thread meanwhile.
fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        // `block_in_place` panics on a current-thread runtime.
        Ok(_) | Err(_) => work(),
    }
}

/// Polls once, which sends the statement. Its answer is dropped.
pub(super) fn send(work: impl Future) {
    drop(pin!(work).poll(&mut Context::from_waker(Waker::noop())));
}

fn poll_until<F: Future>(work: F, deadline: Instant) -> Option<F::Output> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    // Exempt from the budget of the task that this thread may be running: no task runs in between
    // to renew it.
    let mut work = pin!(unconstrained(work));
    loop {
        if let Poll::Ready(output) = work.as_mut().poll(&mut context) {
            return Some(output);
        }
        let left = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        thread::park_timeout(left?);
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
