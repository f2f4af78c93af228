//! Rows that carry keys of card verification codes from one process to another. Their values are
//! sealed to the recipient; this module never opens them.

use uuid::Uuid;

use crate::store::change::Write;
use crate::store::failure::StorageFailure;
use crate::store::snapshot::Snapshot;
use crate::store::tables::{KeyRange, Table};

const CODES: &[u8] = b"codes/";
const ID_BYTES: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeMessage {
    /// The key of its row.
    pub place: Vec<u8>,
    pub sealed: Vec<u8>,
}

impl CodeMessage {
    /// The key of a message's row. The number makes it unique.
    pub fn place(recipient: Uuid, sender: Uuid, number: [u8; 8]) -> Vec<u8> {
        [CODES, recipient.as_bytes(), sender.as_bytes(), &number].concat()
    }

    pub fn to(snapshot: &Snapshot, recipient: Uuid) -> Result<Vec<Self>, StorageFailure> {
        Self::under(snapshot, [CODES, recipient.as_bytes()].concat())
    }

    pub fn all(snapshot: &Snapshot) -> Result<Vec<Self>, StorageFailure> {
        Self::under(snapshot, CODES.to_vec())
    }

    /// The recipient and the sender.
    pub fn parties(&self) -> Option<(Uuid, Uuid)> {
        let ids = self.place.strip_prefix(CODES)?;
        let (recipient, rest) = ids.split_first_chunk::<ID_BYTES>()?;
        let (sender, _) = rest.split_first_chunk::<ID_BYTES>()?;
        Some((Uuid::from_bytes(*recipient), Uuid::from_bytes(*sender)))
    }

    fn under(snapshot: &Snapshot, prefix: Vec<u8>) -> Result<Vec<Self>, StorageFailure> {
        let rows = snapshot.range(&KeyRange::prefix(Table::Processes, prefix))?;
        rows.map(|row| row.map(|(place, sealed)| Self { place, sealed })).collect()
    }
}

pub(super) fn is_message(write: &Write) -> bool {
    matches!(write, Write::Put(Table::Processes, key, _) if key.starts_with(CODES))
}
