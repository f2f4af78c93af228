//! The connections to a database that several processes share.

use std::time::Duration;

/// Servers that the address of a database may name.
pub const DATABASE_HOSTS_MAX: usize = 8;
/// Connections of one process for snapshots. One for each shard writes, one listens, and each of
/// [`DATABASE_READERS`] has one. A PostgreSQL server accepts a hundred connections of all processes
/// by default.
///
/// No share: a snapshot holds one for the milliseconds of its request, and requests in flight have
/// shares.
pub const DATABASE_CONNECTIONS_MAX: usize = 17;
/// Threads that read single rows for all requests.
///
/// No share: the threads take all reads that wait, in the order in which they came.
pub const DATABASE_READERS: usize = 2;
/// A statement of these threads takes no further reads once it has this number of keys.
pub const DATABASE_READ_KEYS_MAX: usize = 256;
/// Reads that wait for these threads. Further ones are refused.
///
/// No share: the readers empty it within milliseconds, and each request in flight has one read in
/// it.
pub const DATABASE_READS_QUEUED_MAX: usize = 4_096;
/// The longest wait of a reader for a free connection.
pub const DATABASE_POOL_WAIT_MAX: Duration = Duration::from_secs(5);
/// The deadline for connecting to one server, with its handshakes.
pub const DATABASE_CONNECT_MAX: Duration = Duration::from_secs(5);
/// TCP keepalive: the idle time before the first probe, the time between probes, and the number of
/// unanswered probes that end a connection.
pub const DATABASE_ALIVE_AFTER: Duration = Duration::from_secs(5);
pub const DATABASE_ALIVE_PAUSE: Duration = Duration::from_secs(2);
pub const DATABASE_ALIVE_PROBES: u32 = 3;
/// After a failed attempt, further ones fail at once for this time, so that requests do not each
/// wait for the deadline.
pub const DATABASE_ATTEMPT_PAUSE: Duration = Duration::from_millis(250);
/// The pause between two attempts to listen for changes of other processes.
pub const DATABASE_LISTEN_PAUSE: Duration = Duration::from_secs(1);
/// The longest wait of the listener. A connection that has ended is found earlier.
pub const DATABASE_LISTEN_WAIT: Duration = Duration::from_mins(1);
/// The server's deadline for one statement of a reader.
pub const DATABASE_STATEMENT_MAX: Duration = Duration::from_secs(10);
/// The deadline for an answer of the server. Then the connection is closed.
pub const DATABASE_ANSWER_MAX: Duration = Duration::from_secs(15);
/// The wait of a writer for its turn.
pub const DATABASE_TURN_MAX: Duration = Duration::from_secs(10);
/// The server ends a writing transaction that is idle for this time, so that a process that hangs
/// loses its turn.
pub const DATABASE_IDLE_WRITE_MAX: Duration = Duration::from_secs(10);
/// The server ends a snapshot that is idle for this time. A backup may wait for its disk between
/// two pages.
pub const DATABASE_IDLE_READ_MAX: Duration = Duration::from_mins(10);
/// Attempts to decide a batch, when other processes commit in between or connections end.
pub const DATABASE_DECISIONS_MAX: usize = 8;
/// The time for finding out if a batch was written whose connection ended during its COMMIT. It is
/// longer than the failover of a database; after it the process ends.
pub const DATABASE_OUTCOME_MAX: Duration = Duration::from_mins(10);
/// The pause between two attempts to find that out.
pub const DATABASE_OUTCOME_PAUSE: Duration = Duration::from_millis(200);
/// The time for which a worker thread of the server blocks for an answer before other tasks move to
/// another thread.
pub const DATABASE_WAIT_IN_PLACE: Duration = Duration::from_millis(5);
/// Worker threads of a server with a database; some of them block for an answer. Each keeps memory
/// of its own.
///
/// No share: threads of the runtime, which tasks of all tenants take in turn.
pub const DATABASE_WORKERS: usize = 4;
/// Threads that resolve names and connect.
///
/// No share: only the process itself uses it.
pub const DATABASE_THREADS: usize = 1;
/// Rows that a restore writes in one transaction.
pub const DATABASE_LOAD_BYTES: usize = 8 * 1024 * 1024;

const _: () = assert!(DATABASE_TURN_MAX.as_secs() < DATABASE_ANSWER_MAX.as_secs());
const _: () = assert!(DATABASE_STATEMENT_MAX.as_secs() < DATABASE_ANSWER_MAX.as_secs());
const _: () = assert!(DATABASE_IDLE_WRITE_MAX.as_secs() < DATABASE_OUTCOME_MAX.as_secs());
/// Shards for the tenants of a vault that is created in a database.
pub const SHARDS_DEFAULT: u16 = 16;
/// With this number the numbers of audit entries are integers that JavaScript represents.
///
/// No share: the operator sets it.
pub const SHARDS_MAX: u16 = 255;
