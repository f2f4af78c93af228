//! Work that holds its thread for long: walks over the file, and costly expressions.
//!
//! It runs on a thread that the runtime replaces meanwhile, so that no other request waits for it.
//! Few of these run at a time, and few wait for their turn.

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

    /// A permit to run. [`Error::Busy`] when too many requests wait for one.
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

/// Runs it where no other task waits for the thread. The caller holds a permit.
pub(in crate::app) fn run_blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        // One thread for everything: a command of the operator, or a test.
        Ok(_) | Err(_) => work(),
    }
}

/// One request in the queue, until it is dropped.
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
