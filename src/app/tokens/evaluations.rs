//! Evaluating expressions without holding up other requests.
//!
//! A request has one [`Budget`] for all of its expressions: mask, search indexes, fingerprint, id, and
//! all tokens of a page. It starts on the thread that serves the request, with the small part of the
//! budget that every honest request fits into. A request that needs more is begun again, with the
//! whole budget, on a thread that no other request waits for; few of those run at a time. What
//! does not fit into the whole budget is redacted in a read and refused in a write.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::app::error::Error;
use crate::bounds;
use crate::expressions::{Budget, Cache};

/// State that all evaluations share.
#[derive(Debug)]
pub(in crate::app) struct Evaluations {
    pub(in crate::app) parsed: Cache,
    places: Semaphore,
    waiting: AtomicUsize,
}

/// The kind of a request, which decides how much work its expressions may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum Work {
    /// A page of a list, or a detokenize call.
    Page,
    Read,
    Tokenize,
    Write,
}

impl Work {
    const fn units(self) -> usize {
        match self {
            Self::Page => bounds::EXPRESSION_WORK_PAGE_MAX,
            Self::Read | Self::Write => bounds::EXPRESSION_WORK_WRITE_MAX,
            Self::Tokenize => bounds::EXPRESSION_WORK_TOKENIZE_MAX,
        }
    }

    pub(in crate::app) const fn budget(self) -> Budget {
        Budget::of(self.units())
    }
}

impl Evaluations {
    pub(in crate::app) fn new() -> Self {
        Self {
            parsed: Cache::new(),
            places: Semaphore::new(bounds::EVALUATIONS_MAX),
            waiting: AtomicUsize::new(0),
        }
    }

    /// A place to evaluate in. Beyond a bound nobody waits for one.
    pub(in crate::app) async fn place(&self) -> Result<SemaphorePermit<'_>, Error> {
        let Some(_waiting) = Waiting::begin(&self.waiting) else { return Err(Error::Busy) };
        let place = self.places.acquire().await;
        // It is never closed.
        place.or(Err(Error::Stopped))
    }
}

/// One request in the queue, until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(waiting: &'a AtomicUsize) -> Option<Self> {
        let one = Self(waiting);
        let before = waiting.fetch_add(1, Ordering::Relaxed);
        (before < bounds::EVALUATIONS_WAITING_MAX).then_some(one)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
