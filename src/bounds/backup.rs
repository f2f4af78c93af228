//! Backups and restoring them.

use std::time::Duration;

/// Bytes of rows that are written and checked together. Damage is located to one chunk.
pub const BACKUP_CHUNK_BYTES: usize = 256 * 1024;
/// The longest chunk that a reader accepts. A row is far smaller: a body has at most 256 KiB.
pub const BACKUP_CHUNK_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Checked chunks that wait while a restore writes the rows of one. The reader holds one more.
pub const BACKUP_CHUNKS_AHEAD: usize = 2;
/// The memory that the rows of one chunk may take. A key is stored without the beginning that it
/// shares with the key before it, so a forged chunk could otherwise take thousands of times its
/// length.
pub const BACKUP_ROWS_BYTES_MAX: usize = 4 * BACKUP_CHUNK_BYTES_MAX;
/// The manifest: a few numbers, and a count for each table.
pub const BACKUP_MANIFEST_BYTES_MAX: usize = 64 * 1024;
/// The longest time between two scheduled backups or two proofs of them: a year.
pub const BACKUP_PERIOD_MAX: Duration = Duration::from_hours(366 * 24);
/// The time to the next attempt after a failed backup or proof.
pub const BACKUP_RETRY: Duration = Duration::from_hours(1);
/// The time between two checks of the schedule.
pub const BACKUP_LOOK_PERIOD: Duration = Duration::from_secs(15);

const _: () = assert!(2 * BACKUP_CHUNK_BYTES <= BACKUP_CHUNK_BYTES_MAX);
