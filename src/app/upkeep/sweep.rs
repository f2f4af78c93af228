//! Removes due records in small batches, ordered by time, without a scan. Each change concerns one
//! shard: if its turn cannot be taken, the other shards are swept all the same.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use uuid::Uuid;

use crate::app::Upkeep;
use crate::app::audit::entry::expired;
use crate::app::commit::commit_loop::{HeldShards, Priority};
use crate::app::commit::disk::DiskState;
use crate::app::error::{Error, Fault};
use crate::app::records::{self, Record};
use crate::app::tokens::rows;
use crate::bounds::{BATCH_BYTES_MAX, SWEEP_BATCH_MAX};
use crate::crypto::TenantKeys;
use crate::domain::audit::{Act, Actor, Entity};
use crate::domain::client_key::ClientKey;
use crate::domain::id::{
    AccessSessionId, ClientKeyId, ReactorRequestId, SessionId, TenantId, TokenId, TokenIntentId,
};
use crate::domain::reactor::ReactorResult;
use crate::domain::session::Session;
use crate::domain::time::Timestamp;
use crate::domain::token_intent::TokenIntent;
use crate::idempotency::remembered_since;
use crate::store::tables::{CodeEnd, CvcEntry, ExpiryEntry, ExpiryKind, KeyRange};
use crate::store::{Change, Snapshot, Table, tables};
use crate::threeds;

const SYSTEM: Actor = Actor::System;

#[derive(Debug, PartialEq, Eq)]
pub struct SweepProgress {
    pub removed: usize,
    /// The next batch starts behind this key; `None` if nothing is left.
    pub(in crate::app) next: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DueRows {
    /// Codes whose minute has passed, so that their keys are destroyed. A code that expired in the
    /// current minute is not shown, and its row stays for the rest of the minute: the row does not
    /// have the exact time, and opening every record of the minute would take too long.
    Codes,
    /// Entries of the table of expiries.
    Records,
    /// Stored answers that are no longer replayed.
    Answers,
}

/// The keys of the tenants whose rows a batch removes.
type KnownKeys = HashMap<TenantId, TenantKeys>;

impl DueRows {
    fn until(self, now: Timestamp) -> KeyRange {
        match self {
            Self::Codes => tables::cvcs_before(tables::cvc_minute(now)),
            Self::Records => tables::expiries_until(now),
            Self::Answers => tables::idempotency_answers_before(remembered_since(now)),
        }
    }

    const fn are_records(self) -> bool {
        matches!(self, Self::Codes | Self::Records)
    }

    /// Names a row in the log; nil for an invalid key.
    fn owner(self, key: &[u8]) -> (TenantId, Uuid) {
        let found = match self {
            Self::Codes => tables::cvc_of_key(key).map(|code| (code.tenant, code.id)),
            Self::Records => tables::expiry_of_key(key).map(|due| (due.tenant, due.id)),
            Self::Answers => None,
        };
        found.unwrap_or((TenantId::new(Uuid::nil()), Uuid::nil()))
    }
}

impl Upkeep<'_> {
    /// Removes everything that is due now, batch after batch. The keys of card verification codes
    /// are destroyed first: without them the codes are unreadable, and the rest is not urgent. On a
    /// full disk the rest waits. Fails as busy if a shard was left out.
    pub async fn sweep_all(self) -> Result<usize, Error> {
        let begun = self.vault.now();
        let mut total: usize = 0;
        let mut held = HeldShards::new();
        for rows in [DueRows::Records, DueRows::Codes, DueRows::Answers] {
            let mut from = Vec::new();
            loop {
                self.vault.cvcs().destroy_keys()?;
                if self.vault.disk_state() == DiskState::Full && rows.are_records() {
                    return Ok(total);
                }
                let swept = self.sweep_batch(rows, &from, &mut held).await?;
                if rows.are_records() {
                    total = total.saturating_add(swept.removed);
                }
                match swept.next {
                    Some(next) => from = next,
                    None => break,
                }
            }
        }
        self.vault.audit().sign_when_due(self.by).await?;
        self.vault.audit().sweep(self.by, &mut held).await?;
        self.vault.rotation().write_uses().await?;
        if !held.is_empty() {
            return Err(Error::Busy);
        }
        self.swept(begun);
        Ok(total)
    }

    /// Destroys the keys of codes whose minute has passed, as the last act before the vault closes:
    /// a stopped vault has no sweep. The unreadable rows stay until the next start.
    pub fn destroy_due_codes(self) -> Result<(), Error> {
        self.vault.cvcs().destroy_keys().map(|_count| ())
    }

