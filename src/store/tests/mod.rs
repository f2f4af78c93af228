//! The store on disks that fail, its batches against a model, and the encodings of its records.

mod answers;
mod archives;
pub(super) mod backups;
mod chain;
pub(crate) mod damage;
mod damaged_copies;
pub(crate) mod disk;
mod failures;
mod formats;
mod proxies;
mod queue;
mod reactors;
mod records;
mod session_records;
pub(crate) mod shards;
pub(crate) mod stepped;
mod taken_files;
mod unwritten;

use std::fs;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use crate::bounds::CACHE_BYTES;
use crate::clock::Clock;
pub(crate) use crate::files::tests::TestDirectory;
use crate::store::alarm::Alarm;
use crate::store::engine::local::file::DataFile;
use crate::store::engine::local::state::LogState;
use crate::store::engine::local::{LocalEngine, Sizes};
use crate::store::engine::memory::MemoryEngine;
use crate::store::tests::disk::TestDisk;
use crate::store::volume::{Directory, Volume as _};
use crate::store::{Change, Store, Table, Upkeep};
pub(crate) use crate::waiting::block_on;
use crate::waiting::within;

/// Waits for the store's failure.
pub(crate) async fn end_of(store: &Store) -> crate::store::Fatal {
    within("the end of the store", store.failed()).await
}

fn open(disk: &TestDisk) -> Store {
    let store = Store::on_disk(disk, Change::new()).unwrap();
    store.set_upkeep(Upkeep::Allowed);
    store
}

/// Reads everything from the disk each time. With the usual cache no read would reach it: in a
/// debug build redb walks the whole file when it opens it.
pub(crate) fn open_without_cache(disk: &TestDisk) -> Store {
    let (volume, alarm) = (disk.volume(), Alarm::default());
    let data = DataFile::open(volume.as_ref(), 0).unwrap();
    let engine = LocalEngine::start(&volume, data, &Clock::new(), &alarm).unwrap().0;
    Store::open_engine(Arc::new(engine), alarm).unwrap()
}

/// Opens the store with segments that a few batches fill. It merges only when the test does.
pub(crate) fn open_with_small_log(disk: &TestDisk, clock: &Clock) -> Store {
    let (volume, alarm) = (disk.volume(), Alarm::default());
    let sizes = Sizes { segment_bytes: 8 * 1024, ..Sizes::default() };
    let data = DataFile::open(volume.as_ref(), CACHE_BYTES).unwrap();
    let engine = LocalEngine::start_sized(&volume, data, (clock, &alarm), sizes).unwrap().0;
    Store::open_engine(Arc::new(engine), alarm).unwrap()
}

/// Removes the row of a closed data file that names its log.
pub(crate) fn remove_log_state(disk: &TestDisk) {
    let data = DataFile::open(disk.volume().as_ref(), CACHE_BYTES).unwrap();
    let remove = |transaction: &_| LogState::remove(transaction);
    crate::store::engine::local::file::commit_with(&data.database, remove).unwrap();
}

/// A store in memory with the disk's rows, and a function that sets its reachability.
pub(crate) fn copy_in_memory(disk: &TestDisk) -> (Store, impl Fn(bool) + use<>) {
    let original = open(disk);
    let snapshot = original.snapshot().unwrap();
    let engine = Arc::new(MemoryEngine::default());
    for table in Table::ALL {
        let rows = snapshot.first(&table.whole(), usize::MAX).unwrap();
        engine.insert(*table, rows);
    }
    drop(snapshot);
    original.close();
    let store = Store::open_engine(Arc::<MemoryEngine>::clone(&engine), Alarm::default()).unwrap();
    (store, move |is_there| engine.set_unavailable((!is_there).then_some("a test")))
}

/// The engine of two processes.
pub(crate) struct SharedEngine(Arc<MemoryEngine>);

impl SharedEngine {
    pub(crate) fn reach(&self, is_there: bool) {
        self.0.set_unavailable((!is_there).then_some("a test"));
    }

    /// The next batch of any lane waits until the sender is dropped.
    pub(crate) fn hold_turn(&self) -> Sender<()> {
        self.0.hold_turn()
    }
}

/// Two stores over one engine with the disk's rows, as in two processes.
pub(crate) fn shared_copies(disk: &TestDisk) -> ([Store; 2], SharedEngine) {
    let original = open(disk);
    let snapshot = original.snapshot().unwrap();
    let engine = Arc::new(MemoryEngine::shared());
    for table in Table::ALL {
        engine.insert(*table, snapshot.first(&table.whole(), usize::MAX).unwrap());
    }
    engine.insert(Table::Meta, vec![shards::row(16)]);
    drop(snapshot);
    original.close();
    let store =
        || Store::open_engine(Arc::<MemoryEngine>::clone(&engine), Alarm::default()).unwrap();
    ([store(), store()], SharedEngine(engine))
}

impl TestDirectory {
    pub(crate) fn names(&self) -> Vec<String> {
        Directory::open(self.path()).unwrap().names().unwrap()
    }

    pub(crate) fn contents(&self) -> disk::Image {
        let read = |name: String| (name.clone(), fs::read(self.join(&name)).unwrap());
        self.names().into_iter().map(read).collect()
    }
}

pub(super) fn put(key: u8) -> Change {
    Change::new().put(Table::Tokens, vec![key], vec![key; 40])
}

pub(super) fn has(store: &Store, key: u8) -> bool {
    store.snapshot().unwrap().value(Table::Tokens, &[key]).unwrap() == Some(vec![key; 40])
}
