//! Evaluating expressions without holding up other requests.
//!
//! A request has one [`Budget`] for all of its expressions: mask, search indexes, fingerprint, id, and
//! all tokens of a page. It starts on the thread that serves the request, with the small part of the
//! budget that every honest request fits into. A request that needs more is begun again, with the
//! whole budget, on a thread that no other request waits for; few of those run at a time. What
//! does not fit into the whole budget is redacted in a read and refused in a write.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::block_in_place;

use crate::app::commit::commit_loop::{Committed, Priority, Write};
use crate::app::error::Error;
use crate::app::vault::Vault;
use crate::bounds;
use crate::expressions::{Budget, Cache, Failed};
use crate::store::{Change, Snapshot};

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

impl Vault {
    /// A read: `read` is run again from the start when it needs more than the inline part.
    pub(in crate::app) async fn evaluating<T>(
        &self,
        work: Work,
        mut read: impl FnMut(&Budget) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let budget = Budget::first(bounds::EXPRESSION_WORK_INLINE_MAX);
        let outcome = read(&budget);
        if !budget.ran_out() {
            return outcome;
        }
        drop(outcome);
        let _place = self.evaluations.place().await?;
        aside(|| read(&work.budget()))
    }

    /// As [`Vault::settle_once`], for a decision that evaluates expressions. One budget is for all
    /// attempts at the decision together.
    pub(in crate::app) async fn commit_evaluating<T>(
        &self,
        work: Work,
        write: &Write<'_, T>,
        mut decide: impl FnMut(&Snapshot, &Budget) -> Result<(Change, T), Error>,
    ) -> Result<Committed<T>, Error> {
        let budget = Budget::first(bounds::EXPRESSION_WORK_INLINE_MAX);
        let settled = self.commit_write(Priority::Normal, write, |snapshot| {
            let decided = decide(snapshot, &budget);
            if budget.ran_out() { Err(Error::Busy) } else { decided }
        });
        let settled = settled.await;
        if !budget.ran_out() {
            return settled;
        }
        drop(settled);
        let _place = self.evaluations.place().await?;
        let budget = work.budget();
        let mut attempts = 0_usize;
        let settled = self.commit_write(Priority::Normal, write, |snapshot| {
            attempts = attempts.saturating_add(1);
            let decided = aside(|| decide(snapshot, &budget));
            match decided {
                // Others changed what it rested on, again and again: not the expressions' fault.
                _ if budget.ran_out() && attempts > 1 => Err(Error::Busy),
                // Everything was evaluated but the mask that the answer is shown through.
                Ok(_) if budget.ran_out() => {
                    Err(Error::invalid("mask", Failed::TooMuchWork.to_string()))
                }
                decided => decided,
            }
        });
        settled.await
    }
}

/// Runs it where no other task waits for the thread.
fn aside<T>(run: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(run),
        // One thread for everything: a command of the operator, or a test.
        Ok(_) | Err(_) => run(),
    }
}
