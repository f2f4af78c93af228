//! Frames and segments of the log, and the file of card verification code keys.

use super::part;
use crate::domain::time::Timestamp;
use crate::store::cvc_keys::CvcKeys;
use crate::store::engine::RowChange;
use crate::store::engine::local::log::Position;
use crate::store::engine::local::log::frame::{
    self, Frame, FrameHead, SECTOR_BYTES, checked_head, is_intact, padded,
};
use crate::store::engine::local::log::reader;
use crate::store::engine::local::log::segment::{self, FIRST_FRAME, Header, Lineage};
use crate::store::tables::Table;
use crate::store::volume::{OverlayVolume, Volume as _};

/// The first byte selects: raw bytes, a frame with correct length and checksum, rows that are
/// written and read back, or a whole segment.
pub(crate) fn frames(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    match kind % 4 {
        0 => check_frame(data),
        1 => check_frame(&sealed(data)),
        2 => check_rows(data),
        _ => check_segment(data),
    }
}

/// Prepends the length and the checksum.
fn sealed(data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len().saturating_add(8)).unwrap_or(u32::MAX);
    let sum = crc32fast::hash(data);
    [length.to_be_bytes().as_slice(), &sum.to_be_bytes(), data].concat()
}

fn check_frame(bytes: &[u8]) {
    let Some(found) = Frame::decode(bytes) else { return };
    assert!(is_intact(bytes));
    assert_eq!(checked_head(bytes), Some((found.sequence, found.time)));
    assert_eq!(FrameHead::decode(bytes).map(|head| head.len), Some(bytes.len()));
    let held: usize = found.rows.iter().map(|row| row.key.len() + value_len(row)).sum();
    assert!(held <= bytes.len(), "a frame holds more than it has");
    let mut written = Vec::new();
    assert_eq!(frame::encode(found.sequence, found.time, &found.rows, &mut written), Ok(()));
    assert_eq!(written.len(), padded(bytes.len()));
    assert_eq!(written.get(..bytes.len()), Some(bytes), "a frame has one form");
}

fn value_len(row: &RowChange) -> usize {
    row.value.as_ref().map_or(0, Vec::len)
}

/// Encoded rows decode to the same rows, and no shorter or longer input does.
fn check_rows(mut data: &[u8]) {
    let mut rows = Vec::new();
    while let Some((number, rest)) = data.split_first() {
        data = rest;
        let Some(table) = Table::ALL.get(usize::from(*number) % Table::ALL.len()) else { return };
        let Some(key) = part(&mut data) else { break };
        let value = part(&mut data).map(<[u8]>::to_vec);
        rows.push(RowChange { table: *table, key: key.to_vec(), value });
    }
    let (sequence, time) = (u64::from(u32::MAX), Timestamp::from_micros(-7));
    let mut bytes = Vec::new();
    assert_eq!(frame::encode(sequence, time, &rows, &mut bytes), Ok(()));
    assert_eq!(bytes.len() % SECTOR_BYTES, 0);
    let length = FrameHead::decode(&bytes).map_or(0, |head| head.len);
    let whole = bytes.get(..length).unwrap_or_default();
    assert_eq!(Frame::decode(whole), Some(Frame { sequence, time, rows }));
    assert_eq!(whole.split_last().and_then(|(_, short)| Frame::decode(short)), None);
    assert_eq!(Frame::decode(&[whole, &[0]].concat()), None, "a frame that is too long");
}

/// Each part of the input becomes a frame at the next place. Its first byte decides if the frame is
/// made valid.
fn check_segment(mut data: &[u8]) {
    let lineage = Lineage::default();
    let from = Position::first(1, 1, [0; 32]);
    let header =
        Header { lineage, number: 1, first_sequence: 1, before: from.digest, used_from: 1 };
    let mut file = header.encode();
    let mut whole = 0_usize;
    let mut is_whole = true;
    while let Some(bytes) = part(&mut data) {
        let Some((flag, rest)) = bytes.split_first() else { break };
        let start = file.len();
        if flag % 2 == 0 {
            file.extend(sealed(rest));
        } else {
            file.extend(rest);
        }
        let end = file.len();
        let found = file.get(start..end).and_then(Frame::decode);
        let expected = u64::try_from(whole).unwrap_or(0).saturating_add(1);
        is_whole &= found.is_some_and(|found| found.sequence == expected);
        whole = whole.saturating_add(usize::from(is_whole));
        file.resize(start.saturating_add(padded(end.saturating_sub(start))), 0);
    }
    let volume = holding(&segment::name(1), &file);
    let mut numbers = Vec::new();
    let scanned = reader::scan(&volume, lineage, from, &mut |frame, _| {
        numbers.push(frame.sequence);
        Ok(())
    });
    assert!(numbers.iter().copied().eq((1..).take(numbers.len())), "frames out of order");
    assert!(numbers.len() >= whole, "a whole frame was left out");
    if let Ok(Some(scan)) = scanned {
        let next = u64::try_from(numbers.len()).unwrap_or(0).saturating_add(1);
        assert_eq!(scan.end().sequence, next);
        assert!(scan.end().offset.is_multiple_of(FIRST_FRAME));
    }
}

pub(crate) fn cvc_keys(data: &[u8]) {
    let volume = holding(CvcKeys::FILE, data);
    let Ok(keys) = CvcKeys::on_volume(&volume) else { return };
    for slot in data.chunks(64) {
        let name = slot.first_chunk::<16>().zip(slot.get(16..24).and_then(|it| it.first_chunk()));
        if let Some((tenant, minute)) = name {
            let sealed = keys.sealed(&(*tenant, u64::from_be_bytes(*minute)));
            let is_there = |it: &Vec<u8>| data.windows(it.len()).any(|window| window == it);
            assert!(sealed.as_ref().is_none_or(is_there), "a key that the file has not");
        }
    }
}

fn holding(name: &str, bytes: &[u8]) -> OverlayVolume {
    let volume = OverlayVolume::in_memory();
    let written = volume.create(name).and_then(|file| file.write(0, bytes));
    assert!(written.is_ok(), "a write in memory fails");
    volume
}
