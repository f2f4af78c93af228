//! The state of deletions, in the file and in memory.

use std::collections::HashMap;

use tokio::sync::{Mutex, Notify};

use crate::domain::id::TenantId;
use crate::store::record::KeyRecord;
use crate::store::tables::{self, meta};
use crate::store::{Snapshot, StorageFailure};

/// Serializes the steps of the background task and of the operator's command. `begun` wakes the
/// background task.
#[derive(Debug, Default)]
pub(in crate::app) struct Deletions {
    pub(super) walks: Mutex<DeletionWalks>,
    pub(super) begun: Notify,
}

/// The deletions under way, and the tenant of the last step.
#[derive(Debug, Default)]
pub(in crate::app) struct DeletionWalks {
    pub(super) of: HashMap<TenantId, DeletionWalk>,
    pub(super) last: Option<TenantId>,
    /// True if the last step failed for a reason that is likely to persist.
    pub(super) has_failed: bool,
}

/// The progress of a deletion, in memory only: after a restart the walk starts over and finds the
/// remaining rows.
#[derive(Debug, Default)]
pub(in crate::app) struct DeletionWalk {
    /// True once the keys of the tenant's verification codes are destroyed.
    pub(super) has_begun: bool,
    /// The number of tables that are empty.
    pub(super) done: usize,
    pub(super) from: Vec<u8>,
    /// API keys that are still to be removed.
    pub(super) api_keys: Vec<KeyRecord>,
}

impl DeletionWalks {
    /// The tenant of the next step: the same as before, or the next one if the last step failed, so
    /// that a deletion that cannot continue does not hold up the others.
    pub(super) fn turn(&self, under_way: &[TenantId]) -> Option<TenantId> {
        let place = self.last.and_then(|last| under_way.iter().position(|it| *it == last));
        let next = match place {
            Some(place) if self.has_failed => place.saturating_add(1),
            Some(place) => place,
            None => 0,
        };
        under_way.get(next).or(under_way.first()).copied()
    }
}

impl DeletionWalk {
    pub(super) fn go_on(&mut self, next: Option<Vec<u8>>) {
        if next.is_none() {
            self.done = self.done.saturating_add(1);
        }
        self.from = next.unwrap_or_default();
    }
}

pub(in crate::app) fn under_deletion(snapshot: &Snapshot) -> Result<Vec<[u8; 16]>, StorageFailure> {
    let marks = snapshot.first(&meta::deletions(), usize::MAX)?;
    let damaged = || StorageFailure::Damaged(String::from("the mark of a deletion makes no sense"));
    let scope = |key: &[u8]| meta::deletion_of_key(key).ok_or_else(damaged);
    marks.iter().map(|(key, _)| scope(key)).collect()
}

/// Ordered by id.
pub(super) fn under_way(snapshot: &Snapshot) -> Result<Vec<TenantId>, StorageFailure> {
    Ok(under_deletion(snapshot)?.iter().map(tables::tenant_of_scope).collect())
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_deletion_goes_on_until_it_ends_or_fails_and_then_the_next_one_has_its_turn() {
        let [a, b, c] = [1, 2, 3].map(|id| TenantId::new(Uuid::from_u128(id)));
        for (last, has_failed, under_way, next) in [
            (None, false, &[][..], None),
            (None, false, &[a, b], Some(a)),
            (Some(b), false, &[a, b, c], Some(b)),
            (Some(a), true, &[a, b, c], Some(b)),
            (Some(b), true, &[a, b, c], Some(c)),
            (Some(c), true, &[a, b, c], Some(a)),
            (Some(a), true, &[a], Some(a)),
            (Some(b), false, &[a, c], Some(a)),
        ] {
            let walks = DeletionWalks { last, has_failed, ..DeletionWalks::default() };
            assert_eq!(walks.turn(under_way), next, "{last:?} {has_failed} {under_way:?}");
        }
    }
}
