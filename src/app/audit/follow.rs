//! Following the chain for a log shipper: the entries behind a position, in chain order.
//!
//! A position names a row by its first number and by a digest of its sealed entries. Sealing is
//! random, so a vault that was restored, or another vault, has another row under the same number.

use std::fmt;

use crate::app::Audit;
use crate::app::audit::export::{ExportedEntry, scope_of};
use crate::app::error::Error;
use crate::bounds::{AUDIT_EXPORT_ENTRIES_MAX, LOG_ROWS_EXAMINED_MAX};
use crate::crypto::Sha256;
use crate::domain::audit::{Act, Entity, EntityKind};
use crate::domain::hex;
use crate::store::Snapshot;
use crate::store::chain::{AuditRow, ChainRows, Head};

/// The end of a row that a reader has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainPosition {
    row: u64,
    /// The number of the next entry.
    next: u64,
    digest: [u8; DIGEST_BYTES],
}

const DIGEST_BYTES: usize = 24;

impl ChainPosition {
    fn of(row: &AuditRow) -> Self {
        let mut hash = Sha256::new();
        hash.update(&row.scope);
        hash.update(&row.sealed);
        let [digest @ .., _, _, _, _, _, _, _, _] = hash.finish();
        Self { row: row.sequence, next: row.end(), digest }
    }

    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (row, next) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let digest = hex::decode(parts.next()?)?;
        (parts.next().is_none() && row < next).then_some(Self { row, next, digest })
    }
}

impl fmt::Display for ChainPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.row, self.next, hex::encode(&self.digest))
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
        self.vault.operator_walks.run(|| follow_rows(self, after)).await?
    }
}

fn follow_rows(audit: Audit<'_>, after: Option<ChainPosition>) -> Result<FollowedPage, Error> {
    let snapshot = audit.vault.snapshot()?;
    let mut page = FollowedPage { items: Vec::new(), position: after, is_end: false };
    // Saves the seeks in all scopes while nothing happens.
    let end = Head::read(&snapshot)?.next;
    if after.is_some_and(|after| after.next == end) {
        page.is_end = true;
        return Ok(page);
    }
    let (mut rows, mut next) = rows_behind(&snapshot, &mut page)?;
    for _ in 0..LOG_ROWS_EXAMINED_MAX {
        let Some(row) = rows.next_row()? else {
            page.is_end = true;
            return Ok(page);
        };
        if let Some(next) = next.filter(|next| *next < row.sequence) {
            let last = row.sequence.saturating_sub(1);
            page.items.push(FollowedItem::Gap(ChainGap::Missing(next, last)));
        }
        next = Some(row.end());
        let (scope, here) = (scope_of(row.scope), ChainPosition::of(&row));
        for (entry, number) in audit.open_row(&row)?.into_iter().zip(row.sequence..) {
            let is_last = number.saturating_add(1) == row.end();
            let position = if is_last { Some(here) } else { page.position };
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

/// The rows behind the position of the page, and the number that the first of them should have.
fn rows_behind(
    snapshot: &Snapshot,
    page: &mut FollowedPage,
) -> Result<(ChainRows, Option<u64>), Error> {
    let Some(after) = page.position else { return Ok((ChainRows::from(snapshot, 0)?, None)) };
    let mut rows = ChainRows::from(snapshot, after.row)?;
    let mut oldest = ChainRows::from(snapshot, 0)?;
    match (rows.next_row()?, oldest.next_row()?) {
        (Some(row), _) if ChainPosition::of(&row) == after => Ok((rows, Some(after.next))),
        // The row was removed with other old ones.
        (Some(row), Some(first)) if row == first && row.sequence >= after.next => {
            Ok((ChainRows::from(snapshot, row.sequence)?, Some(after.next)))
        }
        _ => {
            page.position = None;
            page.items.push(FollowedItem::Gap(ChainGap::OtherHistory));
            Ok((ChainRows::from(snapshot, 0)?, None))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_is_written_and_nothing_else_is_one() {
        let position = ChainPosition { row: 7, next: 9, digest: [0xab; DIGEST_BYTES] };
        let text = format!("7-9-{}", "ab".repeat(DIGEST_BYTES));
        assert_eq!(position.to_string(), text);
        assert_eq!(ChainPosition::parse(&text), Some(position));
        for other in ["", "7", "7-9", "7-9-ab", &format!("{text}-"), &format!("-{text}")] {
            assert_eq!(ChainPosition::parse(other), None, "{other}");
        }
        assert_eq!(ChainPosition::parse(&text.replace("7-9", "9-7")), None);
    }
}
