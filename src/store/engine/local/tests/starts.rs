//! The state of the files that the previous process left.

use std::time::Instant;

use crate::bounds::MERGE_AFTER;
use crate::clock::Clock;
use crate::store::alarm::Alarm;
use crate::store::engine::local::LocalEngine;
use crate::store::engine::local::file::{self, DataFile};
use crate::store::engine::local::log::Position;
use crate::store::engine::local::merger::Work;
use crate::store::engine::local::open::{Cleanliness, begin_timeline};
use crate::store::engine::local::state::Origin;
use crate::store::engine::local::tests::damage::check_refused;
use crate::store::engine::local::tests::{CACHE_BYTES, apply, prepared, put, start, started};
use crate::store::engine::{Engine as _, Moment, Upkeep};
use crate::store::tables::{Table, meta};
use crate::store::tests::disk::TestDisk;

fn put_one(engine: &LocalEngine, key: u8) {
    apply(engine, &put(Table::Tokens, &[key], &[7; 700])).unwrap();
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Closed,
    Killed,
    KilledAfterBatch,
}

fn disk_after(end: End) -> TestDisk {
    let (disk, engine) = started();
    match end {
        End::Closed => {
            put_one(&engine, 1);
            engine.close().unwrap();
        }
        End::Killed => (),
        End::KilledAfterBatch => put_one(&engine, 1),
    }
    drop(engine);
    disk
}

#[test]
fn only_files_that_were_closed_are_clean() {
    for (end, expected) in [
        (End::Closed, Cleanliness::Clean),
        (End::Killed, Cleanliness::NeedsRecovery),
        (End::KilledAfterBatch, Cleanliness::NeedsRecovery),
    ] {
        let volume = disk_after(end).volume();
        let data = DataFile::open(volume.as_ref(), CACHE_BYTES).unwrap();
        let started = LocalEngine::start(&volume, data, &Clock::new(), &Alarm::default());
        assert_eq!(started.unwrap().1, expected, "{end:?}");
    }
}

#[test]
fn after_a_kill_the_log_is_forgotten_and_the_rows_that_were_found_in_it_are_merged() {
    for (end, forgets, merges) in [
        (End::Closed, false, false),
        (End::Killed, true, false),
        (End::KilledAfterBatch, true, true),
    ] {
        let engine = start(&disk_after(end)).unwrap();
        engine.set_upkeep(Upkeep::Allowed);
        let merger = &engine.shared.merger;
        let late = Instant::now() + MERGE_AFTER;
        if forgets {
            assert_eq!(merger.due_work(late), Some(Work::Forget), "{end:?}");
        }
        assert_eq!(merger.due_work(late), merges.then_some(Work::Merge(0)), "{end:?}");
    }
}

#[test]
fn a_process_keeps_the_log_that_the_archive_of_an_earlier_one_lacked() {
    for holds in [true, false] {
        let (disk, engine) = started();
        let source = engine.log_source().unwrap();
        // Several segments; the archive has the first one.
        (0..30).for_each(|key| put_one(&engine, key));
        let mut tail = source.tail(None).unwrap().unwrap();
        while tail.at().segment < 2 {
            tail.next(source.end()).unwrap().unwrap();
        }
        source.hold(holds.then_some(tail.at()));
        drop(source);
        engine.merge_turn(0).unwrap();
        drop(engine);
        let engine = start(&disk).unwrap();
        let held = Position { segment: 2, ..Position::default() };
        assert_eq!(engine.shared.held(), holds.then_some(held));
        let first = engine.shared.log().first_segment();
        assert_eq!(first == 2, holds, "the oldest segment is {first}");
    }
}

#[test]
fn a_file_that_begins_a_timeline_tells_its_vault_and_where_it_comes_from() {
    let disk = TestDisk::holding(prepared().clone());
    let data = DataFile::open(disk.volume().as_ref(), CACHE_BYTES).unwrap();
    let origin = Moment { timeline: [5; 16], sequence: 7, digest: [6; 32] };
    begin_timeline(&data.database, origin).unwrap();
    drop(data);
    let engine = start(&disk).unwrap();
    let source = engine.log_source().unwrap();
    assert_eq!(source.origin(), Origin { timeline: [5; 16], sequence: 7 });
    let snapshot = engine.snapshot().unwrap();
    let Moment { timeline, sequence, digest } = snapshot.moment().unwrap();
    assert_eq!(digest, [6; 32], "the chain goes on");
    assert!(![[0; 16], [5; 16]].contains(&timeline), "it is new");
    assert_eq!((sequence, source.end().sequence), (7, 8));
    let vault = snapshot.get(Table::Meta, meta::FILE_ID).unwrap().unwrap();
    assert_eq!((source.lineage().vault.to_vec(), source.lineage().timeline), (vault, timeline));
}

/// The data file names a new timeline's log only at the end of the first start.
#[test]
fn a_first_start_of_a_timeline_that_was_cut_off_is_begun_again_and_its_batches_are_not_lost() {
    let disk = TestDisk::holding(prepared().clone());
    let data = DataFile::open(disk.volume().as_ref(), CACHE_BYTES).unwrap();
    let origin = Moment { timeline: [5; 16], sequence: 7, digest: [6; 32] };
    begin_timeline(&data.database, origin).unwrap();
    drop(data);
    let begun = disk.durable()[file::NAME].clone();
    let engine = start(&disk).unwrap();
    let mut cut_off = disk.durable();
    cut_off.insert(String::from(file::NAME), begun.clone());
    put_one(&engine, 1);
    drop(engine);
    let mut put_back = disk.durable();
    put_back.insert(String::from(file::NAME), begun);
    check_refused(&put_back, &["newer than the data file"]);
    let disk = TestDisk::holding(cut_off);
    let engine = start(&disk).unwrap();
    put_one(&engine, 1);
    drop(engine);
    let engine = start(&TestDisk::holding(disk.durable())).unwrap();
    assert_eq!(engine.snapshot().unwrap().moment().unwrap().sequence, 8);
}
