//! The operator's socket and files.

use std::time::Duration;

/// One command; the largest is a page of an import.
pub const OPERATOR_COMMAND_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The part of `/etc/passwd` that is read for a user's name: ten thousand users.
pub const PASSWD_BYTES_MAX: u64 = 1024 * 1024;
/// A user's name in an audit entry. Linux allows 32 bytes for most.
pub const USER_NAME_BYTES_MAX: usize = 64;
/// From connecting to the answer. Moving a clock may sweep millions of tokens, and a backup takes
/// seconds for each million.
pub const OPERATOR_COMMAND_MAX: Duration = Duration::from_mins(10);
/// Rows of one page of an import. A page is one change, so it must leave the writer soon; fewer
/// rows would sync the log more often.
pub const IMPORT_PAGE_ROWS_MAX: usize = 1_000;
/// The size of a page, as JSON, from which on no row is added to it.
pub const IMPORT_PAGE_BYTES: usize = 1024 * 1024;
/// A row of an imported file: data, mask and metadata of one token, with every character escaped.
pub const IMPORT_ROW_BYTES_MAX: usize = 1024 * 1024;
/// Columns of an imported file.
pub const IMPORT_COLUMNS_MAX: usize = 1_024;
/// Ids of an imported file that a dry run remembers to find repetitions: 32 MiB. The import itself
/// finds all of them.
pub const IMPORT_IDS_MAX: usize = 4_000_000;
/// Imports of a tenant whose states are kept; the oldest is dropped first.
pub const IMPORTS_MAX: usize = 64;
/// Public keys that an export is sealed to.
pub const EXPORT_RECIPIENTS_MAX: usize = 64;
/// The time for which a server waits for the end of a rotation before it answers a client.
pub const ROTATION_ANSWER_AFTER: Duration = Duration::from_secs(5);
/// The time between two checks of a rotation that a client waits for.
pub const ROTATION_LOOK: Duration = Duration::from_millis(100);
/// Commands of one user at a time: a long one and a few short ones.
pub const OPERATOR_COMMANDS_MAX: usize = 8;
/// Connections of one user. A further one ends the oldest that has not sent its command, so that
/// silent connections keep no command out.
pub const OPERATOR_CONVERSATIONS_MAX: usize = 16;
/// From connecting to the last byte of the command.
pub const OPERATOR_READ_MAX: Duration = Duration::from_secs(10);
/// The furthest that one command moves a development server's clock: a hundred years.
pub const CLOCK_ADVANCE_MAX: Duration = Duration::from_hours(100 * 365 * 24);

/// The published browser SDK for 3-D Secure, which a development server keeps in memory. Its bundle
/// has some hundred kilobytes.
pub const THREEDS_SDK_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Records that one erasure of a person's data deletes. A person has tens of them; a criterion that
/// finds more is most likely a wrong one.
pub const ERASURE_RECORDS_MAX: usize = 10_000;
/// Records that an erasure deletes in one change.
pub const ERASURE_BATCH_MAX: usize = 32;
/// Passes of an erasure over records that programs create meanwhile.
pub const ERASURE_PASSES_MAX: usize = 100;
/// A receipt of an erasure, with the ids of all its records.
pub const ERASURE_RECEIPT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A compliance report mentions records that have been due for longer than this. The sweep runs
/// every few seconds.
pub const REPORT_SWEEP_LAG_MAX: Duration = Duration::from_hours(1);
/// A compliance report mentions older API keys: auditors ask for a change each year.
pub const REPORT_KEY_AGE_MAX: Duration = Duration::from_hours(365 * 24);
/// A compliance report mentions API keys that were not used for longer: PCI DSS asks for the
/// removal of such accounts.
pub const REPORT_KEY_UNUSED_MAX: Duration = Duration::from_hours(90 * 24);
/// The default period of a report: a quarter.
pub const REPORT_PERIOD: Duration = Duration::from_hours(90 * 24);
/// The deadline of each step when the report tries a listener. The server is on this machine.
pub const TLS_TRIAL_MAX: Duration = Duration::from_secs(3);
/// A compliance report mentions older backups and older proofs: they are taken daily and weekly.
pub const REPORT_BACKUP_AGE_MAX: Duration = Duration::from_hours(2 * 24);
pub const REPORT_PROOF_AGE_MAX: Duration = Duration::from_hours(30 * 24);
/// Auditors ask for a year of audit entries.
pub const REPORT_AUDIT_RETENTION_MIN: Duration = Duration::from_hours(365 * 24);
/// Attempts with a wrong key in a report's period. A replaced key that is still in use somewhere
/// causes some; more may be guesses.
pub const REPORT_WRONG_KEYS_MAX: u64 = 100;

