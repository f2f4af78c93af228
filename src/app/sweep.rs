//! What has fallen due is removed, in small batches, in the order of time: never a scan.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ops::Bound;

use uuid::Uuid;

use crate::app::App;
use crate::app::error::{Error, Fault};
use crate::app::{token_intents, token_rows};
use crate::bounds::SWEEP_BATCH_MAX;
use crate::crypto::TenantKeys;
use crate::domain::id::{TenantId, TokenId, TokenIntentId};
use crate::idempotency::live_half_days;
use crate::store::tables::Falls;
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
    /// Everything that is due now, batch after batch. The keys of card verification codes go first:
    /// once they are gone, nothing else is urgent.
    pub async fn sweep_all(&self) -> Result<usize, Error> {
        self.destroy_cvc_keys()?;
        let mut total: usize = 0;
        loop {
            match self.sweep_due().await? {
                Swept::All(count) => {
                    total = total.saturating_add(count);
                    break;
                }
                Swept::Batch(count) => total = total.saturating_add(count),
            }
        }
        while let Swept::Batch(_) = self.sweep_answers().await? {}
        Ok(total)
    }

    async fn sweep_due(&self) -> Result<Swept, Error> {
        let now = self.now();
        self.settle(|snapshot| {
            let due = snapshot
                .range(Table::Due, Bound::Unbounded, Bound::Excluded(&tables::due_after(now)))?
                .take(SWEEP_BATCH_MAX)
                .collect::<Result<Vec<_>, _>>()?;
            let mut keys = HashMap::new();
            let mut change = Change::new();
            // A token whose code and whose own time fall due together goes as a whole.
            let mut gone = HashSet::new();
            for (key, _) in &due {
                let due = tables::due_of_key(key).ok_or(Error::Internal(Fault::BadRecord))?;
                if matches!(due.falls, Falls::Token | Falls::TokenIntent) {
                    gone.insert(due.id);
                }
            }
            for (key, _) in &due {
                change = change.and(self.remove_due(snapshot, key, &gone, &mut keys)?);
            }
            Ok((change, Swept::of(due.len())))
        })
        .await
    }

    /// Remembered answers of half-days that are over for good.
    async fn sweep_answers(&self) -> Result<Swept, Error> {
        let [.., oldest_live] = live_half_days(self.now());
        self.settle(|snapshot| {
            let end = oldest_live.to_be_bytes();
            let forgotten = snapshot
                .range(Table::Idempotency, Bound::Unbounded, Bound::Excluded(end.as_slice()))?
                .take(SWEEP_BATCH_MAX)
                .collect::<Result<Vec<_>, _>>()?;
            let count = forgotten.len();
            let delete = |change: Change, (key, _)| change.delete(Table::Idempotency, key);
            Ok((forgotten.into_iter().fold(Change::new(), delete), Swept::of(count)))
        })
        .await
    }

    fn remove_due(
        &self,
        snapshot: &Snapshot,
        key: &[u8],
        gone: &HashSet<Uuid>,
        known: &mut HashMap<TenantId, TenantKeys>,
    ) -> Result<Change, Error> {
        let due = tables::due_of_key(key).ok_or(Error::Internal(Fault::BadRecord))?;
        let keys = match known.entry(due.tenant) {
            Entry::Occupied(entry) => &*entry.into_mut(),
            Entry::Vacant(entry) => &*entry.insert(self.tenant_keys(snapshot, due.tenant)?),
        };
        let change = Change::new().delete(Table::Due, key.to_vec());
        match due.falls {
            Falls::CvcOfToken | Falls::CvcOfTokenIntent if gone.contains(&due.id) => Ok(change),
            Falls::Token | Falls::CvcOfToken => {
                let id = TokenId::new(due.id);
                let found = token_rows::find_by_id(snapshot, keys, due.tenant, id)?;
                let Some(found) = found else { return Ok(change) };
                let record = tables::tokens(due.tenant, id);
                let change = change.expect_version(Table::Tokens, record, found.version);
                if due.falls == Falls::Token {
                    return Ok(change.and(token_rows::delete(&found.token, keys)));
                }
                Ok(change.and(self.forget_token_cvc(found.token, keys)?))
            }
            Falls::TokenIntent | Falls::CvcOfTokenIntent => {
                let id = TokenIntentId::new(due.id);
                let found = token_intents::find_by_id(snapshot, keys, due.tenant, id)?;
                let Some((intent, version)) = found else { return Ok(change) };
                if due.falls == Falls::TokenIntent {
                    let expected = token_intents::expected(&intent, version);
                    return Ok(change.and(expected).and(token_intents::delete(&intent)));
                }
                Ok(change.and(self.forget_intent_cvc(intent, version, keys)?))
            }
        }
    }
}

impl Swept {
    const fn of(count: usize) -> Self {
        if count < SWEEP_BATCH_MAX { Self::All(count) } else { Self::Batch(count) }
    }
}
