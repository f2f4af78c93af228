//! Backups, restoring them and migrating the file.

use std::time::Duration;

/// Bytes of rows that are written and checked together. Damage is located to one chunk, and one
/// chunk is in memory.
pub const BACKUP_CHUNK_BYTES: usize = 256 * 1024;
/// The longest chunk that a reader accepts. A row is far smaller: a body has at most 256 KiB.
pub const BACKUP_CHUNK_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The memory that the rows of one chunk may take. A key shares its beginning with the key before it,
/// so a forged chunk could otherwise ask for thousands of times its own length.
pub const BACKUP_ROWS_BYTES_MAX: usize = 4 * BACKUP_CHUNK_BYTES_MAX;
/// The manifest: a few numbers, and a count for each table.
pub const BACKUP_MANIFEST_BYTES_MAX: usize = 64 * 1024;
/// Bytes of rows that a restore commits at once. Larger commits were not faster.
pub const RESTORE_BATCH_BYTES: usize = 64 * 1024 * 1024;
/// The longest time between two scheduled backups or two proofs of them: a year.
pub const BACKUP_PERIOD_MAX: Duration = Duration::from_hours(366 * 24);
/// The time to the next try after a backup or a proof that failed.
pub const BACKUP_RETRY: Duration = Duration::from_hours(1);
/// The time between two looks of the schedule at what is due.
pub const BACKUP_LOOK_PERIOD: Duration = Duration::from_secs(15);
/// Bytes of rows that a step of a migration holds in memory before it inserts them.
pub const MIGRATION_CHUNK_BYTES: usize = 4 * 1024 * 1024;
/// Backups before a migration, beside the data file. One is usual; more come from going back and
/// forth between versions.
pub const MIGRATION_BACKUPS_MAX: u32 = 100;

const _: () = assert!(2 * BACKUP_CHUNK_BYTES <= BACKUP_CHUNK_BYTES_MAX);
