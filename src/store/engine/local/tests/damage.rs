//! Logs that are damaged, incomplete or from another vault: the start is refused, names the
//! segment, and leaves the log unchanged.

use crate::domain::time::Timestamp;
use crate::store::engine::local::file::NAME;
use crate::store::engine::local::log::segment::{Header, Lineage, SPARE, name};
use crate::store::engine::local::log::{frame, segment};
use crate::store::engine::local::tests::{apply, close, contents, merge_all, put, start, started};
use crate::store::engine::memory::Model;
use crate::store::engine::{Engine as _, Order, RowChange};
use crate::store::failure::StorageFailure;
use crate::store::tables::{KeyRange, Table};
use crate::store::tests::disk::{Dice, Image, TestDisk};

const SECTOR: usize = 512;
/// A frame of the tests takes two sectors.
const FRAME: usize = 2 * SECTOR;

/// A vault that was not closed, with one row for each byte below `rows`.
fn written(rows: u8) -> Image {
    let (disk, engine) = started();
    for key in 0..rows {
        apply(&engine, &put(Table::Tokens, &[key], &[key; 700])).unwrap();
    }
    drop(engine);
    disk.durable()
}

/// Three segments with seven frames each, and a fourth one with three.
fn four_segments() -> Image {
    written(24)
}

#[track_caller]
pub(super) fn rows(image: &Image) -> Model {
    let disk = TestDisk::holding(image.clone());
    let engine = start(&disk).unwrap();
    contents(engine.snapshot().unwrap().as_ref())
}

fn log_of(image: &Image) -> Image {
    let mut log = image.clone();
    log.retain(|name, _| segment::is_log_file(name));
    log
}

#[track_caller]
fn refused(image: &Image) -> String {
    let disk = TestDisk::holding(image.clone());
    let failure = start(&disk).err().unwrap();
    assert!(matches!(failure, StorageFailure::Damaged(_) | StorageFailure::Log(..)), "{failure:?}");
    assert!(log_of(&disk.volatile()) == log_of(image), "the log was changed");
    format!("{failure}; {}", failure.advice())
}

#[track_caller]
pub(super) fn check_refused(image: &Image, words: &[&str]) {
    let text = refused(image);
    for word in words {
        assert!(text.contains(word), "{text:?} lacks {word:?}");
    }
}

fn flip(image: &mut Image, number: u64, at: usize) {
    image.get_mut(&name(number)).unwrap()[at] ^= 1;
}

#[test]
fn a_last_frame_that_is_cut_off_is_left_out_and_its_number_is_used_again() {
    let mut image = four_segments();
    assert_eq!(rows(&image).len(), 24);
    flip(&mut image, 4, SECTOR + 2 * FRAME + 600);
    let disk = TestDisk::holding(image);
    let engine = start(&disk).unwrap();
    let snapshot = engine.snapshot().unwrap();
    assert_eq!((contents(snapshot.as_ref()).len(), snapshot.moment().unwrap().sequence), (23, 23));
    assert!(engine.health().is_cut_off);
    apply(&engine, &put(Table::Tokens, b"next", b"1")).unwrap();
    drop((snapshot, engine));
    let engine = start(&TestDisk::holding(disk.durable())).unwrap();
    assert!(!engine.health().is_cut_off);
    let found = contents(engine.snapshot().unwrap().as_ref());
    assert!(found.len() == 24 && found.contains_key(&(Table::Tokens, b"next".to_vec())));
}

/// Bytes that do not resemble the log.
pub(super) fn noise(len: usize) -> Vec<u8> {
    let mut dice = Dice(7);
    (0..len).map(|_| u8::try_from(dice.roll(256)).unwrap()).collect()
}

pub(super) fn replace(image: &mut Image, number: u64, at: usize, bytes: &[u8]) {
    image.get_mut(&name(number)).unwrap()[at..at + bytes.len()].copy_from_slice(bytes);
}

#[test]
fn the_last_frames_under_other_bytes_are_damage_and_not_the_end_of_the_log() {
    let at = SECTOR + 2 * FRAME;
    for frames in [1, 2, 4] {
        let mut image = written(6);
        replace(&mut image, 1, SECTOR + (6 - frames) * FRAME, &noise(frames * FRAME));
        let place = format!("byte {}", SECTOR + (6 - frames) * FRAME);
        check_refused(&image, &[&name(1), &place, "not free", "restore the newest backup"]);
    }
    // The head of the first bad frame is intact, as after a torn write.
    let mut image = written(6);
    replace(&mut image, 1, at + 100, &noise(4 * FRAME - 100));
    check_refused(&image, &[&name(1), &format!("byte {at}"), "not free"]);
}

