//! The records of each tenant and the age of the oldest ones, for reports on retention.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::app::Upkeep;
use crate::app::access::applications::ApplicationQuery;
use crate::app::error::{Error, Fault};
use crate::app::records;
use crate::domain::application::{ApiKey, Application};
use crate::domain::id::{TenantId, assigned_at};
use crate::domain::proxy::Proxy;
use crate::domain::tenant::Tenant;
use crate::domain::time::Timestamp;
use crate::store::tables::{self, CodeEnd, CountKind, ExpiryKind, KeyRange};
use crate::store::{Snapshot, Table, meta};

#[derive(Debug)]
pub struct Holding {
    pub tenant: Tenant,
    pub tokens: u64,
    pub oldest_token: Option<Timestamp>,
    pub token_intents: u64,
    pub oldest_token_intent: Option<Timestamp>,
    pub applications: Vec<(Application, Vec<ApiKey>)>,
    /// The numbers of its card verification codes that ended in each way.
    pub code_ends: BTreeMap<CodeEnd, u64>,
    pub proxies: u64,
    /// Those that destroy the codes that a successful call used.
    pub destroying_proxies: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredCodes {
    pub count: u64,
    /// The end of the minute in which the last of them expires.
    pub last_ends_at: Timestamp,
}

impl Upkeep<'_> {
    /// By tenant. The quota of a tenant does not determine them: a code keeps the retention that
    /// was in force when it was stored. Reads all rows of codes.
    pub fn stored_codes(self) -> Result<BTreeMap<TenantId, StoredCodes>, Error> {
        let mut found: BTreeMap<TenantId, StoredCodes> = BTreeMap::new();
        for row in self.vault.snapshot()?.range(&Table::Cvcs.whole())? {
            let (key, _) = row?;
            let (code, ends_at) = tables::cvc_of_key(&key)
                .zip(tables::cvc_due_at(&key))
                .ok_or(Error::Internal(Fault::BadRecord))?;
            let codes =
                found.entry(code.tenant).or_insert(StoredCodes { count: 0, last_ends_at: ends_at });
            codes.count = codes.count.saturating_add(1);
            codes.last_ends_at = codes.last_ends_at.max(ends_at);
        }
        Ok(found)
    }

    /// Tokens with an expiry, by tenant. Reads all rows of expiries.
    pub fn expiring_tokens(self) -> Result<BTreeMap<TenantId, u64>, Error> {
        let mut found: BTreeMap<TenantId, u64> = BTreeMap::new();
        for row in self.vault.snapshot()?.range(&Table::Expiries.whole())? {
            let (key, _) = row?;
            let due = tables::expiry_of_key(&key).ok_or(Error::Internal(Fault::BadRecord))?;
            if due.kind == ExpiryKind::Token {
                let count = found.entry(due.tenant).or_insert(0);
                *count = count.saturating_add(1);
            }
        }
        Ok(found)
    }

    /// A restored vault has the id of its original.
    pub fn vault_id(self) -> Result<Option<Uuid>, Error> {
        Ok(meta::file_id(&self.vault.snapshot()?)?)
    }

    /// Ids are ordered by time, so the oldest record of a kind is the first one. This needs no
    /// scan.
    pub fn holdings(self) -> Result<Vec<Holding>, Error> {
        let mut holdings = Vec::new();
        for tenant in self.vault.access().list_tenants()? {
            let snapshot = self.vault.snapshot()?;
            let count = |counted| -> Result<u64, Error> {
                let count = snapshot.count(&tables::counts(tenant.id, counted))?;
                Ok(u64::try_from(count).unwrap_or(0))
            };
            let ended = |end| -> Result<(CodeEnd, u64), Error> {
                let count = snapshot.count(&tables::code_ends(tenant.id, end))?;
                Ok((end, u64::try_from(count).unwrap_or(0)))
            };
            let keys = self.vault.keys().tenant_keys(&snapshot, tenant.id)?;
            let (mut proxies, mut destroying_proxies) = (0_u64, 0_u64);
            let rows = records::rows_of::<Proxy>(&snapshot, &keys)?;
            for proxy in self.vault.sound_records::<Proxy>(&keys, rows) {
                let destroys = u64::from(proxy?.settings.destroy_cvc_after_use);
                proxies = proxies.saturating_add(1);
                destroying_proxies = destroying_proxies.saturating_add(destroys);
            }
            let everything = ApplicationQuery { take: usize::MAX, ..Default::default() };
            holdings.push(Holding {
                tokens: count(CountKind::Tokens)?,
                oldest_token: oldest(&snapshot, &tables::tokens_of(tenant.id))?,
                token_intents: count(CountKind::TokenIntents)?,
                oldest_token_intent: oldest(&snapshot, &tables::token_intents_of(tenant.id))?,
                applications: self
                    .vault
                    .access()
                    .list_applications(tenant.id, &everything)?
                    .applications,
                code_ends: CodeEnd::ALL.into_iter().map(ended).collect::<Result<_, _>>()?,
                proxies,
                destroying_proxies,
                tenant,
            });
        }
        Ok(holdings)
    }

    /// The due time of the oldest record that should be gone by now. It shows the lag of the sweep.
    pub fn oldest_due(self) -> Result<Option<Timestamp>, Error> {
        let (snapshot, now) = (self.vault.snapshot()?, self.vault.now());
        let first = |range: &KeyRange| -> Result<Option<Vec<u8>>, Error> {
            Ok(snapshot.first(range, 1)?.pop().map(|(key, _)| key))
        };
        let record = first(&tables::expiries_until(now))?;
        let code = first(&tables::cvcs_before(tables::cvc_minute(now)))?;
        let times = [
            record.and_then(|key| tables::expiry_time(&key)),
            code.and_then(|key| tables::cvc_due_at(&key)),
        ];
        Ok(times.into_iter().flatten().min())
    }

    pub fn oldest_threeds_session(self) -> Result<Option<Timestamp>, Error> {
        let first = self.vault.snapshot()?.first(&Table::ThreedsSessions.whole(), 1)?;
        let session = first.first().and_then(|(key, _)| tables::session_of_key(key));
        Ok(session.map(|(_, id)| assigned_at(id.uuid())))
    }
}

/// For tokens and token intents, whose ids are ordered by time.
fn oldest(snapshot: &Snapshot, range: &KeyRange) -> Result<Option<Timestamp>, Error> {
    let first = snapshot.first(range, 1)?;
    let key = first.first().and_then(|(key, _)| tables::token_of_key(key));
    Ok(key.map(|(_, id)| assigned_at(id.uuid())))
}