    #[cfg(test)]
    pub(in crate::app) async fn sweep(self, from: &[u8]) -> Result<SweepProgress, Error> {
        self.sweep_batch(DueRows::Records, from, &mut HeldShards::new()).await
    }

    /// One change for each shard that is not held.
    async fn sweep_batch(
        self,
        rows: DueRows,
        from: &[u8],
        held: &mut HeldShards,
    ) -> Result<SweepProgress, Error> {
        let now = self.vault.now();
        let range = rows.until(now).starting_after(from);
        let due = self.vault.snapshot()?.first(&range, SWEEP_BATCH_MAX)?;
        let last = due.last().filter(|_| due.len() == SWEEP_BATCH_MAX);
        let next = last.map(|(key, _)| key.clone());
        let keys = due.into_iter().map(|(key, _)| key);
        let scope = |key: &Vec<u8>| range.table().scope_in_key(key).unwrap_or_default();
        let mut removed: usize = 0;
        for (shard, keys) in self.vault.by_shard(keys, scope) {
            if held.contains(&shard) {
                continue;
            }
            match self.vault.for_a_while(self.remove_all(rows, &keys, now)).await {
                Ok(count) => removed = removed.saturating_add(count),
                Err(Error::Busy) => drop(held.insert(shard)),
                Err(error) => return Err(error),
            }
        }
        Ok(SweepProgress { removed, next })
    }

    /// Removes rows of one shard, in several changes if they are large. Returns their number.
    async fn remove_all(
        self,
        rows: DueRows,
        mut due: &[Vec<u8>],
        now: Timestamp,
    ) -> Result<usize, Error> {
        let mut total: usize = 0;
        loop {
            let (removed, done) = self.remove(rows, due, now).await?;
            total = total.saturating_add(removed);
            due = due.get(done..).unwrap_or_default();
            if due.is_empty() {
                return Ok(total);
            }
        }
    }

    /// Returns the number of removed rows, and how many of `due` were looked at: the change ends
    /// when it is large.
    async fn remove(
        self,
        rows: DueRows,
        due: &[Vec<u8>],
        now: Timestamp,
    ) -> Result<(usize, usize), Error> {
        let table = rows.until(now).table();
        self.by
            .commit(self.vault, Priority::Upkeep, |snapshot| {
                let mut keys = KnownKeys::new();
                let mut change = Change::new();
                let (mut removed, mut done): (usize, usize) = (0, 0);
                let mut bytes: usize = 0;
                // Another change may have removed some of them meanwhile.
                let places: Vec<_> = due.iter().map(|key| (table, key.as_slice())).collect();
                for (key, value) in due.iter().zip(snapshot.values(&places)?) {
                    if bytes >= BATCH_BYTES_MAX {
                        break;
                    }
                    done = done.saturating_add(1);
                    if value.is_none() {
                        continue;
                    }
                    let removal = match rows {
                        DueRows::Codes => self.remove_code(snapshot, key, now, &mut keys),
                        DueRows::Records => self.remove_due(snapshot, key, now, &mut keys),
                        DueRows::Answers => Ok(remove_answer(key)),
                    };
                    match removal {
                        Ok(removal) => {
                            bytes = bytes.saturating_add(removal.bytes());
                            change = change.and(removal);
                            removed = removed.saturating_add(1);
                        }
                        // The deletion of the tenant removes the record.
                        Err(Error::Unauthenticated) => (),
                        // A damaged record stays. It must not stop the rest of the batch.
                        Err(error) => {
                            let (tenant, id) = rows.owner(key);
                            self.vault.damage.pass_over(table, tenant, id, error)?;
                        }
                    }
                }
                Ok((change, (removed, done)))
            })
            .await
    }

