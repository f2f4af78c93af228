//! The data file: a redb file on a volume.

use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

use redb::{Builder, StorageBackend, WriteTransaction};

use crate::bounds::{CACHE_BYTES, LOAD_BATCH_BYTES};
pub(in crate::store) use crate::store::engine::local::base::definition;
use crate::store::engine::local::database::{GuardedDatabase, guard};
use crate::store::engine::local::layer::Layer;
use crate::store::engine::local::state::LogState;
use crate::store::engine::local::watched::WatchedFile;
use crate::store::engine::{RowChange, SortedRows};
use crate::store::failure::{OpenFailure, StorageFailure};
use crate::store::tables::Table;
use crate::store::volume::{Volume, VolumeFile, remove_left};

/// The data file's name in its directory.
pub(in crate::store) const NAME: &str = "strongroom.redb";
/// The name of a new file until it is complete.
pub(in crate::store) const UNFINISHED: &str = "strongroom.redb.unfinished";

/// An open and locked data file.
pub(in crate::store) struct DataFile {
    pub(in crate::store) database: GuardedDatabase,
    pub(super) file: Arc<WatchedFile>,
    /// The last process did not close the file, so redb has checked its pages.
    pub(super) was_repaired: bool,
}

/// Adapts a file on a volume to redb.
#[derive(Debug)]
struct Backend(Arc<WatchedFile>);

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.0.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.file.sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
}

/// A worker for programs has the descriptors of the vault until it is a program of its own, also if
/// the vault has ended meanwhile. So the lock of a vault that has just ended may live a little longer.
const LOCK_WAIT: Duration = Duration::from_secs(2);
const LOCK_PAUSE: Duration = Duration::from_millis(20);

fn lock(file: &dyn VolumeFile) -> Result<(), OpenFailure> {
    let begun = Instant::now();
    while !file.try_lock()? {
        if begun.elapsed() > LOCK_WAIT {
            return Err(OpenFailure::AlreadyOpen);
        }
        thread::park_timeout(LOCK_PAUSE);
    }
    Ok(())
}

impl DataFile {
    /// redb caches up to `cache_bytes` of pages.
    pub(in crate::store) fn open(
        volume: &dyn Volume,
        cache_bytes: usize,
    ) -> Result<Self, OpenFailure> {
        let file = volume.open(NAME)?.ok_or(OpenFailure::Missing)?;
        let file: Arc<dyn VolumeFile> = Arc::from(file);
        lock(file.as_ref())?;
        // redb would turn an empty file into a database, but a data file is never empty.
        if file.len()? == 0 {
            return Err(OpenFailure::NotOurs);
        }
        Self::from_file(file, cache_bytes)
    }

    /// Creates a data file. It gets its name only when the result of `fill` is durable. On failure
    /// the file is removed.
    pub(in crate::store) fn create<E: From<OpenFailure> + From<io::Error>>(
        volume: &dyn Volume,
        fill: impl FnOnce(&GuardedDatabase) -> Result<(), E>,
    ) -> Result<Self, E> {
        if volume.open(NAME)?.is_some() {
            return Err(OpenFailure::Exists.into());
        }
        remove_left(volume, UNFINISHED)?;
        let new: Arc<dyn VolumeFile> = Arc::from(volume.create(UNFINISHED)?);
        let fill_new = || -> Result<(), E> {
            if !new.try_lock()? {
                return Err(OpenFailure::AlreadyOpen.into());
            }
            fill(&Self::from_file(Arc::clone(&new), CACHE_BYTES)?.database)
        };
        fill_new().inspect_err(|_| {
            new.remove().ok();
        })?;
        new.rename(NAME)?;
        volume.sync()?;
        drop(new);
        Ok(Self::open(volume, CACHE_BYTES)?)
    }

    pub(in crate::store) fn bytes(&self) -> Result<u64, StorageFailure> {
        Ok(self.file.file.len()?)
    }

    /// The length of all pages that hold something. Reads the whole file.
    pub(in crate::store) fn used_bytes(&self) -> Result<u64, StorageFailure> {
        let transaction = self.database.begin_write()?;
        let stats = guard(|| {
            let stats = transaction.stats()?;
            transaction.abort()?;
            Ok::<_, StorageFailure>(stats)
        })?;
        let page_bytes = u64::try_from(stats.page_size()).unwrap_or(u64::MAX);
        Ok(stats.allocated_pages().saturating_mul(page_bytes))
    }

