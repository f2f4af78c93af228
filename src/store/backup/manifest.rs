//! What a backup says about itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::time::Timestamp;

/// Newer programs may add members, so unknown ones are passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the program that wrote it.
    pub program: String,
    /// The format of the data file that the rows come from.
    pub file_format: u32,
    /// Tells one vault from another; files of format 1 had none.
    pub file_id: Option<String>,
    /// The moment of the snapshot, in microseconds since 1970.
    pub created_at_us: i64,
    /// The master key's check value.
    pub master_key: String,
    /// Of all tables.
    pub rows: u64,
    /// Of all keys and values.
    pub bytes: u64,
    /// Rows by table.
    pub counts: BTreeMap<String, u64>,
    /// The last link of the audit log's chain.
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