    fn remove_due(
        self,
        snapshot: &Snapshot,
        key: &[u8],
        now: Timestamp,
        known: &mut KnownKeys,
    ) -> Result<Change, Error> {
        let due = tables::expiry_of_key(key).ok_or(Error::Internal(Fault::BadRecord))?;
        let keys = self.known_keys(snapshot, due.tenant, known)?;
        let change = Change::new().delete(Table::Expiries, key.to_vec());
        let removal = match due.kind {
            ExpiryKind::ClientKey => {
                self.expire::<ClientKey>(snapshot, keys, ClientKeyId::new(due.id), now)?
            }
            ExpiryKind::ReactorResult => {
                self.expire::<ReactorResult>(snapshot, keys, ReactorRequestId::new(due.id), now)?
            }
            ExpiryKind::Session => {
                self.expire::<Session>(snapshot, keys, AccessSessionId::new(due.id), now)?
            }
            ExpiryKind::ThreedsSession => {
                let id = SessionId::new(due.id);
                self.expire::<threeds::session::ThreedsSession>(snapshot, keys, id, now)?
            }
            ExpiryKind::ThreedsWait => Some(self.vault.threeds().end_wait(
                snapshot,
                keys,
                due.tenant,
                SessionId::new(due.id),
            )?),
            ExpiryKind::Token => self.remove_token(snapshot, due, now, keys)?,
            ExpiryKind::TokenIntent => {
                self.expire::<TokenIntent>(snapshot, keys, TokenIntentId::new(due.id), now)?
            }
        };
        Ok(removal.unwrap_or_default().and(change))
    }

    fn known_keys<'k>(
        self,
        snapshot: &Snapshot,
        tenant: TenantId,
        known: &'k mut KnownKeys,
    ) -> Result<&'k TenantKeys, Error> {
        Ok(match known.entry(tenant) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(self.vault.keys().tenant_keys(snapshot, tenant)?),
        })
    }

    /// An outdated expiry entry does not remove the token.
    fn remove_token(
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
        if found.token.is_live(now) {
            return Ok(Some(change));
        }
        let audit = self.vault.audit().acts(due.tenant, &[expired(&found.token, now)]);
        Ok(Some(change.and(rows::delete(&found.token, keys)).and(audit)))
    }

    /// An outdated expiry entry removes nothing.
    fn expire<R: Record<Id: Into<Entity>>>(
        self,
        snapshot: &Snapshot,
        keys: &TenantKeys,
        id: R::Id,
        now: Timestamp,
    ) -> Result<Option<Change>, Error> {
        let Some((record, version)) = records::find::<R>(snapshot, keys, id)? else {
            return Ok(None);
        };
        if record.is_live(now) {
            return Ok(Some(records::expect(&record, version)));
        }
        let audit = self.vault.audit().entry(keys.tenant(), SYSTEM, Act::Expire, id.into(), now);
        Ok(Some(records::remove(keys, &record, version).and(audit)))
    }

    /// Removes a code whose minute has passed. A code that no longer belongs to its record is
    /// removed without an audit entry, because the record does not change.
    fn remove_code(
        self,
        snapshot: &Snapshot,
        key: &[u8],
        now: Timestamp,
        known: &mut KnownKeys,
    ) -> Result<Change, Error> {
        let code = tables::cvc_of_key(key).ok_or(Error::Internal(Fault::BadRecord))?;
        let CvcEntry { tenant, id } = code;
        let keys = self.known_keys(snapshot, tenant, known)?;
        let removal = Change::new().delete(Table::Cvcs, key.to_vec());
        let audit =
            |entity: Entity| self.vault.audit().entry(tenant, SYSTEM, Act::ExpireCvc, entity, now);
        if let Some(found) = rows::find_by_id(snapshot, keys, tenant, TokenId::new(id))? {
            let record = tables::tokens(tenant, found.token.id);
            let removal = removal.expect_version(Table::Tokens, record, found.version);
            if rows::cvc_key(&found.token).is_none_or(|own| own != key) {
                return Ok(removal);
            }
            let audit = audit(Entity::token(&found.token));
            let record =
                self.vault.token_rows().forget_token_cvc(found.token, keys, CodeEnd::Expired)?;
            return Ok(removal.and(record).and(audit));
        }
        let found = records::find::<TokenIntent>(snapshot, keys, TokenIntentId::new(id))?;
        let Some((intent, version)) = found else { return Ok(removal) };
        let is_own = |it: &records::Entry| it.table == Table::Cvcs && it.key == key;
        if !intent.entries(keys).iter().any(is_own) {
            return Ok(removal.and(records::expect(&intent, version)));
        }
        let audit = audit(intent.id.into());
        let record =
            self.vault.token_rows().forget_intent_cvc(intent, version, keys, CodeEnd::Expired)?;
        Ok(removal.and(record).and(audit))
    }
}

/// As long as the answer is there, its finder leads to it and not to the answer of a later request.
fn remove_answer(key: &[u8]) -> Change {
    let change = Change::new()
        .expect_present(Table::IdempotencyAnswers, key.to_vec())
        .delete(Table::IdempotencyAnswers, key.to_vec());
    match tables::finder_of_answer(key) {
        Some((finder, _)) => change.delete(Table::Idempotency, finder.to_vec()),
        None => change,
    }
}
