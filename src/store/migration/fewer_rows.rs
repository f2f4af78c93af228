//! The step to format 4, in which a token has fewer rows.
//!
//! No record is opened, so the step works without the keys of tenants.

use crate::store::failure::StorageFailure;
use crate::store::migration::old_file::OldFile;
use crate::store::migration::step_rows::StepRows;
use crate::store::tables::{ListPosition, ListRank, Table, TokenList, tenant_of_scope};

/// The kinds of expiries of codes in format 3.
const CODE_EXPIRIES: [u8; 2] = [2, 4];

pub(super) fn write_fewer_rows(
    old: &OldFile<'_>,
    rows: &mut StepRows<'_>,
) -> Result<(), StorageFailure> {
    drop_timelines(old, rows)?;
    order_codes_by_minute(old, rows)
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
