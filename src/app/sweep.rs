//! What has fallen due is removed, in small batches, in the order of time: never a scan.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Bound;

use crate::app::App;
use crate::app::error::{Error, Fault};
use crate::app::token_rows;
use crate::bounds::SWEEP_BATCH_MAX;
use crate::crypto::TenantKeys;
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::store::{Change, Snapshot, Table, tables};

/// What one batch did.
#[derive(Debug, PartialEq, Eq)]
pub struct Swept {
    pub removed: usize,
    /// Where the next batch starts, when there may be more.
    pub(super) next: Option<Vec<u8>>,
}

impl App {
    /// Everything that is due now, batch after batch.
    pub async fn sweep_all(&self) -> Result<usize, Error> {
        let (mut total, mut from): (usize, _) = (0, Vec::new());
        loop {
            let swept = self.sweep(&from).await?;
            total = total.saturating_add(swept.removed);
            match swept.next {
                Some(next) => from = next,
                None => return Ok(total),
            }
        }
    }

    pub(super) async fn sweep(&self, from: &[u8]) -> Result<Swept, Error> {
        let now = self.now();
        let end = tables::due_after(now);
        self.settle(|snapshot| {
            let due = snapshot
                .range(Table::Due, Bound::Included(from), Bound::Excluded(&end))?
                .take(SWEEP_BATCH_MAX)
                .collect::<Result<Vec<_>, _>>()?;
            let mut keys = HashMap::new();
            let mut change = Change::new();
            let mut removed: usize = 0;
            for (key, _) in &due {
                match self.remove_due(snapshot, key, now, &mut keys) {
                    Ok(removal) => {
                        change = change.and(removal);
                        removed = removed.saturating_add(1);
                    }
                    // A damaged record stays, for `verify` to find; it must not hold up the rest.
                    Err(Error::Internal(_)) => (),
                    Err(error) => return Err(error),
                }
            }
            let last = due.last().filter(|_| due.len() == SWEEP_BATCH_MAX);
            let next = last.map(|(key, _)| [key.as_slice(), &[0]].concat());
            Ok((change, Swept { removed, next }))
        })
        .await
    }

    fn remove_due(
        &self,
        snapshot: &Snapshot,
        key: &[u8],
        now: Timestamp,
        known: &mut HashMap<TenantId, TenantKeys>,
    ) -> Result<Change, Error> {
        let (tenant, token) = tables::due_token(key).ok_or(Error::Internal(Fault::BadRecord))?;
        let keys = match known.entry(tenant) {
            Entry::Occupied(entry) => &*entry.into_mut(),
            Entry::Vacant(entry) => &*entry.insert(self.tenant_keys(snapshot, tenant)?),
        };
        let change = Change::new().delete(Table::Due, key.to_vec());
        let Some(found) = token_rows::find_by_id(snapshot, keys, tenant, token)? else {
            return Ok(change);
        };
        let record = tables::tokens(tenant, token);
        let change = change.expect_version(Table::Tokens, record, found.version);
        // An entry that is out of date must not take a token with it.
        if found.token.is_live(now) {
            return Ok(change);
        }
        Ok(change.and(token_rows::delete(&found.token, keys)))
    }
}
