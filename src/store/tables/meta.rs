//! The keys of [`Table::Meta`]: names, in clear.

use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::store::tables::range::KeyRange;
use crate::store::tables::shard::Shard;
use crate::store::tables::table::{Table, join};

/// The end of the audit chain of [`Shard::VAULT`]. The rows of other shards add their number.
pub const AUDIT_HEAD: &[u8] = b"audit_head";
/// The number of entries of the newest checkpoint.
pub const AUDIT_NEWEST_CHECKPOINT: &[u8] = b"audit_newest_checkpoint";
/// The public key that the first checkpoints are checked with.
pub const AUDIT_PUBLIC_KEY: &[u8] = b"audit_public_key";
/// The digest of the live records of [`Shard::VAULT`]. The rows of other shards add their number.
pub const AUDIT_RECORDS: &[u8] = b"audit_records";
/// The signed start of a chain whose oldest rows were removed.
pub const AUDIT_START: &[u8] = b"audit_start";
/// The end of the archive when a restore read it: timeline (16) and number of the last batch (8).
pub const ARCHIVE_SEEN: &[u8] = b"archive_seen";
/// The newest backup's place in the history: timeline (16) and number of the last batch (8).
pub const BACKUP_MOMENT: &[u8] = b"backup_moment";
/// The time of that backup in microseconds since 1970 (8).
pub const BACKUP_TIME: &[u8] = b"backup_time";
pub const BACKUPS: &[u8] = b"backups";
/// The state of scheduled backups if the process dies during the current one.
pub const BACKUPS_IF_CUT_OFF: &[u8] = b"backups/if_cut_off";
pub const FILE_ID: &[u8] = b"id";
pub const FORMAT: &[u8] = b"file_format";
/// The master key's check value.
pub const MASTER: &[u8] = b"master";
/// The check value of the previous master key, and the time of its replacement.
pub const MASTER_BEFORE: &[u8] = b"master/before";
/// The time when the master key was made for this file.
pub const MASTER_MADE: &[u8] = b"master/made";
/// The version of the program that set the file's format.
pub const PROGRAM: &[u8] = b"program";
/// The format of a file from before the first release.
pub const UNRELEASED_FORMAT: &[u8] = b"format";
/// The number of shards for tenants (2), and the key of the hash that assigns them (16).
pub const SHARDS: &[u8] = b"shards";
/// The time when the file was restored from a backup.
pub const RESTORED_AT: &[u8] = b"restored_at";

const AUDIT_SIGNER: &[u8] = b"audit_signer/";
const DELETION: &[u8] = b"deletion/";
const IMPORT: &[u8] = b"import/";
const KEY: &[u8] = b"key/";
const ROTATION: &[u8] = b"rotation/";
const SHARES: &[u8] = b"shares/";

/// The rows of each prefix.
macro_rules! ranges {
    ($($range:ident $prefix:ident;)*) => {$(
        pub fn $range() -> KeyRange {
            KeyRange::prefix(Table::Meta, $prefix.to_vec())
        }
    )*};
}

ranges! {
    all_key_facts KEY;
    audit_heads AUDIT_HEAD;
    audit_records_of_shards AUDIT_RECORDS;
    audit_signers AUDIT_SIGNER;
    deletions DELETION;
    imports IMPORT;
    rotations ROTATION;
    share_sets SHARES;
}

/// The row of the end of a shard's audit chain.
pub fn audit_head(shard: Shard) -> Vec<u8> {
    of_shard(AUDIT_HEAD, shard)
}

/// The row of the digest of a shard's records.
pub fn audit_records(shard: Shard) -> Vec<u8> {
    of_shard(AUDIT_RECORDS, shard)
}

fn of_shard(name: &[u8], shard: Shard) -> Vec<u8> {
    match shard {
        Shard::VAULT => name.to_vec(),
        _ => join(&[name, b"/", &shard.number().to_be_bytes()]),
    }
}

/// The shard in a key of [`audit_head`] or [`audit_records`].
pub fn shard_of_key(key: &[u8]) -> Option<Shard> {
    let rest = key.strip_prefix(AUDIT_HEAD).or_else(|| key.strip_prefix(AUDIT_RECORDS))?;
    if rest.is_empty() {
        return Some(Shard::VAULT);
    }
    rest.strip_prefix(b"/")?.try_into().ok().map(u16::from_be_bytes).map(Shard::new)
}

/// The row of a tenant's current deletion. Its value is the time when it began.
pub fn deletion(scope: &[u8; 16]) -> Vec<u8> {
    join(&[DELETION, scope])
}

pub fn deletion_of_key(key: &[u8]) -> Option<[u8; 16]> {
    key.strip_prefix(DELETION)?.try_into().ok()
}

/// The row of the current rotation of a scope's keys.
pub fn rotation(scope: &[u8; 16]) -> Vec<u8> {
    join(&[ROTATION, scope])
}

pub fn rotation_of_key(key: &[u8]) -> Option<[u8; 16]> {
    key.strip_prefix(ROTATION)?.try_into().ok()
}

pub fn share_set_of_key(key: &[u8]) -> Option<[u8; 4]> {
    key.strip_prefix(SHARES)?.try_into().ok()
}

/// The row of the handover to this signing key.
pub fn audit_signer(number: u32) -> Vec<u8> {
    join(&[AUDIT_SIGNER, &number.to_be_bytes()])
}

pub fn audit_signer_of_key(key: &[u8]) -> Option<u32> {
    key.strip_prefix(AUDIT_SIGNER)?.try_into().ok().map(u32::from_be_bytes)
}

/// The row of an import's state.
pub fn import(tenant: TenantId, import: &str) -> Vec<u8> {
    join(&[IMPORT, tenant.bytes(), import.as_bytes()])
}

pub fn import_scope_of_key(key: &[u8]) -> Option<[u8; 16]> {
    key.strip_prefix(IMPORT)?.first_chunk().copied()
}

pub fn imports_of(tenant: TenantId) -> KeyRange {
    KeyRange::prefix(Table::Meta, join(&[IMPORT, tenant.bytes()]))
}

/// The row of a key's times; `key` is that key's own key in [`Table::Keys`].
pub fn key_facts(key: &[u8]) -> Vec<u8> {
    join(&[KEY, key])
}

pub fn key_facts_of(scope: &[u8; 16]) -> KeyRange {
    KeyRange::prefix(Table::Meta, join(&[KEY, scope]))
}

pub fn key_of_facts(key: &[u8]) -> Option<&[u8]> {
    key.strip_prefix(KEY)
}

pub fn deletion_value(at: Timestamp) -> Vec<u8> {
    at.micros().to_be_bytes().to_vec()
}

/// The row of a set of recovery shares.
pub fn share_set(set: [u8; 4]) -> Vec<u8> {
    join(&[SHARES, &set])
}
