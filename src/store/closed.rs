//! Closed scopes: the scopes of tenants whose deletion has begun.
//!
//! Requests of the tenant may be under way when its deletion begins, and their changes may be
//! queued behind it. A row that such a change adds would stay in the file for ever, so the writer
//! refuses it. The file holds the closed scopes in [`crate::store::tables::meta`] until their last
//! row is removed; a process keeps them until it ends.

use std::collections::HashSet;
use std::sync::Arc;

use crate::lock::SharedLock;
use crate::store::change::Write;
use crate::store::tables::{Table, meta};

/// Clones share the scopes. A scope takes 16 bytes, and only operators and tenants' management keys
/// close one.
#[derive(Debug, Clone, Default)]
pub(super) struct ClosedScopes(Arc<SharedLock<HashSet<[u8; 16]>>>);

impl ClosedScopes {
    pub(super) fn insert(&self, scope: [u8; 16]) {
        self.0.write().insert(scope);
    }

    /// Opens a scope again because its closing was not written.
    pub(super) fn remove(&self, scope: &[u8; 16]) {
        self.0.write().remove(scope);
    }

    pub(super) fn contains(&self, scope: &[u8; 16]) -> bool {
        self.0.read().contains(scope)
    }

    pub(super) fn take_no(&self, write: &Write) -> bool {
        scope_of(write).is_some_and(|scope| self.contains(&scope))
    }
}

/// Deletions and audit entries add no row to a scope.
pub(super) fn scope_of(write: &Write) -> Option<[u8; 16]> {
    match write {
        Write::Add(key, _) => Table::Counts.scope_in_key(key),
        // Other rows of this table outlive the tenant, or expect a row that does not.
        Write::Put(Table::Meta, key, _) => meta::import_scope_of_key(key),
        Write::Put(table, key, _) => table.scope_in_key(key),
        Write::Audit(_) | Write::Delete(..) => None,
    }
}
