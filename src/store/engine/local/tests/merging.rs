//! The merger: the rows it moves, its schedule, and its thread.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Instant;

use crate::bounds::MERGE_AFTER;
use crate::clock::Clock;
use crate::store::alarm::Alarm;
use crate::store::engine::local::file::DataFile;
use crate::store::engine::local::log::end::EndFile;
use crate::store::engine::local::merge::carry_out;
use crate::store::engine::local::merger::Work;
use crate::store::engine::local::tests::{
    CACHE_BYTES, SMALL, apply, prepared, put, start, started,
};
use crate::store::engine::local::{LocalEngine, Sizes};
use crate::store::engine::{Engine as _, Upkeep};
use crate::store::tables::Table;
use crate::store::tests::disk::{EIO, ENOSPC, Fault, Operation, TestDisk};
use crate::waiting::{PATIENCE, receive};

/// One row in part 0 and one in each slice.
const PLACES: [(Table, [u8; 17]); 5] = [
    (Table::Tokens, [9; 17]),
    (Table::TokenLists, [0; 17]),
    (Table::TokenLists, [1; 17]),
    (Table::TokenLists, [2; 17]),
    (Table::TokenLists, [3; 17]),
];

fn put_at(engine: &LocalEngine, part: usize) {
    let (table, key) = PLACES[part];
    apply(engine, &put(table, &key, &[7; 100])).unwrap();
}

fn parts_in_memory(engine: &LocalEngine) -> Vec<usize> {
    let view = engine.shared.view();
    let parts = view.parts.iter().enumerate();
    parts.filter(|(_, part)| !part.active.is_empty()).map(|(number, _)| number).collect()
}

fn sized(disk: &TestDisk, sizes: Sizes) -> LocalEngine {
    let data = DataFile::open(disk.volume().as_ref(), CACHE_BYTES).unwrap();
    let (clock, alarm) = (Clock::new(), Alarm::default());
    LocalEngine::start_without_merger(&disk.volume(), data, (&clock, &alarm), sizes).unwrap()
}

fn threaded(disk: &TestDisk, sizes: Sizes) -> (LocalEngine, Alarm) {
    let data = DataFile::open(disk.volume().as_ref(), CACHE_BYTES).unwrap();
    let (clock, alarm) = (Clock::new(), Alarm::default());
    let started = LocalEngine::start_sized(&disk.volume(), data, (&clock, &alarm), sizes);
    (started.unwrap().0, alarm)
}

#[track_caller]
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::yield_now();
    }
}

#[test]
fn a_turn_merges_part_0_its_slice_and_layers_that_are_old() {
    // Taken before the first layer, so that no layer is old at this time.
    let now = Instant::now();
    let engine = start(&TestDisk::holding(prepared().clone())).unwrap();
    engine.set_upkeep(Upkeep::Allowed);
    (0..5).for_each(|part| put_at(&engine, part));
    let turn = |turn, now| {
        carry_out(&engine.shared, Work::Merge(turn), &mut Vec::new(), now).unwrap();
        parts_in_memory(&engine)
    };
    let late = || Instant::now() + MERGE_AFTER;
    let merger = &engine.shared.merger;
    assert_eq!(turn(1, now), [1, 3, 4]);
    assert_eq!(engine.health().merges, 1);
    assert!(engine.health().last_merge_micros > 0);
    put_at(&engine, 0);
    assert_eq!(merger.due_work(late()), Some(Work::Merge(0)));
    assert_eq!(turn(3, now), [1, 3]);
    assert_eq!(merger.due_work(now), None);
    assert_eq!(merger.due_work(late()), Some(Work::Merge(1)), "the rows that are left");
    assert_eq!(turn(1, late()), Vec::<usize>::new());
    assert_eq!(merger.due_work(late()), None, "no row is left");
    assert_eq!(engine.health().layer_bytes, 0);
}

#[test]
fn a_merged_layer_is_kept_until_no_snapshot_uses_it() {
    let engine = start(&TestDisk::holding(prepared().clone())).unwrap();
    let mut merged = Vec::new();
    let mut turn = || {
        carry_out(&engine.shared, Work::Merge(0), &mut merged, Instant::now()).unwrap();
        merged.len()
    };
    put_at(&engine, 0);
    assert_eq!(turn(), 0, "nobody reads it");
    put_at(&engine, 0);
    let snapshot = engine.snapshot().unwrap();
    assert_eq!(turn(), 1);
    assert_eq!(turn(), 1, "it is still read");
    drop(snapshot);
    assert_eq!(turn(), 0);
}

