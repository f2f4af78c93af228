//! The manifest: a backup's description of itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::time::Timestamp;

/// Unknown members are ignored, because newer programs may add some.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the program that wrote the backup.
    pub program: String,
    /// The format of the data file that the rows come from.
    pub file_format: u32,
    /// Identifies the vault. Files of format 1 had no id.
    pub file_id: Option<String>,
    /// The moment of the snapshot, in microseconds since 1970.
    pub created_at_us: i64,
    /// The master key's check value.
    pub master_key: String,
    /// The number of rows of all tables.
    pub rows: u64,
    /// The total length of all keys and values.
    pub bytes: u64,
    /// The number of rows by table.
    pub counts: BTreeMap<String, u64>,
    /// The length and the last link of the audit chain.
    pub audit_head: Option<String>,
    /// SHA-256 over the digests of the chunks.
    pub digest: String,
}

impl Manifest {
    pub const fn created_at(&self) -> Timestamp {
        Timestamp::from_micros(self.created_at_us)
    }

    pub fn count(&self, table: &str) -> u64 {
        self.counts.get(table).copied().unwrap_or(0)
    }
}
