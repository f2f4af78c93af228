//! A frame: the changes of one batch in the log.
//!
//! The format, byte for byte; numbers are big-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | length of the frame without its padding |
//! | 4 | CRC-32 (IEEE) of the frame from the sequence number to the last row |
//! | 8 | sequence number of the batch |
//! | 8 | time, in microseconds since 1970 |
//! | 4 | number of rows |
//! | ... | the rows |
//!
//! A row is the table's number (1), the length of its key (2), the length of its value plus one (4;
//! 0 deletes the row), the key, and the value. Zeros fill the frame up to a multiple of 512 bytes,
//! so frames share no sector and a torn write damages no earlier frame. A sector of zeros follows
//! the newest frame: the place behind it has zeros or the start of the next frame, even in a reused
//! file, and anything else there is damage.
//!
//! The digest of a history is a chain over its frames, starting with zeros: the SHA-256 of the
//! digest before a frame and of the frame's head. Two vaults that continue from the same batch have
//! different digests from then on, although their batches have the same numbers. The head has the
//! checksum of the rows and the time, so hashing the rows too would distinguish no more histories.

use crate::bounds::FRAME_BYTES_MAX;
use crate::crypto::Sha256;
use crate::domain::time::Timestamp;
use crate::store::engine::RowChange;
use crate::store::tables::Table;

/// The unit that a disk writes completely or not at all.
pub(in crate::store) const SECTOR_BYTES: usize = 512;
/// The length of a frame's head, which comes before its rows.
pub(in crate::store) const HEAD_BYTES: usize = 4 + 4 + 8 + 8 + 4;
/// The part of the head that the checksum does not cover.
const UNCHECKED_BYTES: usize = 4 + 4;
const ROW_HEAD_BYTES: usize = 1 + 2 + 4;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store) struct Frame {
    pub(in crate::store) sequence: u64,
    pub(in crate::store) time: Timestamp,
    pub(in crate::store) rows: Vec<RowChange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct FrameHead {
    /// The length without padding.
    pub(in crate::store) len: usize,
    pub(in crate::store) sequence: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct TooLarge;

pub(in crate::store) fn encode(
    sequence: u64,
    time: Timestamp,
    rows: &[RowChange],
    out: &mut Vec<u8>,
) -> Result<(), TooLarge> {
    let start = out.len();
    out.extend([0; UNCHECKED_BYTES]);
    out.extend(sequence.to_be_bytes());
    out.extend(time.micros().to_be_bytes());
    out.extend(u32::try_from(rows.len()).map_err(|_large| TooLarge)?.to_be_bytes());
    for row in rows {
        let value = row.value.as_deref();
        let length = value.map_or(Some(0), |value| value.len().checked_add(1)).ok_or(TooLarge)?;
        out.push(row.table.number());
        out.extend(u16::try_from(row.key.len()).map_err(|_large| TooLarge)?.to_be_bytes());
        out.extend(u32::try_from(length).map_err(|_large| TooLarge)?.to_be_bytes());
        out.extend_from_slice(&row.key);
        out.extend_from_slice(value.unwrap_or_default());
    }
    let frame = out.get_mut(start..).ok_or(TooLarge)?;
    let len = u32::try_from(frame.len()).map_err(|_large| TooLarge)?;
    let sum = crc32fast::hash(frame.get(UNCHECKED_BYTES..).ok_or(TooLarge)?);
    let head = len.to_be_bytes().into_iter().chain(sum.to_be_bytes());
    for (to, from) in frame.iter_mut().zip(head) {
        *to = from;
    }
    out.resize(start.saturating_add(padded(out.len().saturating_sub(start))), 0);
    Ok(())
}

/// Readers of the log and of the archive refuse longer frames.
pub(in crate::store) fn check_length(frame: &[u8]) -> Result<(), TooLarge> {
    if frame.len() > padded(FRAME_BYTES_MAX) { Err(TooLarge) } else { Ok(()) }
}

/// The digest of a history after one more frame.
pub(in crate::store) fn chained(before: &[u8; 32], frame: &[u8]) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(before);
    digest.update(frame.get(..HEAD_BYTES).unwrap_or(frame));
    digest.finish()
}

pub(in crate::store) const fn padded(len: usize) -> usize {
    len.div_ceil(SECTOR_BYTES).saturating_mul(SECTOR_BYTES)
}

impl FrameHead {
    /// Returns `None` if the bytes cannot start a frame.
    pub(in crate::store) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(bytes);
        let len = usize::try_from(bytes.u32()?).ok()?;
        bytes.u32()?;
        let sequence = bytes.u64()?;
        (len >= HEAD_BYTES).then_some(Self { len, sequence })
    }
}

