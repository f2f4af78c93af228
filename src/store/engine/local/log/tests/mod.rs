//! The log alone, without an engine: its segments, the spare, and the part that an archive holds.

mod reading;

use super::*;
use crate::store::engine::local::log::segment::Header;
use crate::store::tables::Table;
use crate::store::tests::disk::{Operation, TestDisk};

const LINEAGE: Lineage = Lineage { vault: [1; 16], timeline: [2; 16] };
const FRAME: u64 = 1_024;
/// Room for exactly four frames and the zeros behind them.
const SEGMENT: u64 = FIRST_FRAME + 4 * FRAME + 512;

const FIRST: Position = Position::first(1, 1, [0; 32]);

fn header(lineage: Lineage, first_sequence: u64) -> Header {
    Header { lineage, number: 1, first_sequence, before: [0; 32], used_from: 0 }
}

pub(super) fn begin(disk: &TestDisk) -> Log {
    Log::begin(&disk.volume(), LINEAGE, SEGMENT, FIRST).unwrap()
}

fn append_bytes(log: &mut Log, bytes: usize) {
    let row = RowChange { table: Table::Tokens, key: vec![7], value: Some(vec![7; bytes]) };
    log.append(Timestamp::from_seconds(1), &[row]).unwrap();
}

pub(super) fn append(log: &mut Log, frames: usize) {
    for _ in 0..frames {
        append_bytes(log, 700);
    }
}

fn place(log: &Log) -> (u64, u64) {
    (log.end().segment, log.end().offset)
}

fn log_files(disk: &TestDisk) -> Vec<(String, u64)> {
    let files = disk.volatile().into_iter();
    files.map(|(name, bytes)| (name, u64::try_from(bytes.len()).unwrap())).collect()
}

#[test]
fn a_segment_takes_frames_up_to_the_zeros_at_its_end() {
    let mut log = begin(&TestDisk::new());
    append(&mut log, 4);
    assert_eq!(place(&log), (1, SEGMENT - 512));
    append(&mut log, 1);
    assert_eq!(place(&log), (2, FIRST_FRAME + FRAME));
    assert_eq!(log.end().sequence, 6);
}

#[test]
fn a_frame_that_is_larger_than_a_segment_gets_one_for_itself() {
    let mut log = begin(&TestDisk::new());
    append_bytes(&mut log, 9_000);
    assert_eq!(log.end().segment, 1, "the segment was empty");
    append(&mut log, 1);
    append_bytes(&mut log, 9_000);
    append(&mut log, 1);
    assert_eq!(place(&log), (4, FIRST_FRAME + FRAME));
}

#[test]
fn the_log_counts_its_segments_and_the_bytes_of_its_files() {
    let disk = TestDisk::new();
    let mut log = begin(&disk);
    for (frames, freed) in [(1, 0), (12, 0), (3, 3), (9, 5)] {
        append(&mut log, frames);
        log.free_before(freed).unwrap();
        let files = log_files(&disk);
        let bytes: u64 = files.iter().map(|(_, bytes)| bytes).sum();
        assert_eq!(log.bytes(), bytes, "{files:?}");
        let segments = files.iter().filter(|(name, _)| segment::number_of(name).is_some());
        assert_eq!(log.segments(), segments.clone().count(), "{files:?}");
        let first = segments.filter_map(|(name, _)| segment::number_of(name)).min();
        assert_eq!(Some(log.first_segment()), first, "{files:?}");
    }
}

/// A sync of a frame therefore writes no file system metadata.
#[test]
fn most_frames_replace_bytes_that_were_written_before() {
    let disk = TestDisk::new();
    let mut log = Log::begin(&disk.volume(), LINEAGE, 1024 * 1024, FIRST).unwrap();
    append(&mut log, 1);
    let filled = FIRST_FRAME + LOG_FILL_BYTES_MIN;
    let mut grown = 0;
    for _ in 0..300 {
        let (before, writes) = (log_files(&disk)[0].1, disk.count(Operation::Write));
        append(&mut log, 1);
        let is_longer = log_files(&disk)[0].1 > before;
        let expected = if is_longer { 2 } else { 1 };
        assert_eq!(disk.count(Operation::Write) - writes, expected);
        assert!(before >= filled && log.end().offset <= log_files(&disk)[0].1);
        grown += usize::from(is_longer);
    }
    assert!((1..6).contains(&grown), "grown {grown} times");
}

/// The closed segments of these tests have the sequence numbers 1 to 4, 5 to 8 and 9 to 12.
fn with_three_closed(disk: &TestDisk) -> Log {
    let mut log = begin(disk);
    append(&mut log, 13);
    assert_eq!((log.first_segment(), log.end().segment), (1, 4));
    log
}

#[test]
fn an_archive_holds_the_segment_of_its_next_frame_and_those_behind_it() {
    let log = with_three_closed(&TestDisk::new());
    let held =
        |sequence, segment| log.first_held(Some(Position::first(segment, sequence, [0; 32])));
    assert_eq!(log.first_held(None), u64::MAX);
    assert_eq!([held(1, 1), held(4, 1), held(5, 2), held(8, 2), held(13, 4)], [1, 1, 2, 2, 4]);
    // The place behind a segment's last frame is the start of the next segment.
    assert_eq!([held(5, 1), held(9, 2), held(13, 3)], [2, 3, 4]);
}

