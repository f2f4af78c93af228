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

/// A handle to the open file. Clones share it.
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

/// Permission for the writer to commit without a change, to make the next start quick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleCommits {
    Allowed,
    Held,
}

impl Store {
    /// The file's name in the data directory.
    pub const FILE: &'static str = file::NAME;

    /// The path of a new file until it is complete.
    pub fn unfinished(directory: &Path) -> PathBuf {
        file::unfinished(directory)
    }

    /// Creates a file with the rows of `first`. It appears under its name only when they are
    /// durable, so that a crash leaves nothing that looks like a vault.
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
        // The engine opened the path a second time: check that both are the same file.
        file.check().map_err(OpenFailure::Storage)?;
        Ok(Self::start(database, Some(file)))
    }

    /// Opens the file for verification: all writes to this store stay in memory. A file of an older
    /// format is migrated there, and one that needs recovery after a crash is recovered there.
    /// Without the master key the migration leaves the keys in the file as they are.
    pub fn open_unwritten(
        directory: &Path,
        master: Option<&MasterKey>,
    ) -> Result<(Self, Cleanliness), OpenFailure> {
        let ReadOnlyDatabase { database, cleanliness } = open_unwritten(directory, master)?;
        Ok((Self::start(database, None), cleanliness))
    }

    /// Opens a store on the caller's disk, for tests of failing disks. An empty disk gets a new
    /// store with the rows of `first`.
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
        // Take the epoch before the snapshot: an epoch that is too old is safe, one that is too new
        // is not.
        let epoch = self.0.epochs.current();
        let transaction = self.0.database.begin_read();
        let transaction = transaction.map_err(|error| self.0.alarm.sound(error.into()))?;
        Ok(Snapshot::new(transaction, self.0.alarm.clone(), epoch))
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

    /// Returns when the writer has handled all jobs queued before. Nothing is written.
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

    /// Writes a change without the writer thread. For the time before requests use the store.
    pub fn amend(&self, change: Change) -> Result<Verdict, StorageFailure> {
        if change.is_empty() {
            return Ok(Verdict::Applied);
        }
        let mut digests = self.0.digests.lock().unwrap_or_else(PoisonError::into_inner);
        commit_whole(&self.0.database, digests.as_mut(), |_| Ok(change))
    }

    /// Writes a change and, in the same transaction, the digests of all records after it. For a
    /// file that has no digests.
    pub fn begin_digests(
        &self,
        key: &DigestKey,
        change: Change,
    ) -> Result<Verdict, StorageFailure> {
        let mut digests = RecordDigests::count(&self.snapshot()?, key)?;
        let all = change.and(digests.keep());
        commit_whole(&self.0.database, Some(&mut digests), |_| Ok(all))
    }

    /// Reads the digests, which every later change of a record updates. Missing digests are
    /// reported as a fault and not recomputed, because that would hide their removal.
    pub fn keep_digests(&self, key: &DigestKey) -> Result<Option<DigestFault>, StorageFailure> {
        let stored = RecordDigests::read(&self.snapshot()?, key)?;
        let Some(digests) = stored else { return Ok(Some(DigestFault::Missing)) };
        let fault = (!digests.add_up()).then_some(DigestFault::DoNotAddUp);
        *self.0.digests.lock().unwrap_or_else(PoisonError::into_inner) = Some(digests);
        Ok(fault)
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

    /// Lets the writer use idle time for a commit that makes the next start quick. Off by default,
    /// because on a full disk such a commit would fail and end the store.
    pub fn set_idle_commits(&self, tidying: IdleCommits) {
        self.0.may_commit_idle.store(tidying == IdleCommits::Allowed, Ordering::Relaxed);
    }

    /// Changes with every commit that concerns tenants, applications or keys.
    pub fn access_generation(&self) -> u64 {
        self.0.access_generation.load(Ordering::Acquire)
    }

    /// Checks that the path still names the open data file. A failure does not end the process.
    pub fn check_place(&self) -> Result<(), StorageFailure> {
        self.0.file.as_ref().map_or(Ok(()), NamedFile::check)
    }

    /// Reports the failure of another file of the store, which ends the process too.
    pub fn fail(&self, failure: StorageFailure) -> StorageFailure {
        self.0.alarm.sound(failure)
    }

    /// Returns when the store has failed. The process must end then.
    pub async fn failed(&self) -> Fatal {
        self.0.alarm.sounded().await
    }

    /// Writes the queued changes and closes the file, so that the next start need not check it.
    pub fn close(self) {
        // `send` fails only if the writer has ended; then the join returns at once.
        self.0.jobs.send(Job::Close).ok();
        let thread = self.0.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            thread.join().ok();
        }
    }
}

/// The writer has ended without a reply.
const fn stopped(_: oneshot::error::RecvError) -> CommitFailure {
    CommitFailure::Stopped
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store")
    }
}
