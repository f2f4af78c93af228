//! Following the chain for a log shipper: the entries behind a position, in chain order.
//!
//! A position names a row of each chain by its first number and by a digest of its sealed entries.
//! Sealing is random, so a vault that was restored, or another vault, has another row under the same
//! number.

use std::collections::BTreeMap;
use std::fmt;

use crate::app::Audit;
use crate::app::audit::export::{ExportedEntry, scope_of};
use crate::app::error::{Error, Fault};
use crate::bounds::{AUDIT_EXPORT_ENTRIES_MAX, LOG_ROWS_EXAMINED_MAX};
use crate::crypto::Sha256;
use crate::domain::audit::{Act, Entity, EntityKind};
use crate::domain::hex;
use crate::store::chain::{AuditRow, ChainRows, Heads, MergedRows, scopes_by_shard};
use crate::store::{Shard, Snapshot};

/// The rows that a reader has: the last one of each chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainPosition(BTreeMap<Shard, RowEnd>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RowEnd {
    row: u64,
    /// The number of the next entry.
    next: u64,
    digest: [u8; DIGEST_BYTES],
}

const DIGEST_BYTES: usize = 24;

impl RowEnd {
    fn of(row: &AuditRow) -> Self {
        let mut hash = Sha256::new();
        hash.update(&row.scope);
        hash.update(&row.sealed);
        let [digest @ .., _, _, _, _, _, _, _, _] = hash.finish();
        Self { row: row.sequence, next: row.end(), digest }
    }

    fn parse(text: &str) -> Option<(Shard, Self)> {
        let mut parts = text.split('-');
        let (row, next) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let digest = hex::decode(parts.next()?)?;
        let end = (parts.next().is_none() && row < next).then_some(Self { row, next, digest })?;
        Some((Shard::of_entry(row)?, end))
    }
}

impl ChainPosition {
    /// One part for each chain, in the order of their shards.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<_> = text.split('.').map(RowEnd::parse).collect::<Option<_>>()?;
        let ends: BTreeMap<_, _> = parts.iter().copied().collect();
        ends.iter().map(|(shard, end)| (*shard, *end)).eq(parts).then_some(Self(ends))
    }

    fn next(&self, shard: Shard) -> u64 {
        self.0.get(&shard).map_or(shard.entries().start, |end| end.next)
    }
}

impl fmt::Display for ChainPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, RowEnd { row, next, digest }) in self.0.values().enumerate() {
            let separator = if index > 0 { "." } else { "" };
            write!(f, "{separator}{row}-{next}-{}", hex::encode(digest))?;
        }
        Ok(())
    }
}

/// Entries that the reader does not get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainGap {
    /// The numbers from the first to the last of them are not in the chain: old entries were
    /// removed, or rows were.
    Missing(u64, u64),
    /// The chain does not contain the position: the vault was restored, or is another one. All its
    /// entries follow.
    OtherHistory,
}

#[derive(Debug)]
pub enum FollowedItem {
    Entry {
        entry: ExportedEntry,
        /// A reader that goes on from here misses nothing. `None` before the end of the first row.
        position: Option<ChainPosition>,
    },
    Gap(ChainGap),
}

#[derive(Debug)]
pub struct FollowedPage {
    pub items: Vec<FollowedItem>,
    pub position: Option<ChainPosition>,
    /// There are no further entries now.
    pub is_end: bool,
}

/// The place of the request in a reading of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowStep {
    /// Writes the audit entry of the reading.
    First,
    Further,
}

impl Audit<'_> {
    pub async fn follow(
        self,
        after: Option<ChainPosition>,
        step: FollowStep,
    ) -> Result<FollowedPage, Error> {
        if step == FollowStep::First {
            let chain = Entity::of_server(EntityKind::AuditChain);
            self.write_operator_entry(Act::Export, chain).await?;
        }
        let page = self.vault.operator_walks.run(|| follow_rows(self, after)).await??;
        self.vault.audit_watch.note_followed(self.vault.now());
        Ok(page)
    }
}

