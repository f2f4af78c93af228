//! The operator's socket and files.

use std::time::Duration;

/// One command; the largest is an application with all its rules.
pub const OPERATOR_COMMAND_BYTES_MAX: u64 = 256 * 1024;
/// From connecting to the answer. Moving a clock may sweep millions of tokens, and a backup takes
/// seconds for each million.
pub const OPERATOR_COMMAND_MAX: Duration = Duration::from_mins(10);
/// Commands at a time: a long one and a few short ones.
pub const OPERATOR_COMMANDS_MAX: usize = 8;
/// From connecting to the last byte of the command.
pub const OPERATOR_READ_MAX: Duration = Duration::from_secs(10);
/// The furthest that one command moves a development server's clock: a hundred years.
pub const CLOCK_ADVANCE_MAX: Duration = Duration::from_hours(100 * 365 * 24);

/// The published browser SDK for 3-D Secure, which a development server keeps in memory. Its bundle
/// has some hundred kilobytes.
pub const THREEDS_SDK_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// A compliance report mentions records that have been due for longer than this. The sweep runs
/// every few seconds.
pub const REPORT_SWEEP_LAG_MAX: Duration = Duration::from_hours(1);
/// A compliance report mentions older API keys: auditors ask for a change each year.
pub const REPORT_KEY_AGE_MAX: Duration = Duration::from_hours(365 * 24);
/// A compliance report mentions older backups and older proofs: they come daily and weekly.
pub const REPORT_BACKUP_AGE_MAX: Duration = Duration::from_hours(2 * 24);
pub const REPORT_PROOF_AGE_MAX: Duration = Duration::from_hours(30 * 24);
/// Auditors ask for a year of audit entries.
pub const REPORT_AUDIT_RETENTION_MIN: Duration = Duration::from_hours(365 * 24);

/// A settings file; the shipped one, all comments, has 20 KiB.
pub const SETTINGS_BYTES_MAX: u64 = 1024 * 1024;
/// A master key's file: 64 digits, a line end, and a few characters that an editor may add.
pub const MASTER_KEY_FILE_BYTES_MAX: u64 = 4_096;
/// The deadline of one message to the service manager.
pub const NOTIFY_SEND_MAX: Duration = Duration::from_secs(1);
/// The time that the end of the program waits for its last log lines.
pub const LOG_FLUSH_MAX: Duration = Duration::from_secs(1);

/// Sets of recovery shares whose hashes the vault keeps; the oldest one is dropped first. A set is
/// made when a keeper leaves and when the master key is replaced, so this is many years.
pub const SHARE_SETS_MAX: usize = 64;

/// Connections at a time to the operator's listener, and as many to its socket: a scraper, a probe
/// and a person, several times over.
pub const WATCH_CONNECTIONS_MAX: usize = 32;
/// The time that `status` waits for the answer of a server that took its connection.
pub const STATUS_WAIT_MAX: Duration = Duration::from_secs(10);

/// Free space of the disk below which the vault takes no changes. The vault checks the disk every
/// two seconds, so this suffices unless more than 128 MiB are written in a second.
pub const DISK_FLOOR_BYTES: u64 = 256 * 1024 * 1024;
/// The range of the setting: enough for one batch of changes, and more than any disk.
pub const DISK_FLOOR_BYTES_MIN: u64 = 1024 * 1024;
pub const DISK_FLOOR_BYTES_MAX: u64 = 1 << 60;
/// Below this fraction of the floor nothing is written: no audit entries of reads and no sweeps.
pub const DISK_HARD_FLOOR_PART: u64 = 8;
/// The disk counts as recovered when this fraction of the floor is free beyond it. Without that, a
/// disk near the floor would open and close the vault at every check.
pub const DISK_RECOVERY_PART: u64 = 8;
pub const DISK_CHECK_EVERY: Duration = Duration::from_secs(2);
/// The time between two checks that the open files are still those of the data directory. Writes
/// that are answered between the removal of a file and the next check are lost.
pub const FILES_CHECK_EVERY: Duration = Duration::from_secs(2);
/// `Retry-After` while the disk is full: an operator has to free space.
pub const DISK_RETRY_AFTER_S: u64 = 30;

/// A commit that takes longer than this means that the disk hangs.
pub const COMMIT_STUCK_AFTER: Duration = Duration::from_secs(10);
/// The server is not ready when no sweep was complete for this long. It is many periods, so that a
/// long sweep on a busy day does not count as a stuck one.
pub const SWEEP_LAG_MAX: Duration = Duration::from_mins(5);
/// The server is not ready when entries stay unsigned for this long: unsigned entries at the end of
/// the chain could be removed without a trace.
pub const AUDIT_SIGN_LAG_MAX: Duration = Duration::from_mins(10);

/// Damaged rows that are remembered, so that each is logged once. A file with more of them needs a
/// restore, not a list.
pub const DAMAGED_ROWS_MAX: usize = 1_024;
/// The scrub looks at some rows, then waits for this long.
pub const SCRUB_PERIOD: Duration = Duration::from_secs(1);
/// Look-ups of the scrub in each period: about one percent of a core, and ten hours for a million
/// tokens.
pub const SCRUB_COST_MAX: usize = 2_000;
/// The pause between two passes of the scrub. Disks decay over years.
pub const SCRUB_REST: Duration = Duration::from_hours(6);

const _: () = assert!(DISK_FLOOR_BYTES_MIN <= DISK_FLOOR_BYTES);
const _: () = assert!(super::store::SWEEP_PERIOD.as_secs() * 4 <= SWEEP_LAG_MAX.as_secs());
