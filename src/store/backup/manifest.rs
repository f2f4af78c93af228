//! The manifest: a backup's description of itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::hex;
use crate::domain::time::Timestamp;
use crate::store::engine::Moment;

/// Unknown members are ignored, because newer programs may add some.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the program that wrote the backup.
    pub program: String,
    /// The format of the data file that the rows come from.
    pub file_format: u32,
    /// Identifies the vault.
    pub file_id: Option<String>,
    /// The moment of the snapshot, in microseconds since 1970.
    pub created_at_us: i64,
    /// The master key's check value.
    pub master_key: String,
    pub rows: u64,
    /// The total length of all keys and values.
    pub bytes: u64,
    /// Rows by table.
    pub counts: BTreeMap<String, u64>,
    /// The length and the last link of the audit chain.
    pub audit_head: Option<String>,
    /// The timeline of the snapshot, in hexadecimal digits; missing if no engine had opened the
    /// file.
    pub timeline: Option<String>,
    /// The number of the snapshot's last batch.
    pub sequence: Option<u64>,
    /// The digest of the history up to that batch, in hexadecimal digits.
    pub history: Option<String>,
    /// `forked` or `superseded` if the history had left the archive, so that the archive does not
    /// continue this backup.
    pub departed: Option<String>,
    /// A time after the last batch of the snapshot, in microseconds since 1970.
    pub settled_at_us: Option<i64>,
    /// SHA-256 over the digests of the chunks.
    pub digest: String,
}

impl Manifest {
    pub const fn created_at(&self) -> Timestamp {
        Timestamp::from_micros(self.created_at_us)
    }

    /// The place of the snapshot in the history of the vault.
    pub fn moment(&self) -> Option<Moment> {
        let timeline = hex::decode(self.timeline.as_deref()?)?;
        let digest = hex::decode(self.history.as_deref()?)?;
        Some(Moment { timeline, sequence: self.sequence?, digest })
    }

    /// A time after the snapshot's last batch.
    pub fn settled_at(&self) -> Option<Timestamp> {
        self.settled_at_us.map(Timestamp::from_micros)
    }

    pub fn count(&self, table: &str) -> u64 {
        self.counts.get(table).copied().unwrap_or(0)
    }
}
