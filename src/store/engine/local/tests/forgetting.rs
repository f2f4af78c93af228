//! After the log was forgotten, none of its files has deleted rows.

use std::time::Instant;

use crate::store::engine::local::LocalEngine;
use crate::store::engine::local::forget as forgetting;
use crate::store::engine::local::log::segment::is_log_file;
use crate::store::engine::local::merger::Work;
use crate::store::engine::local::tests::{
    apply, close, contents, forget, prepared, put, start, started,
};
use crate::store::engine::{Engine as _, RowChange};
use crate::store::failure::StorageFailure;
use crate::store::tables::Table;
use crate::store::tests::disk::{Fate, Fault, Image, Operation, TestDisk};

const SECRET: &[u8] = b"a sealed key that is destroyed";

fn files_with_secret(image: &Image) -> Vec<&str> {
    let has = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|it| it == SECRET);
    let log = image.iter().filter(|(name, _)| is_log_file(name));
    log.filter(|(_, bytes)| has(bytes)).map(|(name, _)| name.as_str()).collect()
}

/// Writes the secret into several segments, one of which becomes the spare, and deletes it.
fn fill(engine: &LocalEngine) -> Result<(), StorageFailure> {
    for key in 0..12_u8 {
        apply(engine, &put(Table::Tokens, &[key], &SECRET.repeat(60)))?;
        if key == 5 {
            for turn in 0..4 {
                engine.merge_turn(turn)?;
            }
        }
    }
    for key in 0..11_u8 {
        apply(engine, &[RowChange { table: Table::Tokens, key: vec![key], value: None }])?;
    }
    apply(engine, &put(Table::Tokens, &[11], b"left"))
}

#[track_caller]
fn assert_rows(engine: &LocalEngine, case: &str) {
    let rows = contents(engine.snapshot().unwrap().as_ref());
    assert_eq!(rows.len(), 1, "{case}");
    assert_eq!(rows[&(Table::Tokens, vec![11])], b"left", "{case}");
}

#[test]
fn a_forgotten_log_has_no_old_rows_and_goes_on() {
    let (disk, engine) = started();
    fill(&engine).unwrap();
    assert!(files_with_secret(&disk.volatile()).len() > 2);
    engine.forget().unwrap();
    assert!(!files_with_secret(&disk.volatile()).is_empty(), "upkeep is held");
    forget(&engine).unwrap();
    for image in [disk.volatile(), disk.durable()] {
        assert_eq!(files_with_secret(&image), Vec::<&str>::new());
    }
    assert_eq!(engine.health().log_segments, 1);
    assert_rows(&engine, "forgotten");
    let end = engine.shared.log().end();
    forget(&engine).unwrap();
    assert_eq!(engine.shared.log().end(), end, "nothing is left to forget");
    apply(&engine, &put(Table::Tokens, &[11], b"later")).unwrap();
    apply(&engine, &put(Table::Tokens, &[11], b"left")).unwrap();
    disk.lose_power(Fate::Lost);
    drop(engine);
    disk.restart();
    assert_rows(&start(&disk).unwrap(), "after a power loss");
}

#[test]
fn a_closed_log_has_no_old_rows() {
    let (disk, engine) = started();
    fill(&engine).unwrap();
    close(engine);
    let closed = disk.durable();
    assert_eq!(files_with_secret(&closed), Vec::<&str>::new());
    let engine = start(&disk).unwrap();
    assert_rows(&engine, "closed");
    let end = engine.shared.log().end();
    engine.close().unwrap();
    assert_eq!(engine.shared.log().end(), end, "an unused log stays as it is");
}

#[test]
fn a_power_loss_while_the_log_is_forgotten_loses_nothing_and_the_next_process_forgets() {
    for operation in [Operation::Sync, Operation::Write] {
        for fate in [|_| Fate::Lost, |_| Fate::Reached, Fate::Torn] {
            for nth in 1.. {
                let (disk, engine) = started();
                fill(&engine).unwrap();
                let at = usize::try_from(nth).unwrap();
                disk.plan(operation, at, Fault::PowerLoss(fate(nth)));
                let is_done = forget(&engine).is_ok();
                drop(engine);
                disk.restart();
                let case = format!("{:?} at {operation:?} {nth}", fate(nth));
                let engine = start(&disk).unwrap_or_else(|it| panic!("{case}: {it:?}"));
                assert_rows(&engine, &case);
                forget(&engine).unwrap();
                assert_rows(&engine, &case);
                assert_eq!(files_with_secret(&disk.durable()), Vec::<&str>::new(), "{case}");
                if is_done {
                    assert!(nth > 4, "only {nth}");
                    break;
                }
            }
        }
    }
}

#[test]
fn a_segment_that_the_archive_lacks_is_kept_until_the_archive_has_it() {
    let (disk, engine) = started();
    let source = engine.log_source().unwrap();
    let mut tail = source.tail(None).unwrap().unwrap();
    source.hold(Some(tail.at()));
    fill(&engine).unwrap();
    forget(&engine).unwrap();
    assert!(!files_with_secret(&disk.volatile()).is_empty());
    source.hold(Some(tail.at()));
    let merger = &engine.shared.merger;
    assert_eq!(merger.due_work(Instant::now()), None, "the archive has let nothing go");
    let end = source.end();
    let archived = std::iter::from_fn(|| tail.next(end).unwrap()).count();
    assert_eq!(archived, 24, "every batch is there");
    assert_eq!(tail.at().sequence, end.sequence);
    source.hold(Some(tail.at()));
    assert_eq!(merger.due_work(Instant::now()), Some(Work::Free));
    forgetting::free(&engine.shared).unwrap();
    assert_eq!(files_with_secret(&disk.durable()), Vec::<&str>::new());
    // The archive continues in the next segment.
    apply(&engine, &put(Table::Tokens, &[11], b"left")).unwrap();
    assert_eq!(tail.next(source.end()).unwrap().unwrap().sequence, end.sequence);
    drop(source);
    close(engine);
    assert_rows(&start(&disk).unwrap(), "archived");
}

#[test]
fn a_segment_that_need_not_be_forgotten_waits_for_the_next_merge() {
    let engine = start(&TestDisk::holding(prepared().clone())).unwrap();
    fill(&engine).unwrap();
    let source = engine.log_source().unwrap();
    let end = source.end();
    assert!(engine.shared.log().first_segment() < end.segment);
    source.hold(Some(end));
    assert_eq!(engine.shared.merger.due_work(Instant::now()), None);
}

#[test]
fn batches_go_on_while_the_log_is_forgotten() {
    for _ in 0..10 {
        let (disk, engine) = started();
        fill(&engine).unwrap();
        std::thread::scope(|scope| {
            let write = |key| apply(&engine, &put(Table::Tokens, &[key], &[key; 700]));
            let writer = scope.spawn(move || (20..80).try_for_each(write));
            forget(&engine).unwrap();
            forget(&engine).unwrap();
            writer.join().unwrap().unwrap();
        });
        disk.lose_power(Fate::Lost);
        drop(engine);
        disk.restart();
        let engine = start(&disk).unwrap();
        let rows = contents(engine.snapshot().unwrap().as_ref());
        assert!((20..80).all(|key| rows.contains_key(&(Table::Tokens, vec![key]))));
        assert_eq!(files_with_secret(&disk.volatile()), Vec::<&str>::new());
    }
}
