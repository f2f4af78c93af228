//! A process ends and the next one starts on the same disk, which may lose its power only later.
//! What the second process shows must be durable by then.

use crate::store::engine::Engine as _;
use crate::store::engine::local::LocalEngine;
use crate::store::engine::local::tests::{apply, contents, prepared, put, start};
use crate::store::engine::memory::Model;
use crate::store::failure::StorageFailure;
use crate::store::tables::Table;
use crate::store::tests::disk::{Fate, TestDisk};

fn rows(engine: &LocalEngine) -> Model {
    contents(engine.snapshot().unwrap().as_ref())
}

fn has(engine: &LocalEngine, key: &[u8]) -> bool {
    rows(engine).contains_key(&(Table::Tokens, key.to_vec()))
}

fn put_one(engine: &LocalEngine, key: &[u8]) -> Result<(), StorageFailure> {
    apply(engine, &put(Table::Tokens, key, &[1; 700]))
}

/// The power goes, and another process starts.
fn after_power_loss(disk: &TestDisk, engine: LocalEngine) -> LocalEngine {
    disk.lose_power(Fate::Lost);
    drop(engine);
    disk.restart();
    start(disk).unwrap()
}

#[test]
fn rows_of_a_merge_that_was_interrupted_stay_in_the_log() {
    let disk = TestDisk::holding(prepared().clone());
    let engine = start(&disk).unwrap();
    put_one(&engine, b"a").unwrap();
    let interrupted = std::panic::AssertUnwindSafe(|| engine.merge_turn_while(0, || panic!("now")));
    std::panic::catch_unwind(interrupted).unwrap_err();
    assert!(has(&engine, b"a"));
    // The process ends, and closes its files if it can.
    assert!(matches!(engine.close(), Err(StorageFailure::Stopped)));
    assert!(has(&engine, b"a"));
    drop(engine);
    assert!(has(&start(&disk).unwrap(), b"a"));
}

/// Batches may come until the files are closed.
#[test]
fn batches_that_come_while_the_engine_closes_are_kept() {
    for _ in 0..20 {
        let disk = TestDisk::holding(prepared().clone());
        let engine = start(&disk).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| (0..60).try_for_each(|key| put_one(&engine, &[key])));
            engine.close().unwrap();
            writer.join().unwrap().unwrap();
        });
        let engine = after_power_loss(&disk, engine);
        assert!((0..60).all(|key| has(&engine, &[key])));
    }
}
