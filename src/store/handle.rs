//! The open store: the handle that the rest of the program holds.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use crate::bounds::{
    CACHE_BYTES, CHANGE_BYTES_MAX, QUEUE_BYTES_FREE, QUEUE_BYTES_MAX, QUEUE_CHANGES_MAX,
};
use crate::clock::Clock;
use crate::crypto::DigestKey;
use crate::domain::shares::Shares;
use crate::lock::Lock;
use crate::store::alarm::Alarm;
use crate::store::batch::{Batch, Verdict};
use crate::store::change::Change;
use crate::store::closed::ClosedScopes;
use crate::store::cvc_keys::CvcKeys;
use crate::store::digests::{DigestFault, DigestKeeper, RecordDigests, SharedDigests};
use crate::store::engine::local::LocalEngine;
use crate::store::engine::local::file;
use crate::store::engine::local::log::segment::is_log_file;
use crate::store::engine::{Engine, EngineHealth, LogSource, Turns, Upkeep, lane_of};
use crate::store::epochs::Epochs;
use crate::store::failure::{CommitFailure, Fatal, OpenFailure, StorageFailure};
use crate::store::opening::{self, Cleanliness};
use crate::store::shards::Shards;
use crate::store::shared::{Process, Repeatable, turns_of};
use crate::store::snapshot::Snapshot;
use crate::store::tables::{Shard, Table, meta};
use crate::store::volume::{Directory, OverlayVolume, Volume};
use crate::store::writer::{Job, QueueRoom, QueuedChange, Reply, Writer};
use crate::store::writer_metrics::WriterMetrics;

/// Clones share the store.
#[derive(Clone)]
pub struct Store(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) engine: Arc<dyn Engine>,
    /// A writer for each shard, in their order. Changes of several shards go to the first.
    writers: Vec<SyncSender<Job>>,
    /// The bytes of queued changes, of all writers.
    pub(super) queued_bytes: Arc<Shares>,
    shards: Shards,
    pub(super) access_generation: Arc<AtomicU64>,
    pub(super) webhook_generation: Arc<AtomicU64>,
    pub(super) alarm: Alarm,
    pub(super) epochs: Epochs,
    pub(super) metrics: Arc<WriterMetrics>,
    digests: SharedDigests,
    closed: ClosedScopes,
    threads: Lock<Vec<JoinHandle<()>>>,
    background: Background,
    /// `None` for an engine that no other process uses.
    pub(super) process: Option<Arc<Process>>,
}

/// Runs work that a caller waits for on a separate thread. The simulation runs it at once, so that
/// its order does not depend on the scheduler.
pub(super) type Background = fn(Box<dyn FnOnce() + Send>) -> io::Result<()>;

fn on_a_thread(work: Box<dyn FnOnce() + Send>) -> io::Result<()> {
    std::thread::Builder::new().name(String::from("forgetter")).spawn(work).map(drop)
}

impl Store {
    pub const FILE: &'static str = file::NAME;

    /// The path of a new data file until it is complete.
    pub fn unfinished(directory: &Path) -> PathBuf {
        directory.join(file::UNFINISHED)
    }

    /// Returns true for the names of files that a vault creates in its data directory.
    pub fn makes_file(name: &str) -> bool {
        [file::NAME, file::UNFINISHED, CvcKeys::FILE].contains(&name) || is_log_file(name)
    }

    /// Creates a store with the rows of `first`. The data file gets its name only when they are
    /// durable, so a crash leaves nothing that looks like a vault.
    pub fn create(directory: &Path, clock: &Clock, first: Change) -> Result<Self, OpenFailure> {
        let volume: Arc<dyn Volume> = Arc::new(Directory::open(directory)?);
        opening::create(volume.as_ref(), first)?;
        Self::on_volume(&volume, clock)
    }

    pub fn open(directory: &Path, clock: &Clock) -> Result<Self, OpenFailure> {
        let volume: Arc<dyn Volume> = Arc::new(Directory::open(directory)?);
        Self::on_volume(&volume, clock)
    }

    /// Opens the store for verification: all writes stay in memory. A file that needs recovery
    /// after a crash is recovered there.
    pub fn open_unwritten(
        directory: &Path,
        clock: &Clock,
    ) -> Result<(Self, Cleanliness), OpenFailure> {
        let volume: Arc<dyn Volume> = Arc::new(OverlayVolume::new(directory));
        let alarm = Alarm::default();
        let data = opening::open_any(volume.as_ref())?;
        let (engine, cleanliness) = LocalEngine::start(&volume, data, clock, &alarm)?;
        Ok((Self::open_engine(Arc::new(engine), alarm)?, cleanliness))
    }