/// A frame that does not fit behind others gets a segment for itself.
#[test]
fn the_head_of_a_frame_that_is_too_large_for_its_place_is_damage() {
    let at = SECTOR + 5 * FRAME;
    for (len, is_damage) in [(60 << 20, false), (64 << 20, true), (u32::MAX, true)] {
        let mut image = written(6);
        replace(&mut image, 1, at, &u32::to_be_bytes(len));
        // The file is long enough for the rest of the frame.
        image.get_mut(&name(1)).unwrap().resize(65 << 20, 0);
        if is_damage {
            check_refused(&image, &[&name(1), &format!("byte {at}"), "not free"]);
        } else {
            assert_eq!(rows(&image).len(), 5);
        }
    }
}

#[test]
fn any_part_of_the_last_write_that_reached_the_disk_is_left_out() {
    let whole = written(6);
    let start_of_last = SECTOR + 5 * FRAME;
    for reached in 0..4 {
        let mut image = whole.clone();
        for sector in (0..2).filter(|sector| reached & (1 << sector) == 0) {
            replace(&mut image, 1, start_of_last + sector * SECTOR, &[0; SECTOR]);
        }
        let expected = if reached == 3 { 6 } else { 5 };
        assert_eq!(rows(&image).len(), expected, "sectors {reached:b}");
        let engine = start(&TestDisk::holding(image)).unwrap();
        assert_eq!(engine.health().is_cut_off, reached == 1 || reached == 2);
    }
}

#[test]
fn a_bad_frame_before_a_good_one_is_damage() {
    // The first frame, a middle one, the end of a segment, and the newest segment's last but one.
    for (number, frame) in [(1, 0), (2, 3), (2, 6), (4, 1)] {
        for at in [2, 10, 500, 700] {
            let mut image = four_segments();
            flip(&mut image, number, SECTOR + frame * FRAME + at);
            let place = format!("byte {}", SECTOR + frame * FRAME);
            check_refused(&image, &[&name(number), &place, "restore the newest backup"]);
        }
    }
}

#[test]
fn a_missing_segment_is_named() {
    for number in 1..4 {
        let mut image = four_segments();
        image.remove(&name(number)).unwrap();
        check_refused(&image, &[&name(number), "missing", "move it back"]);
    }
    let mut image = four_segments();
    image.retain(|name, _| segment::number_of(name).is_none());
    check_refused(&image, &[&name(1), "missing", "move it back"]);
}

/// Four segments, one with another header.
fn with_header(number: u64, change: impl FnOnce(&mut Header)) -> Image {
    let mut image = four_segments();
    let bytes = image.get_mut(&name(number)).unwrap();
    let mut header = Header::decode(&bytes[..SECTOR]).unwrap();
    change(&mut header);
    bytes[..SECTOR].copy_from_slice(&header.encode());
    image
}

type Edit = fn(&mut Header);

#[test]
fn a_segment_with_a_wrong_header_is_named_with_its_fault() {
    for number in [1, 2, 4] {
        let mut image = four_segments();
        flip(&mut image, number, 40);
        check_refused(&image, &[&name(number), "damaged header", "restore the newest backup"]);
        let mut image = four_segments();
        image.get_mut(&name(number)).unwrap()[15] = 3;
        check_refused(&image, &[&name(number), "newer", "use the newer program"]);
        let mut image = four_segments();
        image.get_mut(&name(number)).unwrap().truncate(100);
        check_refused(&image, &[&name(number), "no header", "restore the newest backup"]);
        let changes: [(&str, Edit); 5] = [
            ("another vault", |header| header.lineage.vault = [9; 16]),
            ("another timeline", |header| header.lineage.timeline = [9; 16]),
            ("does not follow", |header| header.number += 1),
            ("does not follow", |header| header.first_sequence -= 1),
            ("does not follow", |header| header.before[0] ^= 1),
        ];
        for (fault, change) in changes {
            check_refused(&with_header(number, change), &[&name(number), fault, "put back"]);
        }
    }
}