/// The number and the time of a frame without its padding; `None` if its checksum is wrong.
pub(in crate::store) fn checked_head(bytes: &[u8]) -> Option<(u64, Timestamp)> {
    if FrameHead::decode(bytes)?.len != bytes.len() {
        return None;
    }
    let (head, checked) = bytes.split_at_checked(UNCHECKED_BYTES)?;
    let sum = u32::from_be_bytes(*head.last_chunk()?);
    let mut rest = Bytes(checked);
    let (sequence, micros) = (rest.u64()?, rest.u64()?);
    let time = Timestamp::from_micros(i64::from_be_bytes(micros.to_be_bytes()));
    (crc32fast::hash(checked) == sum).then_some((sequence, time))
}

impl Frame {
    /// Decodes a frame without its padding; `None` if it is damaged.
    pub(in crate::store) fn decode(bytes: &[u8]) -> Option<Self> {
        if FrameHead::decode(bytes)?.len != bytes.len() {
            return None;
        }
        if !is_intact(bytes) {
            return None;
        }
        let mut bytes = Bytes(bytes.get(UNCHECKED_BYTES..)?);
        let sequence = bytes.u64()?;
        let time = Timestamp::from_micros(i64::from_be_bytes(bytes.u64()?.to_be_bytes()));
        let count = usize::try_from(bytes.u32()?).ok()?;
        // A row takes at least its head, so a damaged count cannot reserve much memory.
        if count > bytes.0.len().div_euclid(ROW_HEAD_BYTES) {
            return None;
        }
        let mut rows = Vec::with_capacity(count);
        for _ in 0..count {
            rows.push(bytes.row()?);
        }
        bytes.0.is_empty().then_some(Self { sequence, time, rows })
    }
}

/// Checks the checksum of a frame without its padding. An intact frame was written completely; if
/// it does not decode, a newer program wrote it.
pub(in crate::store) fn is_intact(bytes: &[u8]) -> bool {
    let Some((head, checked)) = bytes.split_at_checked(UNCHECKED_BYTES) else { return false };
    head.last_chunk().is_some_and(|sum| crc32fast::hash(checked) == u32::from_be_bytes(*sum))
}

/// The bytes left to decode.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.take(8)?.try_into().ok()?))
    }

    fn row(&mut self) -> Option<RowChange> {
        let table = Table::from_number(*self.take(1)?.first()?)?;
        let key_len = u16::from_be_bytes(self.take(2)?.try_into().ok()?);
        let value_len = usize::try_from(self.u32()?).ok()?;
        let key = self.take(usize::from(key_len))?.to_vec();
        let value = match value_len.checked_sub(1) {
            Some(len) => Some(self.take(len)?.to_vec()),
            None => None,
        };
        Some(RowChange { table, key, value })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::hex;

    fn rows() -> impl Strategy<Value = Vec<RowChange>> {
        let key = prop::collection::vec(any::<u8>(), 0..40);
        let value = prop::option::of(prop::collection::vec(any::<u8>(), 0..600));
        let table = prop::sample::select(Table::ALL);
        let row =
            (table, key, value).prop_map(|(table, key, value)| RowChange { table, key, value });
        prop::collection::vec(row, 0..9)
    }

    proptest! {
        #[test]
        fn a_frame_is_read_as_it_was_written_and_a_changed_bit_is_noticed(
            sequence: u64, micros: i64, rows in rows(), flip: prop::sample::Index,
        ) {
            let time = Timestamp::from_micros(micros);
            let mut bytes = vec![7; SECTOR_BYTES];
            encode(sequence, time, &rows, &mut bytes).unwrap();
            prop_assert_eq!(bytes.len() % SECTOR_BYTES, 0);
            let mut bytes = bytes.split_off(SECTOR_BYTES);
            let head = FrameHead::decode(&bytes).unwrap();
            prop_assert_eq!(head.sequence, sequence);
            prop_assert!(bytes.len() - head.len < SECTOR_BYTES);
            prop_assert!(bytes[head.len..].iter().all(|byte| *byte == 0));
            bytes.truncate(head.len);
            prop_assert_eq!(Frame::decode(&bytes).unwrap(), Frame { sequence, time, rows });
            prop_assert_eq!(Frame::decode(&bytes[..head.len - 1]), None);
            let bit = flip.index(head.len * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Frame::decode(&bytes), None);
        }
    }

    #[test]
    fn the_bytes_of_a_frame_are_those_of_the_vector() {
        let rows = [
            RowChange { table: Table::Tokens, key: vec![1, 2], value: Some(vec![0xaa; 3]) },
            RowChange { table: Table::Meta, key: b"format".to_vec(), value: None },
        ];
        let mut bytes = Vec::new();
        encode(0x0102, Timestamp::from_seconds(1), &rows, &mut bytes).unwrap();
        let len = FrameHead::decode(&bytes).unwrap().len;
        let vector = "0000003525330507000000000000010200000000000f424000000002\
                      070002000000040102aaaaaa01000600000000666f726d6174";
        assert_eq!(hex::encode(&bytes[..len]), vector);
        assert_eq!(bytes.len(), SECTOR_BYTES);
    }
}