    /// Checks all pages of a stopped store's data file, also pages without rows. Writes nothing.
    /// Returns false if one is damaged.
    pub fn has_sound_pages(directory: &Path) -> Result<bool, OpenFailure> {
        Self::has_sound_pages_on(&OverlayVolume::new(directory))
    }

    pub(crate) fn has_sound_pages_on(volume: &dyn Volume) -> Result<bool, OpenFailure> {
        let mut data = file::DataFile::open(volume, CACHE_BYTES)?;
        data.database.has_sound_pages().map_err(OpenFailure::Storage)
    }

    pub(super) fn on_volume(volume: &Arc<dyn Volume>, clock: &Clock) -> Result<Self, OpenFailure> {
        let alarm = Alarm::default();
        let data = opening::open(volume.as_ref())?;
        let engine = LocalEngine::start(volume, data, clock, &alarm);
        Self::open_engine(Arc::new(engine?.0), alarm)
    }

    /// Opens the store even if batches are missing at the end of its log. Later starts still refuse
    /// it, until a new timeline has begun.
    pub(super) fn accepting_any_end(
        volume: &Arc<dyn Volume>,
        clock: &Clock,
    ) -> Result<Self, OpenFailure> {
        let alarm = Alarm::default();
        let data = opening::open(volume.as_ref())?;
        let engine = LocalEngine::start_accepting_any_end(volume, data, clock, &alarm)?;
        Self::open_engine(Arc::new(engine), alarm)
    }

    /// Opens the store on a test's disk. An empty disk gets a new store with the rows of `first`.
    #[cfg(test)]
    pub(crate) fn on_disk(
        disk: &crate::store::tests::disk::TestDisk,
        first: Change,
    ) -> Result<Self, OpenFailure> {
        let volume = disk.volume();
        if volume.open(Self::FILE)?.is_none() {
            opening::create(volume.as_ref(), first)?;
        }
        Self::on_volume(&volume, &Clock::new())
    }

    pub(super) fn open_engine(engine: Arc<dyn Engine>, alarm: Alarm) -> Result<Self, OpenFailure> {
        let (store, writers) = Self::assemble(engine, alarm, on_a_thread)?;
        for writer in writers {
            store.0.threads.lock().push(std::thread::spawn(|| writer.run()));
        }
        Ok(store)
    }

    /// The handle, and its writers, which no thread runs yet.
    pub(super) fn assemble(
        engine: Arc<dyn Engine>,
        alarm: Alarm,
        background: Background,
    ) -> Result<(Self, Vec<Writer>), OpenFailure> {
        let shards = engine.snapshot()?.get(Table::Meta, meta::SHARDS)?;
        let shards = Shards::decode(shards)?;
        // An engine of one process gains nothing from several writers.
        let lanes: Vec<_> =
            if engine.is_shared() { shards.all().collect() } else { vec![Shard::VAULT] };
        let access_generation = Arc::new(AtomicU64::new(0));
        let webhook_generation = Arc::new(AtomicU64::new(0));
        let metrics = Arc::new(WriterMetrics::new(lanes.len()));
        let digests = SharedDigests::default();
        let closed = ClosedScopes::default();
        let process = engine.is_shared().then(|| Arc::new(Process::new()));
        let (jobs, queues): (Vec<_>, Vec<_>) =
            lanes.iter().map(|_| sync_channel(QUEUE_CHANGES_MAX)).unzip();
        let writer = |(lane, queue): (Shard, Receiver<Job>)| Writer {
            engine: Arc::clone(&engine),
            lane,
            shards,
            jobs: queue,
            access_generation: Arc::clone(&access_generation),
            webhook_generation: Arc::clone(&webhook_generation),
            alarm: alarm.clone(),
            metrics: Arc::clone(&metrics),
            digests: Arc::clone(&digests),
            closed: closed.clone(),
            process: process.clone(),
        };
        let writers = lanes.into_iter().zip(queues).map(writer).collect();
        let inner = Inner {
            engine,
            writers: jobs,
            queued_bytes: Arc::new(Shares::new(QUEUE_BYTES_MAX)),
            shards,
            access_generation,
            webhook_generation,
            alarm,
            epochs: Epochs::new(),
            metrics,
            digests,
            closed,
            threads: Lock::default(),
            background,
            process,
        };
        Ok((Self(Arc::new(inner)), writers))
    }

    /// The assignment of tenants to shards.
    pub fn shards(&self) -> Shards {
        self.0.shards
    }

