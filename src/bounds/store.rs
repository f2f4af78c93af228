//! The data file and its writer.

use std::time::Duration;

/// redb's own cache. Larger ones cost memory and win nothing (measured: 16 to 1,024 MiB differ by
/// a tenth in gets), since the operating system caches the file as well.
pub const CACHE_BYTES: usize = 48 * 1024 * 1024;
/// Changes that one commit takes. More of them delay the first without making the sync cheaper.
pub const BATCH_CHANGES_MAX: usize = 256;
/// Changes waiting for the writer; beyond this the answer is 503.
pub const QUEUE_CHANGES_MAX: usize = 4_096;
/// How often an operation decides again when others changed what it had read.
pub const DECISIONS_MAX: usize = 16;
/// How long the writer must be idle before it makes the next start cheap.
pub const IDLE_BEFORE_QUICK_REPAIR: Duration = Duration::from_millis(200);
/// Records that one sweep takes in one transaction.
pub const SWEEP_BATCH_MAX: usize = 256;
/// How often the sweeper looks for what has fallen due.
pub const SWEEP_PERIOD: Duration = Duration::from_secs(15);
/// Records that are sealed anew in one transaction: few, since requests wait for it.
pub const REENCRYPT_BATCH_MAX: usize = 32;
/// Rows that one step of a re-encryption looks at, most of which may be new already.
pub const REENCRYPT_LOOKS_MAX: usize = 1_024;
/// Records a second that are sealed anew at most, unless the settings say otherwise: most of the disk
/// is left to requests.
pub const REENCRYPT_PER_SECOND: usize = 1_000;
/// How often a rotation looks whether those who hold the keys of the phase before are done.
pub const ROTATION_WAIT: Duration = Duration::from_millis(50);
/// How often it is looked for rotations, beyond being told of them.
pub const ROTATION_PERIOD: Duration = Duration::from_mins(1);
/// Keys of card verification codes: a day's minutes for a hundred busy tenants.
pub const CVC_KEYS_MAX: usize = 144_000;
/// What the engine may write in memory on top of a data file that is only checked: its allocator's
/// state takes about one byte for each page of the file, and recovery after a crash some megabytes.
pub const OVERLAY_BYTES_MAX: usize = 512 * 1024 * 1024;
/// Findings that `verify` lists; beyond them it only counts.
pub const VERIFY_FINDINGS_MAX: usize = 100;
/// Known callers kept in memory, so that authentication does not read the file each time.
pub const CALLERS_MAX: usize = 10_000;

const _: () = assert!(BATCH_CHANGES_MAX <= QUEUE_CHANGES_MAX);
