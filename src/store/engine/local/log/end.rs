//! The noted end of the log: a small file beside it that names a recent durable batch.
//!
//! Until a merge, batches at the end of the log are nowhere else. If they are cut off or
//! overwritten with zeros, the log looks as if they had never been written; a start refuses such a
//! log because this file names a later batch. The merger thread writes the file about every two
//! seconds while batches come, and closing the log writes it once more, so no batch waits for it.
//!
//! The file has two slots of one sector. A write takes the slot with the older batch, so a torn
//! write leaves the other intact. A slot, byte for byte; numbers are big-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 14 | `strongroom end` |
//! | 2 | format, 1 |
//! | 16 | id of the vault |
//! | 16 | id of the timeline |
//! | 8 | sequence number of the batch, or 0 for none |
//! | 32 | digest of the history up to the batch |
//! | 4 | CRC-32 (IEEE) of the bytes before |
//! | 420 | zeros |
//!
//! The data file requires this file from just before the log is marked open until it is marked
//! closed.

use std::io;

use crate::store::engine::local::log::frame::SECTOR_BYTES;
use crate::store::engine::local::log::segment::Lineage;
use crate::store::failure::StorageFailure;
use crate::store::volume::{Volume, VolumeFile};

pub(in crate::store) const NAME: &str = "strongroom.log.end";

const MAGIC: &[u8; 16] = b"strongroom end\0\x01";
const CHECKED_BYTES: usize = 16 + 16 + 16 + 8 + 32;
const SLOTS: [u64; 2] = [0, 512];

/// A batch that was durable when it was noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct NotedEnd {
    pub(in crate::store) lineage: Lineage,
    pub(in crate::store) sequence: u64,
    /// The digest of the history up to the batch.
    pub(in crate::store) digest: [u8; 32],
}

#[derive(Debug)]
pub(in crate::store) struct EndFile {
    file: Box<dyn VolumeFile>,
    slots: [Option<NotedEnd>; 2],
}

/// The log that the data file names, as far as the noted end must agree with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum ExpectedLog {
    None,
    Closed,
    Open,
}

impl NotedEnd {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.lineage.vault);
        bytes.extend(self.lineage.timeline);
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend(self.digest);
        bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
        bytes.resize(SECTOR_BYTES, 0);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (checked, after) = bytes.split_at_checked(CHECKED_BYTES)?;
        let sum = u32::from_be_bytes(*after.first_chunk()?);
        let rest = checked.strip_prefix(MAGIC)?;
        let (vault, rest) = rest.split_first_chunk()?;
        let (timeline, rest) = rest.split_first_chunk()?;
        let (sequence, digest) = rest.split_first_chunk()?;
        (crc32fast::hash(checked) == sum).then_some(Self {
            lineage: Lineage { vault: *vault, timeline: *timeline },
            sequence: u64::from_be_bytes(*sequence),
            digest: digest.try_into().ok()?,
        })
    }

    /// Refuses a log with a different history up to the noted batch.
    pub(in crate::store) fn check_digest(
        &self,
        sequence: u64,
        digest: [u8; 32],
    ) -> Result<(), StorageFailure> {
        if self.sequence != sequence || self.digest == digest {
            return Ok(());
        }
        let what = format!("up to batch {sequence}, the log has other changes than {NAME} notes");
        Err(StorageFailure::Log(what, PUT_BACK))
    }

    /// Refuses a log that ends before the noted batch.
    pub(in crate::store) fn check_reached(&self, last: u64) -> Result<(), StorageFailure> {
        if last >= self.sequence {
            return Ok(());
        }
        let noted = self.sequence;
        let what = format!(
            "it ends with batch {last}, but batch {noted} was durable, as {NAME} notes: the batches \
             between them are gone from the end of the log, or the data file is an old copy"
        );
        Err(StorageFailure::Log(what, PUT_BACK))
    }
}

impl EndFile {
    pub(in crate::store) fn find(volume: &dyn Volume) -> io::Result<Option<Self>> {
        let Some(file) = volume.open(NAME)? else { return Ok(None) };
        let len = file.len()?;
        let mut slots = [None; 2];
        for (slot, offset) in slots.iter_mut().zip(SLOTS) {
            let mut bytes = [0; SECTOR_BYTES];
            if offset.saturating_add(512) <= len {
                file.read(offset, &mut bytes)?;
            }
            *slot = NotedEnd::decode(&bytes);
        }
        Ok(Some(Self { file, slots }))
    }

    /// The end to compare with the log, if the file has one. A data file that was not closed must
    /// have a log with a noted end.
    pub(in crate::store) fn expected(
        found: Option<&Self>,
        lineage: Lineage,
        log: ExpectedLog,
    ) -> Result<Option<NotedEnd>, StorageFailure> {
        let slots = found.map_or([None; 2], |found| found.slots);
        let refused = |what: &str, advice| StorageFailure::Log(format!("{NAME} {what}"), advice);
        if slots.iter().flatten().any(|noted| noted.lineage.vault != lineage.vault) {
            let advice = if log == ExpectedLog::Open { PUT_BACK } else { OTHER_DATA_FILE };
            return Err(refused("belongs to another vault", advice));
        }
        let noted = newest(&slots, lineage);
        match log {
            // A first start that was interrupted notes an end without a batch.
            ExpectedLog::None if slots.iter().flatten().any(|noted| noted.sequence > 0) => {
                let what = "belongs to this vault, but the data file names no log";
                Err(refused(what, OTHER_DATA_FILE))
            }
            ExpectedLog::None => Ok(None),
            ExpectedLog::Closed => Ok(noted),
            ExpectedLog::Open => match (noted, found) {
                (Some(noted), _) => Ok(Some(noted)),
                (None, None) => Err(refused("is missing", PUT_BACK)),
                (None, Some(_)) => Err(refused("is damaged or of another log", PUT_BACK)),
            },
        }
    }

