//! The writer threads, which make all writes once requests are served. Each applies the queued
//! changes as one batch, then answers them. A store of one process has one; a shared store has one
//! for each shard, whose batches do not wait for each other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

use smallvec::{SmallVec, smallvec};
use tokio::sync::oneshot;

use crate::bounds::{BATCH_BYTES_MAX, BATCH_CHANGES_MAX, BATCH_WRITES_MAX};
use crate::domain::shares::{Claimant, Shares};
use crate::store::alarm::Alarm;
use crate::store::batch::{Batch, Verdict};
use crate::store::change::Change;
use crate::store::closed::ClosedScopes;
use crate::store::digests::{DigestKeeper, RecordDigests, SharedDigests};
use crate::store::engine::{Engine, Turns};
use crate::store::failure::{CommitFailure, Fatal, StorageFailure};
use crate::store::shards::Shards;
use crate::store::shared::{Process, Repeatable};
use crate::store::tables::Shard;
use crate::store::writer_metrics::WriterMetrics;

pub(super) type Reply = oneshot::Sender<Result<Verdict, CommitFailure>>;

/// On the stack for a batch of few changes.
type Few<T> = SmallVec<[T; 4]>;

#[expect(clippy::large_enum_variant, reason = "nearly all jobs are changes")]
pub(super) enum Job {
    Commit(QueuedChange),
    /// Answered when the changes before it are written.
    Reach(oneshot::Sender<()>),
    /// The last job: the changes before it are written, then the engine is closed.
    Close,
}

pub(super) struct QueuedChange {
    pub(super) change: Change,
    /// [`Change::bytes`].
    pub(super) bytes: usize,
    /// The turns that the change needs; none in a store of one process.
    pub(super) turns: Turns,
    pub(super) reply: Reply,
    /// Given back when the change is written, before it is answered. `None` for a small one.
    pub(super) room: Option<QueueRoom>,
}

/// A part of [`crate::bounds::QUEUE_BYTES_MAX`], given back when dropped.
pub(super) struct QueueRoom {
    shares: Arc<Shares>,
    payer: Claimant,
    bytes: usize,
}

impl QueueRoom {
    /// `None` if the share of the change's tenant is taken.
    pub(super) fn take(shares: &Arc<Shares>, change: &Change, bytes: usize) -> Option<Self> {
        let payer = Claimant::Keyed(change.payer());
        let is_taken = shares.take(payer, bytes);
        is_taken.then(|| Self { shares: Arc::clone(shares), payer, bytes })
    }
}

