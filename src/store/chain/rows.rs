//! The rows of all scopes in the order of the chain, read lazily.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::bounds::AUDIT_SCOPES_MAX;
use crate::store::chain::row::AuditRow;
use crate::store::engine::Row;
use crate::store::failure::StorageFailure;
use crate::store::snapshot::Snapshot;
use crate::store::tables::{self, Table};

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
    /// Starts with the first row whose number is at least `sequence`.
    pub fn from(snapshot: &Snapshot, sequence: u64) -> Result<Self, StorageFailure> {
        let mut rows = Self { waiting: BinaryHeap::new(), scopes: Vec::new() };
        for scope in scopes(snapshot)? {
            let rest = snapshot.range(&tables::audit_from(&scope, sequence))?;
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
