//! Reads for the console that no published operation offers: a tenant's API keys with their last
//! uses, and its record counts against their limits. All of them stay in the caller's tenant.

use std::collections::HashMap;

use crate::app::Vault;
use crate::app::caller::Caller;
use crate::app::error::{Error, Fault};
use crate::app::records;
use crate::bounds::{
    APPLICATIONS_MAX, CLIENT_KEYS_MAX, PROXIES_MAX, REACTORS_MAX, SESSIONS_MAX,
    WEBHOOK_PENDING_TENANT_MAX, WEBHOOK_QUEUES_MAX, WEBHOOKS_MAX,
};
use crate::domain::application::Application;
use crate::domain::application::{ApiKey, ApplicationKind};
use crate::domain::id::ApplicationId;
use crate::domain::time::Timestamp;
use crate::store::record::KeyRecord;
use crate::store::tables::{self, CountKind, KeyRange};
use crate::store::{Snapshot, Table};

#[derive(Debug, Clone, Copy)]
pub struct Console<'a> {
    vault: &'a Vault,
    caller: &'a Caller,
}

/// An API key with the type of its application.
#[derive(Debug)]
pub struct KeyOverview {
    pub key: ApiKey,
    pub kind: ApplicationKind,
    /// Identifies the key where its requests are counted.
    pub tag: [u8; 32],
    /// The start of the minute in which it was last used.
    pub last_used_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TenantCount {
    pub name: &'static str,
    pub used: u64,
    /// `None` if there is no limit.
    pub limit: Option<u64>,
}

impl<'a> Console<'a> {
    pub const fn new(vault: &'a Vault, caller: &'a Caller) -> Self {
        Self { vault, caller }
    }

    /// All API keys of the tenant, by application and age.
    pub async fn keys(self) -> Result<Vec<KeyOverview>, Error> {
        self.vault.console_walks.run(self.caller.party(), || self.walk_keys()).await?
    }

    fn walk_keys(self) -> Result<Vec<KeyOverview>, Error> {
        let (tenant, keys) = (self.caller.tenant.id, &self.caller.keys);
        let last_uses = self.vault.access().last_uses(tenant)?;
        let snapshot = self.vault.snapshot()?;
        let kinds = self.kinds(&snapshot)?;
        let mut found = Vec::new();
        for record in
            self.vault.sound_records(keys, records::rows_of::<KeyRecord>(&snapshot, keys)?)
        {
            let KeyRecord { key, tag, .. } = record?;
            let Some(kind) = kinds.get(&key.application).copied() else {
                let (table, id) = (Table::ApplicationKeys, key.id.uuid());
                self.vault.damage.note_fault(table, tenant, id, Fault::Dangling);
                continue;
            };
            let last_used_at = last_uses.get(&key.id).copied();
            found.push(KeyOverview { key, kind, tag, last_used_at });
        }
        Ok(found)
    }

    fn kinds(self, snapshot: &Snapshot) -> Result<HashMap<ApplicationId, ApplicationKind>, Error> {
        let rows = records::rows_of::<Application>(snapshot, &self.caller.keys)?;
        let kind = |it: Result<Application, Error>| it.map(|it| (it.id, it.kind));
        self.vault.sound_records(&self.caller.keys, rows.take(APPLICATIONS_MAX)).map(kind).collect()
    }

    /// Kinds without a counter have few records, which are walked.
    pub async fn counts(self) -> Result<Vec<TenantCount>, Error> {
        self.vault.console_walks.run(self.caller.party(), || self.walk_counts()).await?
    }

    fn walk_counts(self) -> Result<Vec<TenantCount>, Error> {
        let (snapshot, tenant) = (self.vault.snapshot()?, self.caller.tenant.id);
        let counted = |kind| -> Result<u64, Error> {
            Ok(u64::try_from(snapshot.count(&tables::counts(tenant, kind))?).unwrap_or(0))
        };
        let (tokens, intents) = (counted(CountKind::Tokens)?, counted(CountKind::TokenIntents)?);
        let both = tokens.saturating_add(intents);
        let waiting = snapshot.sum(&tables::webhook_counts_of(tenant), WEBHOOK_QUEUES_MAX)?;
        let waiting = u64::try_from(waiting.unwrap_or(0)).unwrap_or(0);
        let rows = |range: KeyRange| rows(&snapshot, &range);
        let at_most = |limit: usize| u64::try_from(limit).ok();
        let pending_max = u64::try_from(WEBHOOK_PENDING_TENANT_MAX).ok();
        let count = |name, used, limit| TenantCount { name, used, limit };
        Ok(vec![
            count("tokens_and_token_intents", both, self.caller.tenant.quotas.token_limit),
            count("tokens", tokens, None),
            count("token_intents", intents, None),
            count("sessions", counted(CountKind::Sessions)?, at_most(SESSIONS_MAX)),
            count(
                "applications",
                rows(tables::applications_of(tenant))?,
                at_most(APPLICATIONS_MAX),
            ),
            count("keys", rows(tables::application_keys_of_tenant(tenant))?, None),
            count("client_keys", rows(tables::client_keys_of(tenant))?, at_most(CLIENT_KEYS_MAX)),
            count("proxies", rows(tables::proxies_of(tenant))?, at_most(PROXIES_MAX)),
            count("reactors", rows(tables::reactors_of(tenant))?, at_most(REACTORS_MAX)),
            count("webhooks", rows(tables::webhooks_of(tenant))?, at_most(WEBHOOKS_MAX)),
            count("waiting_webhook_events", waiting, pending_max),
        ])
    }
}

fn rows(snapshot: &Snapshot, range: &KeyRange) -> Result<u64, Error> {
    let mut count: u64 = 0;
    for row in snapshot.range(range)? {
        row?;
        count = count.saturating_add(1);
    }
    Ok(count)
}