    /// Moves pages to the front and cuts off the end of the file. Returns false when there is
    /// nothing left to move.
    pub(in crate::store) fn compact(&mut self) -> Result<bool, StorageFailure> {
        self.database.compact()
    }

    fn from_file(file: Arc<dyn VolumeFile>, cache_bytes: usize) -> Result<Self, OpenFailure> {
        let was_repaired = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let repairing = Arc::clone(&was_repaired);
        let mut builder = Builder::new();
        builder.set_cache_size(cache_bytes);
        builder.set_repair_callback(move |_| {
            repairing.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        let file = Arc::new(WatchedFile::new(file));
        let backend = Backend(Arc::clone(&file));
        let database = guard(|| Ok::<_, OpenFailure>(builder.create_with_backend(backend)?))?;
        let database = GuardedDatabase::new(database);
        file.remember_head()?;
        let was_repaired = was_repaired.load(std::sync::atomic::Ordering::Relaxed);
        Ok(Self { database, file, was_repaired })
    }
}

/// Begins a transaction whose commit spares the check of the file after an unclean stop.
pub(super) fn begin(database: &GuardedDatabase) -> Result<WriteTransaction, StorageFailure> {
    let mut transaction = database.begin_write()?;
    guard(move || {
        transaction.set_two_phase_commit(true);
        transaction.set_quick_repair(true);
        Ok(transaction)
    })
}

pub(in crate::store) fn commit(
    database: &GuardedDatabase,
    rows: Vec<RowChange>,
    state: Option<&LogState>,
) -> Result<(), StorageFailure> {
    commit_with(database, |transaction| {
        write(transaction, rows)?;
        state.map_or(Ok(()), |state| state.write(transaction))
    })
}

/// Creates every missing table, then commits the writes of `fill`.
pub(in crate::store) fn commit_with(
    database: &GuardedDatabase,
    fill: impl FnOnce(&WriteTransaction) -> Result<(), StorageFailure>,
) -> Result<(), StorageFailure> {
    let transaction = begin(database)?;
    guard(move || {
        for table in Table::ALL {
            drop(transaction.open_table(definition(*table))?);
        }
        fill(&transaction)?;
        transaction.commit()?;
        Ok(())
    })
}

/// Rows should be sorted by table and key: neighbouring keys share pages.
pub(in crate::store) fn write(
    transaction: &WriteTransaction,
    rows: Vec<RowChange>,
) -> Result<(), StorageFailure> {
    let mut rows = rows.into_iter().peekable();
    while let Some(table) = rows.peek().map(|row| row.table) {
        let mut open = transaction.open_table(definition(table))?;
        while let Some(row) = rows.next_if(|row| row.table == table) {
            match row.value {
                Some(value) => drop(open.insert(row.key.as_slice(), value.as_slice())?),
                None => drop(open.remove(row.key.as_slice())?),
            }
        }
    }
    Ok(())
}

pub(super) fn move_rows(
    transaction: &WriteTransaction,
    table: Table,
    layer: &Layer,
) -> Result<(), StorageFailure> {
    let mut open = None;
    layer.for_each(table, |key, value| {
        let open = match &mut open {
            Some(open) => open,
            none => none.insert(transaction.open_table(definition(table))?),
        };
        match value {
            Some(value) => drop(open.insert(key, value)?),
            None => drop(open.remove(key)?),
        }
        Ok(())
    })
}

/// Writes sorted rows into a data file that no engine uses, in transactions of bounded size.
/// Without a log and in key order, this is several times faster than batches of changes.
pub(in crate::store) fn load_into(
    database: &GuardedDatabase,
    rows: &mut SortedRows<'_>,
) -> Result<(), StorageFailure> {
    let mut rows = rows.peekable();
    while rows.peek().is_some() {
        let mut bytes: usize = 0;
        let transaction = database.begin_write()?;
        while bytes < LOAD_BATCH_BYTES
            && let Some(table) = rows.peek().map(|row| row.0)
        {
            let mut open = transaction.open_table(definition(table))?;
            while bytes < LOAD_BATCH_BYTES
                && let Some((_, (key, value))) = rows.next_if(|row| row.0 == table)
            {
                bytes = bytes.saturating_add(key.len()).saturating_add(value.len());
                open.insert(key.as_slice(), value.as_slice())?;
            }
        }
        transaction.commit()?;
    }
    // Creates the empty tables, and spares the next start the check of the file.
    commit(database, Vec::<RowChange>::new(), None)
}
