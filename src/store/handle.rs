//! The open store: the handle that the rest of the program holds.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use redb::{Database, StorageBackend as Disk};
use tokio::sync::oneshot;

use crate::bounds::QUEUE_CHANGES_MAX;
use crate::crypto::{DigestKey, MasterKey};
use crate::store::alarm::Alarm;
use crate::store::batch::Verdict;
use crate::store::change::Change;
use crate::store::digests::{DigestFault, RecordDigests, SharedDigests};
use crate::store::epochs::Epochs;
use crate::store::failure::{CommitFailure, Fatal, OpenFailure, StorageFailure};
use crate::store::file::{self, builder, check_format, commit_whole, grow, open_database, prepare};
use crate::store::named_file::NamedFile;
use crate::store::read_only::{Cleanliness, ReadOnlyDatabase, open_unwritten};
use crate::store::snapshot::Snapshot;
use crate::store::writer::{Job, Writer};
use crate::store::writer_metrics::WriterMetrics;

/// A handle to the open file; clones share it.
#[derive(Clone)]
pub struct Store(pub(super) Arc<Inner>);

pub(super) struct Inner {
    database: Arc<Database>,
    jobs: SyncSender<Job>,
    access_generation: Arc<AtomicU64>,
    pub(super) alarm: Alarm,
    epochs: Epochs,
    pub(super) metrics: Arc<WriterMetrics>,
    may_commit_idle: Arc<AtomicBool>,
    digests: SharedDigests,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// `None` for a store that writes to no file.
    file: Option<NamedFile>,
}

/// Whether the writer may write when nobody asked it to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleCommits {
    Allowed,
    Held,
}

impl Store {
    /// The file's name in the data directory.
    pub const FILE: &'static str = file::NAME;

    /// Under this name a new file grows until it is whole.
    pub fn unfinished(directory: &Path) -> PathBuf {
        file::unfinished(directory)
    }

    /// A new file, holding what `first` writes. It appears under its name only when that is
    /// durable, so that a crash in between leaves nothing that looks like a vault.
    pub fn create(directory: &Path, first: Change) -> Result<Self, OpenFailure> {
        let database = grow(directory, |database| prepare(database, first))?;
        let path = directory.join(Self::FILE);
        let file = std::fs::File::open(&path).and_then(|file| NamedFile::new(&path, &file));
        Ok(Self::start(database, Some(file.map_err(OpenFailure::io)?)))
    }

    pub fn open(directory: &Path) -> Result<Self, OpenFailure> {
        let path = directory.join(Self::FILE);
        let file = std::fs::File::open(&path).and_then(|file| NamedFile::new(&path, &file));
        let database = open_database(directory)?;
        check_format(&database)?;
        let file = file.map_err(OpenFailure::io)?;
        // The engine opens the path itself: what it has open must be the same file.
        file.check().map_err(OpenFailure::Storage)?;
        Ok(Self::start(database, Some(file)))
    }

    /// The file as it is, for checking: whatever is written to this store stays in memory. A file of
    /// an older format, or one that needs recovery after a crash, is brought up to date there.
    /// That takes the master key, unless nobody needs the keys that are in the file.
    pub fn open_unwritten(
        directory: &Path,
        master: Option<&MasterKey>,
    ) -> Result<(Self, Cleanliness), OpenFailure> {
        let ReadOnlyDatabase { database, cleanliness } = open_unwritten(directory, master)?;
        Ok((Self::start(database, None), cleanliness))
    }

    /// A store on a disk of the caller's own making, for tests of failing disks. An empty one is
    /// made a store first.
    pub fn on_backend(backend: impl Disk, first: Change) -> Result<Self, OpenFailure> {
        let is_new = backend.len().map_err(OpenFailure::io)? == 0;
        let database = builder().create_with_backend(backend)?;
        if is_new {
            prepare(&database, first)?;
        } else {
            check_format(&database)?;
        }
        Ok(Self::start(database, None))
    }

    pub(super) fn start(database: Database, file: Option<NamedFile>) -> Self {
        let database = Arc::new(database);
        let (jobs, queue) = sync_channel(QUEUE_CHANGES_MAX);
        let alarm = Alarm::default();
        let access_generation = Arc::new(AtomicU64::new(0));
        let metrics = Arc::new(WriterMetrics::new());
        let may_commit_idle = Arc::new(AtomicBool::new(false));
        let digests = SharedDigests::default();
        let writer = Writer {
            database: Arc::clone(&database),
            jobs: queue,
            access_generation: Arc::clone(&access_generation),
            alarm: alarm.clone(),
            metrics: Arc::clone(&metrics),
            may_commit_idle: Arc::clone(&may_commit_idle),
            digests: Arc::clone(&digests),
        };
        let thread = std::thread::spawn(|| writer.run());
        let writer = Mutex::new(Some(thread));
        let epochs = Epochs::new();
        Self(Arc::new(Inner {
            database,
            jobs,
            access_generation,
            alarm,
            epochs,
            metrics,
            may_commit_idle,
            digests,
            writer,
            file,
        }))
    }