    pub fn snapshot(&self) -> Result<Snapshot, StorageFailure> {
        // Take the epoch before the snapshot: an epoch that is too old is safe, one that is too new
        // is not.
        let epoch = self.0.epochs.current();
        let rows = self.0.engine.snapshot().map_err(|failure| self.0.alarm.sound(failure))?;
        Ok(Snapshot::new(rows, self.0.alarm.clone(), epoch))
    }

    /// Returns when the change is durable, or was refused. Dropping the future does not undo it.
    pub async fn commit(&self, change: Change) -> Result<Verdict, CommitFailure> {
        // An empty change depends only on a snapshot, and a snapshot shows only durable data.
        if change.is_empty() {
            return Ok(Verdict::Applied);
        }
        self.submit(change)?.await
    }

    /// Queues the change. It is written even if the caller drops the returned future.
    pub fn submit(
        &self,
        change: Change,
    ) -> Result<impl Future<Output = Result<Verdict, CommitFailure>> + use<>, CommitFailure> {
        if let Some(what) = change.refusal() {
            return Err(CommitFailure::Impossible(what));
        }
        // Also after a failed read, nothing more is written: the process is ending.
        if self.0.alarm.has_sounded() {
            return Err(CommitFailure::Stopped);
        }
        let bytes = change.bytes();
        if bytes > CHANGE_BYTES_MAX {
            return Err(CommitFailure::TooLarge);
        }
        let (reply, verdict) = oneshot::channel();
        self.0.metrics.queued.add(1);
        self.queue_change(change, bytes, reply).inspect_err(|failure| {
            self.0.metrics.queued.add(-1);
            if *failure == CommitFailure::QueueFull {
                self.0.metrics.refused.add(1);
            }
        })?;
        Ok(async { verdict.await.map_err(stopped)? })
    }

    fn queue_change(
        &self,
        change: Change,
        bytes: usize,
        reply: Reply,
    ) -> Result<(), CommitFailure> {
        let room = if bytes > QUEUE_BYTES_FREE {
            let room = QueueRoom::take(&self.0.queued_bytes, &change, bytes);
            Some(room.ok_or(CommitFailure::QueueFull)?)
        } else {
            None
        };
        let is_shared = self.0.process.is_some();
        let turns = if is_shared { turns_of(&change, self.0.shards) } else { Turns::new() };
        let lane = lane_of(&turns);
        self.queue(lane, Job::Commit(QueuedChange { change, bytes, turns, reply, room }))
    }

    /// Returns when the writers have handled all jobs queued before. Nothing is written.
    pub async fn reach_writer(&self) -> Result<(), CommitFailure> {
        // Together: each may be waiting for the turn of its shard.
        let mut asked = Vec::with_capacity(self.0.writers.len());
        for lane in self.0.shards.all().take(self.0.writers.len()) {
            let (reply, reached) = oneshot::channel();
            self.queue(lane, Job::Reach(reply))?;
            asked.push(reached);
        }
        for reached in asked {
            reached.await.map_err(stopped)?;
        }
        Ok(())
    }