/// A start overwrites and removes the segments before the first that it needs.
#[test]
fn a_segment_of_another_log_before_the_first_one_is_refused_and_stays() {
    let disk = TestDisk::holding(four_segments());
    let engine = start(&disk).unwrap();
    merge_all(&engine);
    drop(engine);
    let unclosed = disk.durable();
    let engine = start(&disk).unwrap();
    close(engine);
    let closed = disk.durable();
    let mut without_log = closed.clone();
    without_log.retain(|name, _| !segment::is_log_file(name));
    for (mut image, state) in [(unclosed, "open"), (closed, "closed"), (without_log, "no log")] {
        assert_eq!(rows(&image).len(), 24, "{state}");
        let other = with_header(1, |header| header.lineage.vault = [9; 16]);
        image.insert(name(1), other[&name(1)].clone());
        let advice = if state == "no log" { "needs no log: move" } else { "move it back there" };
        check_refused(&image, &[&name(1), "another vault", &"09".repeat(16), advice]);
        if state != "no log" {
            let other = with_header(1, |header| header.lineage.timeline = [9; 16]);
            image.insert(name(1), other[&name(1)].clone());
            check_refused(&image, &[&name(1), "another timeline", "put back"]);
        }
    }
}

/// A frame with a correct checksum was written completely, so it may have been answered.
#[test]
fn a_frame_of_an_unknown_table_is_of_a_newer_program_and_never_cut() {
    let mut image = four_segments();
    let mut bytes = Vec::new();
    let row = put(Table::Tokens, b"k", b"v");
    frame::encode(25, Timestamp::from_seconds(1), &row, &mut bytes).unwrap();
    let len = frame::FrameHead::decode(&bytes).unwrap().len;
    bytes[frame::HEAD_BYTES] = 250;
    let sum = crc32fast::hash(&bytes[8..len]).to_be_bytes();
    bytes[4..8].copy_from_slice(&sum);
    let at = SECTOR + 3 * FRAME;
    image.get_mut(&name(4)).unwrap()[at..at + bytes.len()].copy_from_slice(&bytes);
    check_refused(&image, &[&name(4), "newer", "use the newer program"]);
}

#[test]
fn a_log_that_ends_before_rows_of_the_data_file_is_incomplete() {
    let (disk, engine) = started();
    // A row of a slice, which is merged later than the others.
    apply(&engine, &put(Table::TokenLists, &[3; 17], b"slice")).unwrap();
    for key in 0..20 {
        apply(&engine, &put(Table::Tokens, &[key], &[key; 700])).unwrap();
    }
    engine.merge_turn(0).unwrap();
    drop(engine);
    let whole = disk.durable();
    assert_eq!(rows(&whole).len(), 21);
    let mut image = whole.clone();
    image.remove(&name(3)).unwrap();
    check_refused(&image, &[&name(3), "missing", "move it back"]);
    let mut image = whole;
    image.get_mut(&name(3)).unwrap()[SECTOR..].fill(0);
    check_refused(&image, &[&name(3), "ends", "restore the newest backup"]);
}

#[test]
fn a_data_file_without_its_log_starts_only_if_it_was_closed() {
    let disk = TestDisk::holding(written(10));
    let engine = start(&disk).unwrap();
    close(engine);
    let mut image = disk.durable();
    image.retain(|name, _| !segment::is_log_file(name));
    let disk = TestDisk::holding(image);
    let engine = start(&disk).unwrap();
    let snapshot = engine.snapshot().unwrap();
    assert_eq!((contents(snapshot.as_ref()).len(), snapshot.moment().unwrap().sequence), (10, 10));
    apply(&engine, &put(Table::Tokens, b"next", b"1")).unwrap();
    drop((snapshot, engine));
    assert_eq!(rows(&disk.durable()).len(), 11);
}

/// An old copy of the data file was put back, and the log went on without it.
#[test]
fn a_log_that_is_newer_than_a_closed_data_file_is_not_removed() {
    let disk = TestDisk::holding(written(10));
    let engine = start(&disk).unwrap();
    close(engine);
    let old = disk.durable();
    let engine = start(&disk).unwrap();
    for key in 10..40 {
        apply(&engine, &put(Table::Tokens, &[key], &[key; 700])).unwrap();
    }
    merge_all(&engine);
    apply(&engine, &put(Table::Tokens, b"newest", b"1")).unwrap();
    drop(engine);
    let mut image = disk.durable();
    let data = String::from(crate::store::Store::FILE);
    image.insert(data.clone(), old[&data].clone());
    let first = log_of(&image).into_keys().next().unwrap();
    check_refused(&image, &[&first, "newer than the data file", "put back"]);
}