    pub fn snapshot(&self) -> Result<Snapshot, StorageFailure> {
        use redb::ReadableDatabase as _;
        // First: a turn in between then waits for this one in vain, never the other way around.
        let epoch = self.0.epochs.current();
        let transaction = self.0.database.begin_read();
        let transaction = transaction.map_err(|error| self.0.alarm.sound(error.into()))?;
        Ok(Snapshot::new(transaction, self.0.alarm.clone(), epoch))
    }

    /// Returns when the change is durable, or was refused. Dropping the future does not undo it.
    pub async fn commit(&self, change: Change) -> Result<Verdict, CommitFailure> {
        // Its outcome rests on a snapshot alone, and whatever a snapshot shows is durable.
        if change.is_empty() {
            return Ok(Verdict::Applied);
        }
        self.submit(change)?.await
    }

    /// Queues the change; it is written whether or not anyone waits for the verdict.
    pub fn submit(
        &self,
        change: Change,
    ) -> Result<impl Future<Output = Result<Verdict, CommitFailure>> + use<>, CommitFailure> {
        if let Some(what) = change.impossible {
            return Err(CommitFailure::Impossible(what));
        }
        let (reply, verdict) = oneshot::channel();
        self.0.metrics.queued.add(1);
        self.queue(Job::Commit(change, reply)).inspect_err(|failure| {
            self.0.metrics.queued.add(-1);
            if *failure == CommitFailure::QueueFull {
                self.0.metrics.refused.add(1);
            }
        })?;
        Ok(async { verdict.await.map_err(stopped) })
    }

    /// Returns when the writer has come to this. It writes nothing.
    pub async fn reach_writer(&self) -> Result<(), CommitFailure> {
        let (reply, reached) = oneshot::channel();
        self.queue(Job::Reach(reply))?;
        reached.await.map_err(stopped)
    }

    fn queue(&self, job: Job) -> Result<(), CommitFailure> {
        self.0.jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => CommitFailure::QueueFull,
            TrySendError::Disconnected(_) => CommitFailure::Stopped,
        })
    }

    /// Writes a change at once, before anyone else works with the store.
    pub fn amend(&self, change: Change) -> Result<Verdict, StorageFailure> {
        if change.is_empty() {
            return Ok(Verdict::Applied);
        }
        let mut digests = self.0.digests.lock().unwrap_or_else(PoisonError::into_inner);
        commit_whole(&self.0.database, digests.as_mut(), |_| Ok(change))
    }

    /// Writes a change and, with it, the digests of all records as they are after it. For a file that
    /// has none.
    pub fn begin_digests(
        &self,
        key: &DigestKey,
        change: Change,
    ) -> Result<Verdict, StorageFailure> {
        let mut digests = RecordDigests::count(&self.snapshot()?, key)?;
        let all = change.and(digests.keep());
        commit_whole(&self.0.database, Some(&mut digests), |_| Ok(all))
    }

    /// From now on every change of a record moves the digests on. Digests that are missing are not made
    /// up: they were there.
    pub fn keep_digests(&self, key: &DigestKey) -> Result<Option<DigestFault>, StorageFailure> {
        let stored = RecordDigests::read(&self.snapshot()?, key)?;
        let Some(digests) = stored else { return Ok(Some(DigestFault::Missing)) };
        let fault = (!digests.add_up()).then_some(DigestFault::DoNotAddUp);
        *self.0.digests.lock().unwrap_or_else(PoisonError::into_inner) = Some(digests);
        Ok(fault)
    }

    /// From now on, [`Store::is_quiescent`] waits for all that goes back to earlier snapshots.
    pub fn advance_epoch(&self) {
        self.0.epochs.advance();
    }

    /// Whether nobody acts any more on what was read before the last turn.
    pub fn is_quiescent(&self) -> bool {
        self.0.epochs.is_quiescent()
    }

    /// Whether the writer may use a quiet moment to make the next start cheap. Not before it was told
    /// so: on a full disk that would be the end of the store.
    pub fn set_idle_commits(&self, tidying: IdleCommits) {
        self.0.may_commit_idle.store(tidying == IdleCommits::Allowed, Ordering::Relaxed);
    }

    /// Changes with every commit that concerns tenants, applications or keys.
    pub fn access_generation(&self) -> u64 {
        self.0.access_generation.load(Ordering::Acquire)
    }

    /// Whether the data file is still the one that its path names; it does not end the process.
    pub fn check_place(&self) -> Result<(), StorageFailure> {
        self.0.file.as_ref().map_or(Ok(()), NamedFile::check)
    }

    /// A file that belongs to the store failed: that ends the process as much.
    pub fn fail(&self, failure: StorageFailure) -> StorageFailure {
        self.0.alarm.sound(failure)
    }

    /// Returns when the store has failed for good; the process must end then.
    pub async fn failed(&self) -> Fatal {
        self.0.alarm.sounded().await
    }

    /// Writes what has queued and closes the file, so that the next start need not check it.
    pub fn close(self) {
        // A full queue or a writer that has gone: either way the join below is the end.
        self.0.jobs.send(Job::Close).ok();
        let thread = self.0.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            thread.join().ok();
        }
    }
}

/// The writer has gone with our reply.
const fn stopped(_: oneshot::error::RecvError) -> CommitFailure {
    CommitFailure::Stopped
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store")
    }
}
