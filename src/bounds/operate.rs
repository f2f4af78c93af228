//! The operator's socket and files.

use std::time::Duration;

/// One command; the largest is an application with all its rules.
pub const OPERATOR_COMMAND_BYTES_MAX: u64 = 256 * 1024;
/// From connecting to the answer. Moving a clock may sweep a great many tokens, and a backup takes
/// seconds for each million.
pub const OPERATOR_COMMAND_MAX: Duration = Duration::from_mins(10);
/// Commands at a time: one long one, and a few short ones beside it.
pub const OPERATOR_COMMANDS_MAX: usize = 8;
/// From connecting to the end of the command's own text.
pub const OPERATOR_READ_MAX: Duration = Duration::from_secs(10);
/// How far a development server's clock moves at once: a hundred years.
pub const CLOCK_ADVANCE_MAX: Duration = Duration::from_hours(100 * 365 * 24);

/// What has been due for longer than this when an account is made is worth a word: the sweep runs
/// every few seconds.
pub const REPORT_SWEEP_LAG_MAX: Duration = Duration::from_hours(1);
/// A key of a program that is older is worth a word: auditors ask for a change each year.
pub const REPORT_KEY_AGE_MAX: Duration = Duration::from_hours(365 * 24);
/// Backups that are older, and proofs that are older, are worth a word: they come daily and weekly.
pub const REPORT_BACKUP_AGE_MAX: Duration = Duration::from_hours(2 * 24);
pub const REPORT_PROOF_AGE_MAX: Duration = Duration::from_hours(30 * 24);
/// Auditors ask for a year of audit entries.
pub const REPORT_AUDIT_RETENTION_MIN: Duration = Duration::from_hours(365 * 24);

/// A settings file; the shipped one, all comments, has 20 KiB.
pub const SETTINGS_BYTES_MAX: u64 = 1024 * 1024;
/// A master key's file: 64 digits, a line end, and a little patience with editors.
pub const MASTER_KEY_FILE_BYTES_MAX: u64 = 4_096;
/// How long a word to the service manager may wait for it.
pub const NOTIFY_SEND_MAX: Duration = Duration::from_secs(1);
/// How long the end of the program waits for its last log lines.
pub const LOG_FLUSH_MAX: Duration = Duration::from_secs(1);

/// Sets of recovery shares whose hashes the vault keeps; the oldest goes first. A set is made when a
/// keeper leaves and when the master key is replaced, so this is many years.
pub const SHARE_SETS_MAX: usize = 64;

/// Connections at a time to the operator's listener, and as many to its socket: a scraper, a probe and
/// a person, several times over.
pub const WATCH_CONNECTIONS_MAX: usize = 32;
/// How long `status` waits for a server that is there but says nothing.
pub const STATUS_WAIT_MAX: Duration = Duration::from_secs(10);

/// Space that is left to the disk. Below it the vault takes no changes. The disk is looked at every two
/// seconds, so this lasts to the next look unless 128 MiB are written to it in each of them.
pub const DISK_FLOOR_BYTES: u64 = 256 * 1024 * 1024;
/// What the setting takes: enough for one batch of changes, and more than any disk.
pub const DISK_FLOOR_BYTES_MIN: u64 = 1024 * 1024;
pub const DISK_FLOOR_BYTES_MAX: u64 = 1 << 60;
/// Below this part of the floor nothing at all is written: not what reads leave behind, not the sweeps.
pub const DISK_HARD_FLOOR_PART: u64 = 8;
/// So much more than a floor, as a part of it, must be free again before it counts as recovered: a
/// disk that hovers around the floor must not open and close the vault at every look.
pub const DISK_RECOVERY_PART: u64 = 8;
pub const DISK_CHECK_EVERY: Duration = Duration::from_secs(2);
/// How often the server looks whether its files are still those that the data directory names. What
/// is answered after a file was removed and before the next look is lost.
pub const FILES_CHECK_EVERY: Duration = Duration::from_secs(2);
/// What a client is told to wait for: space does not come back by itself in a second.
pub const DISK_RETRY_AFTER_S: u64 = 30;

/// A commit that takes longer than this means that the disk hangs.
pub const COMMIT_STUCK_AFTER: Duration = Duration::from_secs(10);
/// Without a whole sweep for this long, what has expired stays behind: many periods, so that a long
/// sweep of a busy day is not taken for a stuck one.
pub const SWEEP_LAG_MAX: Duration = Duration::from_mins(5);
/// The audit chain is signed each minute that it grows; what stays unsigned for this long has an end
/// that anyone could cut.
pub const AUDIT_SIGN_LAG_MAX: Duration = Duration::from_mins(10);

/// Damaged rows that are remembered, so that each is logged once. A file with more of them is past
/// reading a list.
pub const DAMAGED_ROWS_MAX: usize = 1_024;
/// The scrub looks at some rows, then waits for this long.
pub const SCRUB_PERIOD: Duration = Duration::from_secs(1);
/// What the scrub may cost in each period, in look-ups: about a hundredth of a processor, and ten hours
/// for a million tokens.
pub const SCRUB_COST_MAX: usize = 2_000;
/// Between the end of one pass and the next. Damage comes with the years, not with the minutes.
pub const SCRUB_REST: Duration = Duration::from_hours(6);

const _: () = assert!(DISK_FLOOR_BYTES_MIN <= DISK_FLOOR_BYTES);
const _: () = assert!(super::store::SWEEP_PERIOD.as_secs() * 4 <= SWEEP_LAG_MAX.as_secs());
