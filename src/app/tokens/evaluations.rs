//! Evaluates expressions without delaying other requests.
//!
//! A request has one [`Budget`] for all of its expressions: mask, search indexes, fingerprint, id,
//! and all tokens of a page. It starts on the thread that serves the request, with the small part
//! of the budget that every ordinary request fits into. A request that needs more starts again on a
//! blocking thread, with the whole budget; the number of such requests is bounded. If the whole
//! budget is used up, a read redacts the data and a write is refused.

use std::borrow::Borrow;

use crate::app::Vault;
use crate::app::blocking::run_blocking;
use crate::app::commit::commit_loop::{CommitOutcome, Priority, Write};
use crate::app::error::Error;
use crate::app::fair_pool::{FairPool, Party};
use crate::bounds;
use crate::crypto::{hmac_sha1, hmac_sha256, hmac_sha512};
use crate::expressions::{Budget, Cache, Failed, Hash, Host};
use crate::store::{Change, Snapshot};

#[derive(Debug)]
pub(in crate::app) struct Evaluations {
    pub(in crate::app) parsed: Cache,
    pub(in crate::app) pool: FairPool,
    /// Separate threads for the masks of proxies. A mask may take twenty times as long as the
    /// expressions of a request, which must not wait for it.
    pub(in crate::app) masks: FairPool,
}

/// Decides the maximum work of a request's expressions.
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
            pool: FairPool::new(bounds::EVALUATIONS_MAX, bounds::EVALUATIONS_WAITING_MAX),
            masks: FairPool::new(bounds::PROXY_MASKS_MAX, bounds::PROXY_MASKS_WAITING_MAX),
        }
    }
}

impl Host for Vault {
    fn random(&self, bytes: &mut [u8]) {
        self.random.fill(bytes);
    }

    fn hmac(&self, hash: Hash, key: &[u8], message: &[u8]) -> Vec<u8> {
        match hash {
            Hash::Sha1 => hmac_sha1(key, message),
            Hash::Sha256 => hmac_sha256(key, message),
            Hash::Sha512 => hmac_sha512(key, message),
        }
    }
}

impl Vault {
    /// For reads. If `read` needs more than the inline part of the budget, it runs again from the
    /// start, with the whole budget. Several reads may share one budget.
    pub(in crate::app) async fn evaluating<T>(
        &self,
        party: Party,
        whole: impl Borrow<Budget>,
        mut read: impl FnMut(&Budget) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let budget = Budget::first(bounds::EXPRESSION_WORK_INLINE_MAX);
        let outcome = read(&budget);
        if !budget.ran_out() {
            return outcome;
        }
        drop(outcome);
        let _permit = self.evaluations.pool.permit(party).await?;
        run_blocking(|| read(whole.borrow()))
    }

    /// As [`Vault::commit_write`], for a decision that evaluates expressions. All attempts at the
    /// decision share one budget.
    pub(in crate::app) async fn commit_evaluating<T: Send>(
        &self,
        party: Party,
        work: Work,
        write: &Write<'_, T>,
        mut decide: impl FnMut(&Snapshot, &Budget) -> Result<(Change, T), Error> + Send,
    ) -> Result<CommitOutcome<T>, Error> {
        let budget = Budget::first(bounds::EXPRESSION_WORK_INLINE_MAX);
        let committed = self.commit_write(Priority::Normal, write, |snapshot| {
            let decided = decide(snapshot, &budget);
            if budget.ran_out() { Err(Error::Busy) } else { decided }
        });
        let committed = committed.await;
        if !budget.ran_out() {
            return committed;
        }
        drop(committed);
        let _permit = self.evaluations.pool.permit(party).await?;
        let budget = work.budget();
        let mut attempts = 0_usize;
        let committed = self.commit_write(Priority::Normal, write, |snapshot| {
            attempts = attempts.saturating_add(1);
            let decided = run_blocking(|| decide(snapshot, &budget));
            match decided {
                // Concurrent changes forced several attempts, which used up the budget together.
                // The expressions alone did not.
                _ if budget.ran_out() && attempts > 1 => Err(Error::Busy),
                // The decision succeeded, so the mask of the answer used up the budget.
                Ok(_) if budget.ran_out() => {
                    Err(Error::invalid("mask", Failed::TooMuchWork.to_string()))
                }
                decided => decided,
            }
        });
        committed.await
    }
}
