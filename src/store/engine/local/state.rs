//! The state of the log in the data file: one row of a separate table, written with every merge.
//!
//! The row, byte for byte; numbers are big-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version, 3 |
//! | 1 | 1 if all rows of the log are in the data file, else 0 |
//! | 16 | id of the timeline |
//! | 16 | id of the timeline that this one began from, or zeros |
//! | 8 | sequence number of the last batch of that timeline that this one contains |
//! | 8 | sequence number of the first frame that the data file may lack |
//! | 8 | number of its segment |
//! | 8 | its offset in the segment |
//! | 32 | digest of the history before it |
//! | 1 | 0, or why the history has left the archive: 1 forked, 2 superseded |
//! | 8 | number of the oldest segment that the archive lacks, or all bits 1 without an archive |
//! | 1 | number of parts |
//! | 8 each | for each part: sequence number of the last batch whose rows are in the data file |

use redb::{TableDefinition, TableError, WriteTransaction};

use crate::store::engine::departure::Departure;
use crate::store::engine::local::database::{GuardedDatabase, guard};
use crate::store::engine::local::log::Position;
use crate::store::engine::local::parts::PARTS;
use crate::store::failure::StorageFailure;

const TABLE: TableDefinition<'static, &'static str, &'static [u8]> = TableDefinition::new("engine");
const KEY: &str = "log";
const VERSION: u8 = 3;
/// No archive holds the log.
pub(in crate::store) const NOT_HELD: u64 = u64::MAX;

/// Reads a row of the engine's own table.
pub(super) fn read_row(
    database: &GuardedDatabase,
    key: &str,
) -> Result<Option<Vec<u8>>, StorageFailure> {
    let transaction = database.begin_read()?;
    guard(|| {
        let table = match transaction.open_table(TABLE) {
            Ok(table) => table,
            Err(TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(other) => return Err(other.into()),
        };
        Ok(table.get(key)?.map(|value| value.value().to_vec()))
    })
}

pub(super) fn write_row(
    transaction: &WriteTransaction,
    key: &str,
    value: &[u8],
) -> Result<(), StorageFailure> {
    transaction.open_table(TABLE)?.insert(key, value)?;
    Ok(())
}

pub(super) fn remove_row(transaction: &WriteTransaction, key: &str) -> Result<(), StorageFailure> {
    transaction.open_table(TABLE)?.remove(key)?;
    Ok(())
}

/// A newly created file has no such row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct LogState {
    /// All of the log is merged, and the process closed it.
    pub(in crate::store) is_closed: bool,
    pub(in crate::store) timeline: [u8; 16],
    pub(in crate::store) origin: Origin,
    /// The first frame that the data file may lack.
    pub(in crate::store) position: Position,
    /// The reason why the history has left the archive.
    pub(in crate::store) departed: Option<Departure>,
    /// The oldest segment that the archive lacks. Segments from it on are kept after their merge,
    /// also by a process that does not archive.
    pub(in crate::store) held_segment: u64,
    /// For each part, the last batch whose rows the data file has. `None` if the file was written
    /// with another number of parts; then all frames are read again, which gives the same rows.
    pub(in crate::store) merged: Option<[u64; PARTS]>,
}

/// The timeline that a timeline began from; zeros for a vault's first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Origin {
    pub timeline: [u8; 16],
    /// The last batch that both have.
    pub sequence: u64,
}

impl LogState {
    pub(in crate::store) fn read(
        database: &GuardedDatabase,
    ) -> Result<Option<Self>, StorageFailure> {
        let Some(value) = read_row(database, KEY)? else { return Ok(None) };
        let damaged = || StorageFailure::Damaged(String::from("the state of the log"));
        Self::decode(&value).map(Some).ok_or_else(damaged)
    }

    pub(in crate::store) fn write(
        &self,
        transaction: &WriteTransaction,
    ) -> Result<(), StorageFailure> {
        write_row(transaction, KEY, &self.encode())
    }

