//! The data file and its writer.

use std::time::Duration;

/// redb's own cache. Larger ones cost memory and gain little (measured: gets differ by a tenth
/// between 16 and 1,024 MiB), because the operating system caches the file too.
pub const CACHE_BYTES: usize = 48 * 1024 * 1024;
/// Changes that one commit takes. More of them delay the first without making the sync cheaper.
pub const BATCH_CHANGES_MAX: usize = 256;
/// Changes waiting for the writer; beyond this the answer is 503.
pub const QUEUE_CHANGES_MAX: usize = 4_096;
/// The number of times that an operation decides when concurrent changes invalidate what it read.
pub const DECISIONS_MAX: usize = 16;
/// After this idle time, the writer commits in a way that makes the next start fast.
pub const IDLE_BEFORE_QUICK_REPAIR: Duration = Duration::from_millis(200);
/// Records that one sweep takes in one transaction.
pub const SWEEP_BATCH_MAX: usize = 256;
/// The time between two sweeps.
pub const SWEEP_PERIOD: Duration = Duration::from_secs(15);
/// Records that a rotation re-encrypts in one transaction. It is small because requests wait for
/// it.
pub const REENCRYPT_BATCH_MAX: usize = 32;
/// Rows that one step of a re-encryption looks at, most of which may be new already.
pub const REENCRYPT_LOOKS_MAX: usize = 1_024;
/// Records that a rotation re-encrypts in a second if the settings do not say. Most of the disk's
/// time is left to requests.
pub const REENCRYPT_PER_SECOND: usize = 1_000;
/// The time between two checks of a rotation whether operations still hold the keys of the previous
/// phase.
pub const ROTATION_WAIT: Duration = Duration::from_millis(50);
/// The time between two looks for rotations. A rotation that a command starts begins at once.
pub const ROTATION_PERIOD: Duration = Duration::from_mins(1);
/// Keys of card verification codes: a day's minutes for a hundred busy tenants.
pub const CVC_KEYS_MAX: usize = 144_000;
/// Memory for pages that the engine writes while a data file is only checked: its allocator's state
/// takes about one byte for each page of the file, and recovery after a crash some megabytes.
pub const OVERLAY_BYTES_MAX: usize = 512 * 1024 * 1024;
/// Findings that `verify` lists; beyond them it only counts.
pub const VERIFY_FINDINGS_MAX: usize = 100;
/// Known callers kept in memory, so that authentication does not read the file each time.
pub const CALLERS_MAX: usize = 10_000;

const _: () = assert!(BATCH_CHANGES_MAX <= QUEUE_CHANGES_MAX);
