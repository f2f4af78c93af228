//! Tests of an engine's health, the place of its files and the end of its thread.

use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use crate::bounds::CACHE_BYTES;
use crate::clock::Clock;
use crate::store::alarm::Alarm;
use crate::store::change::Change;
use crate::store::engine::Engine as _;
use crate::store::engine::local::LocalEngine;
use crate::store::engine::local::file::{self, DataFile};
use crate::store::engine::local::log::segment;
use crate::store::engine::local::tests::{apply, prepared, put, start, start_on, started};
use crate::store::failure::StorageFailure;
use crate::store::opening;
use crate::store::tables::Table;
use crate::store::tests::TestDirectory;
use crate::store::tests::disk::TestDisk;
use crate::store::volume::{Directory, Volume};

/// An engine on real files whose log has just begun its second segment.
fn with_two_segments() -> (TestDirectory, LocalEngine) {
    let directory = TestDirectory::new();
    let volume: Arc<dyn Volume> = Arc::new(Directory::open(directory.path()).unwrap());
    opening::create(volume.as_ref(), Change::new()).unwrap();
    let engine = start_on(&volume).unwrap();
    for key in 0..8 {
        apply(&engine, &put(Table::Tokens, &[key], &[7; 700])).unwrap();
    }
    assert_eq!(engine.health().log_segments, 2);
    (directory, engine)
}

#[test]
fn an_engine_tells_the_size_of_its_log_and_the_batches_that_it_recovered() {
    let (disk, engine) = started();
    assert_eq!(engine.health().layer_bytes, 0);
    for key in 0..12 {
        apply(&engine, &put(Table::Tokens, &[key], &[7; 700])).unwrap();
    }
    let health = engine.health();
    assert_eq!((health.log_bytes, health.log_segments), (engine.shared.log().bytes(), 2));
    assert!(health.log_bytes > 12 * 700 && health.layer_bytes > 12 * 700);
    assert_eq!((health.recovered, health.waits), (0, 0));
    drop(engine);
    assert_eq!(start(&disk).unwrap().health().recovered, 12);
}

#[test]
fn a_snapshot_tells_the_number_of_rows_in_the_data_file() {
    let engine = start(&TestDisk::holding(prepared().clone())).unwrap();
    let rows = || engine.snapshot().unwrap().rows_about();
    let before = rows();
    for key in 0..12 {
        apply(&engine, &put(Table::Tokens, &[key], b"a")).unwrap();
    }
    assert_eq!(rows(), before, "those in memory are not counted");
    engine.merge_turn(0).unwrap();
    assert_eq!(rows(), before + 12);
}

#[test]
fn a_data_file_or_a_log_that_lost_its_name_is_noticed() {
    for name in [String::from(file::NAME), segment::name(1), segment::name(2)] {
        let (directory, engine) = with_two_segments();
        engine.check_place().unwrap();
        std::fs::rename(directory.join(&name), directory.join("elsewhere")).unwrap();
        assert!(matches!(engine.check_place(), Err(StorageFailure::Removed(_))), "{name}");
        std::fs::rename(directory.join("elsewhere"), directory.join(&name)).unwrap();
        engine.check_place().unwrap();
    }
}

#[test]
fn a_log_whose_last_frame_was_written_over_is_noticed() {
    let (directory, engine) = with_two_segments();
    let path = directory.join(&segment::name(2));
    let whole = std::fs::read(&path).unwrap();
    // Writes into the same file: its name and its header stay.
    let write = |bytes: &[u8]| {
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(bytes, 0).unwrap();
    };
    let mut zeros = whole.clone();
    zeros[512..].fill(0);
    write(&zeros);
    assert!(matches!(engine.check_place(), Err(StorageFailure::Removed(_))));
    write(&whole);
    engine.check_place().unwrap();
}

#[test]
fn an_engine_that_is_dropped_takes_its_thread_along() {
    let disk = TestDisk::holding(prepared().clone());
    let volume = disk.volume();
    let data = DataFile::open(volume.as_ref(), CACHE_BYTES).unwrap();
    let (engine, _) = LocalEngine::start(&volume, data, &Clock::new(), &Alarm::default()).unwrap();
    let shared = Arc::downgrade(&engine.shared);
    assert!(shared.strong_count() > 1, "the thread has the files too");
    drop(engine);
    assert_eq!(shared.strong_count(), 0);
}
