//! Removes due records in small batches and in the order of time, without a scan.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::app::audit::entry::expired;
use crate::app::audit::scope::AuditScope;
use crate::app::commit::commit_loop::Priority;
use crate::app::commit::disk::DiskState;
use crate::app::error::{Error, Fault};
use crate::app::threeds::remove_session;
use crate::app::tokens::intents;
use crate::app::tokens::rows;
use crate::app::upkeep::Upkeep;
use crate::bounds::SWEEP_BATCH_MAX;
use crate::crypto::TenantKeys;
use crate::domain::audit::{Act, Actor, Entity};
use crate::domain::id::{SessionId, TenantId, TokenId, TokenIntentId};
use crate::domain::time::Timestamp;
use crate::idempotency::live_half_days;
use crate::store::tables::{ExpiryEntry, ExpiryKind};
use crate::store::{Change, Snapshot, Table, tables};

/// The actor in the audit entries of a sweep.
const SYSTEM: Actor = Actor::System;

/// The result of one batch.
#[derive(Debug, PartialEq, Eq)]
pub struct SweepProgress {
    pub removed: usize,
    /// The key behind which the next batch starts, if there may be more.
    pub(in crate::app) next: Option<Vec<u8>>,
}

impl Upkeep<'_> {
    /// Removes everything that is due now, batch after batch. The keys of card verification codes
    /// are destroyed first, because without them the codes are unreadable and the rest is not
    /// urgent. On a full disk the rest waits.
    pub async fn sweep_all(self) -> Result<usize, Error> {
        let (mut total, mut from): (usize, _) = (0, Vec::new());
        let begun = self.vault.now();
        loop {
            self.vault.cvcs().destroy_keys()?;
            if self.vault.disk_state() == DiskState::Full {
                return Ok(total);
            }
            let swept = self.sweep(&from).await?;
            total = total.saturating_add(swept.removed);
            match swept.next {
                Some(next) => from = next,
                None => break,
            }
        }
        while self.sweep_answers().await? == SWEEP_BATCH_MAX {}
        self.vault.audit().sign_when_due().await?;
        self.vault.audit().sweep().await?;
        self.vault.rotation().write_uses().await?;
        self.swept(begun);
        Ok(total)
    }

    pub(in crate::app) async fn sweep(self, from: &[u8]) -> Result<SweepProgress, Error> {
        let now = self.vault.now();
        let range = tables::expiries_until(now).starting_after(from);
        self.vault
            .commit(Priority::Upkeep, |snapshot| {
                let due =
                    snapshot.range(&range)?.take(SWEEP_BATCH_MAX).collect::<Result<Vec<_>, _>>()?;
                let gone = going(&due);
                let mut keys = HashMap::new();
                let mut change = Change::new();
                let mut removed: usize = 0;
                for (key, _) in &due {
                    match self.remove_due(snapshot, key, now, &gone, &mut keys) {
                        Ok(removal) => {
                            change = change.and(removal);
                            removed = removed.saturating_add(1);
                        }
                        // A damaged record stays. It must not stop the rest of the batch.
                        Err(error) => {
                            let due = tables::expiry_of_key(key);
                            let tenant = due.map_or(TenantId::new(Uuid::nil()), |due| due.tenant);
                            let id = due.map_or(Uuid::nil(), |due| due.id);
                            self.vault.damage.pass_over(Table::Expiries, tenant, id, error)?;
                        }
                    }
                }
                let last = due.last().filter(|_| due.len() == SWEEP_BATCH_MAX);
                let next = last.map(|(key, _)| key.clone());
                Ok((change, SweepProgress { removed, next }))
            })
            .await
    }

    /// Removes stored answers of half-days that are over. Returns their number.
    async fn sweep_answers(self) -> Result<usize, Error> {
        let [.., oldest_live] = live_half_days(self.vault.now());
        self.vault
            .commit(Priority::Upkeep, |snapshot| {
                let forgotten = snapshot
                    .range(&tables::idempotency_before(oldest_live))?
                    .take(SWEEP_BATCH_MAX)
                    .collect::<Result<Vec<_>, _>>()?;
                let count = forgotten.len();
                let delete = |change: Change, (key, _)| change.delete(Table::Idempotency, key);
                Ok((forgotten.into_iter().fold(Change::new(), delete), count))
            })
            .await
    }

    fn remove_due(
        self,
        snapshot: &Snapshot,
        key: &[u8],
        now: Timestamp,
        gone: &HashSet<Uuid>,
        known: &mut HashMap<TenantId, TenantKeys>,
    ) -> Result<Change, Error> {
        let due = tables::expiry_of_key(key).ok_or(Error::Internal(Fault::BadRecord))?;
        let keys = match known.entry(due.tenant) {
            Entry::Occupied(entry) => &*entry.into_mut(),
            Entry::Vacant(entry) => {
                &*entry.insert(self.vault.keys().tenant_keys(snapshot, due.tenant)?)
            }
        };
        let change = Change::new().delete(Table::Expiries, key.to_vec());
        let removal = match due.kind {
            ExpiryKind::CvcOfToken | ExpiryKind::CvcOfTokenIntent if gone.contains(&due.id) => None,
            ExpiryKind::Token | ExpiryKind::CvcOfToken => {
                self.remove_of_token(snapshot, due, now, keys)?
            }
            ExpiryKind::ThreedsSession => {
                let removal = remove_session(snapshot, keys, due.tenant, due.id)?;
                let id = SessionId::new(due.id);
                Some(removal.and(self.vault.audit().entry(
                    due.tenant,
                    SYSTEM,
                    Act::Expire,
                    id,
                    now,
                )))
            }
            ExpiryKind::ThreedsWait => Some(self.vault.threeds().end_wait(
                snapshot,
                keys,
                due.tenant,
                SessionId::new(due.id),
            )?),
            ExpiryKind::TokenIntent | ExpiryKind::CvcOfTokenIntent => {
                self.remove_of_intent(snapshot, due, now, keys)?
            }
        };
        Ok(removal.unwrap_or_default().and(change))
    }

    /// Removes the token or its code if it is due. An expiry entry that is out of date removes
    /// neither.
    fn remove_of_token(
        self,
        snapshot: &Snapshot,
        due: ExpiryEntry,
        now: Timestamp,
        keys: &TenantKeys,
    ) -> Result<Option<Change>, Error> {
        let id = TokenId::new(due.id);
        let found = rows::find_by_id(snapshot, keys, due.tenant, id)?;
        let Some(found) = found else { return Ok(None) };
        let record = tables::tokens(due.tenant, id);
        let change = Change::new().expect_version(Table::Tokens, record, found.version);
        let code_is_over = found.token.cvc_expires_at.is_some_and(|at| at <= now);
        Ok(match due.kind {
            ExpiryKind::Token if !found.token.is_live(now) => {
                let audit = self
                    .vault
                    .audit()
                    .entries(AuditScope::Tenant(due.tenant), &[expired(&found.token, now)]);
                Some(change.and(rows::delete(&found.token, keys)).and(audit))
            }
            ExpiryKind::CvcOfToken if code_is_over => {
                let entity = Entity::token(&found.token);
                let audit =
                    self.vault.audit().entry(due.tenant, SYSTEM, Act::ExpireCvc, entity, now);
                Some(
                    change
                        .and(self.vault.token_rows().forget_token_cvc(found.token, keys)?)
                        .and(audit),
                )
            }
            ExpiryKind::Token
            | ExpiryKind::CvcOfToken
            | ExpiryKind::TokenIntent
            | ExpiryKind::CvcOfTokenIntent
            | ExpiryKind::ThreedsSession
            | ExpiryKind::ThreedsWait => Some(change),
        })
    }

    fn remove_of_intent(
        self,
        snapshot: &Snapshot,
        due: ExpiryEntry,
        now: Timestamp,
        keys: &TenantKeys,
    ) -> Result<Option<Change>, Error> {
        let id = TokenIntentId::new(due.id);
        let found = intents::find_by_id(snapshot, keys, due.tenant, id)?;
        let Some((intent, version)) = found else { return Ok(None) };
        let code_is_over = intent.cvc_expires_at.is_some_and(|at| at <= now);
        Ok(Some(match due.kind {
            ExpiryKind::TokenIntent if !intent.is_live(now) => intents::expected(&intent, version)
                .and(intents::delete(&intent))
                .and(self.vault.audit().entry(due.tenant, SYSTEM, Act::Expire, id, now)),
            ExpiryKind::CvcOfTokenIntent if code_is_over => self
                .vault
                .token_rows()
                .forget_intent_cvc(intent, version, keys)?
                .and(self.vault.audit().entry(due.tenant, SYSTEM, Act::ExpireCvc, id, now)),
            ExpiryKind::Token
            | ExpiryKind::CvcOfToken
            | ExpiryKind::TokenIntent
            | ExpiryKind::CvcOfTokenIntent
            | ExpiryKind::ThreedsSession
            | ExpiryKind::ThreedsWait => intents::expected(&intent, version),
        }))
    }
}

/// The ids of the tokens and intents that expire as a whole in this batch. Their codes are removed
/// with them.
fn going(due: &[(Vec<u8>, Vec<u8>)]) -> HashSet<Uuid> {
    let read = due.iter().filter_map(|(key, _)| tables::expiry_of_key(key));
    let whole = read.filter(|due| matches!(due.kind, ExpiryKind::Token | ExpiryKind::TokenIntent));
    whole.map(|due| due.id).collect()
}
