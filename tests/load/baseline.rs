//! The time of the disk and the storage engine alone for the rows of one create: the floor under the vault's own figure.

use crate::Outcome;
use crate::proc;
use crate::stats::Histogram;
use redb::{Database, Durability, TableDefinition, WriteTransaction};
use std::path::Path;
use std::time::{Duration, Instant};

/// A sealed card token with its envelope.
const RECORD_BYTES: usize = 600;
/// Listing, fingerprint, idempotency and audit: key and value together.
const INDEX_BYTES: usize = 80;
const INDEX_KEY_BYTES: usize = 40;
/// As small as the vault's own.
const CACHE_BYTES: usize = 64 << 20;

const RECORDS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("records");
/// Three indexes grow at their end, as the vault's do.
const ORDERED: [TableDefinition<'_, &[u8], &[u8]>; 3] = [
    TableDefinition::new("listing"),
    TableDefinition::new("idempotency"),
    TableDefinition::new("audit"),
];
const SCATTERED: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("fingerprints");

pub(crate) struct Baseline {
    database: Database,
    serial: u64,
}

impl Baseline {
    pub(crate) fn new(file: &Path) -> Outcome<Self> {
        let database = Database::builder().set_cache_size(CACHE_BYTES).create(file)?;
        Ok(Self { database, serial: 0 })
    }

    /// The p50 in microseconds of durable two-phase commits of a record and four index rows each, one after the other.
    pub(crate) fn commit_p50_us(&mut self, window: Duration) -> Outcome<f64> {
        proc::check_interrupted()?;
        let mut latencies = Histogram::new();
        let until = Instant::now() + window;
        while Instant::now() < until {
            self.serial += 1;
            let start = Instant::now();
            commit(&self.database, self.serial)?;
            latencies.record(start.elapsed());
        }
        Ok(latencies.percentile_us(0.50))
    }
}

fn commit(database: &Database, serial: u64) -> Outcome<()> {
    let mut write = database.begin_write()?;
    write.set_durability(Durability::Immediate)?;
    write.set_two_phase_commit(true);
    {
        let record = [0xA5; RECORD_BYTES];
        write.open_table(RECORDS)?.insert(&serial.to_be_bytes()[..], &record[..])?;
        for index in ORDERED {
            insert_index_row(&write, index, serial)?;
        }
        // Fingerprints come in no order; a multiplication scatters them.
        insert_index_row(&write, SCATTERED, serial.wrapping_mul(0x9E37_79B9_7F4A_7C15))?;
    }
    write.commit()?;
    Ok(())
}

fn insert_index_row(
    write: &WriteTransaction,
    index: TableDefinition<'_, &[u8], &[u8]>,
    place: u64,
) -> Outcome<()> {
    let mut key = [0; INDEX_KEY_BYTES];
    key[..8].copy_from_slice(&place.to_be_bytes());
    let value = [0x5A; INDEX_BYTES - INDEX_KEY_BYTES];
    write.open_table(index)?.insert(&key[..], &value[..])?;
    Ok(())
}