#[test]
fn a_spare_segment_of_another_vault_is_not_used() {
    let other = written(60);
    let mut image = written(1);
    // Its frames have numbers that come later in this vault's log.
    image.insert(String::from(SPARE), other[&name(4)].clone());
    let disk = TestDisk::holding(image);
    for round in 0..4 {
        let engine = start(&disk).unwrap_or_else(|failure| panic!("{round}: {failure}"));
        let before = contents(engine.snapshot().unwrap().as_ref()).len();
        for key in 0..6 {
            apply(&engine, &put(Table::Tokens, &[round, key], &[key; 700])).unwrap();
        }
        assert_eq!(contents(engine.snapshot().unwrap().as_ref()).len(), before + 6);
        drop(engine);
    }
    assert_eq!(rows(&disk.durable()).len(), 25);
}

#[test]
fn frames_of_an_earlier_use_of_a_segment_are_never_taken() {
    let (disk, mut engine) = started();
    for round in 0..40_u8 {
        for key in 0..5 {
            apply(&engine, &put(Table::Tokens, &[key], &[round; 700])).unwrap();
        }
        apply(&engine, &[RowChange { table: Table::Tokens, key: vec![round % 5], value: None }])
            .unwrap();
        let expected = contents(engine.snapshot().unwrap().as_ref());
        if round % 3 == 0 {
            engine.merge_turn(0).unwrap();
        }
        drop(engine);
        engine = start(&disk).unwrap();
        assert_eq!(contents(engine.snapshot().unwrap().as_ref()), expected, "{round}");
    }
    assert!(engine.shared.log().end().segment > 20);
    let lineage: Lineage = engine.shared.log().lineage();
    let newest = disk.durable().remove(&name(engine.shared.log().end().segment)).unwrap();
    assert_eq!(Header::decode(&newest[..SECTOR]).unwrap().lineage, lineage);
}

/// Exchanges two pages of the data file, for all pairs of neighbours in use.
#[test]
fn a_walk_over_pages_in_wrong_places_ends_and_shows_its_own_range_in_order() {
    const PAGE: usize = 4096;
    let (disk, engine) = started();
    let key = |number: u16| [&[7; 16], &number.to_be_bytes()[..]].concat();
    let row = |number| {
        let value = Some(vec![9; 100]);
        [Table::Tokens, Table::TokenLists].map(|table| RowChange {
            table,
            key: key(number),
            value: value.clone(),
        })
    };
    apply(&engine, &(0..1_500).flat_map(row).collect::<Vec<_>>()).unwrap();
    close(engine);
    let image = disk.durable();
    let is_used = |page: &usize| image[NAME][page * PAGE..][..PAGE].iter().any(|it| *it != 0);
    let used: Vec<usize> = (1..image[NAME].len() / PAGE).filter(is_used).collect();
    let (mut walked, mut refused) = (0, 0);
    for pair in used.windows(2) {
        let mut damaged = image.clone();
        let (before, after) = damaged.get_mut(NAME).unwrap().split_at_mut(pair[1] * PAGE);
        before[pair[0] * PAGE..][..PAGE].swap_with_slice(&mut after[..PAGE]);
        let Ok(engine) = start(&TestDisk::holding(damaged)) else { continue };
        let view = engine.snapshot().unwrap();
        for order in [Order::Ascending, Order::Descending] {
            let range = KeyRange::prefix(Table::Tokens, vec![7; 16]).starting_after(&key(99));
            match view.page(&range, order, usize::MAX) {
                Ok(page) => {
                    let is_sorted = page.rows.is_sorted_by(|one, two| match order {
                        Order::Ascending => one.0 < two.0,
                        Order::Descending => one.0 > two.0,
                    });
                    assert!(is_sorted && page.rows.iter().all(|row| range.contains(&row.0)));
                    walked += 1;
                }
                Err(StorageFailure::Damaged(_)) => refused += 1,
                Err(other) => panic!("{other:?}"),
            }
        }
    }
    assert!(walked > 50 && refused > 50, "{walked} walked, {refused} refused");
}
