//! The audit chain and its pages.

use std::time::Duration;

use super::access::{BULK_TOKENS_MAX, TENANTS_MAX};
use super::store::SHARD_READS_WAITING_MAX;
use super::tokens::PAGE_SIZE_MAX;

/// Entries of one row: a page of reads under load, about twenty kilobytes.
pub const AUDIT_ROW_ENTRIES_MAX: usize = 256;
/// Scopes of the chain: every tenant, and the server itself.
///
/// No share: one for each tenant.
pub const AUDIT_SCOPES_MAX: usize = TENANTS_MAX + 1;
/// Entries of reads that wait for the writer, two megabytes. The next read waits for a place.
///
/// No share: the queue is emptied every few milliseconds, and a read that waits is not refused.
pub const AUDIT_QUEUE_MAX: usize = 16_384;
/// Entries of reads that one change writes, so that other changes get through the writer in
/// between.
///
/// No share: the size of one step of the writer.
pub const AUDIT_CHANGE_ENTRIES_MAX: usize = 4_096;
/// The time for which entries of reads are gathered into one change. A power failure may lose 100
/// ms of them; the other 50 ms are for the commit.
pub const AUDIT_READS_WAIT: Duration = Duration::from_millis(50);
/// The pause before entries of reads are offered again to a writer whose queue was full.
pub const AUDIT_RETRY: Duration = Duration::from_millis(5);
/// The time between two signatures of a chain that grows.
pub const AUDIT_CHECKPOINT_PERIOD: Duration = Duration::from_mins(1);
/// Signing keys that one chain may have had: a new one each week for twenty years. Each leaves a
/// handover record of about 200 bytes, which is never deleted.
pub const AUDIT_SIGNERS_MAX: usize = 1_040;
/// Retention of entries if the settings name none.
pub const AUDIT_RETENTION_DAYS: usize = 400;
/// Entries may be written slightly out of the order of time: entries of reads are gathered, and
/// clocks are set. A list that goes back in time looks this much further.
pub const AUDIT_DISORDER: Duration = Duration::from_mins(1);

/// Rows of refused attempts that wait for the audit chain, of all tenants and of strangers: half a
/// megabyte. They are one change of the writer.
///
/// Shares: address 4 rows; no secret key 1/4; key as its tenant; tenant 1/32.
pub const REFUSAL_ROWS_MAX: usize = 2_048;
/// The part of [`REFUSAL_ROWS_MAX`] for attempts that belong to no tenant. Anybody can make them,
/// from any number of addresses.
pub const REFUSAL_ROWS_OF_STRANGERS_MAX: usize = 512;
/// The part of [`REFUSAL_ROWS_MAX`] for one tenant. Without it, the refused attempts of one tenant
/// could hide the attempts of all others.
pub const REFUSAL_ROWS_OF_TENANT_MAX: usize = 64;
/// Rows of one client's refused attempts to different routes. Further routes share one row, so that
/// a few clients cannot take all rows.
pub const REFUSAL_ROUTES_OF_CLIENT_MAX: usize = 4;
/// The time from the first refusal after a quiet period to its entry.
pub const REFUSALS_WAIT: Duration = Duration::from_secs(2);
/// The time after writing entries of refusals during which no more are written.
pub const REFUSALS_PERIOD: Duration = Duration::from_secs(58);
/// Entries of refusals in each period that keep the period at its minimum. After more, it doubles,
/// up to [`REFUSALS_PERIOD_MAX`].
pub const REFUSALS_CALM_MAX: u64 = 64;
/// An endless flood from strangers costs the maximum of rows in each of these periods: about
/// [`REFUSALS_CALM_MAX`] a minute.
pub const REFUSALS_PERIOD_MAX: Duration = Duration::from_mins(8);

/// Entries of one page of `GET /logs`: more than the documentation says, as the schema allows.
pub const LOG_PAGE_SIZE_MAX: usize = 5_000;
/// Rows that one request to `GET /logs` looks at. A tenth of a second when each must be opened.
pub const LOG_ROWS_EXAMINED_MAX: usize = 20_000;
/// Rows of the chain that are read before the task yields to other tasks.
pub const AUDIT_ROWS_AT_ONCE: usize = 512;
/// Entries that one answer of the operator's socket holds; an export asks again.
pub const AUDIT_EXPORT_ENTRIES_MAX: usize = 2_000;
/// Readings of the chain that the server remembers: the oldest is forgotten, and its next page gets
/// an entry.
///
/// No share: only operators read the chain.
pub const AUDIT_READINGS_MAX: usize = 256;
/// A reading that goes on for longer gets a further entry.
pub const AUDIT_READING_MAX: Duration = Duration::from_hours(24);
/// A receipt's file: about 400 characters, and a few that an editor may add.
pub const RECEIPT_BYTES_MAX: u64 = 4_096;

const _: () = assert!(AUDIT_CHANGE_ENTRIES_MAX <= AUDIT_QUEUE_MAX);
const _: () = assert!(REFUSAL_ROWS_MAX <= AUDIT_CHANGE_ENTRIES_MAX);
const _: () = assert!(REFUSAL_ROWS_OF_TENANT_MAX <= REFUSAL_ROWS_OF_STRANGERS_MAX);
const _: () = assert!(REFUSAL_ROWS_OF_STRANGERS_MAX < REFUSAL_ROWS_MAX);
// All entries of one request must fit into the queue.
const _: () = assert!(BULK_TOKENS_MAX < 2_048 && PAGE_SIZE_MAX <= SHARD_READS_WAITING_MAX);
const _: () = assert!(SHARD_READS_WAITING_MAX <= AUDIT_QUEUE_MAX);
/// The time between two looks of `audit follow` at the end of the chain, and at a server that
/// restarts. A look costs the server two reads while nothing is written.
pub const AUDIT_FOLLOW_LOOK: Duration = Duration::from_secs(1);
/// A file with a position of the chain: two numbers and a short digest.
pub const AUDIT_POSITION_BYTES_MAX: u64 = 256;
