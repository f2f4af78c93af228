//! The writer thread, the only one that writes. It takes the queued changes, commits them in one
//! transaction, and then answers them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError};

use redb::Database;
use tokio::sync::oneshot;

use crate::bounds::{BATCH_CHANGES_MAX, IDLE_BEFORE_QUICK_REPAIR};
use crate::store::alarm::Alarm;
use crate::store::batch::{Batch, Verdict};
use crate::store::change::Change;
use crate::store::digests::SharedDigests;
use crate::store::failure::{Fatal, StorageFailure};
use crate::store::writer_metrics::WriterMetrics;

pub(super) enum Job {
    Commit(Change, oneshot::Sender<Verdict>),
    /// Checks that the writer still takes jobs.
    Reach(oneshot::Sender<()>),
    /// The last job: the changes queued before it are written, then the file is closed.
    Close,
}

pub(super) struct Writer {
    pub(super) database: Arc<Database>,
    pub(super) jobs: Receiver<Job>,
    pub(super) access_generation: Arc<AtomicU64>,
    pub(super) alarm: Alarm,
    pub(super) metrics: Arc<WriterMetrics>,
    /// Permission for commits in idle time, which make the next start quick.
    pub(super) may_commit_idle: Arc<AtomicBool>,
    pub(super) digests: SharedDigests,
}

/// The cost of opening the file after an unclean stop: `Quick`, or every page is `Checked` first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Recovery {
    Checked,
    Quick,
}

impl Writer {
    /// Returns when the file is closed or has failed. A dropped reply means that the outcome of its
    /// change is unknown.
    pub(super) fn run(self) {
        let ended = match catch_unwind(AssertUnwindSafe(|| self.serve())) {
            Ok(Ok(())) => return,
            Ok(Err(failure)) => Fatal::Storage(failure),
            Err(_) => Fatal::WriterPanicked,
        };
        self.alarm.end(ended);
    }

    fn serve(&self) -> Result<(), StorageFailure> {
        let mut recovery = Recovery::Checked;
        loop {
            // A quick-repair commit takes two to three times as long as a plain one, so it waits
            // until the queue is idle.
            let first = match recovery {
                Recovery::Checked => self.jobs.recv_timeout(IDLE_BEFORE_QUICK_REPAIR),
                Recovery::Quick => self.jobs.recv().map_err(RecvTimeoutError::from),
            };
            match first {
                Ok(Job::Commit(change, reply)) => {
                    let closing = self.commit_with_queued(change, reply)?;
                    recovery = Recovery::Checked;
                    if closing {
                        return self.commit_nothing();
                    }
                }
                Ok(Job::Reach(reached)) => drop(reached.send(())),
                Err(RecvTimeoutError::Timeout) => {
                    if self.may_commit_idle.load(Ordering::Relaxed) {
                        self.commit_nothing()?;
                        recovery = Recovery::Quick;
                    }
                }
                Ok(Job::Close) | Err(RecvTimeoutError::Disconnected) => {
                    return self.commit_nothing();
                }
            }
        }
    }

    /// Commits this change and the queued ones. Returns true if [`Job::Close`] was among the jobs.
    fn commit_with_queued(
        &self,
        first: Change,
        reply: oneshot::Sender<Verdict>,
    ) -> Result<bool, StorageFailure> {
        let mut jobs = vec![(first, reply)];
        let mut closing = false;
        while jobs.len() < BATCH_CHANGES_MAX && !closing {
            match self.jobs.try_recv() {
                Ok(Job::Commit(change, reply)) => jobs.push((change, reply)),
                Ok(Job::Reach(reached)) => drop(reached.send(())),
                Ok(Job::Close) => closing = true,
                Err(_) => break,
            }
        }
        self.commit(jobs)?;
        Ok(closing)
    }

    fn commit(&self, jobs: Vec<(Change, oneshot::Sender<Verdict>)>) -> Result<(), StorageFailure> {
        let begun = self.metrics.begin(jobs.len());
        let transaction = begin(&self.database, Recovery::Checked)?;
        let mut digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        let mut batch = Batch::new(&transaction, digests.as_mut());
        let mut replies = Vec::with_capacity(jobs.len());
        let mut concerns_access = false;
        for (change, reply) in jobs {
            let change_concerns_access = change.concerns_access();
            let verdict = batch.take(change)?;
            concerns_access |= change_concerns_access && verdict == Verdict::Applied;
            replies.push((verdict, reply));
        }
        batch.insert()?;
        transaction.commit()?;
        drop(digests);
        self.metrics.end(begun);
        if concerns_access {
            // Before the replies: after the deletion of a key is confirmed, the key must be
            // refused.
            self.access_generation.fetch_add(1, Ordering::Release);
        }
        for (verdict, reply) in replies {
            // The client may have disconnected; its record is durable in any case.
            reply.send(verdict).ok();
        }
        Ok(())
    }

    fn commit_nothing(&self) -> Result<(), StorageFailure> {
        Ok(begin(&self.database, Recovery::Quick)?.commit()?)
    }
}

fn begin(
    database: &Database,
    recovery: Recovery,
) -> Result<redb::WriteTransaction, StorageFailure> {
    let mut transaction = database.begin_write()?;
    transaction.set_two_phase_commit(true);
    transaction.set_quick_repair(recovery == Recovery::Quick);
    Ok(transaction)
}
