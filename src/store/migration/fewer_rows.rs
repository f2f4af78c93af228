//! The step to format 4, in which a token has fewer rows.
//!
//! Rows move, but no record is opened, so the step works without the keys of tenants. Only the
//! digests of records need a key, because they depend on the places of rows.

use crate::crypto::{DigestKey, Identity, KeyPurpose, OpenFailed, SystemKeys};
use crate::idempotency::half_day_start;
use crate::secret::Secret;
use crate::store::chain::Head;
use crate::store::digests::{DigestChanges, RecordDigests};
use crate::store::failure::StorageFailure;
use crate::store::migration::old_file::OldFile;
use crate::store::migration::step_rows::StepRows;
use crate::store::tables::{
    ListPosition, ListRank, Table, TokenList, idempotency_time, keys_of_purpose, tenant_of_scope,
};

/// The kinds of expiries of codes in format 3.
const CODE_EXPIRIES: [u8; 2] = [2, 4];

pub(super) fn write_fewer_rows(
    old: &OldFile<'_>,
    rows: &mut StepRows<'_>,
) -> Result<(), StorageFailure> {
    drop_timelines(old, rows)?;
    order_codes_by_minute(old, rows)?;
    order_answers_by_time(old, rows)
}

/// Format 3 had one more entry of each token for the list of everything, each search term and each
/// metadata entry in lower case: tenant, filter (16), 0, inverted time, token -> expiry (8) and
/// paths, one in each line. Format 4 lists the containers instead. Only metadata that is not in
/// lower case has no entry there under the filter of the timeline, and gets one for each container.
fn drop_timelines(old: &OldFile<'_>, rows: &mut StepRows<'_>) -> Result<(), StorageFailure> {
    for entry in old.snapshot.range(&Table::TokenLists.whole())? {
        let (key, value) = entry?;
        let Some((tenant, filter, rank)) = timeline_key(&key) else { continue };
        let tenant = tenant_of_scope(&tenant);
        let exact = TokenList::new(tenant, filter);
        // A value that does not decode gives no entries. Verification then finds those that are
        // missing.
        for path in paths(&value) {
            let position = ListPosition { path, rank };
            if old.snapshot.value(Table::TokenLists, &exact.at(position))?.is_some() {
                break;
            }
            let lowered = TokenList::lowered(tenant, filter).at(position);
            rows.put(Table::TokenLists, lowered, value_in_container(&value).to_vec())?;
        }
        rows.delete(Table::TokenLists, key)?;
    }
    Ok(())
}

/// Format 3 had the codes under tenant and id, and entries in the table of expiries that found them.
/// A value starts with the minute that comes first in the new key. The identity under which a code
/// is sealed stays as it was.
fn order_codes_by_minute(old: &OldFile<'_>, rows: &mut StepRows<'_>) -> Result<(), StorageFailure> {
    for entry in old.snapshot.range(&Table::Cvcs.whole())? {
        let (key, value) = entry?;
        if let Some(minute) = value.first_chunk::<8>() {
            let new = [minute, key.as_slice()].concat();
            rows.put(Table::Cvcs, new, value)?;
        }
        rows.delete(Table::Cvcs, key)?;
    }
    for entry in old.snapshot.range(&Table::Expiries.whole())? {
        let (key, _) = entry?;
        if key.get(8).is_some_and(|kind| CODE_EXPIRIES.contains(kind)) {
            rows.delete(Table::Expiries, key)?;
        }
    }
    Ok(())
}

/// Format 3 had the answers under half-day, tenant and blinded key. The row of that key now finds the
/// answer, whose new key starts with a time of the half-day. The exact time is sealed, and the start
/// of the half-day serves as well. The identity under which an answer is sealed stays as it was.
fn order_answers_by_time(old: &OldFile<'_>, rows: &mut StepRows<'_>) -> Result<(), StorageFailure> {
    let mut digests = digests(old)?;
    let mut changes = DigestChanges::default();
    for entry in old.snapshot.range(&Table::Idempotency.whole())? {
        let (key, sealed) = entry?;
        let new = answer_key(&key);
        // A key that is too short for a scope was not counted.
        if let Some(digests) = &digests
            && let Some(scope) = key.get(8..).and_then(|rest| rest.first_chunk())
        {
            let to = new.as_ref().map(|(_, new)| (Table::IdempotencyAnswers, new.as_slice()));
            changes.moved(digests.key(), *scope, &sealed, (Table::Idempotency, &key), to);
        }
        match new {
            Some((time, new)) => {
                rows.put(Table::IdempotencyAnswers, new, sealed)?;
                rows.put(Table::Idempotency, key, time)?;
            }
            None => rows.delete(Table::Idempotency, key)?,
        }
    }
    if let Some(digests) = &mut digests {
        let sequence = Head::read(old.snapshot)?.next;
        for (table, key, value) in digests.apply(changes, sequence) {
            rows.put(table, key, value)?;
        }
    }
    Ok(())
}

/// The digests of the file; `None` without the master key, or if the file has none that open. A file
/// of an older format gets them when it is opened.
fn digests(old: &OldFile<'_>) -> Result<Option<RecordDigests>, StorageFailure> {
    let Some(master) = old.master else { return Ok(None) };
    let scope = SystemKeys::SCOPE;
    let range = keys_of_purpose(&scope, KeyPurpose::Digest.code());
    let Some((key, sealed)) = old.snapshot.range_backwards(&range)?.next().transpose()? else {
        return Ok(None);
    };
    let damaged = || StorageFailure::Damaged(String::from("a key does not open"));
    let identity = Identity { tenant: &scope, table: Table::Keys.number(), key: &key };
    let plain = master.open(&identity, &sealed).map_err(|OpenFailed| damaged())?;
    let bytes = plain.expose().as_slice().try_into().ok().ok_or_else(damaged)?;
    RecordDigests::read(old.snapshot, &DigestKey::new(&Secret::new(bytes)))
}

/// The time of a migrated answer and its key; `None` for a key that makes no sense.
fn answer_key(key: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let (half_day, rest) = key.split_first_chunk()?;
    let time = idempotency_time(half_day_start(u64::from_be_bytes(*half_day))?);
    (rest.len() == 32).then(|| (time.clone(), [time.as_slice(), rest].concat()))
}

/// Tenant, filter and rank of an entry of a timeline; `None` for other entries of a list.
fn timeline_key(key: &[u8]) -> Option<([u8; 16], [u8; 16], ListRank)> {
    let (tenant, rest) = key.split_first_chunk()?;
    let (filter, rest) = rest.split_first_chunk()?;
    let rank = rest.strip_prefix(&[0])?.try_into().ok()?;
    Some((*tenant, *filter, rank))
}

fn paths(value: &[u8]) -> impl Iterator<Item = &str> {
    let paths = value.get(8..).and_then(|paths| std::str::from_utf8(paths).ok());
    paths.into_iter().flat_map(|paths| paths.split('\n')).filter(|path| !path.is_empty())
}

/// The value of an entry in a container is shorter if the token has one path, which the key holds.
fn value_in_container(value: &[u8]) -> &[u8] {
    match value.split_first_chunk::<8>() {
        Some((_, paths)) if paths.contains(&b'\n') => value,
        Some((expiry, _)) if *expiry != [u8::MAX; 8] => expiry,
        Some(_) | None => &[],
    }
}
