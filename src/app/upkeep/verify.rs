//! `strongroom verify`: walks the whole file. It checks that every record opens and has its index
//! entries, that every index entry belongs to a record, that idempotency keys find their answers,
//! that the counts agree, and that the records match the audit chain and its digests.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use uuid::Uuid;

use crate::app::access::applications::open_application;
use crate::app::access::authenticate::open_api_key;
use crate::app::commit::idempotency;
use crate::app::error::Error;
use crate::app::tokens::{intents, rows};
use crate::app::upkeep::verify_sealed::{verify_pairs, verify_sealed, verify_unsealed};
use crate::app::vault::Vault;
use crate::bounds::{APPLICATIONS_MAX, VERIFY_FINDINGS_MAX};
use crate::crypto::{Phase, SealingKey, SystemKeys, TenantKeys};
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::metrics::Progress;
use crate::store::record::decode_api_key;
use crate::store::tables::{self, CountKind, KeyRange};
use crate::store::{Snapshot, Table};

/// Checks every record and index entry of the vault.
#[derive(Debug, Clone, Copy)]
pub struct Verification<'a> {
    pub(in crate::app) vault: &'a Vault,
}

impl Vault {
    pub const fn verification(&self) -> Verification<'_> {
        Verification { vault: self }
    }
}

/// The result of the walk. Findings name tables and ids, never values.
#[derive(Debug, Default)]
pub struct Report {
    pub tenants: u64,
    pub applications: u64,
    pub keys: u64,
    pub tokens: u64,
    pub token_intents: u64,
    pub threeds_sessions: u64,
    pub index_entries: u64,
    /// Remembered answers to requests with idempotency keys.
    pub answers: u64,
    pub audit_entries: u64,
    /// Card verification codes whose keys exist.
    pub cvcs: u64,
    /// Card verification codes whose keys were destroyed. The sweep has yet to remove them.
    pub cvcs_gone: u64,
    /// Tenants whose deletion is under way. Their remaining rows are not checked.
    pub deletions: u64,
    pub findings: Vec<String>,
    /// Findings beyond the listed ones.
    pub more: u64,
}

impl Report {
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    pub(in crate::app) fn find(&mut self, finding: String) {
        if self.findings.len() < VERIFY_FINDINGS_MAX {
            self.findings.push(finding);
        } else {
            self.more = self.more.saturating_add(1);
        }
    }
}

