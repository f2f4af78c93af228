//! The engine on a simulated disk, without the merger thread; the tests merge.

mod crashes;
mod damage;
mod ends;
mod forgetting;
mod layers;
mod merging;
mod model;
mod pages;
mod restarts;
mod snapshots;
mod starts;
mod state;
mod used_files;

use std::sync::{Arc, OnceLock};

use crate::clock::Clock;
use crate::store::alarm::Alarm;
use crate::store::change::Change;
use crate::store::engine::local::file::DataFile;
use crate::store::engine::local::{LocalEngine, Sizes};
use crate::store::engine::memory::Model;
use crate::store::engine::{Engine as _, Order, Read, RowChange, Upkeep};
use crate::store::failure::{OpenFailure, StorageFailure};
use crate::store::opening;
use crate::store::tables::Table;
use crate::store::tests::disk::{Image, TestDisk};
use crate::store::volume::Volume;

/// A few frames fill a segment.
const SMALL: Sizes = Sizes {
    segment_bytes: 8 * 1024,
    merge_bytes: usize::MAX,
    layers_bytes_max: usize::MAX,
    held_bytes_max: u64::MAX,
};
/// Less than the tests write, so that redb also reads the disk.
const CACHE_BYTES: usize = 64 * 1024;

/// Tables of part 0 and of the slices.
const TABLES: [Table; 4] =
    [Table::Tokens, Table::TokenLists, Table::TokenNames, Table::Idempotency];

/// The files of an empty vault that no engine has opened.
pub(in crate::store) fn prepared() -> &'static Image {
    static PREPARED: OnceLock<Image> = OnceLock::new();
    PREPARED.get_or_init(|| {
        let disk = TestDisk::new();
        opening::create(&disk, Change::new()).unwrap();
        disk.durable()
    })
}

pub(in crate::store) fn start(disk: &TestDisk) -> Result<LocalEngine, StorageFailure> {
    start_on(&disk.volume())
}

fn started() -> (TestDisk, LocalEngine) {
    let disk = TestDisk::holding(prepared().clone());
    let engine = start(&disk).unwrap();
    (disk, engine)
}

fn close(engine: LocalEngine) {
    engine.close().unwrap();
    drop(engine);
}

fn merge_all(engine: &LocalEngine) {
    (0..4).for_each(|turn| engine.merge_turn(turn).unwrap());
}

fn start_on(volume: &Arc<dyn Volume>) -> Result<LocalEngine, StorageFailure> {
    let data = DataFile::open(volume.as_ref(), CACHE_BYTES).map_err(of_storage)?;
    LocalEngine::start_without_merger(volume, data, (&Clock::new(), &Alarm::default()), SMALL)
}

/// The disk's failure, the only kind that the tests expect.
fn of_storage(failure: OpenFailure) -> StorageFailure {
    let OpenFailure::Storage(failure) = failure else { panic!("{failure:?}") };
    failure
}

/// Forgets the log now, as for a server whose disk has space.
fn forget(engine: &LocalEngine) -> Result<(), StorageFailure> {
    engine.set_upkeep(Upkeep::Allowed);
    engine.forget()
}

fn apply(engine: &LocalEngine, rows: &[RowChange]) -> Result<(), StorageFailure> {
    engine.apply(&mut |_| Ok(rows.to_vec()))
}

fn put(table: Table, key: &[u8], value: &[u8]) -> [RowChange; 1] {
    [RowChange { table, key: key.to_vec(), value: Some(value.to_vec()) }]
}

/// The rows of [`TABLES`].
fn contents(view: &dyn Read) -> Model {
    let mut model = Model::new();
    for table in TABLES {
        let mut range = table.whole();
        loop {
            let page = view.page(&range, Order::Ascending, 64).unwrap();
            let last = page.rows.last().map(|(key, _)| key.clone());
            model.extend(page.rows.into_iter().map(|(key, value)| ((table, key), value)));
            match last.filter(|_| !page.is_last) {
                Some(last) => range = range.starting_after(&last),
                None => break,
            }
        }
    }
    model
}

fn change(model: &mut Model, rows: &[RowChange]) {
    for RowChange { table, key, value } in rows {
        match value {
            Some(value) => drop(model.insert((*table, key.clone()), value.clone())),
            None => drop(model.remove(&(*table, key.clone()))),
        }
    }
}
