//! The writer thread, the only one that writes. It takes the queued changes, applies them as one
//! batch, and then answers them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, PoisonError};

use tokio::sync::oneshot;

use crate::bounds::BATCH_CHANGES_MAX;
use crate::store::alarm::Alarm;
use crate::store::batch::{Batch, Verdict};
use crate::store::change::Change;
use crate::store::digests::SharedDigests;
use crate::store::engine::Engine;
use crate::store::failure::{CommitFailure, Fatal, StorageFailure};
use crate::store::writer_metrics::WriterMetrics;

pub(super) type Reply = oneshot::Sender<Result<Verdict, CommitFailure>>;

pub(super) enum Job {
    Commit(Change, Reply),
    /// Checks that the writer still takes jobs.
    Reach(oneshot::Sender<()>),
    /// The last job: the changes queued before it are written, then the engine is closed.
    Close,
}

pub(super) struct Writer {
    pub(super) engine: Arc<dyn Engine>,
    pub(super) jobs: Receiver<Job>,
    pub(super) access_generation: Arc<AtomicU64>,
    pub(super) webhook_generation: Arc<AtomicU64>,
    pub(super) alarm: Alarm,
    pub(super) metrics: Arc<WriterMetrics>,
    pub(super) digests: SharedDigests,
}

impl Writer {
    /// Returns when the engine is closed or has failed. A dropped reply means that the outcome of
    /// its change is unknown.
    pub(super) fn run(self) {
        let ended = match catch_unwind(AssertUnwindSafe(|| self.serve())) {
            Ok(Ok(())) => return,
            Ok(Err(failure)) => Fatal::Storage(failure),
            Err(_) => Fatal::WriterPanicked,
        };
        self.alarm.end(ended);
    }

    fn serve(&self) -> Result<(), StorageFailure> {
        loop {
            match self.jobs.recv() {
                Ok(Job::Commit(change, reply)) => {
                    if self.commit_with_queued(change, reply)? {
                        return self.engine.close();
                    }
                }
                Ok(Job::Reach(reached)) => drop(reached.send(())),
                Ok(Job::Close) | Err(_) => return self.engine.close(),
            }
        }
    }

    /// Commits this change and the queued ones. Returns true if [`Job::Close`] was among the jobs.
    fn commit_with_queued(&self, first: Change, reply: Reply) -> Result<bool, StorageFailure> {
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

    fn commit(&self, jobs: Vec<(Change, Reply)>) -> Result<(), StorageFailure> {
        let begun = self.metrics.begin(jobs.len());
        let (changes, replies): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
        let concerns = |change: &Change| (change.concerns_access(), change.concerns_webhooks());
        let concerns: Vec<(bool, bool)> = changes.iter().map(concerns).collect();
        let mut digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        let mut verdicts = Vec::new();
        // The engine of one host decides once. An engine that decides again needs the changes and
        // the digests as they were.
        let mut changes = Some(changes);
        let applied = self.engine.apply(&mut |newest| {
            let changes = changes.take().ok_or(StorageFailure::Impossible("decided twice"))?;
            let mut batch = Batch::new(newest, digests.as_mut());
            batch.read_expected(&changes)?;
            verdicts = changes.into_iter().map(|it| batch.take(it)).collect::<Result<_, _>>()?;
            batch.rows()
        });
        drop(digests);
        match applied {
            Ok(()) => self.metrics.end(begun),
            Err(failure) if failure.is_transient() => {
                self.metrics.end(begun);
                for reply in replies {
                    reply.send(Err(CommitFailure::Unavailable)).ok();
                }
                return Ok(());
            }
            Err(failure) => return Err(failure),
        }
        let outcomes = concerns.iter().zip(&verdicts);
        let applied = outcomes.filter(|(_, verdict)| **verdict == Verdict::Applied);
        let (mut access, mut webhooks) = (false, false);
        for ((concerns_access, concerns_webhooks), _) in applied {
            access |= concerns_access;
            webhooks |= concerns_webhooks;
        }
        if webhooks {
            self.webhook_generation.fetch_add(1, Ordering::Release);
        }
        if access {
            // Before the replies: after the deletion of a key is confirmed, the key must be
            // refused.
            self.access_generation.fetch_add(1, Ordering::Release);
        }
        for (verdict, reply) in verdicts.into_iter().zip(replies) {
            // The client may have disconnected; its record is durable in any case.
            reply.send(Ok(verdict)).ok();
        }
        Ok(())
    }
}
