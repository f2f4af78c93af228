//! Bounds of processes that share a store.

use std::time::Duration;

/// The time between two heartbeats of a process. Each is a small write.
pub const PROCESS_BEAT: Duration = Duration::from_secs(1);
/// A process whose row stays the same for this time counts as dead, and another one may lead. It is
/// longer than a failover of the database, in which no process can write its row.
pub const PROCESS_DEAD_AFTER: Duration = Duration::from_secs(10);
/// The time between two reads of the generations that other processes advance.
pub const PROCESS_POLL: Duration = Duration::from_millis(250);
/// The pause after such a read, even if the database notifies of a change: each change of access
/// empties the caches of all tenants, and a tenant may make many.
pub const PROCESS_POLL_PAUSE: Duration = Duration::from_millis(50);
/// A process that could not read the generations for this time bypasses its caches, so that all
/// processes refuse a deleted API key within this time.
pub const PROCESS_STALE_AFTER: Duration = Duration::from_secs(1);
/// A process that could not read the generations for this time is not ready. It is longer than the
/// occasional delays of a busy host: a load balancer would take all processes of that host out at
/// once.
pub const PROCESS_UNREADY_AFTER: Duration = Duration::from_secs(3);
/// A leader that could not read the generations for this time stops its tasks. Another process may
/// lead after [`PROCESS_DEAD_AFTER`].
pub const LEADER_DOUBT_AFTER: Duration = Duration::from_secs(5);
/// The age at which a process replaces its key pair for messages from other processes.
pub const CODE_PAIR_AFTER: Duration = Duration::from_mins(4);
/// The age at which it destroys the old pair. Messages to it are gone long before, and from then on
/// no key of a code can be read from an old row of the database.
pub const CODE_PAIR_KEPT: Duration = Duration::from_mins(5);
/// Keys of card verification codes in one message.
pub const CODE_KEYS_PER_MESSAGE: usize = 1_000;
/// The time for which a starting server waits for the first heartbeat of each other process.
pub const CODE_KEYS_WAIT: Duration = Duration::from_millis(1_500);
/// The time for which it waits for the keys of the processes that are alive.
pub const CODE_KEYS_WAIT_MAX: Duration = Duration::from_secs(5);
/// Processes of one store. Each of them watches all others.
///
/// No share: only the operator starts processes.
pub const PROCESSES_MAX: usize = 64;
/// Bytes of a host's name, which Linux limits to 64, and of a version.
pub const HOST_NAME_MAX: usize = 64;

const _: () = assert!(PROCESS_POLL_PAUSE.as_millis() < PROCESS_POLL.as_millis());
const _: () = assert!(PROCESS_POLL.as_millis() * 2 < PROCESS_STALE_AFTER.as_millis());
const _: () = assert!(PROCESS_STALE_AFTER.as_millis() < PROCESS_UNREADY_AFTER.as_millis());
const _: () = assert!(PROCESS_BEAT.as_millis() * 5 < PROCESS_DEAD_AFTER.as_millis());
const _: () = assert!(PROCESS_BEAT.as_millis() < CODE_KEYS_WAIT.as_millis());
const _: () = assert!(CODE_PAIR_AFTER.as_millis() < CODE_PAIR_KEPT.as_millis());
const _: () = assert!(LEADER_DOUBT_AFTER.as_millis() < PROCESS_DEAD_AFTER.as_millis());
