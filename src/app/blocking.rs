//! Work that occupies a thread for long: walks over the file, and costly expressions.
//!
//! The runtime replaces the thread meanwhile, so no other request waits for this work. The number
//! of running and of waiting requests is bounded.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::block_in_place;

use crate::app::error::Error;

#[derive(Debug)]
pub(in crate::app) struct BlockingPool {
    permits: Semaphore,
    waiting: AtomicUsize,
    waiting_max: usize,
}

impl BlockingPool {
    pub(in crate::app) fn new(running_max: usize, waiting_max: usize) -> Self {
        let permits = Semaphore::new(running_max);
        Self { permits, waiting: AtomicUsize::new(0), waiting_max }
    }

    /// [`Error::Busy`] if too many requests wait already.
    pub(in crate::app) async fn permit(&self) -> Result<SemaphorePermit<'_>, Error> {
        let Some(_waiting) = Waiting::begin(&self.waiting, self.waiting_max) else {
            return Err(Error::Busy);
        };
        // The semaphore is never closed.
        self.permits.acquire().await.or(Err(Error::Stopped))
    }

    pub(in crate::app) async fn run<T>(&self, work: impl FnOnce() -> T) -> Result<T, Error> {
        let _permit = self.permit().await?;
        Ok(run_blocking(work))
    }
}

/// The caller must hold a permit.
pub(in crate::app) fn run_blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        // `block_in_place` panics on a current-thread runtime, which serves no other requests: it
        // runs an operator's command or a test.
        Ok(_) | Err(_) => work(),
    }
}

/// Counts one request in the queue until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(waiting: &'a AtomicUsize, waiting_max: usize) -> Option<Self> {
        let one = Self(waiting);
        let before = waiting.fetch_add(1, Ordering::Relaxed);
        (before < waiting_max).then_some(one)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
