//! The rows of all scopes of a chain in the order of their numbers, read lazily.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use crate::bounds::AUDIT_SCOPES_MAX;
use crate::store::chain::row::AuditRow;
use crate::store::engine::Row;
use crate::store::failure::StorageFailure;
use crate::store::snapshot::Snapshot;
use crate::store::tables::{self, KeyRange, Shard, Table};

/// Merges the ranges of the scopes, with one row of each in memory.
pub struct ChainRows {
    /// The number of each scope's next row and the scope's index, smallest number on top.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    scopes: Vec<ScopeRows>,
}

struct ScopeRows {
    next: Option<AuditRow>,
    rest: Box<dyn Iterator<Item = Result<Row, StorageFailure>> + Send>,
}

impl ChainRows {
    /// The rows of a shard's chain, from the number on. `scopes` has all that may have rows in it.
    pub fn of_shard(
        snapshot: &Snapshot,
        shard: Shard,
        scopes: impl Iterator<Item = [u8; 16]>,
        sequence: u64,
    ) -> Result<Self, StorageFailure> {
        let numbers = sequence..shard.entries().end;
        Self::of(snapshot, scopes.map(|scope| tables::audit_between(&scope, &numbers)))
    }

    fn of(
        snapshot: &Snapshot,
        ranges: impl Iterator<Item = KeyRange>,
    ) -> Result<Self, StorageFailure> {
        let mut rows = Self { waiting: BinaryHeap::new(), scopes: Vec::new() };
        for range in ranges {
            let rest = snapshot.range(&range)?;
            rows.scopes.push(ScopeRows { next: None, rest: Box::new(rest) });
            rows.refill(rows.scopes.len().saturating_sub(1))?;
        }
        Ok(rows)
    }

    fn refill(&mut self, at: usize) -> Result<(), StorageFailure> {
        let Some(scope) = self.scopes.get_mut(at) else { return Ok(()) };
        // Bytes that are not a row are skipped; verification notices them when it counts rows.
        for entry in scope.rest.by_ref() {
            let (key, value) = entry?;
            if let Some(row) = AuditRow::decode(&key, &value) {
                self.waiting.push(Reverse((row.sequence, at)));
                scope.next = Some(row);
                return Ok(());
            }
        }
        Ok(())
    }

    pub fn next_row(&mut self) -> Result<Option<AuditRow>, StorageFailure> {
        let Some(Reverse((_, at))) = self.waiting.pop() else { return Ok(None) };
        let row = self.scopes.get_mut(at).and_then(|scope| scope.next.take());
        self.refill(at)?;
        Ok(row)
    }
}

/// The rows of several chains. Each chain keeps its order; of their next rows, the oldest comes
/// first.
pub struct MergedRows(Vec<(ChainRows, Option<AuditRow>)>);

impl MergedRows {
    pub fn of(chains: impl IntoIterator<Item = ChainRows>) -> Result<Self, StorageFailure> {
        let first = |mut rows: ChainRows| rows.next_row().map(|row| (rows, row));
        Ok(Self(chains.into_iter().map(first).collect::<Result<_, _>>()?))
    }

    pub fn next_row(&mut self) -> Result<Option<AuditRow>, StorageFailure> {
        let with_row = self.0.iter_mut().filter(|(_, row)| row.is_some());
        let oldest = with_row.min_by_key(|(_, row)| row.as_ref().map(|row| (row.at, row.sequence)));
        let Some((rows, row)) = oldest else { return Ok(None) };
        let next = rows.next_row()?;
        Ok(std::mem::replace(row, next))
    }
}

/// The scopes that have rows, by the shards whose chains may have them. A tenant's rows are in its
/// shard, or in the vault's if they are from before the vault had shards.
pub fn scopes_by_shard(
    snapshot: &Snapshot,
) -> Result<BTreeMap<Shard, Vec<[u8; 16]>>, StorageFailure> {
    let shards = snapshot.shards()?;
    let mut found: BTreeMap<Shard, Vec<[u8; 16]>> = BTreeMap::new();
    for scope in scopes(snapshot)? {
        for shard in BTreeSet::from([Shard::VAULT, shards.of_scope(&scope)]) {
            found.entry(shard).or_default().push(scope);
        }
    }
    Ok(found)
}

/// The scopes that have rows. Takes one seek for each scope.
pub fn scopes(snapshot: &Snapshot) -> Result<Vec<[u8; 16]>, StorageFailure> {
    let mut found: Vec<[u8; 16]> = Vec::new();
    let mut rest = Table::Audit.whole();
    while found.len() < AUDIT_SCOPES_MAX {
        let Some((key, _)) = snapshot.range(&rest)?.next().transpose()? else { break };
        // A key without a scope is not a row; verification reports it when it counts rows.
        let scope = tables::audit_scope_of_key(&key);
        rest = scope.as_ref().map_or_else(|| rest.starting_after(&key), tables::audit_behind);
        found.extend(scope);
    }
    Ok(found)
}

opaque_debug!(ChainRows);

opaque_debug!(MergedRows);
