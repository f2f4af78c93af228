//! The rows of processes that share a store.

use crate::store::tables::table::Table;

/// The row with the generations of the processes' caches.
pub const GENERATIONS: &[u8] = b"generations";

/// Returns true for a row whose changes other processes must learn of soon.
pub fn concerns_other_processes(table: Table, key: &[u8]) -> bool {
    table == Table::Processes && key == GENERATIONS
}