impl Verification<'_> {
    #[cfg(test)]
    pub fn verify(self) -> Result<Report, Error> {
        self.verify_counted(&Arc::default())
    }

    /// Checks everything, and counts the rows that it reads.
    pub fn verify_counted(self, progress: &Arc<Progress>) -> Result<Report, Error> {
        let snapshot = self.vault.snapshot()?.counted(progress);
        let deletions = count(&snapshot, &tables::meta::deletions())?;
        let mut report = Report { deletions, ..Report::default() };
        let mut listed = HashSet::new();
        let mut owned = OwnedEntries {
            keys: count(&snapshot, &tables::keys_of(&SystemKeys::SCOPE))?,
            counts: count(&snapshot, &tables::counts_of(&SystemKeys::SCOPE))?,
        };
        for (key, _) in snapshot.first(&Table::Tenants.whole(), usize::MAX)? {
            report.tenants = report.tenants.saturating_add(1);
            let Some(tenant) = tables::tenant_of_key(&key) else {
                report.find(String::from("tenants: a key is no id"));
                continue;
            };
            if unless_damaged(self.vault.access().find_tenant(&snapshot, tenant))?.is_none() {
                report.find(format!("tenant {tenant}: its record does not open"));
            }
            let scope = tenant.bytes();
            owned.keys = owned.keys.saturating_add(count(&snapshot, &tables::keys_of(scope))?);
            owned.counts =
                owned.counts.saturating_add(count(&snapshot, &tables::counts_of(scope))?);
            if let Some(keys) = unless_damaged(self.vault.keys().tenant_keys(&snapshot, tenant))? {
                let found = self.verify_applications(&snapshot, tenant, &keys, &mut report)?;
                listed.extend(found);
                self.verify_tokens(&snapshot, tenant, &keys, &mut report)?;
                self.verify_intents(&snapshot, tenant, &keys, &mut report)?;
                verify_sealed(&snapshot, tenant, &keys, &mut report)?;
            } else {
                report.find(format!("tenant {tenant}: its keys do not open"));
            }
        }
        self.verify_answers(&snapshot, &mut report)?;
        self.vault.threeds().verify_sessions(&snapshot, &mut report)?;
        self.verify_usable_keys(&snapshot, &listed, &mut report)?;
        self.vault.audit().verify(&snapshot, &listed, &mut report)?;
        self.vault.card_ranges().verify(&snapshot, &mut report)?;
        verify_unsealed(self.vault, &snapshot, &mut report)?;
        // A deletion removes rows in batches, so sums do not agree before its end. The digests of
        // the records agree all the time.
        if report.deletions == 0 {
            verify_pairs(&snapshot, &mut report)?;
            verify_sums(&snapshot, &owned, &mut report)?;
        }
        Ok(report)
    }

    /// Returns the ids of the listed API keys.
    fn verify_applications(
        self,
        snapshot: &Snapshot,
        tenant: TenantId,
        keys: &TenantKeys,
        report: &mut Report,
    ) -> Result<Vec<Uuid>, Error> {
        let mut listed = Vec::new();
        for (key, sealed) in snapshot.first(&tables::applications_of(tenant), APPLICATIONS_MAX)? {
            report.applications = report.applications.saturating_add(1);
            if open_application(keys, tenant, &key, &sealed).is_err() {
                report.find(format!("tenant {tenant}: an application does not open"));
            }
        }
        for entry in snapshot.range(&tables::application_keys_of_tenant(tenant))? {
            let (key, sealed) = entry?;
            report.keys = report.keys.saturating_add(1);
            let plain = keys.open(Table::ApplicationKeys.number(), &key, &sealed).ok();
            let record = plain.and_then(|plain| decode_api_key(plain.expose()).ok());
            let Some(record) = record else {
                report.find(format!("tenant {tenant}: an API key does not open"));
                continue;
            };
            listed.push(record.key.id.uuid());
            let by_tag =
                unless_damaged(self.vault.access().key_record(snapshot, &record.tag))?.flatten();
            if by_tag.is_none_or(|found| found.key.id != record.key.id) {
                report.find(format!("key {}: it is listed but cannot be used", record.key.id));
            }
            let owner = tables::applications(tenant, record.key.application);
            if snapshot.value(Table::Applications, &owner)?.is_none() {
                report.find(format!("key {}: its application is missing", record.key.id));
            }
        }
        Ok(listed)
    }

    /// A usable key must be in the list of its application, because only listed keys can be
    /// deleted.
    fn verify_usable_keys(
        self,
        snapshot: &Snapshot,
        listed: &HashSet<Uuid>,
        report: &mut Report,
    ) -> Result<(), Error> {
        let system = self.vault.keys().system();
        for entry in snapshot.range(&Table::ApiKeys.whole())? {
            let (place, sealed) = entry?;
            let record = tables::api_key_of_key(&place)
                .and_then(|place| open_api_key(&system, place, &sealed).ok());
            let Some(record) = record else {
                report.find(String::from("API keys: one does not open"));
                continue;
            };
            let is_deleted = self.vault.store.is_closed(record.key.tenant.bytes());
            if !is_deleted && !listed.contains(&record.key.id.uuid()) {
                report.find(format!("key {}: it can be used but is not listed", record.key.id));
            }
        }
        Ok(())
    }

    fn verify_intents(
        self,
        snapshot: &Snapshot,
        tenant: TenantId,
        keys: &TenantKeys,
        report: &mut Report,
    ) -> Result<(), Error> {
        let mut count: u64 = 0;
        for entry in snapshot.range(&tables::token_intents_of(tenant))? {
            let (key, _) = entry?;
            count = count.saturating_add(1);
            let Some((_, id)) = tables::token_intent_of_key(&key) else {
                report.find(format!("tenant {tenant}: the key of a token intent is no id"));
                continue;
            };
            let Ok(Some((intent, _))) = intents::find_by_id(snapshot, keys, tenant, id) else {
                report.find(format!("token intent {id}: its record does not open"));
                continue;
            };
            report.index_entries = report.index_entries.saturating_add(1);
            if snapshot.value(Table::Expiries, &intents::due(&intent))?.is_none() {
                report.find(format!("token intent {id}: an entry of due is missing"));
            }
            if let Some(place) = intents::cvc_key(&intent) {
                self.verify_cvc(snapshot, &place, (tenant, id.uuid()), report)?;
            }
        }
        report.token_intents = report.token_intents.saturating_add(count);
        let counted = snapshot.count(&tables::counts(tenant, CountKind::TokenIntents))?;
        if i64::try_from(count) != Ok(counted) {
            report.find(format!("tenant {tenant}: {count} token intents, but {counted} counted"));
        }
        Ok(())
    }

    /// A code without its key counts as gone: destroying the key is the deletion of the code.
    fn verify_cvc(
        self,
        snapshot: &Snapshot,
        place: &[u8],
        (tenant, id): (TenantId, Uuid),
        report: &mut Report,
    ) -> Result<(), Error> {
        let Some(value) = snapshot.value(Table::Cvcs, place)? else {
            report.find(format!("{id}: its card verification code is missing"));
            return Ok(());
        };
        let (identity, now) = (tables::cvc_identity(tenant, id), Timestamp::from_micros(0));
        match self.vault.cvcs().open(tenant, &identity, &value, now) {
            Ok(Some(_)) => report.cvcs = report.cvcs.saturating_add(1),
            Ok(None) => report.cvcs_gone = report.cvcs_gone.saturating_add(1),
            Err(_) => report.find(format!("{id}: its card verification code does not open")),
        }
        Ok(())
    }

    /// Each answer must open and be found by its idempotency key. A key that finds no answer shows in
    /// the sums.
    fn verify_answers(self, snapshot: &Snapshot, report: &mut Report) -> Result<(), Error> {
        let mut known: HashMap<[u8; 16], Option<TenantKeys>> = HashMap::new();
        for entry in snapshot.range(&Table::IdempotencyAnswers.whole())? {
            let (key, sealed) = entry?;
            report.answers = report.answers.saturating_add(1);
            let Some(scope) = Table::IdempotencyAnswers.owner_of_key(&key) else {
                report.find(String::from("remembered answers: a key makes no sense"));
                continue;
            };
            if self.vault.store.is_closed(&scope) {
                continue;
            }
            let tenant = tables::tenant_of_scope(&scope);
            let keys = match known.entry(scope) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    entry.insert(unless_damaged(self.vault.keys().tenant_keys(snapshot, tenant))?)
                }
            };
            let opened = keys.as_ref().map(|keys| idempotency::open_answer(keys, &key, &sealed));
            if opened.is_none_or(|opened| opened.is_err()) {
                report.find(format!("tenant {tenant}: a remembered answer does not open"));
            }
            if !idempotency::is_found(snapshot, &key)? {
                report.find(format!("tenant {tenant}: a remembered answer is not found"));
            }
        }
        Ok(())
    }

    fn verify_tokens(
        self,
        snapshot: &Snapshot,
        tenant: TenantId,
        keys: &TenantKeys,
        report: &mut Report,
    ) -> Result<(), Error> {
        let mut count: u64 = 0;
        for entry in snapshot.range(&tables::tokens_of(tenant))? {
            let (key, sealed) = entry?;
            count = count.saturating_add(1);
            let Some((owner, id)) = tables::token_of_key(&key) else {
                report.find(format!("tenant {tenant}: the key of a token is no id"));
                continue;
            };
            let Ok(found) = rows::open(keys, owner, id, &sealed) else {
                report.find(format!("token {id}: its record does not open"));
                continue;
            };
            let entries = rows::entries(&found.token, keys.index());
            let others = rows::entries_under_other_keys(&found.token, keys);
            let places: Vec<_> = entries.keys().chain(&others).cloned().collect();
            let mut stored = snapshot.values_at(&places)?.into_iter();
            for (((table, _), value), stored) in entries.iter().zip(&mut stored) {
                report.index_entries = report.index_entries.saturating_add(1);
                if stored.as_ref() != Some(value) {
                    report.find(format!("token {id}: an entry of {} is missing", table.name()));
                }
            }
            // During a rotation, a record under the new key has its entries under both keys.
            let both = SealingKey::number_of(&sealed) == Some(keys.number())
                && matches!(keys.phase(), Phase::Both | Phase::Flipped);
            for ((table, _), stored) in others.iter().zip(stored) {
                if stored.is_some() {
                    report.index_entries = report.index_entries.saturating_add(1);
                } else if both {
                    report.find(format!("token {id}: a new entry of {} is missing", table.name()));
                }
            }
            if let Some(place) = rows::cvc_key(&found.token) {
                self.verify_cvc(snapshot, &place, (tenant, id.uuid()), report)?;
            }
            if let Some(name) = &found.token.name {
                report.index_entries = report.index_entries.saturating_add(1);
                let by_name = unless_damaged(rows::find(snapshot, keys, tenant, name.as_str()))?;
                if by_name.flatten().is_none_or(|it| it.token.id != id) {
                    report.find(format!("token {id}: its predefined id does not lead to it"));
                }
            }
        }
        report.tokens = report.tokens.saturating_add(count);
        let counted = snapshot.count(&tables::counts(tenant, CountKind::Tokens))?;
        if i64::try_from(count) != Ok(counted) {
            report.find(format!("tenant {tenant}: {count} tokens, but {counted} counted"));
        }
        Ok(())
    }
}

