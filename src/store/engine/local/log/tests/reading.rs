//! Tests of the readers of the log: the scan at the start, and the tail for the archive.

use std::sync::Arc;

use super::*;
use crate::bounds::LOG_SEGMENT_BYTES;
use crate::store::engine::local::log::tail::{LogTail, TailFailure};
use crate::store::tests::disk::{Image, TestDisk};

fn scan(disk: &TestDisk, from: Position) -> Result<reader::Scan, StorageFailure> {
    let scan = reader::scan(disk.volume().as_ref(), LINEAGE, from, &mut |_, _| Ok(()))?;
    Ok(scan.unwrap())
}

fn first_of(disk: &TestDisk, number: u64) -> Position {
    LogTail::oldest(&disk.volume(), LINEAGE, number).unwrap().unwrap().at()
}

#[test]
fn a_resumed_log_uses_its_spare_and_leaves_no_other_file() {
    let disk = TestDisk::new();
    let mut log = with_three_closed(&disk);
    log.free_before(4).unwrap();
    drop(log);
    let scan = scan(&disk, first_of(&disk, 4)).unwrap();
    let volume: Arc<dyn Volume> = disk.volume();
    let mut log = Log::resume(&volume, LINEAGE, SEGMENT, scan).unwrap();
    assert_eq!(log.spare.as_ref().map(|spare| spare.bytes), Some(SEGMENT));
    append(&mut log, 4);
    assert!(log.spare.is_none() && log.newest.filled == SEGMENT);
    let names: Vec<_> = log_files(&disk).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, [segment::name(4), segment::name(5)]);
}

#[test]
fn a_resumed_log_knows_each_older_segment_once() {
    let disk = TestDisk::new();
    drop(with_three_closed(&disk));
    for segment in [1, 2, 4] {
        let from = first_of(&disk, segment);
        let log =
            Log::resume(&disk.volume(), LINEAGE, SEGMENT, scan(&disk, from).unwrap()).unwrap();
        let older: Vec<_> = log.older.iter().map(|segment| segment.number).collect();
        assert_eq!((older, log.newest.number), (vec![1, 2, 3], 4), "from {segment}");
    }
}

/// A reused segment: its first frame is torn, and a complete frame of this number follows.
fn frame_behind(sequence: u64) -> Vec<u8> {
    let header = Header { used_from: 1, ..header(LINEAGE, 5) };
    let mut bytes = header.encode();
    frame::encode(5, Timestamp::from_seconds(1), &[], &mut bytes).unwrap();
    bytes[512 + 20] ^= 1;
    frame::encode(sequence, Timestamp::from_seconds(1), &[], &mut bytes).unwrap();
    bytes
}

#[test]
fn a_bad_frame_is_damage_only_if_a_later_one_of_this_log_is_behind_it() {
    let from = Position::first(1, 5, [0; 32]);
    let frames_max = LOG_SEGMENT_BYTES / FIRST_FRAME;
    for (sequence, is_later) in [
        // From an earlier use of the file.
        (4, false),
        (5, false),
        (6, true),
        (5 + frames_max, true),
        // More than a segment holds.
        (6 + frames_max, false),
        (u64::MAX, false),
    ] {
        let image = Image::from([(segment::name(1), frame_behind(sequence))]);
        let scan = scan(&TestDisk::holding(image), from);
        assert_eq!(matches!(scan, Err(StorageFailure::Damaged(_))), is_later, "{sequence}");
        assert!(is_later || scan.unwrap().end() == from, "{sequence}");
    }
}

#[test]
fn a_log_is_newer_than_a_data_file_only_with_later_batches_of_its_own_history() {
    let disk = TestDisk::new();
    drop(with_three_closed(&disk));
    let check = |lineage, sequence| {
        reader::check_not_newer(disk.volume().as_ref(), lineage, sequence).is_ok()
    };
    assert_eq!([1, 13, 14].map(|sequence| check(LINEAGE, sequence)), [false, false, true]);
    // A segment with a torn first frame is newer only if a later frame follows.
    for (bytes, is_older) in
        [(header(LINEAGE, 5).encode(), true), (frame_behind(5), true), (frame_behind(6), false)]
    {
        let disk = TestDisk::holding(Image::from([(segment::name(1), bytes)]));
        let checked = reader::check_not_newer(disk.volume().as_ref(), LINEAGE, 5);
        assert_eq!(checked.is_ok(), is_older);
        assert!(reader::check_not_newer(disk.volume().as_ref(), LINEAGE, 4).is_err());
    }
    let other_timeline = Lineage { timeline: [9; 16], ..LINEAGE };
    let other_vault = Lineage { vault: [9; 16], ..LINEAGE };
    assert!(check(other_timeline, 1), "it may be removed");
    assert!(!check(other_vault, 99), "it must not be removed");
}

#[test]
fn an_archive_finds_each_frame_by_its_number() {
    let disk = TestDisk::new();
    let log = with_three_closed(&disk);
    let (volume, end): (Arc<dyn Volume>, _) = (disk.volume(), log.end());
    let seek = |first, sequence| LogTail::seek(&volume, LINEAGE, (first, end), sequence).unwrap();
    for sequence in 1..=13 {
        let mut tail = seek(1, sequence).unwrap();
        assert_eq!(tail.at().sequence, sequence);
        assert_eq!(tail.at().segment, (sequence - 1) / 4 + 1, "{sequence}");
        assert_eq!(tail.next(end).unwrap().unwrap().sequence, sequence);
        let rest = std::iter::from_fn(|| tail.next(end).unwrap()).count();
        assert_eq!(u64::try_from(rest).unwrap(), 13 - sequence);
    }
    assert!(seek(2, 4).is_none(), "the archive may not read segment 1");
    assert!(seek(1, 15).is_none());
}

#[test]
fn an_archive_does_not_read_a_segment_of_another_log_or_of_another_number() {
    let disk = TestDisk::new();
    drop(with_three_closed(&disk));
    let volume: Arc<dyn Volume> = disk.volume();
    let is_there = |lineage, number| LogTail::oldest(&volume, lineage, number).unwrap().is_some();
    assert!(is_there(LINEAGE, 2) && !is_there(LINEAGE, 9));
    assert!(!is_there(Lineage { timeline: [9; 16], ..LINEAGE }, 2));
    volume.open(&segment::name(3)).unwrap().unwrap().rename(&segment::name(9)).unwrap();
    assert!(!is_there(LINEAGE, 9));
}

#[test]
fn a_frame_that_is_missing_between_two_segments_is_gone() {
    let disk = TestDisk::new();
    let log = with_three_closed(&disk);
    let volume: Arc<dyn Volume> = disk.volume();
    let mut tail = LogTail::oldest(&volume, LINEAGE, 1).unwrap().unwrap();
    let last = FIRST_FRAME + 3 * FRAME;
    volume.open(&segment::name(1)).unwrap().unwrap().write(last, &[0; 512]).unwrap();
    for _ in 0..3 {
        assert!(tail.next(log.end()).unwrap().is_some());
    }
    assert!(matches!(tail.next(log.end()), Err(TailFailure::Gone)));
    assert!(matches!(tail.next(log.end()), Err(TailFailure::Gone)), "it stays gone");
}
