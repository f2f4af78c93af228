//! Evaluates the expressions of a request, on the thread that serves it or on a blocking thread.

use crate::app::blocking::run_blocking;
use crate::app::commit::commit_loop::{CommitOutcome, Priority, Write};
use crate::app::error::Error;
use crate::app::tokens::evaluations::Work;
use crate::app::vault::Vault;
use crate::bounds;
use crate::expressions::{Budget, Failed};
use crate::store::{Change, Snapshot};

impl Vault {
    /// For reads. If `read` needs more than the inline part of the budget, it runs again from the
    /// start.
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
        let _permit = self.evaluations.pool.permit().await?;
        run_blocking(|| read(&work.budget()))
    }

    /// [`Vault::commit_write`] for a decision that evaluates expressions. All attempts at the
    /// decision share one budget.
    pub(in crate::app) async fn commit_evaluating<T>(
        &self,
        work: Work,
        write: &Write<'_, T>,
        mut decide: impl FnMut(&Snapshot, &Budget) -> Result<(Change, T), Error>,
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
        let _permit = self.evaluations.pool.permit().await?;
        let budget = work.budget();
        let mut attempts = 0_usize;
        let committed = self.commit_write(Priority::Normal, write, |snapshot| {
            attempts = attempts.saturating_add(1);
            let decided = run_blocking(|| decide(snapshot, &budget));
            match decided {
                // Concurrent changes forced several attempts, which used up the budget. The
                // expressions alone did not.
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
