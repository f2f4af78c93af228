//! The rows of processes that share a store.

use crate::store::tables::table::Table;

/// The row with the generations of the caches in the memory of all processes.
pub const GENERATIONS: &[u8] = b"generations";

/// True for a row whose change the other processes have to learn of soon.
pub fn concerns_other_processes(table: Table, key: &[u8]) -> bool {
    table == Table::Processes && key == GENERATIONS
}
