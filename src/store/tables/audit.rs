//! Keys of the audit chain and of counters.

use std::ops::{Bound, Range};

use crate::domain::id::TenantId;
use crate::domain::words::words;
use crate::store::tables::range::KeyRange;
use crate::store::tables::table::{Table, join, tenant_of_scope};
use crate::store::tables::webhooks::{shard_of_count, webhook_of_count_key};

/// The byte after the scope in the key of a digest.
const DIGESTS: u8 = 9;

words! {
    /// The kinds of rows that [`Table::Counts`] counts.
    pub enum CountKind:
        /// The byte after the tenant in the key of the number.
        code -> u8 [from_code]
    {
        /// Those of [`CountKind::ReactorResults`] whose callers have no secret key.
        PublicReactorResults = "results of reactors for public keys and sessions", 6;
        /// Calls of reactors whose caller does not wait, with an answer or without one.
        ReactorResults = "results of reactors", 5;
        /// Sessions of public applications.
        Sessions = "sessions", 4;
        TokenIntents = "token intents", 2;
        Tokens = "tokens", 1;
    }
}

/// The byte after the tenant in the keys of [`code_ends`].
const CODE_ENDS: u8 = 11;

words! {
    /// The ways in which a card verification code ends. [`Table::Counts`] has their numbers.
    pub enum CodeEnd:
        /// The last byte of the key of the number.
        code -> u8 [from_code]
    {
        /// By a request for the code alone, or because another code took its place.
        Deleted = "deleted", 1;
        /// At the end of its retention.
        Expired = "expired", 2;
        /// After a call through a proxy or of a reactor that used it.
        Used = "used", 3;
        /// With its token or token intent.
        WithToken = "with the token", 4;
    }
}

pub fn audit(scope: &[u8; 16], sequence: u64) -> Vec<u8> {
    join(&[scope, &sequence.to_be_bytes()])
}

pub fn audit_of(scope: &[u8; 16]) -> KeyRange {
    KeyRange::prefix(Table::Audit, scope.to_vec())
}

/// The rows of a scope whose first entry has a smaller number than this.
pub fn audit_before(scope: &[u8; 16], sequence: u64) -> KeyRange {
    audit_between(scope, &(0..sequence))
}

/// The rows of a scope whose first entry has one of these numbers.
pub fn audit_between(scope: &[u8; 16], numbers: &Range<u64>) -> KeyRange {
    let from = Bound::Included(audit(scope, numbers.start));
    KeyRange::new(Table::Audit, from, Bound::Excluded(audit(scope, numbers.end)))
}

pub fn audit_behind(scope: &[u8; 16]) -> KeyRange {
    let last = join(&[scope, &[u8::MAX; 9]]);
    Table::Audit.whole().starting_after(&last)
}

pub fn audit_of_key(key: &[u8]) -> Option<([u8; 16], u64)> {
    let (scope, sequence) = key.split_first_chunk::<16>()?;
    Some((*scope, u64::from_be_bytes(sequence.try_into().ok()?)))
}

/// The scope in a key of [`Table::Audit`], also if the rest of the key is damaged.
pub fn audit_scope_of_key(key: &[u8]) -> Option<[u8; 16]> {
    key.first_chunk().copied()
}

pub fn audit_checkpoints(sequence: u64) -> Vec<u8> {
    sequence.to_be_bytes().to_vec()
}

/// The number of entries in a key of [`Table::AuditCheckpoints`].
pub fn checkpoint_of_key(key: &[u8]) -> Option<u64> {
    key.try_into().ok().map(u64::from_be_bytes)
}

pub fn counts(tenant: TenantId, counted: CountKind) -> Vec<u8> {
    join(&[tenant.bytes(), &[counted.code()]])
}

/// The number of codes of a tenant that ended in this way. It is never decreased.
pub fn code_ends(tenant: TenantId, end: CodeEnd) -> Vec<u8> {
    join(&[tenant.bytes(), &[CODE_ENDS, end.code()]])
}

/// Returns `None` for keys that are not of [`code_ends`].
pub fn code_end_of_key(key: &[u8]) -> Option<(TenantId, CodeEnd)> {
    let (tenant, &[CODE_ENDS, code]) = key.split_first_chunk()? else { return None };
    Some((tenant_of_scope(tenant), CodeEnd::from_code(code)?))
}

/// All numbers of a scope, and the digest of its records.
pub fn counts_of(scope: &[u8; 16]) -> KeyRange {
    KeyRange::prefix(Table::Counts, scope.to_vec())
}

/// The number of values that a sealing key has sealed.
pub fn seal_counts(scope: &[u8; 16], number: u32) -> Vec<u8> {
    join(&[scope, &[3], &number.to_be_bytes()])
}

/// Returns `None` for keys that are not of [`seal_counts`].
pub fn seal_count_of_key(key: &[u8]) -> Option<([u8; 16], u32)> {
    let (scope, &[3, ref number @ ..]) = key.split_first_chunk()? else { return None };
    Some((*scope, u32::from_be_bytes(number.try_into().ok()?)))
}

/// Returns `None` for keys that are not of [`counts`].
pub fn count_of_key(key: &[u8]) -> Option<(TenantId, CountKind)> {
    let (tenant, &[code]) = key.split_first_chunk()? else { return None };
    Some((tenant_of_scope(tenant), CountKind::from_code(code)?))
}

/// The name of the counted things, for messages.
pub fn counted_name(key: &[u8]) -> String {
    if shard_of_count(key).is_some() {
        return String::from("events that wait for webhooks");
    }
    if let Some((tenant, webhook)) = webhook_of_count_key(key) {
        return format!("tenant {tenant}: events that wait for webhook {webhook}");
    }
    match count_of_key(key) {
        Some((tenant, kind)) => format!("tenant {tenant}: {}", kind.as_str()),
        None => String::from("an unknown number"),
    }
}

pub fn digests(scope: &[u8; 16]) -> Vec<u8> {
    join(&[scope, &[DIGESTS]])
}

/// Returns `None` for keys that are not of [`digests`].
pub fn digest_of_key(place: &[u8]) -> Option<[u8; 16]> {
    let (scope, &[DIGESTS]) = place.split_first_chunk()? else { return None };
    Some(*scope)
}