    fn queue(&self, lane: Shard, job: Job) -> Result<(), CommitFailure> {
        if self.0.engine.is_held_up(lane) {
            return Err(CommitFailure::Unavailable);
        }
        let writer =
            self.0.writers.get(usize::from(lane.number())).ok_or(CommitFailure::Stopped)?;
        writer.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => CommitFailure::QueueFull,
            TrySendError::Disconnected(_) => CommitFailure::Stopped,
        })
    }

    /// Writes a change without the writer thread, before requests use the store.
    pub fn amend(&self, change: Change) -> Result<Verdict, StorageFailure> {
        if change.is_empty() {
            return Ok(Verdict::Applied);
        }
        let mut digests = self.0.digests.lock();
        self.apply(change, digests.as_mut())
    }

    /// Writes a change to a file without digests and, in the same batch, the digests of all records
    /// after it.
    pub fn begin_digests(
        &self,
        key: &DigestKey,
        change: Change,
    ) -> Result<Verdict, StorageFailure> {
        let mut digests = RecordDigests::count(&self.snapshot()?, key)?;
        let all = change.and(digests.keep());
        self.apply(all, Some(&mut digests))
    }

    fn apply(
        &self,
        change: Change,
        mut digests: Option<&mut RecordDigests>,
    ) -> Result<Verdict, StorageFailure> {
        let shards = self.0.shards;
        let turns = turns_of(&change, shards);
        let mut change = Repeatable::new(change, self.0.process.is_some());
        let mut verdict = Verdict::Refused;
        self.0.engine.apply_in(&turns, &mut |newest| {
            let change = change.give()?;
            let digests = digests.as_deref_mut().map(|it| match &self.0.process {
                Some(_) => DigestKeeper::Shared(it.sealer()),
                None => DigestKeeper::Own(it),
            });
            let batch = Batch::new(newest, digests).within(shards);
            let mut batch = batch.sharing(self.0.process.as_deref(), &turns);
            verdict = batch.take(change)?;
            batch.rows()
        })?;
        Ok(verdict)
    }

    /// Reads the digests. Every later change to a record updates them. Missing digests are reported
    /// as a fault and not recomputed, because that would hide their removal.
    pub fn keep_digests(&self, key: &DigestKey) -> Result<Option<DigestFault>, StorageFailure> {
        let snapshot = self.snapshot()?;
        RecordDigests::check_assignment(&snapshot, key)?;
        let stored = RecordDigests::read(&snapshot, key)?;
        let Some(digests) = stored else { return Ok(Some(DigestFault::Missing)) };
        let fault = (!digests.add_up()).then_some(DigestFault::DoNotAddUp);
        *self.0.digests.lock() = Some(digests);
        Ok(fault)
    }

    /// Closes the scopes whose deletion had begun when the file was closed.
    pub fn close_scopes(&self, scopes: impl Iterator<Item = [u8; 16]>) {
        scopes.for_each(|scope| self.0.closed.insert(scope));
    }

    /// Returns true if the tenant of this scope is deleted or being deleted.
    pub fn is_closed(&self, scope: &[u8; 16]) -> bool {
        self.0.closed.contains(scope)
    }

    /// Starts a new epoch. [`Store::is_quiescent`] is false until all work on earlier snapshots has
    /// ended.
    pub fn advance_epoch(&self) {
        self.0.epochs.advance();
    }

    /// Returns true if no work relies on snapshots from before the last [`Store::advance_epoch`].
    pub fn is_quiescent(&self) -> bool {
        self.0.epochs.is_quiescent()
    }

    /// Allows or holds back work that only saves time later. Held by default, because on a full
    /// disk such work would fail and end the store.
    pub fn set_upkeep(&self, upkeep: Upkeep) {
        self.0.engine.set_upkeep(upkeep);
    }

    /// Returns when the log has no rows that were deleted or replaced before the call; see
    /// [`Engine::forget`]. Commits continue meanwhile. The work is done even if the caller drops
    /// the future. A failure ends the store.
    pub async fn forget(&self) -> Result<(), StorageFailure> {
        let (reply, done) = oneshot::channel();
        let inner = Arc::clone(&self.0);
        let work = move || {
            let forgotten = inner.engine.forget().map_err(|failure| inner.alarm.sound(failure));
            reply.send(forgotten).ok();
        };
        (self.0.background)(Box::new(work))?;
        done.await.unwrap_or(Err(StorageFailure::Stopped))
    }

    /// Merges now. As on the merger thread, a failure ends the store.
    #[cfg(test)]
    pub(crate) fn merge_now(&self, turn: usize) -> Result<(), StorageFailure> {
        self.0.engine.merge_now(Some(turn)).map_err(|failure| self.0.alarm.sound(failure))
    }

    #[cfg(test)]
    pub(crate) fn note_end_now(&self) -> Result<(), StorageFailure> {
        self.0.engine.merge_now(None)
    }

    /// The log, for the archive. `None` for an engine without a log.
    pub fn log_source(&self) -> Option<LogSource> {
        self.0.engine.log_source()
    }

    pub fn health(&self) -> EngineHealth {
        self.0.engine.health()
    }

    /// Checks that the names of the open files still refer to them. A failure does not end the
    /// process.
    pub fn check_place(&self) -> Result<(), StorageFailure> {
        self.0.engine.check_place()
    }

    /// Reports the failure of another file of the store, which ends the process too.
    pub fn fail(&self, failure: StorageFailure) -> StorageFailure {
        self.0.alarm.sound(failure)
    }

    /// Returns when the store has failed. The process must end then.
    pub async fn failed(&self) -> Fatal {
        self.0.alarm.sounded().await
    }

    /// Writes the queued changes and closes the file, which spares the next start its check.
    pub fn close(self) {
        self.0.engine.stop_waiting();
        let threads = std::mem::take(&mut *self.0.threads.lock());
        // The first writer closes the engine, so it is the last to end.
        for (writer, thread) in self.0.writers.iter().zip(threads).rev() {
            // `send` fails only if the writer has ended; then the join returns at once.
            writer.send(Job::Close).ok();
            thread.join().ok();
        }
    }
}

const fn stopped(_: oneshot::error::RecvError) -> CommitFailure {
    CommitFailure::Stopped
}

opaque_debug!(Store);