/// Some file systems need space to replace bytes.
#[test]
fn a_note_that_finds_no_space_is_made_later_and_ends_nothing() {
    for (operation, errno, waits) in [
        (Operation::Write, ENOSPC, true),
        (Operation::Sync, ENOSPC, true),
        (Operation::Write, EIO, false),
    ] {
        let (disk, engine) = started();
        put_at(&engine, 0);
        let merger = &engine.shared.merger;
        assert!(merger.has_note_due());
        assert_eq!(merger.due_work(Instant::now()), None);
        let note = || carry_out(&engine.shared, Work::Note, &mut Vec::new(), Instant::now());
        disk.plan(operation, 1, Fault::Once(errno));
        assert_eq!(
            (note().is_ok(), merger.has_note_due()),
            (waits, waits),
            "{operation:?} {errno}"
        );
        note().unwrap();
        let noted = EndFile::noted(&TestDisk::holding(disk.durable()), engine.shared.lineage);
        assert_eq!(noted.unwrap(), Some(1), "{operation:?} {errno}");
    }
}

/// Only part 0 counts: merging a few rows of the slices writes many pages.
#[test]
fn rows_ask_for_a_merge_and_fill_the_memory_at_exact_sizes() {
    let disk = TestDisk::holding(prepared().clone());
    let of = |part| {
        let engine = sized(&disk, SMALL);
        put_at(&engine, part);
        let bytes = usize::try_from(engine.health().layer_bytes).unwrap();
        engine.close().unwrap();
        bytes
    };
    let (ordered, slice) = (of(0), of(1));
    let max = usize::MAX;
    for (part, merge_bytes, layers_bytes_max, has_many, is_full) in [
        (0, ordered, max, true, false),
        (0, ordered + 1, max, false, false),
        (1, slice, max, false, false),
        (1, max, slice * 2, true, false),
        (1, max, slice * 2 + 2, false, false),
        (1, max, slice, true, false),
        (1, max, slice - 1, true, true),
        (0, max, ordered - 1, true, true),
    ] {
        let engine = sized(&disk, Sizes { merge_bytes, layers_bytes_max, ..SMALL });
        put_at(&engine, part);
        let case = format!("part {part}, {merge_bytes} of {layers_bytes_max}");
        assert_eq!(engine.shared.has_many_rows(), has_many, "{case}");
        assert_eq!(engine.shared.is_full(), is_full, "{case}");
        // A batch requests the merge itself, also while upkeep is held.
        let asked = engine.shared.merger.due_work(Instant::now());
        assert_eq!(asked, has_many.then_some(Work::Merge(0)), "{case}");
        engine.close().unwrap();
    }
}

#[test]
fn a_merge_that_leaves_many_rows_is_followed_by_the_next_turn_at_once() {
    let now = Instant::now();
    let disk = TestDisk::holding(prepared().clone());
    // Two of the rows are more than half of this.
    let engine = sized(&disk, Sizes { layers_bytes_max: 800, ..SMALL });
    (1..4).for_each(|part| put_at(&engine, part));
    let merger = &engine.shared.merger;
    let mut turns = Vec::new();
    for _ in 0..9 {
        let Some(work) = merger.due_work(now) else { break };
        carry_out(&engine.shared, work, &mut Vec::new(), now).unwrap();
        turns.push(work);
    }
    assert_eq!(turns, [Work::Merge(0), Work::Merge(1)]);
    assert_eq!(parts_in_memory(&engine), [3]);
}

#[test]
fn the_thread_merges_what_it_is_asked_for_and_ends_the_store_when_the_disk_fails() {
    let disk = TestDisk::holding(prepared().clone());
    let (engine, alarm) = threaded(&disk, Sizes { merge_bytes: 1, ..SMALL });
    put_at(&engine, 0);
    wait_until("a merge", || engine.health().merges > 0);
    wait_until("its end", || !engine.health().is_merging && parts_in_memory(&engine).is_empty());
    assert!(!alarm.has_sounded());
    // Rows of a slice request no merge, so that the next sync is the merge's.
    put_at(&engine, 1);
    disk.plan(Operation::Sync, 1, Fault::Always(EIO));
    engine.shared.merger.consider(true);
    wait_until("the alarm", || alarm.has_sounded());
}

#[test]
fn a_batch_that_finds_the_memory_full_waits_for_a_merge() {
    let disk = TestDisk::holding(prepared().clone());
    let engine = Arc::new(sized(&disk, Sizes { layers_bytes_max: 1, ..SMALL }));
    put_at(&engine, 0);
    assert_eq!(engine.health().waits, 0);
    engine.shared.merger.due_work(Instant::now());
    let (sender, receiver) = mpsc::channel();
    let writer = Arc::clone(&engine);
    let writer = std::thread::spawn(move || {
        put_at(&writer, 1);
        sender.send(()).unwrap();
    });
    let merger = &engine.shared.merger;
    let asked = || merger.due_work(Instant::now()) == Some(Work::Merge(1));
    wait_until("the batch asks for a merge", asked);
    receiver.try_recv().unwrap_err();
    carry_out(&engine.shared, Work::Merge(1), &mut Vec::new(), Instant::now()).unwrap();
    receive("the batch", &receiver);
    writer.join().unwrap();
    assert_eq!(engine.health().waits, 1);
    assert_eq!(parts_in_memory(&engine), [1]);
}
