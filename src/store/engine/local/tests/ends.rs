//! The noted end of the log: batches up to it cannot vanish unnoticed.

use crate::store::engine::Engine as _;
use crate::store::engine::local::LocalEngine;
use crate::store::engine::local::file;
use crate::store::engine::local::log::end::NAME;
use crate::store::engine::local::log::segment::{is_log_file, name};
use crate::store::engine::local::tests::damage::{check_refused, rows};
use crate::store::engine::local::tests::{apply, close, prepared, put, start, started};
use crate::store::tables::Table;
use crate::store::tests::disk::{Image, TestDisk};

const ELSEWHERE: &str =
    "if the data file is new, restored or closed, move the files strongroom.log.*";
const SECTOR: usize = 512;
/// A frame of the tests takes two sectors.
const FRAME: usize = 2 * SECTOR;

fn write(engine: &LocalEngine, keys: std::ops::Range<u8>) {
    for key in keys {
        apply(engine, &put(Table::Tokens, &[key], &[key; 700])).unwrap();
    }
}

/// A vault that was not closed, with six batches; the fourth is the noted end.
fn noted() -> Image {
    let (disk, engine) = started();
    write(&engine, 0..4);
    engine.shared.note_end().unwrap();
    write(&engine, 4..6);
    drop(engine);
    disk.durable()
}

fn closed(batches: u8) -> Image {
    let (disk, engine) = started();
    write(&engine, 0..batches);
    close(engine);
    disk.durable()
}

fn slot(image: &mut Image, number: usize) -> &mut u8 {
    &mut image.get_mut(NAME).unwrap()[number * SECTOR + 40]
}

#[test]
fn noted_batches_that_are_zeroed_or_cut_from_the_end_of_the_log_are_missed() {
    let whole = noted();
    for left in 0..6 {
        let end = SECTOR + left * FRAME;
        let mut zeroed = whole.clone();
        zeroed.get_mut(&name(1)).unwrap()[end..].fill(0);
        let mut cut = whole.clone();
        cut.get_mut(&name(1)).unwrap().truncate(end);
        for image in [zeroed, cut] {
            if left >= 4 {
                assert_eq!(rows(&image).len(), left, "they were not noted");
                continue;
            }
            let last = format!("ends with batch {left}, but batch 4 was durable");
            check_refused(&image, &[&last, NAME, "put back", "restore", "new-timeline"]);
        }
    }
}

#[test]
fn a_log_that_was_not_closed_is_refused_without_its_noted_end() {
    let whole = noted();
    let mut image = whole.clone();
    image.remove(NAME).unwrap();
    check_refused(&image, &[NAME, "missing", "put back"]);
    // The first slot names the start of the log, the second one the fourth batch.
    for (damaged, found) in [(0, 6), (1, 6)] {
        let mut image = whole.clone();
        *slot(&mut image, damaged) ^= 1;
        assert_eq!(rows(&image).len(), found, "a write that was cut off leaves the other slot");
        *slot(&mut image, 1 - damaged) ^= 1;
        check_refused(&image, &[NAME, "damaged", "put back"]);
    }
    let mut image = whole;
    image.insert(String::from(NAME), noted().remove(NAME).unwrap());
    check_refused(&image, &[NAME, "another log", "put back"]);
}

#[test]
fn a_log_with_another_history_than_the_noted_one_is_refused() {
    let (disk, engine) = started();
    write(&engine, 0..2);
    drop(engine);
    let copy = TestDisk::holding(disk.durable());
    let [own, other] = [disk, copy].map(|disk| {
        let engine = start(&disk).unwrap();
        // The time in the frames differs.
        write(&engine, 2..4);
        engine.shared.note_end().unwrap();
        drop(engine);
        disk.durable()
    });
    let mut image = own;
    image.insert(String::from(NAME), other[NAME].clone());
    check_refused(&image, &["up to batch 4", "other changes", NAME]);
}

#[test]
fn a_closed_data_file_needs_no_noted_end_and_an_old_copy_of_it_is_noticed() {
    let mut image = closed(3);
    image.remove(NAME).unwrap();
    assert_eq!(rows(&image).len(), 3);
    let disk = TestDisk::holding(image.clone());
    let engine = start(&disk).unwrap();
    write(&engine, 3..5);
    close(engine);
    let mut newer = disk.durable();
    newer.retain(|name, _| !is_log_file(name) || name == NAME);
    assert_eq!(rows(&newer).len(), 5);
    newer.insert(String::from(file::NAME), image[file::NAME].clone());
    check_refused(&newer, &["ends with batch 3, but batch 5 was durable", "old copy"]);
}

#[test]
fn the_noted_end_of_another_vault_is_refused_and_stays() {
    let disk = TestDisk::new();
    crate::store::opening::create(&disk, crate::store::Change::new()).unwrap();
    let other = disk.durable();
    let killed = {
        drop(start(&disk).unwrap());
        disk.durable()
    };
    let closed = {
        start(&disk).unwrap().close().unwrap();
        disk.durable()
    };
    for (mut image, advice) in
        [(other, ELSEWHERE), (closed, ELSEWHERE), (killed, "files that belong together")]
    {
        image.insert(String::from(NAME), noted().remove(NAME).unwrap());
        check_refused(&image, &[NAME, "another vault", "put back", advice]);
    }
    // The data file names no log, although there was one.
    let mut image = prepared().clone();
    image.insert(String::from(NAME), noted().remove(NAME).unwrap());
    check_refused(&image, &[NAME, "names no log", ELSEWHERE]);
    let mut image = noted();
    image.insert(String::from(file::NAME), prepared()[file::NAME].clone());
    image.remove(NAME).unwrap();
    check_refused(&image, &[&name(1), "names no log", ELSEWHERE]);
}