#[test]
fn a_hold_is_given_up_where_the_log_would_be_larger_than_its_bound() {
    let log = with_three_closed(&TestDisk::new());
    let held = Some(FIRST);
    let bytes = |segments: u64| log.newest.filled + segments * SEGMENT;
    for (bytes_max, first) in [
        (0, 4),
        (bytes(1) - 1, 4),
        (bytes(1), 3),
        (bytes(2) - 1, 3),
        (bytes(2), 2),
        (bytes(3), 1),
        (u64::MAX, 1),
    ] {
        assert_eq!(log.bounded_hold(held, bytes_max), first, "{bytes_max}");
    }
    let later = Some(Position::first(3, 9, [0; 32]));
    assert_eq!([bytes(1), u64::MAX].map(|max| log.bounded_hold(later, max)), [3, 3]);
    assert_eq!(log.bounded_hold(None, 0), u64::MAX);
}

#[test]
fn one_free_segment_becomes_the_spare_and_those_to_forget_are_overwritten() {
    let disk = TestDisk::new();
    let mut log = with_three_closed(&disk);
    log.forget_before(1);
    assert_eq!(log.forgettable(), None, "segment 1 is not before itself");
    log.forget_before(2);
    assert_eq!(log.forgettable(), Some(2));
    log.free_before(4).unwrap();
    assert_eq!(log.forgettable(), None);
    let retired = log.take_retired();
    assert_eq!(retired.iter().map(|segment| segment.number).collect::<Vec<_>>(), [1]);
    let names = || log_files(&disk).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(), [segment::name(1), segment::name(4), String::from(SPARE)]);
    Log::overwrite(disk.volume().as_ref(), &retired).unwrap();
    assert_eq!(names(), [segment::name(4), String::from(SPARE)]);
    assert_eq!(log.first_segment(), 4);
}

#[test]
fn a_log_is_blank_only_without_any_frame() {
    let disk = TestDisk::new();
    let mut log = begin(&disk);
    assert!(log.is_blank());
    append(&mut log, 1);
    assert!(!log.is_blank(), "a frame");
    append(&mut log, 4);
    log.forget_before(2);
    log.leave_segment().unwrap();
    assert!(!log.is_blank(), "older segments");
    log.free_before(3).unwrap();
    assert!(!log.is_blank(), "a spare and a segment to overwrite");
    let retired = log.take_retired();
    assert!(!log.is_blank(), "a spare");
    Log::overwrite(disk.volume().as_ref(), &retired).unwrap();
    assert!(log.take_spare().is_some());
    assert!(log.is_blank());
    log.forget_before(9);
    append(&mut log, 1);
    log.leave_segment().unwrap();
    log.free_before(9).unwrap();
    assert!(!log.is_blank(), "a segment to overwrite");
    assert_eq!(log.take_retired().len(), 1);
    assert!(log.is_blank());
}

/// A reused segment has old frames behind its header.
#[test]
fn a_log_leaves_a_segment_that_has_old_frames() {
    let mut log = with_three_closed(&TestDisk::new());
    log.free_before(2).unwrap();
    append(&mut log, 4);
    assert!(!log.newest.is_fresh);
    assert!(log.take_spare().is_none());
    let number = log.end().segment;
    log.leave_segment().unwrap();
    assert_eq!((log.end().segment, log.newest.is_fresh), (number + 1, true));
    log.leave_segment().unwrap();
    assert_eq!(log.end().segment, number + 1, "nothing is left to leave");
}

#[test]
fn only_a_spare_of_this_log_is_used_again() {
    let header = |lineage, first_sequence| header(lineage, first_sequence).encode();
    let other_vault = Lineage { vault: [9; 16], ..LINEAGE };
    let other_timeline = Lineage { timeline: [9; 16], ..LINEAGE };
    let mut damaged = header(LINEAGE, 1);
    damaged[40] ^= 1;
    for (bytes, is_ours) in [
        (header(LINEAGE, 1), true),
        (header(LINEAGE, 5), true),
        // Its frames could have the numbers of later frames.
        (header(LINEAGE, 6), false),
        (header(other_vault, 1), false),
        (header(other_timeline, 1), false),
        (damaged, false),
        (header(LINEAGE, 1)[..511].to_vec(), false),
        (Vec::new(), false),
    ] {
        let len = u64::try_from(bytes.len()).unwrap();
        let disk = TestDisk::holding([(String::from(SPARE), bytes)].into());
        let found = find_spare(disk.volume().as_ref(), LINEAGE, 5).unwrap();
        assert_eq!(found.map(|spare| spare.bytes), is_ours.then_some(len));
        assert_eq!(log_files(&disk).len(), usize::from(is_ours), "another one is removed");
    }
    assert!(find_spare(TestDisk::new().volume().as_ref(), LINEAGE, 5).unwrap().is_none());
}
