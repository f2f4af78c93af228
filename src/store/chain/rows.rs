//! The rows of all scopes in the order of the chain, read as they are asked for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use crate::bounds::AUDIT_SCOPES_MAX;
use crate::store::chain::row::AuditRow;
use crate::store::failure::StorageFailure;
use crate::store::snapshot::Row;
use crate::store::snapshot::Snapshot;
use crate::store::tables::{self, Table};

/// A merge of the scopes' own ranges: in memory is one row of each.
pub struct ChainRows {
    /// The next row of each scope, the one with the least number on top.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    scopes: Vec<ScopeRows>,
}

struct ScopeRows {
    next: Option<AuditRow>,
    rest: Box<dyn Iterator<Item = Result<Row, StorageFailure>> + Send>,
}

impl ChainRows {
    /// From the first row whose number is at least this.
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
        // What is no row at all is left out here, and missed where rows are counted.
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

    /// The next row in the order of the chain.
    pub fn next_row(&mut self) -> Result<Option<AuditRow>, StorageFailure> {
        let Some(Reverse((_, at))) = self.waiting.pop() else { return Ok(None) };
        let row = self.scopes.get_mut(at).and_then(|scope| scope.next.take());
        self.refill(at)?;
        Ok(row)
    }
}

/// The scopes that have rows: one seek for each.
pub fn scopes(snapshot: &Snapshot) -> Result<Vec<[u8; 16]>, StorageFailure> {
    let mut found: Vec<[u8; 16]> = Vec::new();
    let mut rest = Table::Audit.whole();
    while found.len() < AUDIT_SCOPES_MAX {
        let Some((key, _)) = snapshot.range(&rest)?.next().transpose()? else { break };
        // A key without a scope is not a row; verification reports it where it counts rows.
        let scope = tables::audit_scope_of_key(&key);
        rest = scope.as_ref().map_or_else(|| rest.starting_after(&key), tables::audit_behind);
        found.extend(scope);
    }
    Ok(found)
}

impl fmt::Debug for ChainRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainRows").field("scopes", &self.scopes.len()).finish_non_exhaustive()
    }
}
