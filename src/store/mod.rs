//! The store: one redb file, and the only user of redb. It takes and gives sealed bytes; plaintext
//! does not enter this module but in [`record`], which only encodes.
//!
//! Reading goes through a [`Snapshot`], writing through a [`Change`]: `get`, `range` and `apply`
//! are all that the rest of the program knows of the engine.

mod alarm;
mod batch;
pub mod chain;
mod change;
mod cvc_keys;
mod eras;
mod failure;
pub mod record;
mod snapshot;
pub mod tables;
#[cfg(test)]
pub(crate) mod tests;
mod writer;

use std::fmt;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use redb::{Builder, Database, DatabaseError};
use tokio::sync::oneshot;

use crate::bounds::{CACHE_BYTES, QUEUE_CHANGES_MAX};

/// What a store can stand on: the seam where tests pull the plug.
pub use redb::StorageBackend as Disk;

pub use batch::Verdict;
pub use change::{Change, SealedEntries};
pub use cvc_keys::{CvcKeyName, CvcKeys};
pub use eras::Era;
pub use failure::StorageFailure;
pub use snapshot::{Entry, Snapshot};
pub use tables::Table;
pub use writer::Fatal;

use alarm::Alarm;
use eras::Eras;
use writer::{Job, Writer};

/// The version of the schema and of everything in it.
pub const FORMAT: u32 = 1;
const META_FORMAT: &[u8] = b"format";

/// A handle to the open file; clones share it.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    database: Arc<Database>,
    jobs: SyncSender<Job>,
    access_generation: Arc<AtomicU64>,
    alarm: Alarm,
    eras: Eras,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// Why a file could not be opened. Nothing was changed in it.
#[derive(Debug)]
pub enum OpenFailure {
    AlreadyOpen,
    Exists,
    Missing,
    /// The file's own format, newer than ours.
    Newer(u32),
    /// Not a data file of this program.
    NotOurs,
    Storage(StorageFailure),
}

/// Why a change was not committed, or why nothing is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitFailure {
    QueueFull,
    Stopped,
}

impl Store {
    /// The file's name in the data directory.
    pub const FILE: &'static str = "strongroom.redb";

