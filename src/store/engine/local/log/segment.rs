//! A segment: one file of the log.
//!
//! It begins with a header of 512 bytes; the first frame follows. Numbers are big-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 14 | `strongroom log` |
//! | 2 | the log's format, 1 |
//! | 16 | id of the vault |
//! | 16 | id of the timeline |
//! | 8 | number of the segment |
//! | 8 | sequence number of the first frame |
//! | 32 | digest of the history before the first frame |
//! | 8 | sequence number of the first frame of the file's use before this one, or 0 |
//! | 4 | CRC-32 (IEEE) of the bytes before |
//! | 404 | zeros |
//!
//! Files are reused, so old frames may follow the newest one. A reader recognises them by their
//! sequence numbers, which are too small for their place.

use crate::store::engine::local::log::end::NAME as END_FILE;
use crate::store::engine::local::log::frame::SECTOR_BYTES;

const MAGIC: &[u8; 14] = b"strongroom log";
const FORMAT: u16 = 1;
const CHECKED_BYTES: usize = 14 + 2 + 16 + 16 + 8 + 8 + 32 + 8;
pub(in crate::store) const FIRST_FRAME: u64 = 512;

/// The start of every segment's name. The number follows.
const PREFIX: &str = "strongroom.log.";
pub(in crate::store) const SPARE: &str = "strongroom.log.spare";

/// The history that a log belongs to. Every restored or promoted vault begins a new timeline, so
/// that two vaults with the same past are never mistaken for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lineage {
    pub vault: [u8; 16],
    pub timeline: [u8; 16],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct Header {
    pub(in crate::store) lineage: Lineage,
    pub(in crate::store) number: u64,
    pub(in crate::store) first_sequence: u64,
    /// The digest of the history before the first frame.
    pub(in crate::store) before: [u8; 32],
    /// The first frame of the file's previous use, whose frames may follow the newest frame; 0 for
    /// a new file.
    pub(in crate::store) used_from: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum BadHeader {
    Damaged,
    /// Written by a newer program.
    Newer,
}

pub(in crate::store) fn name(number: u64) -> String {
    format!("{PREFIX}{number:010}")
}

/// Returns `None` for other files.
pub(in crate::store) fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(PREFIX)?;
    let is_number = digits.len() >= 10 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

pub fn is_log_file(name: &str) -> bool {
    name == SPARE || name == END_FILE || number_of(name).is_some()
}

impl Header {
    pub(in crate::store) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(FORMAT.to_be_bytes());
        bytes.extend(self.lineage.vault);
        bytes.extend(self.lineage.timeline);
        bytes.extend(self.number.to_be_bytes());
        bytes.extend(self.first_sequence.to_be_bytes());
        bytes.extend(self.before);
        bytes.extend(self.used_from.to_be_bytes());
        bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
        bytes.resize(SECTOR_BYTES, 0);
        bytes
    }

    pub(in crate::store) fn decode(bytes: &[u8]) -> Result<Self, BadHeader> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(BadHeader::Damaged)?;
        let (format, rest) = rest.split_first_chunk().ok_or(BadHeader::Damaged)?;
        match u16::from_be_bytes(*format) {
            FORMAT => (),
            newer if newer > FORMAT => return Err(BadHeader::Newer),
            _ => return Err(BadHeader::Damaged),
        }
        let parts = || {
            let (checked, after) = bytes.split_at_checked(CHECKED_BYTES)?;
            let sum = u32::from_be_bytes(*after.first_chunk()?);
            let (vault, rest) = rest.split_first_chunk()?;
            let (timeline, rest) = rest.split_first_chunk()?;
            let (number, rest) = rest.split_first_chunk()?;
            let (first_sequence, rest) = rest.split_first_chunk()?;
            let (before, rest) = rest.split_first_chunk()?;
            let (used_from, _) = rest.split_first_chunk()?;
            (crc32fast::hash(checked) == sum).then_some(Self {
                lineage: Lineage { vault: *vault, timeline: *timeline },
                number: u64::from_be_bytes(*number),
                first_sequence: u64::from_be_bytes(*first_sequence),
                before: *before,
                used_from: u64::from_be_bytes(*used_from),
            })
        };
        parts().ok_or(BadHeader::Damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::hex;

    const HEADER: Header = Header {
        lineage: Lineage { vault: [0x11; 16], timeline: [0x22; 16] },
        number: 3,
        first_sequence: 0x0405,
        before: [0x33; 32],
        used_from: 0x0102,
    };

    #[test]
    fn the_bytes_of_a_header_are_those_of_the_vector() {
        let bytes = HEADER.encode();
        assert_eq!(bytes.len(), SECTOR_BYTES);
        let vector = "7374726f6e67726f6f6d206c6f67000111111111111111111111111111111111222222222222\
                      2222222222222222222200000000000000030000000000000405333333333333333333333333\
                      333333333333333333333333333333333333333300000000000001026808c14d";
        assert_eq!(hex::encode(&bytes[..108]), vector);
        assert!(bytes[108..].iter().all(|byte| *byte == 0));
        assert_eq!(Header::decode(&bytes), Ok(HEADER));
    }

    #[test]
    fn a_header_with_a_changed_bit_is_damaged_or_newer() {
        let bytes = HEADER.encode();
        for bit in 0..108 * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::decode(&changed).is_err(), "bit {bit}");
        }
        let mut newer = bytes;
        newer[15] = 2;
        assert_eq!(Header::decode(&newer), Err(BadHeader::Newer));
        newer[15] = 0;
        assert_eq!(Header::decode(&newer), Err(BadHeader::Damaged));
        assert_eq!(Header::decode(&[]), Err(BadHeader::Damaged));
    }

    #[test]
    fn a_segment_is_found_by_its_name() {
        assert_eq!(name(7), "strongroom.log.0000000007");
        for number in [0, 7, 9_999_999_999, u64::MAX] {
            assert_eq!(number_of(&name(number)), Some(number));
        }
        for other in ["strongroom.log.7", "strongroom.log.spare", "strongroom.redb", "x"] {
            assert_eq!(number_of(other), None);
        }
        assert!(is_log_file(SPARE) && is_log_file(&name(1)) && !is_log_file("strongroom.redb"));
    }
}