/// The numbers of cryptographic keys and of counts in all scopes.
struct OwnedEntries {
    keys: u64,
    counts: u64,
}

fn count(snapshot: &Snapshot, range: &KeyRange) -> Result<u64, Error> {
    let mut count: u64 = 0;
    for row in snapshot.range(range)? {
        row?;
        count = count.saturating_add(1);
    }
    Ok(count)
}

/// `None` for a record that does not open or decode. A failure to read the disk is an error, not a
/// finding.
pub(super) fn unless_damaged<T>(read: Result<T, Error>) -> Result<Option<T>, Error> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(Error::Internal(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Compares the number of rows with the number that the walk has found. The walk counts the index
/// entries of every record, so a table with more entries has some without a record.
fn verify_sums(
    snapshot: &Snapshot,
    owned: &OwnedEntries,
    report: &mut Report,
) -> Result<(), Error> {
    let mut entries: u64 = 0;
    for table in [Table::TokenLists, Table::TokenNames, Table::Expiries] {
        entries = entries.saturating_add(snapshot.len(table)?);
    }
    let sums = [
        ("index entries", report.index_entries, entries),
        ("tokens", report.tokens, snapshot.len(Table::Tokens)?),
        ("token intents", report.token_intents, snapshot.len(Table::TokenIntents)?),
        ("3DS sessions", report.threeds_sessions, snapshot.len(Table::ThreedsSessions)?),
        (
            "card verification codes",
            report.cvcs.saturating_add(report.cvcs_gone),
            snapshot.len(Table::Cvcs)?,
        ),
        ("applications", report.applications, snapshot.len(Table::Applications)?),
        ("idempotency keys", report.answers, snapshot.len(Table::Idempotency)?),
        ("API keys", report.keys, snapshot.len(Table::ApiKeys)?),
        ("counts", owned.counts, snapshot.len(Table::Counts)?),
        ("cryptographic keys", owned.keys, snapshot.len(Table::Keys)?),
        ("listed API keys", report.keys, snapshot.len(Table::ApplicationKeys)?),
    ];
    for (what, expected, found) in sums {
        if found != expected {
            report.find(format!("{found} {what} in the file, but {expected} belong to something"));
        }
    }
    Ok(())
}
