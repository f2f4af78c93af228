//! A process ends and the next one starts on the same disk, which may lose power only later. The
//! second process makes rows durable before it shows them.

use crate::store::engine::Engine as _;
use crate::store::engine::local::LocalEngine;
use crate::store::engine::local::tests::{apply, contents, put, start, started};
use crate::store::engine::memory::Model;
use crate::store::failure::StorageFailure;
use crate::store::tables::Table;
use crate::store::tests::disk::{EIO, Fate, Fault, Operation, TestDisk};

fn rows(engine: &LocalEngine) -> Model {
    contents(engine.snapshot().unwrap().as_ref())
}

fn has(engine: &LocalEngine, key: &[u8]) -> bool {
    rows(engine).contains_key(&(Table::Tokens, key.to_vec()))
}

fn put_one(engine: &LocalEngine, key: &[u8]) -> Result<(), StorageFailure> {
    apply(engine, &put(Table::Tokens, key, &[1; 700]))
}

fn after_power_loss(disk: &TestDisk, engine: LocalEngine) -> LocalEngine {
    disk.lose_power(Fate::Lost);
    drop(engine);
    disk.restart();
    start(disk).unwrap()
}

#[test]
fn a_frame_whose_sync_failed_is_there_for_good_once_the_next_process_has_shown_it() {
    let (disk, engine) = started();
    put_one(&engine, b"a").unwrap();
    disk.plan(Operation::Sync, 1, Fault::Once(EIO));
    put_one(&engine, b"b").unwrap_err();
    drop(engine);
    let engine = start(&disk).unwrap();
    assert!(has(&engine, b"a") && has(&engine, b"b"), "the frame can still be read");
    put_one(&engine, b"c").unwrap();
    let engine = after_power_loss(&disk, engine);
    assert!(has(&engine, b"a") && has(&engine, b"b") && has(&engine, b"c"));
}

/// The process is killed at each sync and each write in turn.
#[test]
fn what_a_process_finds_after_a_kill_survives_a_later_power_loss() {
    for operation in [Operation::Sync, Operation::Write] {
        for nth in 1.. {
            let (disk, engine) = started();
            disk.plan(operation, nth, Fault::Kill);
            let mut answered = 0_u8;
            let mut work = || {
                for key in 0..24 {
                    put_one(&engine, &[key])?;
                    answered = key + 1;
                    if key % 7 == 6 {
                        engine.merge_turn(0)?;
                    }
                }
                engine.close()
            };
            let is_done = work().is_ok();
            disk.kill();
            drop(engine);
            disk.restart();
            let engine = start(&disk).unwrap();
            let shown = rows(&engine);
            assert!((0..answered).all(|key| has(&engine, &[key])), "{operation:?} {nth}");
            let engine = after_power_loss(&disk, engine);
            assert_eq!(rows(&engine), shown, "{operation:?} {nth}");
            put_one(&engine, b"later").unwrap();
            let engine = after_power_loss(&disk, engine);
            assert!(has(&engine, b"later"), "{operation:?} {nth}");
            if is_done {
                assert!(nth > 24, "only {nth}");
                break;
            }
        }
    }
}

/// A segment that got its name just before the kill may lose it with the power.
#[test]
fn a_new_segment_of_a_killed_process_keeps_its_name() {
    let (disk, mut engine) = started();
    let mut answered = 0_u8;
    for round in 0..40 {
        // Kills at the sync of a frame, and some at the sync of names.
        disk.plan(Operation::Sync, round % 3 + 1, Fault::Kill);
        while put_one(&engine, &[answered]).is_ok() {
            answered += 1;
        }
        drop(engine);
        disk.restart();
        engine = start(&disk).unwrap();
        put_one(&engine, &[answered]).unwrap();
        answered += 1;
        engine = after_power_loss(&disk, engine);
        assert!((0..answered).all(|key| has(&engine, &[key])), "{round}");
    }
    assert!(engine.shared.log().end().segment > 9);
}

#[test]
fn a_log_that_failed_takes_no_more_batches() {
    let (disk, engine) = started();
    put_one(&engine, b"a").unwrap();
    disk.plan(Operation::Sync, 1, Fault::Once(EIO));
    put_one(&engine, b"b").unwrap_err();
    // Large enough for the next segment: the frame of "b" would stay in the previous one.
    let large = put(Table::Tokens, b"c", &[2; 9_000]);
    assert!(matches!(apply(&engine, &large), Err(StorageFailure::Stopped)));
    assert!(!has(&engine, b"b") && !has(&engine, b"c"));
    drop(engine);
    assert!(has(&start(&disk).unwrap(), b"a"));
}

#[test]
fn rows_of_a_merge_that_was_interrupted_stay_in_the_log() {
    let (disk, engine) = started();
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
        let (disk, engine) = started();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| (0..60).try_for_each(|key| put_one(&engine, &[key])));
            engine.close().unwrap();
            writer.join().unwrap().unwrap();
        });
        let engine = after_power_loss(&disk, engine);
        assert!((0..60).all(|key| has(&engine, &[key])));
    }
}