fn follow_rows(audit: Audit<'_>, after: Option<ChainPosition>) -> Result<FollowedPage, Error> {
    let snapshot = audit.vault.snapshot()?;
    let mut page = FollowedPage { items: Vec::new(), position: after, is_end: false };
    // Saves the seeks in all scopes while nothing happens.
    let heads = Heads::read(&snapshot)?;
    if let Some(after) = &page.position
        && heads.all().all(|(shard, head)| after.next(shard) == head.next)
    {
        page.is_end = true;
        return Ok(page);
    }
    let scopes = scopes_by_shard(&snapshot)?;
    let mut chains = Vec::with_capacity(scopes.len());
    for (shard, scopes) in &scopes {
        chains.extend(rows_behind(&snapshot, (*shard, scopes), page.position.as_ref())?);
    }
    if chains.len() < scopes.len() {
        page.position = None;
        page.items.push(FollowedItem::Gap(ChainGap::OtherHistory));
        chains.clear();
        for (shard, scopes) in &scopes {
            chains.extend(rows_behind(&snapshot, (*shard, scopes), None)?);
        }
    }
    let mut expected: BTreeMap<Shard, u64> =
        chains.iter().filter_map(|it| Some((it.shard, it.next?))).collect();
    let mut rows = MergedRows::of(chains.into_iter().map(|it| it.rows))?;
    for _ in 0..LOG_ROWS_EXAMINED_MAX {
        let Some(row) = rows.next_row()? else {
            page.is_end = true;
            return Ok(page);
        };
        let shard = Shard::of_entry(row.sequence).ok_or(Error::Internal(Fault::BadRecord))?;
        let next = expected.insert(shard, row.end());
        if let Some(next) = next.filter(|next| *next < row.sequence) {
            let last = row.sequence.saturating_sub(1);
            page.items.push(FollowedItem::Gap(ChainGap::Missing(next, last)));
        }
        let scope = scope_of(row.scope);
        let before = page.position.clone();
        let mut here = before.clone().unwrap_or(ChainPosition(BTreeMap::new()));
        here.0.insert(shard, RowEnd::of(&row));
        for (entry, number) in audit.open_row(&row)?.into_iter().zip(row.sequence..) {
            let is_last = number.saturating_add(1) == row.end();
            let position = if is_last { Some(here.clone()) } else { before.clone() };
            let entry = ExportedEntry { number, scope, entry };
            page.items.push(FollowedItem::Entry { entry, position });
        }
        page.position = Some(here);
        if page.items.len() >= AUDIT_EXPORT_ENTRIES_MAX {
            break;
        }
    }
    Ok(page)
}

struct FollowedRows {
    shard: Shard,
    rows: ChainRows,
    /// The number that the first of them should have.
    next: Option<u64>,
}

/// The rows of a chain behind the position; `None` if the chain does not contain it.
fn rows_behind(
    snapshot: &Snapshot,
    (shard, scopes): (Shard, &[[u8; 16]]),
    position: Option<&ChainPosition>,
) -> Result<Option<FollowedRows>, Error> {
    let rows = |from| ChainRows::of_shard(snapshot, shard, scopes.iter().copied(), from);
    let first = shard.entries().start;
    let Some(position) = position else {
        return Ok(Some(FollowedRows { shard, rows: rows(first)?, next: None }));
    };
    let Some(after) = position.0.get(&shard) else {
        // The reader has seen the other chains from their beginning on.
        return Ok(Some(FollowedRows { shard, rows: rows(first)?, next: Some(first) }));
    };
    let mut behind = rows(after.row)?;
    let next = Some(after.next);
    Ok(match (behind.next_row()?, rows(first)?.next_row()?) {
        (Some(row), _) if RowEnd::of(&row) == *after => {
            Some(FollowedRows { shard, rows: behind, next })
        }
        // The row was removed with other old ones.
        (Some(row), Some(oldest)) if row == oldest && row.sequence >= after.next => {
            Some(FollowedRows { shard, rows: rows(row.sequence)?, next })
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_is_written_and_nothing_else_is_one() {
        let end = |row, next| RowEnd { row, next, digest: [0xab; DIGEST_BYTES] };
        let text = format!("7-9-{}", "ab".repeat(DIGEST_BYTES));
        let shard = Shard::of_entry(1 << 46).unwrap();
        let first = shard.entries().start;
        let several = format!("{text}.{}", text.replace("7-9", &format!("{first}-{}", first + 2)));
        let one = ChainPosition(BTreeMap::from([(Shard::VAULT, end(7, 9))]));
        let mut both = one.clone();
        both.0.insert(shard, end(first, first + 2));
        for (position, text) in [(one, &text), (both, &several)] {
            assert_eq!(position.to_string(), *text);
            assert_eq!(ChainPosition::parse(text), Some(position));
        }
        let twice = format!("{text}.{text}");
        let others = ["", "7", "7-9", "7-9-ab", &format!("{text}-"), &format!("-{text}"), &twice];
        for other in others {
            assert_eq!(ChainPosition::parse(other), None, "{other}");
        }
        assert_eq!(ChainPosition::parse(&text.replace("7-9", "9-7")), None);
    }
}
