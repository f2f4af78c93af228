//! The data file and its writer.

use std::time::Duration;

use super::archive::{ARCHIVE_PIECE_BYTES, ARCHIVE_PIECE_BYTES_MAX};
use super::shares::TENANT_SHARE;

/// redb's own cache. Larger ones cost memory and gain little (measured: gets differ by a tenth
/// between 16 and 1,024 MiB), because the operating system caches the file too.
///
/// No share: a cache of the file; the operating system has another.
pub const CACHE_BYTES: usize = 48 * 1024 * 1024;
/// Changes of one commit. More would delay the first one without making the sync cheaper.
///
/// No share: the size of one step of the writer.
pub const BATCH_CHANGES_MAX: usize = 256;
/// Writes in the changes of one commit to a database; the last change may exceed it. A bulk request
/// has thousands, and a commit of many of them would not be answered in time.
///
/// No share: the size of one step of the writer.
pub const BATCH_WRITES_MAX: usize = 8_192;
/// Bytes of the writes of one commit; the last change may exceed it. Commits of small changes end
/// at [`BATCH_CHANGES_MAX`] first.
///
/// No share: the size of one step of the writer.
pub const BATCH_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes of the writes of one change; a larger one is refused. A bulk request of ordinary tokens
/// has less than ten mebibytes.
pub const CHANGE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes that are counted for each write beside its key and its value: the head of its row, and the
/// time and the number of an audit entry.
pub const WRITE_BYTES: usize = 64;
/// Bytes of a batch that belong to none of its changes: digests, ends of audit chains, generations.
/// Each scope has two hundred, and so has each shard.
pub const BATCH_EXTRA_BYTES: usize = 1024 * 1024;
/// The longest frame that the log writes. A change of the largest size may come last in a batch.
pub const FRAME_BYTES_MAX: usize = BATCH_BYTES_MAX + CHANGE_BYTES_MAX + BATCH_EXTRA_BYTES;
/// Changes waiting for the writer; beyond this the answer is 503.
///
/// No share: the writer empties it in less than a second, and each request in flight has one change
/// in it.
pub const QUEUE_CHANGES_MAX: usize = 4_096;
/// Bytes of the changes that wait for the writer or are being written; beyond this the answer is
/// 503. Changes of at most [`QUEUE_BYTES_FREE`] do not count.
///
/// Shares: address, no secret key and key as their tenant; tenant 1/2. The vault's own changes
/// have the share of one more tenant.
pub const QUEUE_BYTES_MAX: usize = 128 * 1024 * 1024;
/// A change of this size takes nothing from [`QUEUE_BYTES_MAX`]; a card has a few
/// kilobytes. The bound on the number of changes holds for all of them.
pub const QUEUE_BYTES_FREE: usize = 16 * 1024;
/// Attempts of an operation to decide, when concurrent changes invalidate what it read.
pub const DECISIONS_MAX: usize = 16;
/// The length of a segment of the log. A longer one makes recovery slower and needs more disk; a
/// shorter one is replaced more often, which takes a few milliseconds.
pub const LOG_SEGMENT_BYTES: u64 = 64 * 1024 * 1024;
/// The zeros that the log writes ahead of its end: the length of the new segment so far, between
/// these bounds. A small vault has a small log.
pub const LOG_FILL_BYTES_MIN: u64 = 64 * 1024;
pub const LOG_FILL_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Rows in memory that start a merge into the data file. A larger number makes a merge longer, but
/// cheaper for each row.
///
/// No share: the process merges by itself.
pub const MERGE_BYTES: usize = 12 * 1024 * 1024;
/// Rows in memory from which on a batch waits for the running merge.
///
/// No share: a batch of all tenants waits for the merge, and none is refused.
pub const LAYERS_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The age at which rows are merged even if there are fewer than [`MERGE_BYTES`].
pub const MERGE_AFTER: Duration = Duration::from_secs(5);
/// The age of a batch at which the end of the log is noted beside it. Noted batches cannot vanish
/// from the end of the log unnoticed; more notes are more syncs of the disk.
pub const LOG_END_AFTER: Duration = Duration::from_secs(2);
/// Rows that a sorted load writes in one transaction.
pub const LOAD_BATCH_BYTES: usize = 64 * 1024 * 1024;
/// The size of a page of a range, without its last row.
pub const PAGE_BYTES: usize = 1024 * 1024;
/// Records that one sweep takes in one transaction.
pub const SWEEP_BATCH_MAX: usize = 256;
/// The wait of upkeep for one shard, of several. Then it goes on with the others, and takes up the
/// shard with the next sweep. A busy database takes less.
pub const SHARD_SWEEP_MAX: Duration = Duration::from_secs(5);
/// A shard that does not take its entries of reads within this time is passed over, so that the
/// entries of other shards are written.
pub const SHARD_READS_MAX: Duration = Duration::from_secs(1);
/// Entries of reads of one shard, of several, that are not durable. The next read of the shard waits
/// for a place, so that a shard that is held up delays no read of other shards.
///
/// No share: the share of a shard. Its tenants wait together, as they do for its writer.
pub const SHARD_READS_WAITING_MAX: usize = 2_048;
/// The time between two sweeps.
pub const SWEEP_PERIOD: Duration = Duration::from_secs(15);
/// Rows of a deleted tenant that one step removes. Requests of other tenants wait for a step, a few
/// milliseconds.
pub const DELETION_BATCH_MAX: usize = 256;
/// Rows that one step of a deletion examines. In tables that are ordered by time most of them
/// belong to other tenants.
pub const DELETION_LOOKS_MAX: usize = 4_096;
/// The pause between two steps of a deletion in a running server, so that other tenants get the
/// greater part of the disk's time.
pub const DELETION_PAUSE: Duration = Duration::from_millis(5);
/// The time between two searches for pending deletions. A new deletion begins at once.
pub const DELETION_PERIOD: Duration = Duration::from_mins(1);
/// Steps of a deletion that one command of the operator takes before it answers with its
/// progress: less than a second.
pub const DELETION_COMMAND_STEPS: usize = 64;
/// Records that a rotation re-encrypts in one batch. Requests wait for it, a few milliseconds.
pub const REENCRYPT_BATCH_MAX: usize = 128;
/// Rows that one step of a re-encryption examines; most of them may be re-encrypted already.
pub const REENCRYPT_LOOKS_MAX: usize = 1_024;
/// Records that a rotation re-encrypts in a second at most, if the settings do not say: more than any
/// disk takes.
pub const REENCRYPT_PER_SECOND: usize = 100_000;
/// Records that a rotation still re-encrypts in a second while requests keep the server busy. They
/// take about a tenth of the processor and of the disk.
pub const REENCRYPT_LOADED_PER_SECOND: usize = 1_000;
/// The time between two checks of a rotation whether operations still hold the keys of the previous
/// phase.
pub const ROTATION_WAIT: Duration = Duration::from_millis(50);
/// The rest of a rotation for each request that was answered meanwhile: 100 requests a second are a
/// busy server.
pub const REENCRYPT_REST_FOR_REQUEST: Duration = Duration::from_millis(10);
/// The time between two lines of the log on the progress of a rotation.
pub const ROTATION_NEWS_PERIOD: Duration = Duration::from_mins(5);
/// The shortest time that the speed of a rotation is measured over, for the time that is left.
pub const ROTATION_METER_PERIOD: Duration = Duration::from_secs(30);
/// The time between two looks for rotations. A rotation that a command starts begins at once.
pub const ROTATION_PERIOD: Duration = Duration::from_mins(1);
/// Keys of card verification codes: one for each minute of a day, for a hundred busy tenants.
///
/// Shares: address, no secret key and key as their tenant; tenant 1/100, since it has one key for
/// each minute of a day.
pub const CVC_KEYS_MAX: usize = 144_000;
/// Keys of card verification codes that are cached in the open: an hour's for a few busy tenants.
///
/// No share: a cache; a key that falls out is opened again.
pub const CVC_KEYS_OPEN_MAX: usize = 1_024;
/// Memory for pages that the engine writes while a data file is only checked: its allocator's state
/// takes about one byte for each page of the file, and recovery after a crash some megabytes.
pub const OVERLAY_BYTES_MAX: usize = 512 * 1024 * 1024;
/// Findings that `verify` lists; beyond them it only counts.
pub const VERIFY_FINDINGS_MAX: usize = 100;
/// The time for which a count of 3DS sessions is shown before they are counted again.
pub const SESSIONS_COUNTED_FOR: Duration = Duration::from_mins(1);
/// Authenticated callers that are cached, so that authentication does not read the file each time.
///
/// No share: a cache; a caller that falls out is read from the file again.
pub const CALLERS_MAX: usize = 10_000;

const _: () = assert!(BATCH_CHANGES_MAX <= QUEUE_CHANGES_MAX);
// On an idle server any change finds its place, within the share of its tenant.
const _: () = assert!(CHANGE_BYTES_MAX <= QUEUE_BYTES_MAX / TENANT_SHARE);
const _: () = assert!(QUEUE_CHANGES_MAX * QUEUE_BYTES_FREE <= QUEUE_BYTES_MAX);
const _: () = assert!(BATCH_BYTES_MAX <= CHANGE_BYTES_MAX);
// Readers accept a piece that was nearly full when the largest frame came, with its padding, its
// header and its trailer. Thus a frame that was cut off is never taken for damage.
#[expect(clippy::as_conversions, reason = "a constant that fits")]
const _: () =
    assert!((ARCHIVE_PIECE_BYTES + FRAME_BYTES_MAX + 64 * 1024) as u64 <= ARCHIVE_PIECE_BYTES_MAX);