impl Drop for QueueRoom {
    fn drop(&mut self) {
        self.shares.give_back(self.payer, self.bytes);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Round {
    Handled,
    /// The engine is closed or has failed.
    Ended,
}

pub(super) struct Writer {
    pub(super) engine: Arc<dyn Engine>,
    /// The shard whose changes this writer writes, also if they change rows of the vault too. The
    /// writer of the vault's own shard also writes changes of several tenants' shards.
    pub(super) lane: Shard,
    pub(super) shards: Shards,
    pub(super) jobs: Receiver<Job>,
    pub(super) access_generation: Arc<AtomicU64>,
    pub(super) webhook_generation: Arc<AtomicU64>,
    pub(super) alarm: Alarm,
    pub(super) metrics: Arc<WriterMetrics>,
    pub(super) digests: SharedDigests,
    pub(super) closed: ClosedScopes,
    /// `None` for an engine that no other process uses.
    pub(super) process: Option<Arc<Process>>,
}

impl Writer {
    /// Returns when the engine is closed or has failed. A dropped reply means that the outcome of
    /// its change is unknown.
    pub(super) fn run(self) {
        while self.round(|jobs| jobs.recv().unwrap_or(Job::Close)) == Round::Handled {}
    }

    /// Handles the next job and the ones queued behind it. A failure raises the alarm.
    pub(super) fn round(&self, next: impl FnOnce(&Receiver<Job>) -> Job) -> Round {
        let ended = match catch_unwind(AssertUnwindSafe(|| self.handle(next(&self.jobs)))) {
            Ok(Ok(round)) => return round,
            Ok(Err(failure)) => {
                self.save_rows(&failure);
                Fatal::Storage(failure)
            }
            Err(_) => Fatal::WriterPanicked,
        };
        self.alarm.end(ended);
        Round::Ended
    }

    /// If a file of the log was removed, answered rows that only the log had are still in memory.
    /// They are moved into the data file. If that is gone too, nothing can be saved.
    fn save_rows(&self, failure: &StorageFailure) {
        if matches!(failure, StorageFailure::Removed(_)) {
            let closed = catch_unwind(AssertUnwindSafe(|| self.engine.close()));
            // The first failure is the one reported.
            drop(closed);
        }
    }

    fn handle(&self, job: Job) -> Result<Round, StorageFailure> {
        match job {
            Job::Commit(queued) => {
                if self.commit_with_queued(queued)? {
                    return self.end();
                }
            }
            Job::Reach(reached) => drop(reached.send(())),
            Job::Close => return self.end(),
        }
        Ok(Round::Handled)
    }

    /// The store closes the writer of the vault's own shard last.
    fn end(&self) -> Result<Round, StorageFailure> {
        if self.lane == Shard::VAULT {
            self.engine.close()?;
        }
        Ok(Round::Ended)
    }

    /// Commits this change and the queued ones. Returns true if [`Job::Close`] was among the jobs.
    fn commit_with_queued(&self, first: QueuedChange) -> Result<bool, StorageFailure> {
        // A database takes seconds for many rows, and the answer to a batch has a deadline.
        let most = if self.process.is_some() { BATCH_WRITES_MAX } else { usize::MAX };
        let mut writes_left = most.saturating_sub(first.change.writes.len());
        let mut bytes_left = BATCH_BYTES_MAX.saturating_sub(first.bytes);
        let mut turns = first.turns;
        let (mut changes, mut replies): (Vec<_>, Few<_>) =
            (vec![first.change], smallvec![(first.reply, first.room)]);
        let mut reached = Few::new();
        if self.lane != Shard::VAULT {
            self.engine.take_turn(self.lane);
        }
        let mut closing = false;
        let mut is_full = writes_left == 0 || bytes_left == 0;
        while !is_full && !closing {
            match self.jobs.try_recv() {
                Ok(Job::Commit(next)) => {
                    writes_left = writes_left.saturating_sub(next.change.writes.len());
                    bytes_left = bytes_left.saturating_sub(next.bytes);
                    turns.extend(next.turns);
                    changes.push(next.change);
                    replies.push((next.reply, next.room));
                    is_full =
                        writes_left == 0 || bytes_left == 0 || changes.len() >= BATCH_CHANGES_MAX;
                }
                Ok(Job::Reach(reply)) => reached.push(reply),
                Ok(Job::Close) => closing = true,
                Err(_) => break,
            }
        }
        self.commit(changes, replies, &turns)?;
        for reply in reached {
            // The asker may have left.
            reply.send(()).ok();
        }
        Ok(closing)
    }

    fn commit(
        &self,
        changes: Vec<Change>,
        replies: Few<(Reply, Option<QueueRoom>)>,
        turns: &Turns,
    ) -> Result<(), StorageFailure> {
        let lane = usize::from(self.lane.number());
        let begun = self.metrics.begin(lane, changes.len());
        let concerns = |change: &Change| (change.concerns_access(), change.concerns_webhooks());
        let concerns: Few<(bool, bool)> = changes.iter().map(concerns).collect();
        let closing = changes.iter().filter_map(|change| change.closes);
        let closing: Vec<_> = closing.filter(|scope| !self.closed.contains(scope)).collect();
        let is_shared = self.process.is_some();
        let mut own = (!is_shared).then(|| self.digests.lock());
        let sealer = is_shared.then(|| self.digests.lock().as_ref().map(RecordDigests::sealer));
        let mut verdicts: Few<Option<Verdict>> = Few::new();
        let mut changes = Repeatable::new(changes, is_shared);
        let applied = self.engine.apply_in(turns, &mut |newest| {
            // An earlier decision of this batch may have closed them.
            for scope in &closing {
                self.closed.remove(scope);
            }
            let changes = changes.give()?;
            let digests = match &mut own {
                Some(own) => own.as_mut().map(DigestKeeper::Own),
                None => sealer.clone().flatten().map(DigestKeeper::Shared),
            };
            let mut batch = Batch::new(newest, digests)
                .within(self.shards)
                .respecting(&self.closed)
                .sharing(self.process.as_deref(), turns);
            batch.read_ahead(&changes)?;
            let decided = changes.into_iter().map(|it| batch.take_if_allowed(it));
            verdicts = decided.collect::<Result<_, _>>()?;
            batch.rows()
        });
        drop(own);
        match applied {
            Ok(()) => self.metrics.end(lane, begun),
            Err(failure) if failure.is_transient() => {
                self.metrics.end(lane, begun);
                for scope in &closing {
                    self.closed.remove(scope);
                }
                for (reply, room) in replies {
                    drop(room);
                    reply.send(Err(CommitFailure::Unavailable)).ok();
                }
                return Ok(());
            }
            Err(failure) => return Err(failure),
        }
        let outcomes = concerns.iter().zip(&verdicts);
        let applied = outcomes.filter(|(_, verdict)| **verdict == Some(Verdict::Applied));
        let (mut access, mut webhooks) = (false, false);
        for ((concerns_access, concerns_webhooks), _) in applied {
            access |= concerns_access;
            webhooks |= concerns_webhooks;
        }
        if webhooks {
            self.webhook_generation.fetch_add(1, Ordering::Release);
        }
        if access {
            // Before the replies: once the deletion of a key is confirmed, the key must be refused.
            self.access_generation.fetch_add(1, Ordering::Release);
        }
        for (verdict, (reply, room)) in verdicts.into_iter().zip(replies) {
            // The client may send its next change as soon as it has this answer.
            drop(room);
            // The client may have disconnected; its record is durable in any case.
            reply.send(verdict.ok_or(CommitFailure::Unavailable)).ok();
        }
        Ok(())
    }
}
