//! The archive of the log, restores from it, and standbys.

use std::time::Duration;

/// The length after which an archive file ends. A batch is never divided, so the last one may
/// exceed it. A reader holds one file in memory.
pub const ARCHIVE_PIECE_BYTES: usize = 16 * 1024 * 1024;
/// The longest archive file that a reader accepts, and the longest torn frame that a start erases:
/// several times [`ARCHIVE_PIECE_BYTES`] and [`super::store::FRAME_BYTES_MAX`].
pub const ARCHIVE_PIECE_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Bytes of log segments that are kept while the archive fails: hours of a usual vault. Beyond it
/// the oldest segments are deleted, and the archive has a gap.
pub const ARCHIVE_LOG_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// The time between two archive files: the default, and the longest that the settings allow.
pub const ARCHIVE_EVERY: Duration = Duration::from_secs(10);
pub const ARCHIVE_EVERY_MAX: Duration = Duration::from_hours(1);
/// The time that a stopping server takes to archive the rest. A file server that hangs must not
/// delay the stop until the service manager kills the process.
pub const ARCHIVE_FINISH_MAX: Duration = Duration::from_secs(10);
/// The time for which a starting server waits for its first look into the archive. It then serves
/// without it: an archive that fails never stops the vault.
pub const ARCHIVE_LOOK_MAX: Duration = Duration::from_secs(5);
/// Rows that a restore or a standby applies in one transaction.
pub const APPLY_BATCH_BYTES: usize = 16 * 1024 * 1024;
/// Looks of a restore for archive files that have arrived since its last look. Each finds the files
/// of the time that the one before took, so a few are enough.
///
/// No share: a command of the operator.
pub const ARCHIVE_LOOKS_MAX: usize = 16;
/// The time between two looks of a standby into the archive directory.
pub const FOLLOW_PERIOD: Duration = Duration::from_secs(1);

const _: () = assert!(ARCHIVE_LOG_BYTES_MAX >= 4 * super::store::LOG_SEGMENT_BYTES);