/// The part of the system's tables of users and groups that `check` reads: some ten thousand lines.
pub const USER_TABLE_BYTES_MAX: u64 = 1024 * 1024;
/// A settings file; the shipped one, all comments, has 20 KiB.
pub const SETTINGS_BYTES_MAX: u64 = 1024 * 1024;
/// A master key's file: 64 digits, a line end, and a few characters that an editor may add.
pub const MASTER_KEY_FILE_BYTES_MAX: u64 = 4_096;
/// The file of a database's URL: several hosts, a long password and a few parameters.
pub const DATABASE_URL_FILE_BYTES_MAX: u64 = 4_096;
/// The default deadline of the program of `master_key.command`. A KMS answers within seconds, also
/// after a few attempts.
pub const MASTER_KEY_COMMAND_DEADLINE: Duration = Duration::from_mins(1);
/// The longest deadline that the settings may give the program. Someone may have to confirm on a
/// device; the unit gives the whole start fifteen minutes.
pub const MASTER_KEY_COMMAND_DEADLINE_MAX: Duration = Duration::from_mins(10);
/// The time in which a killed program must end. A process that waits for a device ends later.
pub const MASTER_KEY_COMMAND_END_MAX: Duration = Duration::from_secs(1);
/// Words of the command; a call of a KMS has about twenty.
pub const MASTER_KEY_COMMAND_WORDS_MAX: usize = 64;
/// The part of the program's standard error that is passed on, in bytes and in lines. The rest is
/// read and dropped.
pub const MASTER_KEY_COMMAND_COMPLAINT_BYTES_MAX: usize = 8 * 1024;
pub const MASTER_KEY_COMMAND_COMPLAINT_LINES_MAX: usize = 20;
/// Characters of a line that are passed on.
pub const MASTER_KEY_COMMAND_COMPLAINT_LINE_MAX: usize = 200;
/// The time after which `follow` runs the program again while it lacks the key of a piece of the
/// archive.
pub const MASTER_KEY_COMMAND_AGAIN: Duration = Duration::from_mins(1);
/// The deadline of one message to the service manager.
pub const NOTIFY_SEND_MAX: Duration = Duration::from_secs(1);
/// The time for which the program waits at its end for its last log lines.
pub const LOG_FLUSH_MAX: Duration = Duration::from_secs(1);

/// Sets of recovery shares whose hashes the vault keeps; the oldest one is dropped first. A set is
/// made when a keeper leaves and when the master key is replaced, so this is many years.
///
/// No share: only the operator makes them.
pub const SHARE_SETS_MAX: usize = 64;

/// Connections at a time to the operator's listener, and the same number to its socket: several
/// scrapers, probes and people. A further one ends the oldest that has no request.
///
/// No share: only the operator has the listener and the socket.
pub const WATCH_CONNECTIONS_MAX: usize = 32;
/// The time for which `status` waits for the answer of a server that accepted its connection.
pub const STATUS_WAIT_MAX: Duration = Duration::from_secs(10);

/// Free space of the disk below which the vault takes no changes. The vault checks the disk every
/// two seconds, so this suffices unless more than 128 MiB are written in a second.
pub const DISK_FLOOR_BYTES: u64 = 256 * 1024 * 1024;
/// The range of the setting: enough for one batch of changes, and more than any disk.
pub const DISK_FLOOR_BYTES_MIN: u64 = 1024 * 1024;
pub const DISK_FLOOR_BYTES_MAX: u64 = 1 << 60;
/// Below this fraction of the floor nothing is written, not even audit entries of reads and sweeps.
pub const DISK_HARD_FLOOR_PART: u64 = 8;
/// The disk counts as recovered when this fraction of the floor is free beyond the floor. Without
/// it, a disk near the floor would open and close the vault at every check.
pub const DISK_RECOVERY_PART: u64 = 8;
pub const DISK_CHECK_EVERY: Duration = Duration::from_secs(2);
/// The time between two checks that the open files are still those of the data directory. A commit
/// checks the files that it needs too, so a server without writes notices within this time.
pub const FILES_CHECK_EVERY: Duration = Duration::from_secs(2);
/// The time between two checks of the files that the settings name. They matter at the next start.
pub const NAMED_FILES_CHECK_EVERY: Duration = Duration::from_secs(10);
/// `Retry-After` while the disk is full: an operator has to free space.
pub const DISK_RETRY_AFTER_S: u64 = 30;

/// A commit that takes longer than this means that the disk hangs.
pub const COMMIT_STUCK_AFTER: Duration = Duration::from_secs(10);
/// The server is not ready if no sweep was completed for this long. It is many periods, so that a
/// long sweep on a busy day does not count as stuck.
pub const SWEEP_LAG_MAX: Duration = Duration::from_mins(5);
/// The server is not ready if entries stay unsigned for this long: unsigned entries at the end of
/// the chain could be removed without a trace.
pub const AUDIT_SIGN_LAG_MAX: Duration = Duration::from_mins(10);

/// Damaged rows that are remembered, so that each is logged once. A file with more of them needs a
/// restore, not a list.
///
/// No share: callers cannot damage rows.
pub const DAMAGED_ROWS_MAX: usize = 1_024;
/// The pause between two steps of the scrub.
pub const SCRUB_PERIOD: Duration = Duration::from_secs(1);
/// Look-ups of the scrub in each period: about one percent of a core, and ten hours for a million
/// tokens.
///
/// No share: the work of the process itself.
pub const SCRUB_COST_MAX: usize = 2_000;
/// The pause between two passes of the scrub. Disks decay over years.
pub const SCRUB_REST: Duration = Duration::from_hours(6);

/// The addresses for reports of weaknesses in the settings.
///
/// No share: only the operator sets them.
pub const SECURITY_CONTACTS_MAX: usize = 8;
/// The length of such an address, or of the URL of the policy.
pub const SECURITY_CONTACT_CHARS_MAX: usize = 500;

const _: () = assert!(DISK_FLOOR_BYTES_MIN <= DISK_FLOOR_BYTES);
const _: () = assert!(super::store::SWEEP_PERIOD.as_secs() * 4 <= SWEEP_LAG_MAX.as_secs());
/// The name of the keeper of a recovery share, which becomes a part of a file's name.
pub const KEEPER_CHARS_MAX: usize = 64;