    #[cfg(test)]
    pub(in crate::store) fn remove(transaction: &WriteTransaction) -> Result<(), StorageFailure> {
        remove_row(transaction, KEY)
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION, u8::from(self.is_closed)];
        bytes.extend(self.timeline);
        bytes.extend(self.origin.timeline);
        bytes.extend(self.origin.sequence.to_be_bytes());
        bytes.extend(self.position.sequence.to_be_bytes());
        bytes.extend(self.position.segment.to_be_bytes());
        bytes.extend(self.position.offset.to_be_bytes());
        bytes.extend(self.position.digest);
        bytes.push(self.departed.map_or(0, Departure::number));
        bytes.extend(self.held_segment.to_be_bytes());
        let merged = self.merged.as_ref().map_or(&[][..], |merged| merged.as_slice());
        bytes.push(u8::try_from(merged.len()).unwrap_or(0));
        for sequence in merged {
            bytes.extend(sequence.to_be_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (&[VERSION, is_closed], rest) = bytes.split_first_chunk()? else { return None };
        let (timeline, rest) = rest.split_first_chunk()?;
        let (parent, rest) = rest.split_first_chunk()?;
        let (forked_at, rest) = rest.split_first_chunk()?;
        let (sequence, rest) = rest.split_first_chunk()?;
        let (segment, rest) = rest.split_first_chunk()?;
        let (offset, rest) = rest.split_first_chunk()?;
        let (digest, rest) = rest.split_first_chunk()?;
        let (departed, rest) = rest.split_first()?;
        let (held_segment, rest) = rest.split_first_chunk()?;
        let (count, rest) = rest.split_first()?;
        let (numbers, []) = rest.as_chunks::<8>() else { return None };
        let merged: Vec<u64> = numbers.iter().map(|it| u64::from_be_bytes(*it)).collect();
        if usize::from(*count) != merged.len() || is_closed > 1 {
            return None;
        }
        Some(Self {
            is_closed: is_closed == 1,
            timeline: *timeline,
            origin: Origin { timeline: *parent, sequence: u64::from_be_bytes(*forked_at) },
            position: Position {
                sequence: u64::from_be_bytes(*sequence),
                segment: u64::from_be_bytes(*segment),
                offset: u64::from_be_bytes(*offset),
                digest: *digest,
            },
            departed: match *departed {
                0 => None,
                number => Some(Departure::from_number(number)?),
            },
            held_segment: u64::from_be_bytes(*held_segment),
            merged: merged.try_into().ok(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::hex;

    const STATE: LogState = LogState {
        is_closed: true,
        timeline: [0x11; 16],
        origin: Origin { timeline: [0x22; 16], sequence: 5 },
        position: Position { sequence: 9, segment: 3, offset: 512, digest: [0x33; 32] },
        departed: Some(Departure::Superseded),
        held_segment: 2,
        merged: Some([8, 1, 2, 3, 4]),
    };

    #[test]
    fn the_bytes_of_a_state_are_those_of_the_vector() {
        let bytes = STATE.encode();
        let start = "011111111111111111111111111111111122222222222222222222222222222222\
                     0000000000000005000000000000000900000000000000030000000000000200";
        let end = "050000000000000008000000000000000100000000000000020000000000000003\
                   0000000000000004";
        let digest = "33".repeat(32);
        assert_eq!(hex::encode(&bytes), format!("03{start}{digest}020000000000000002{end}"));
        assert_eq!(LogState::decode(&bytes), Some(STATE));
        for len in 0..bytes.len() {
            assert_eq!(LogState::decode(&bytes[..len]), None, "{len}");
        }
    }

    #[test]
    fn a_state_of_another_number_of_parts_is_read_without_them() {
        let none = LogState { merged: None, ..STATE };
        assert_eq!(LogState::decode(&none.encode()), Some(none));
    }
}
