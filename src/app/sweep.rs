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
use crate::store::{Change, Snapshot, Table, tables};

/// How a sweep ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swept {
    /// Nothing more is due.
    All(usize),
    /// A whole batch went; there may be more.
    Batch(usize),
}

impl App {
    /// Everything that is due now, batch after batch.
    pub async fn sweep_all(&self) -> Result<usize, Error> {
        let mut total: usize = 0;
        loop {
            match self.sweep().await? {
                Swept::All(count) => return Ok(total.saturating_add(count)),
                Swept::Batch(count) => total = total.saturating_add(count),
            }
        }
    }

    async fn sweep(&self) -> Result<Swept, Error> {
        let now = self.now();
        self.settle(|snapshot| {
            let due = snapshot
                .range(Table::Due, Bound::Unbounded, Bound::Excluded(&tables::due_after(now)))?
                .take(SWEEP_BATCH_MAX)
                .collect::<Result<Vec<_>, _>>()?;
            let mut keys = HashMap::new();
            let mut change = Change::new();
            for (key, _) in &due {
                change = change.and(self.remove_due(snapshot, key, &mut keys)?);
            }
            let count = due.len();
            let swept =
                if count < SWEEP_BATCH_MAX { Swept::All(count) } else { Swept::Batch(count) };
            Ok((change, swept))
        })
        .await
    }

    fn remove_due(
        &self,
        snapshot: &Snapshot,
        key: &[u8],
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
        Ok(change
            .expect_version(Table::Tokens, record, found.version)
            .and(token_rows::delete(&found.token, keys)))
    }
}
