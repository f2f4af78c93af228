//! The audit chain and what is shown of it.

use std::time::Duration;

use super::access::{BULK_TOKENS_MAX, TENANTS_MAX};
use super::tokens::PAGE_SIZE_MAX;

/// Entries of one row: a page of reads under load, some ten kilobytes.
pub const AUDIT_ROW_ENTRIES_MAX: usize = 256;
/// Scopes of the chain: every tenant, and the server itself.
pub const AUDIT_SCOPES_MAX: usize = TENANTS_MAX + 1;
/// Reads that wait to be written down; the next one waits for a place. Two megabytes.
pub const AUDIT_QUEUE_MAX: usize = 16_384;
/// Entries of reads that one change writes, so that others get their turn at the writer.
pub const AUDIT_CHANGE_ENTRIES_MAX: usize = 4_096;
/// How long an entry of a read waits for others. Loss of power may cost 100 ms of them, so half of
/// it is left for the commit.
pub const AUDIT_READS_WAIT: Duration = Duration::from_millis(50);
/// How long a full queue of the writer is given before entries of reads are offered again.
pub const AUDIT_RETRY: Duration = Duration::from_millis(5);
/// How often the chain is signed while it grows.
pub const AUDIT_CHECKPOINT_PERIOD: Duration = Duration::from_mins(1);
/// Signing keys that one chain may have had: a new one each week for twenty years. Each leaves a
/// handover of some two hundred bytes, which stays for as long as the file.
pub const AUDIT_SIGNERS_MAX: usize = 1_040;
/// How long entries are kept unless the settings say otherwise.
pub const AUDIT_RETENTION_DAYS: usize = 400;
/// Entries may be written a little out of the order of time: reads wait for others, and clocks are
/// set. A list that goes back in time looks so much further.
pub const AUDIT_DISORDER: Duration = Duration::from_mins(1);

/// Entries of one page of `GET /logs`: more than documented, since the schema allows it.
pub const LOG_PAGE_SIZE_MAX: usize = 5_000;
/// Rows that one request to `GET /logs` looks at. A tenth of a second when each must be opened.
pub const LOG_ROWS_EXAMINED_MAX: usize = 20_000;
/// Rows of the chain that are looked at before others get their turn.
pub const AUDIT_ROWS_AT_ONCE: usize = 512;
/// Entries that one answer of the operator's socket holds; an export asks again.
pub const AUDIT_EXPORT_ENTRIES_MAX: usize = 2_000;
/// A receipt's file: some four hundred characters, and patience with editors.
pub const RECEIPT_BYTES_MAX: u64 = 4_096;

const _: () = assert!(AUDIT_CHANGE_ENTRIES_MAX <= AUDIT_QUEUE_MAX);
// One request's entries must fit at once.
const _: () = assert!(BULK_TOKENS_MAX < 16_384 && PAGE_SIZE_MAX <= AUDIT_QUEUE_MAX);
