//! Bounds of processes that share a store.

use std::time::Duration;

/// The time between two beats of a process. Each is a small write.
pub const PROCESS_BEAT: Duration = Duration::from_secs(1);
/// A process whose row stays the same for this time is counted out, and another one may lead. It is
/// long enough for a failover of the database, in which no process can write its row.
pub const PROCESS_DEAD_AFTER: Duration = Duration::from_secs(10);
/// The time between two looks at the generations that other processes advance.
pub const PROCESS_POLL: Duration = Duration::from_millis(250);
/// A process that could not look for this time reads through its caches, so that a deleted API key
/// is refused by all processes within this time.
pub const PROCESS_STALE_AFTER: Duration = Duration::from_secs(1);
/// A leader that could not look for this time stops its tasks. Another process may lead after
/// [`PROCESS_DEAD_AFTER`].
pub const LEADER_DOUBT_AFTER: Duration = Duration::from_secs(5);
/// Processes of one store. Every one of them watches all the others.
pub const PROCESSES_MAX: usize = 64;
/// Bytes of a host's name, which Linux limits to 64, and of a version.
pub const HOST_NAME_MAX: usize = 64;

const _: () = assert!(PROCESS_POLL.as_millis() * 2 < PROCESS_STALE_AFTER.as_millis());
const _: () = assert!(PROCESS_BEAT.as_millis() * 5 < PROCESS_DEAD_AFTER.as_millis());
const _: () = assert!(LEADER_DOUBT_AFTER.as_millis() < PROCESS_DEAD_AFTER.as_millis());
