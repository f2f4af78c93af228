//! The operator's socket and files.

use std::time::Duration;

/// One command; the largest is an application with all its rules.
pub const OPERATOR_COMMAND_BYTES_MAX: u64 = 256 * 1024;
/// From connecting to the answer. Moving a clock may sweep a great many tokens.
pub const OPERATOR_COMMAND_MAX: Duration = Duration::from_mins(10);
/// How far a development server's clock moves at once: a hundred years.
pub const CLOCK_ADVANCE_MAX: Duration = Duration::from_hours(100 * 365 * 24);

/// What has been due for longer than this when an account is made is worth a word: the sweep runs
/// every few seconds.
pub const REPORT_SWEEP_LAG_MAX: Duration = Duration::from_hours(1);
/// A key of a program that is older is worth a word: auditors ask for a change each year.
pub const REPORT_KEY_AGE_MAX: Duration = Duration::from_hours(365 * 24);

/// A master key's file: 64 digits, a line end, and a little patience with editors.
pub const MASTER_KEY_FILE_BYTES_MAX: u64 = 4_096;
/// How long a word to the service manager may wait for it.
pub const NOTIFY_SEND_MAX: Duration = Duration::from_secs(1);
/// How long the end of the program waits for its last log lines.
pub const LOG_FLUSH_MAX: Duration = Duration::from_secs(1);
