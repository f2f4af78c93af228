//! Waits for a future on a thread that may run no tasks. The seam to the storage is synchronous, and
//! callers are threads of their own, or workers of the server's runtime.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::{block_in_place, unconstrained};

use crate::bounds::DATABASE_WAIT_IN_PLACE;

/// The output of a future, or `None` if it is not there in time.
pub(super) fn wait<F: Future>(work: F, at_most: Duration) -> Option<F::Output> {
    blocking(|| poll_until(work, Instant::now().checked_add(at_most)?))
}

/// Waits in two parts: until the first deadline the thread just blocks, behind it other tasks of its
/// runtime move to another thread. Most waits are short, and a change of threads takes longer than
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

/// Runs work that blocks. On a worker of a runtime, other tasks move to another thread meanwhile.
fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        // A runtime with one thread runs an operator's command or a test.
        Ok(_) | Err(_) => work(),
    }
}

/// Polls once: a statement is sent then, and its answer is dropped.
pub(super) fn send(work: impl Future) {
    drop(pin!(work).poll(&mut Context::from_waker(Waker::noop())));
}

fn poll_until<F: Future>(work: F, deadline: Instant) -> Option<F::Output> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    // The budget of a task that this thread may be running does not count here: without tasks in
    // between, it would never be renewed.
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