    /// Reuses or creates the file, and notes this end in it.
    pub(in crate::store) fn begin(
        volume: &dyn Volume,
        found: Option<Self>,
        end: NotedEnd,
    ) -> io::Result<Self> {
        let mut file = if let Some(found) = found {
            found
        } else {
            let file = volume.create(NAME)?;
            // Later notes overwrite these bytes, which takes no space on most file systems.
            file.write(0, &[0; 2 * SECTOR_BYTES])?;
            Self { file, slots: [None; 2] }
        };
        file.note(end)?;
        // The last process may have been killed between its write and its syncs.
        file.file.sync()?;
        volume.sync()?;
        Ok(file)
    }

    /// The noted batch of this history, if the file names one.
    pub(in crate::store) fn noted(
        volume: &dyn Volume,
        lineage: Lineage,
    ) -> io::Result<Option<u64>> {
        let noted = Self::find(volume)?.and_then(|found| newest(&found.slots, lineage));
        Ok(noted.map(|noted| noted.sequence))
    }

    /// Returns when the end is durable. An end that is not later than the noted one changes
    /// nothing.
    pub(in crate::store) fn note(&mut self, end: NotedEnd) -> io::Result<()> {
        if newest(&self.slots, end.lineage).is_some_and(|noted| noted.sequence >= end.sequence) {
            return Ok(());
        }
        let [first, second] = self.slots.map(|slot| rank(slot, end.lineage));
        let at = usize::from(first > second);
        if let (Some(slot), Some(offset)) = (self.slots.get_mut(at), SLOTS.get(at)) {
            self.file.write(*offset, &end.encode())?;
            self.file.sync()?;
            *slot = Some(end);
        }
        Ok(())
    }

    pub(in crate::store) fn check_place(&self) -> Result<(), StorageFailure> {
        self.file.check_place().map_err(StorageFailure::Removed)
    }
}

/// Slots of this history rank above others, and later batches above earlier ones.
fn rank(slot: Option<NotedEnd>, lineage: Lineage) -> Option<u64> {
    slot.filter(|noted| noted.lineage == lineage).map(|noted| noted.sequence)
}

fn newest(slots: &[Option<NotedEnd>; 2], lineage: Lineage) -> Option<NotedEnd> {
    slots
        .iter()
        .copied()
        .max_by_key(|slot| rank(*slot, lineage))
        .flatten()
        .filter(|noted| noted.lineage == lineage)
}

pub(super) const OTHER_DATA_FILE: &str = "put back the data file that belongs to this log; if the data \
                                          file is new, restored or closed, move the files \
                                          strongroom.log.* elsewhere";
const PUT_BACK: &str = "if a file was moved or replaced, put back the files that belong together; \
                        otherwise restore the newest backup with the archive, or go on without the \
                        missing batches with strongroom new-timeline";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::hex;
    use crate::store::tests::disk::TestDisk;

    const LINEAGE: Lineage = Lineage { vault: [0x11; 16], timeline: [0x22; 16] };

    const fn noted(sequence: u64) -> NotedEnd {
        NotedEnd { lineage: LINEAGE, sequence, digest: [0x33; 32] }
    }

    #[test]
    fn the_bytes_of_a_slot_are_those_of_the_vector() {
        let bytes = noted(0x0405).encode();
        let vector = "7374726f6e67726f6f6d20656e640001\
                      1111111111111111111111111111111122222222222222222222222222222222\
                      0000000000000405\
                      3333333333333333333333333333333333333333333333333333333333333333";
        assert_eq!((hex::encode(&bytes[..88]).as_str(), bytes.len()), (vector, SECTOR_BYTES));
        assert_eq!(NotedEnd::decode(&bytes), Some(noted(0x0405)));
        for bit in 0..92 * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(NotedEnd::decode(&changed), None, "bit {bit}");
        }
    }

    #[test]
    fn a_note_that_was_found_is_durable_before_the_log_goes_on() {
        let disk = TestDisk::new();
        // A process was killed before it synced the file and its name.
        disk.create(NAME).unwrap().write(0, &noted(4).encode()).unwrap();
        let found = EndFile::find(&disk).unwrap();
        EndFile::begin(&disk, found, noted(4)).unwrap();
        let left = TestDisk::holding(disk.durable());
        assert_eq!(EndFile::noted(&left, LINEAGE).unwrap(), Some(4));
    }

    #[test]
    fn a_note_replaces_the_older_slot_and_never_goes_back() {
        let disk = TestDisk::new();
        let mut file = EndFile::begin(&disk, None, noted(1)).unwrap();
        let slots = |file: &EndFile| file.slots.map(|slot| slot.map(|noted| noted.sequence));
        for (sequence, expected) in [
            (1, [Some(1), None]),
            (4, [Some(1), Some(4)]),
            (3, [Some(1), Some(4)]),
            (6, [Some(6), Some(4)]),
            (7, [Some(6), Some(7)]),
        ] {
            file.note(noted(sequence)).unwrap();
            assert_eq!(slots(&file), expected, "{sequence}");
            let found = EndFile::find(&TestDisk::holding(disk.durable())).unwrap().unwrap();
            assert_eq!(slots(&found), expected, "{sequence} is durable");
        }
        // The slots of another timeline are replaced first.
        let lineage = Lineage { timeline: [9; 16], ..LINEAGE };
        for sequence in [2, 3] {
            file.note(NotedEnd { lineage, ..noted(sequence) }).unwrap();
        }
        assert_eq!(newest(&file.slots, LINEAGE), None);
        assert_eq!(newest(&file.slots, lineage).map(|noted| noted.sequence), Some(3));
    }
}
