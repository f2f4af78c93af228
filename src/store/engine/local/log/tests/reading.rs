//! Tests of the readers of the log: the scan at the start, and the tail for the archive.

use std::sync::Arc;

use super::*;
use crate::bounds::LOG_SEGMENT_BYTES;
use crate::store::engine::local::log::tail::{LogTail, TailFailure};
use crate::store::tests::disk::{Image, TestDisk};

fn scan(disk: &TestDisk, from: Position) -> Result<reader::Scan, StorageFailure> {
    let scan = reader::scan(disk.volume().as_ref(), LINEAGE, from, &mut |_| Ok(()))?;
    Ok(scan.unwrap())
}

#[test]
fn a_resumed_log_uses_its_spare_and_leaves_no_other_file() {
    let disk = TestDisk::new();
    let mut log = with_three_closed(&disk);
    let from = Position { sequence: 13, segment: 4, offset: FIRST_FRAME };
    log.free_before(4).unwrap();
    drop(log);
    let volume: Arc<dyn Volume> = disk.volume();
    let scan = reader::scan(volume.as_ref(), LINEAGE, from, &mut |_| Ok(())).unwrap().unwrap();
    let mut log = Log::resume(&volume, LINEAGE, SEGMENT, scan).unwrap();
    assert_eq!(log.spare_bytes, Some(SEGMENT));
    append(&mut log, 4);
    assert_eq!((log.spare_bytes, log.newest.filled), (None, SEGMENT));
    let names: Vec<_> = log_files(&disk).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, [segment::name(4), segment::name(5)]);
}

#[test]
fn a_resumed_log_knows_each_older_segment_once() {
    let disk = TestDisk::new();
    drop(with_three_closed(&disk));
    for (sequence, segment) in [(1, 1), (5, 2), (13, 4)] {
        let from = Position { sequence, segment, offset: FIRST_FRAME };
        let log =
            Log::resume(&disk.volume(), LINEAGE, SEGMENT, scan(&disk, from).unwrap()).unwrap();
        let older: Vec<_> = log.older.iter().map(|segment| segment.number).collect();
        assert_eq!((older, log.newest.number), (vec![1, 2, 3], 4), "from {segment}");
    }
}

/// A segment whose first frame is cut off, with a whole frame of this number behind it.
fn with_frame_behind(sequence: u64) -> TestDisk {
    let mut bytes = Header { lineage: LINEAGE, number: 1, first_sequence: 5 }.encode();
    bytes.extend([7; 512]);
    frame::encode(sequence, Timestamp::from_seconds(1), &[], &mut bytes).unwrap();
    TestDisk::holding(Image::from([(segment::name(1), bytes)]))
}

#[test]
fn a_bad_frame_is_damage_only_if_a_later_one_of_this_log_is_behind_it() {
    let from = Position { sequence: 5, segment: 1, offset: FIRST_FRAME };
    let frames_max = LOG_SEGMENT_BYTES / FIRST_FRAME;
    for (sequence, is_later) in [
        // Of an earlier use of the file.
        (4, false),
        (5, false),
        (6, true),
        (5 + frames_max, true),
        // More than a segment holds.
        (6 + frames_max, false),
        (u64::MAX, false),
    ] {
        let scan = scan(&with_frame_behind(sequence), from);
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
    let other_timeline = Lineage { timeline: [9; 16], ..LINEAGE };
    let other_vault = Lineage { vault: [9; 16], ..LINEAGE };
    assert!(check(other_timeline, 1) && check(other_vault, 1));
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
    volume.rename(&segment::name(3), &segment::name(9)).unwrap();
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
