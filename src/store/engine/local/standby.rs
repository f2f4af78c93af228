//! The mark of a standby in its data file, in the table of the log's state.
//!
//! A standby has no log: the state of the log names the timeline that it follows and the next
//! batch, and is written in the same transaction as the rows. The mark, byte for byte; numbers are
//! big-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version, 1 |
//! | 8 | time of the last batch, in microseconds since 1970 |
//! | 16 | id of the timeline that a promotion which was cut off has chosen, or zeros |

use redb::WriteTransaction;

use crate::domain::time::Timestamp;
use crate::store::engine::local::database::GuardedDatabase;
use crate::store::engine::local::state::{read_row, remove_row, write_row};
use crate::store::failure::StorageFailure;

const KEY: &str = "standby";
const VERSION: u8 = 1;

/// Marks the data file of a standby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct StandbyMark {
    pub(in crate::store) time: Timestamp,
    /// The timeline that a promotion has chosen and not yet begun.
    pub(in crate::store) next: Option<[u8; 16]>,
}

impl StandbyMark {
    /// Returns `None` if the data file is not a standby's.
    pub(in crate::store) fn read(
        database: &GuardedDatabase,
    ) -> Result<Option<Self>, StorageFailure> {
        let Some(value) = read_row(database, KEY)? else { return Ok(None) };
        let damaged = || StorageFailure::Damaged(String::from("the mark of a standby"));
        Self::decode(&value).map(Some).ok_or_else(damaged)
    }

    pub(in crate::store) fn write(
        &self,
        transaction: &WriteTransaction,
    ) -> Result<(), StorageFailure> {
        write_row(transaction, KEY, &self.encode())
    }

    pub(in crate::store) fn remove(transaction: &WriteTransaction) -> Result<(), StorageFailure> {
        remove_row(transaction, KEY)
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend(self.time.micros().to_be_bytes());
        bytes.extend(self.next.unwrap_or_default());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (&[VERSION], rest) = bytes.split_first_chunk()? else { return None };
        let (time, next) = rest.split_first_chunk()?;
        let next: [u8; 16] = next.try_into().ok()?;
        let time = Timestamp::from_micros(i64::from_be_bytes(*time));
        Some(Self { time, next: (next != [0; 16]).then_some(next) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::hex;

    #[test]
    fn the_bytes_of_a_mark_are_those_of_the_vector() {
        let mark = StandbyMark { time: Timestamp::from_seconds(1), next: Some([0x22; 16]) };
        let vector = "0100000000000f424022222222222222222222222222222222";
        assert_eq!(hex::encode(&mark.encode()), vector);
        let none = StandbyMark { next: None, ..mark };
        for mark in [mark, none] {
            assert_eq!(StandbyMark::decode(&mark.encode()), Some(mark));
            assert_eq!(StandbyMark::decode(&mark.encode()[1..]), None);
        }
    }
}