    /// A new file, holding what `first` writes. It appears under its name only when that is
    /// durable, so that a crash in between leaves nothing that looks like a vault.
    pub fn create(directory: &Path, first: Change) -> Result<Self, OpenFailure> {
        let path = directory.join(Self::FILE);
        if path.exists() {
            return Err(OpenFailure::Exists);
        }
        let unfinished = unfinished(directory);
        if let Err(error) = std::fs::remove_file(&unfinished)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(OpenFailure::io(error));
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&unfinished)
            .map_err(OpenFailure::io)?;
        let database = builder().create_file(file)?;
        prepare(&database, first)?;
        std::fs::rename(&unfinished, &path).map_err(OpenFailure::io)?;
        std::fs::File::open(directory).and_then(|it| it.sync_all()).map_err(OpenFailure::io)?;
        Ok(Self::start(database))
    }

    pub fn open(directory: &Path) -> Result<Self, OpenFailure> {
        let path = directory.join(Self::FILE);
        // redb would make an empty file into a database; ours is never empty.
        match std::fs::metadata(&path) {
            Ok(metadata) if metadata.len() > 0 => (),
            Ok(_) => return Err(OpenFailure::NotOurs),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(OpenFailure::Missing);
            }
            Err(error) => return Err(OpenFailure::io(error)),
        }
        let database = builder().open(&path)?;
        check_format(&database)?;
        add_missing_tables(&database)?;
        Ok(Self::start(database))
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
            add_missing_tables(&database)?;
        }
        Ok(Self::start(database))
    }

    fn start(database: Database) -> Self {
        let database = Arc::new(database);
        let (jobs, queue) = sync_channel(QUEUE_CHANGES_MAX);
        let alarm = Alarm::default();
        let access_generation = Arc::new(AtomicU64::new(0));
        let writer = Writer {
            database: Arc::clone(&database),
            jobs: queue,
            access_generation: Arc::clone(&access_generation),
            alarm: alarm.clone(),
        };
        let thread = std::thread::spawn(|| writer.run());
        let writer = Mutex::new(Some(thread));
        let eras = Eras::new();
        Self(Arc::new(Inner { database, jobs, access_generation, alarm, eras, writer }))
    }

    pub fn snapshot(&self) -> Result<Snapshot, StorageFailure> {
        use redb::ReadableDatabase as _;
        // First: a turn in between then waits for this one in vain, never the other way around.
        let era = self.0.eras.current();
        let transaction = self.0.database.begin_read();
        let transaction = transaction.map_err(|error| self.0.alarm.sound(error.into()))?;
        Ok(Snapshot::new(transaction, self.0.alarm.clone(), era))
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
        let (reply, verdict) = oneshot::channel();
        self.queue(Job::Commit(change, reply))?;
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
        write_first(&self.0.database, change)
    }

    /// From now on, [`Store::is_settled`] waits for all that goes back to earlier snapshots.
    pub fn turn_era(&self) {
        self.0.eras.turn();
    }

    /// Whether nobody acts any more on what was read before the last turn.
    pub fn is_settled(&self) -> bool {
        self.0.eras.is_settled()
    }

    /// Changes with every commit that concerns tenants, applications or keys.
    pub fn access_generation(&self) -> u64 {
        self.0.access_generation.load(Ordering::Acquire)
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

/// Under this name a new file grows until it is whole.
fn unfinished(directory: &Path) -> PathBuf {
    directory.join("strongroom.redb.unfinished")
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

/// Makes every table, so that reading never meets a missing one, and writes the first values.
fn prepare(database: &Database, first: Change) -> Result<(), OpenFailure> {
    let format = FORMAT.to_be_bytes().to_vec();
    let first = first.put(Table::Meta, META_FORMAT.to_vec(), format);
    write_first(database, first).map_err(OpenFailure::Storage)?;
    Ok(())
}

/// A file of an earlier version has fewer tables.
fn add_missing_tables(database: &Database) -> Result<(), OpenFailure> {
    use redb::ReadableDatabase as _;
    let count =
        || -> Result<usize, StorageFailure> { Ok(database.begin_read()?.list_tables()?.count()) };
    if count().map_err(OpenFailure::Storage)? < Table::ALL.len() {
        write_first(database, Change::new()).map_err(OpenFailure::Storage)?;
    }
    Ok(())
}

/// Makes whatever tables are missing, and writes the change.
fn write_first(database: &Database, change: Change) -> Result<Verdict, StorageFailure> {
    let mut transaction = database.begin_write()?;
    transaction.set_two_phase_commit(true);
    transaction.set_quick_repair(true);
    for table in Table::ALL {
        drop(transaction.open_table(table.definition())?);
    }
    let mut batch = batch::Batch::new(&transaction);
    let verdict = batch.take(change)?;
    batch.insert()?;
    transaction.commit()?;
    Ok(verdict)
}

fn check_format(database: &Database) -> Result<(), OpenFailure> {
    use redb::ReadableDatabase as _;
    let transaction = database.begin_read().map_err(|error| OpenFailure::Storage(error.into()))?;
    let value = Snapshot::new(transaction, Alarm::default(), Eras::new().current())
        .value(Table::Meta, META_FORMAT);
    let value = match value {
        // A database of someone else has no such table.
        Err(StorageFailure::Damaged(_)) => None,
        other => other.map_err(OpenFailure::Storage)?,
    };
    match value.and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes) {
        Some(FORMAT) => Ok(()),
        Some(newer) if newer > FORMAT => Err(OpenFailure::Newer(newer)),
        _ => Err(OpenFailure::NotOurs),
    }
}

impl OpenFailure {
    fn io(error: std::io::Error) -> Self {
        Self::Storage(StorageFailure::from_io(error))
    }
}

impl From<DatabaseError> for OpenFailure {
    #[expect(clippy::wildcard_enum_match_arm, reason = "redb may add more; they are failures all")]
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::DatabaseAlreadyOpen => Self::AlreadyOpen,
            // redb tells a file that is none of its own by the kind of its IO error.
            DatabaseError::Storage(redb::StorageError::Io(error))
                if matches!(
                    error.kind(),
                    // Too short to have a header counts as well.
                    std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof
                ) =>
            {
                Self::NotOurs
            }
            other => Self::Storage(other.into()),
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store")
    }
}
