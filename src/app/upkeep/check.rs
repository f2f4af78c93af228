//! The checks of rows, which `verify` and the scrub share. Every record must open and have its
//! entries, and every entry must belong to a record. An entry of a record that does not open is not
//! reported, because the record itself is.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use uuid::Uuid;

use crate::app::Vault;
use crate::app::access::authenticate::open_api_key;
use crate::app::commit::idempotency;
use crate::app::damage::DamagedRow;
use crate::app::error::{Error, Fault};
use crate::app::records::{self, Record};
use crate::crypto::{Identity, Phase, SealingKey, SystemKeys, TenantKeys};
use crate::domain::application::Application;
use crate::domain::client_key::ClientKey;
use crate::domain::id::{
    AccessSessionId, ClientKeyId, ReactorRequestId, SessionId, TenantId, TokenId, TokenIntentId,
};
use crate::domain::proxy::Proxy;
use crate::domain::reactor::{Reactor, ReactorResult};
use crate::domain::session::Session;
use crate::domain::time::Timestamp;
use crate::domain::token::Token;
use crate::domain::token_intent::TokenIntent;
use crate::domain::webhook::Webhook;
use crate::store::record::{KeyRecord, decode_event};
use crate::store::tables::{CvcEntry, ExpiryKind, ListKey};
use crate::store::{Row, Shard, Snapshot, Table, tables};
use crate::threeds;

const NO_ENTRY: &str = "an entry of a record is missing or has another value";
const NO_RECORD: &str = "an index entry leads to no record";
const STRANGE: &str = "an index entry is not its record's";
const MISPLACED: &str = "the key of a row makes no sense";

const NOBODY: TenantId = TenantId::new(Uuid::nil());

/// Checks rows of one snapshot.
pub(super) struct Check<'a> {
    vault: &'a Vault,
    snapshot: Snapshot,
    /// `None` for a tenant whose keys do not open, or whose deletion is under way.
    keys: HashMap<TenantId, Option<Arc<TenantKeys>>>,
    found: Vec<DamagedRow>,
    pub(super) tally: Tally,
}

/// Counts of the checked rows.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) rows: BTreeMap<Table, u64>,
    /// The entries that the records should have.
    pub(super) entries: BTreeMap<Table, u64>,
    /// By the key in [`Table::Counts`]: the counted rows that the check found.
    pub(super) counts: BTreeMap<Vec<u8>, i64>,
    pub(super) api_keys: HashSet<Uuid>,
    /// Card verification codes whose keys exist.
    pub(super) cvcs: u64,
}

/// The record that an entry leads to.
#[derive(Debug, Clone, Copy)]
enum Target {
    Missing,
    /// The record has the entry, or is damaged.
    Sound,
    /// The record does not have the entry.
    Strange,
}

/// The tables whose rows are checked one by one, records before the entries that lead to them. The
/// audit chain has its own check. The rows of [`Table::Meta`] are read at the start, and processes
/// rewrite theirs all the time.
pub(in crate::app) fn checked_tables() -> impl Iterator<Item = Table> {
    let others = [Table::Audit, Table::AuditCheckpoints, Table::Meta, Table::Processes];
    Table::ALL.iter().rev().copied().filter(move |table| !others.contains(table))
}

impl<'a> Check<'a> {
    pub(super) fn new(vault: &'a Vault, snapshot: Snapshot) -> Self {
        let (keys, found, tally) = (HashMap::new(), Vec::new(), Tally::default());
        Self { vault, snapshot, keys, found, tally }
    }

    /// Returns the damage.
    pub(super) fn row(&mut self, table: Table, row: &Row) -> Result<Vec<DamagedRow>, Error> {
        add(&mut self.tally.rows, table);
        match table {
            Table::ApiKeys => self.api_key(row)?,
            Table::ApplicationKeys => self.application_key(row)?,
            Table::Applications => drop(self.record::<Application>(row)?),
            Table::ClientKeys => drop(self.record::<ClientKey>(row)?),
            Table::Counts => self.count(row)?,
            Table::Cvcs => self.code(row)?,
            Table::Expiries => self.due(row)?,
            Table::Idempotency => self.finder(row)?,
            Table::IdempotencyAnswers => self.answer(row)?,
            Table::KeyUses => self.key_use(row)?,
            Table::Keys => self.key(row)?,
            Table::Proxies => drop(self.record::<Proxy>(row)?),
            Table::ProxyKeys => match tables::proxy_of_key(&row.1) {
                Some((tenant, id)) => self.leads::<Proxy>(table, row, tenant, id)?,
                None => self.misplaced(table),
            },
            Table::ReactorResults => {
                self.record::<ReactorResult>(row)?;
            }
            Table::Reactors => drop(self.record::<Reactor>(row)?),
            Table::SessionKeys => match tables::session_of_place(&row.1) {
                Some((tenant, id)) => self.leads::<Session>(table, row, tenant, id)?,
                None => self.misplaced(table),
            },
            Table::Sessions => drop(self.record::<Session>(row)?),
            Table::Tenants => self.tenant(row)?,
            Table::ThreedsRanges => self.ranges(row)?,
            Table::ThreedsSessions => drop(self.record::<threeds::session::ThreedsSession>(row)?),
            Table::TokenIntents => drop(self.record::<TokenIntent>(row)?),
            Table::TokenLists => match tables::list_key(&row.0) {
                Some(ListKey { tenant, token, .. }) => {
                    self.leads::<Token>(table, row, tenant, token)?;
                }
                None => self.misplaced(table),
            },
            Table::TokenNames => self.name(row)?,
            Table::Tokens => drop(self.record::<Token>(row)?),
            Table::WebhookDeliveries => self.event(row)?,
            Table::WebhookSchedule => self.scheduled(row)?,
            Table::Webhooks => drop(self.record::<Webhook>(row)?),
            Table::Audit | Table::AuditCheckpoints | Table::Meta | Table::Processes => (),
        }
        Ok(std::mem::take(&mut self.found))
    }

    /// Checks that every key of card verification codes opens.
    pub(super) fn code_keys(&self) -> Option<DamagedRow> {
        let why = "a key of card verification codes is damaged";
        let row = DamagedRow { table: Table::Cvcs, tenant: Uuid::nil(), id: Uuid::nil(), why };
        (self.vault.cvcs().damaged_keys() > 0).then_some(row)
    }

    fn find(&mut self, table: Table, tenant: TenantId, id: Uuid, why: &'static str) {
        self.found.push(DamagedRow { table, tenant: tenant.uuid(), id, why });
    }

    fn misplaced(&mut self, table: Table) {
        self.find(table, NOBODY, Uuid::nil(), MISPLACED);
    }

    fn placed<T>(&mut self, table: Table, found: Option<T>) -> Option<T> {
        if found.is_none() {
            self.misplaced(table);
        }
        found
    }

    /// `None` if the value is damaged. A failure of the disk is not damage.
    fn sound<T>(
        &mut self,
        table: Table,
        tenant: TenantId,
        id: Uuid,
        read: Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(Error::Internal(fault)) => {
                self.find(table, tenant, id, fault.name());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn keys(&mut self, tenant: TenantId) -> Result<Option<Arc<TenantKeys>>, Error> {
        if let Some(known) = self.keys.get(&tenant) {
            return Ok(known.clone());
        }
        let keys = match self.vault.keys().tenant_keys(&self.snapshot, tenant) {
            Ok(keys) => Some(Arc::new(keys)),
            Err(Error::Internal(_)) => {
                self.find(Table::Keys, tenant, tenant.uuid(), "the keys of a tenant do not open");
                None
            }
            // The tenant is being deleted.
            Err(Error::Unauthenticated) => None,
            Err(error) => return Err(error),
        };
        if keys.is_some()
            && self.snapshot.value(Table::Tenants, &tables::tenants(tenant))?.is_none()
        {
            self.find(Table::Tenants, tenant, tenant.uuid(), "rows belong to a missing tenant");
        }
        self.keys.insert(tenant, keys.clone());
        Ok(keys)
    }

    /// A record must open and have its entries.
    fn record<R: Record>(&mut self, row: &Row) -> Result<Option<R>, Error> {
        let table = R::TABLE;
        let Some((tenant, id)) = self.placed(table, R::id_of(&row.0)) else { return Ok(None) };
        let Some(keys) = self.keys(tenant)? else { return Ok(None) };
        if let Some(kind) = R::COUNT {
            self.counted(tables::counts(tenant, kind));
        }
        let (opened, id) = (R::open(&keys, tenant, id, &row.1), table.id_of_key(&row.0));
        let Some((record, _)) = self.sound(table, tenant, id, opened)? else { return Ok(None) };
        if let Some(kind) = record.also_counted() {
            self.counted(tables::counts(tenant, kind));
        }
        let (entries, others) = (record.entries(&keys), record.other_entries(&keys));
        let places: Vec<_> =
            entries.iter().map(|it| (it.table, it.key.clone())).chain(others.clone()).collect();
        let mut stored = self.snapshot.values_at(&places)?.into_iter();
        for (entry, stored) in entries.iter().zip(&mut stored) {
            add(&mut self.tally.entries, entry.table);
            if stored.is_none() || (entry.value.is_some() && entry.value != stored) {
                self.find(entry.table, tenant, id, NO_ENTRY);
            }
        }
        // During a rotation, a record under the new key has its entries under both keys.
        let both = SealingKey::number_of(&row.1) == Some(keys.number())
            && matches!(keys.phase(), Phase::Both | Phase::Flipped);
        for ((table, _), stored) in others.iter().zip(stored) {
            if stored.is_some() {
                add(&mut self.tally.entries, *table);
            } else if both {
                self.find(*table, tenant, id, "an entry under the new key is missing");
            }
        }
        Ok(Some(record))
    }

    fn target<R: Record>(
        &self,
        table: Table,
        (key, value): &Row,
        keys: &TenantKeys,
        id: R::Id,
    ) -> Result<Target, Error> {
        let record = match records::find::<R>(&self.snapshot, keys, id) {
            Ok(Some((record, _))) => record,
            Ok(None) => return Ok(Target::Missing),
            Err(Error::Internal(_)) => return Ok(Target::Sound),
            Err(error) => return Err(error),
        };
        let is_own = record.entries(keys).iter().any(|own| {
            (own.table, &own.key) == (table, key) && own.value.as_ref().is_none_or(|it| it == value)
        });
        let is_other = || record.other_entries(keys).contains(&(table, key.clone()));
        Ok(if is_own || is_other() { Target::Sound } else { Target::Strange })
    }

    fn leads<R: Record>(
        &mut self,
        table: Table,
        row: &Row,
        tenant: TenantId,
        id: R::Id,
    ) -> Result<(), Error> {
        let Some(keys) = self.keys(tenant)? else { return Ok(()) };
        let target = self.target::<R>(table, row, &keys, id)?;
        let id = R::TABLE.id_of_key(&R::place(tenant, id));
        self.judge(target, table, tenant, id);
        Ok(())
    }

    fn judge(&mut self, target: Target, table: Table, tenant: TenantId, id: Uuid) {
        match target {
            Target::Missing => self.find(table, tenant, id, NO_RECORD),
            Target::Sound => (),
            Target::Strange => self.find(table, tenant, id, STRANGE),
        }
    }

    fn counted(&mut self, key: Vec<u8>) {
        let count = self.tally.counts.entry(key).or_default();
        *count = count.saturating_add(1);
    }

    fn tenant(&mut self, (key, _): &Row) -> Result<(), Error> {
        let Some(tenant) = self.placed(Table::Tenants, tables::tenant_of_key(key)) else {
            return Ok(());
        };
        let read = self.vault.access().find_tenant(&self.snapshot, tenant);
        self.sound(Table::Tenants, tenant, tenant.uuid(), read)?;
        self.keys(tenant).map(drop)
    }

    /// A key must belong to the server or to a tenant whose keys all open.
    fn key(&mut self, (key, _): &Row) -> Result<(), Error> {
        match tables::scope_of_keys_key(key).filter(|_| tables::key_parts(key).is_some()) {
            Some(&SystemKeys::SCOPE) => (),
            Some(scope) => drop(self.keys(tables::tenant_of_scope(scope))?),
            None => self.misplaced(Table::Keys),
        }
        Ok(())
    }

    /// A count must have a known kind and tenant. `verify` compares the numbers.
    fn count(&mut self, (key, _): &Row) -> Result<(), Error> {
        let is_known = tables::count_of_key(key).is_some()
            || tables::code_end_of_key(key).is_some()
            || tables::digest_of_key(key).is_some()
            || tables::webhook_of_count_key(key).is_some()
            || tables::seal_count_of_key(key).is_some()
            || tables::shard_of_count(key).is_some();
        match Table::Counts.scope_in_key(key).filter(|_| is_known) {
            Some(SystemKeys::SCOPE) => (),
            Some(scope) => drop(self.keys(tables::tenant_of_scope(&scope))?),
            None => self.misplaced(Table::Counts),
        }
        Ok(())
    }

    /// A listed API key must be usable and have its application.
    fn application_key(&mut self, row: &Row) -> Result<(), Error> {
        let Some(record) = self.record::<KeyRecord>(row)? else { return Ok(()) };
        let (tenant, id) = (record.key.tenant, record.key.id.uuid());
        self.tally.api_keys.insert(id);
        add(&mut self.tally.entries, Table::ApiKeys);
        let found = self.vault.access().key_record(&self.snapshot, &record.tag);
        let usable = self.sound(Table::ApiKeys, tenant, id, found)?;
        if usable.is_some_and(|it| it.is_none_or(|it| it.key.id != record.key.id)) {
            self.find(Table::ApiKeys, tenant, id, "an API key is listed but cannot be used");
        }
        let owner = tables::applications(tenant, record.key.application);
        if self.snapshot.value(Table::Applications, &owner)?.is_none() {
            self.find(Table::Applications, tenant, id, "the application of an API key is missing");
        }
        Ok(())
    }

    /// A usable key must be in the list of its application, because only listed keys can be
    /// deleted.
    fn api_key(&mut self, (key, sealed): &Row) -> Result<(), Error> {
        let Some(place) = self.placed(Table::ApiKeys, tables::api_key_of_key(key)) else {
            return Ok(());
        };
        let read = open_api_key(&self.vault.keys().system(), place, sealed);
        let record = self.sound(Table::ApiKeys, NOBODY, Uuid::nil(), read)?;
        let Some(KeyRecord { key, .. }) = record else { return Ok(()) };
        let listed = tables::application_keys(key.tenant, key.application, key.id);
        if self.keys(key.tenant)?.is_some()
            && self.snapshot.value(Table::ApplicationKeys, &listed)?.is_none()
        {
            let why = "an API key can be used but is not listed";
            self.find(Table::ApplicationKeys, key.tenant, key.id.uuid(), why);
        }
        Ok(())
    }

    /// The last use must belong to an API key.
    fn key_use(&mut self, (key, value): &Row) -> Result<(), Error> {
        let Some((tenant, (_, id))) =
            self.placed(Table::KeyUses, tables::application_key_of_key(key))
        else {
            return Ok(());
        };
        if tables::minute_of_value(value).is_none() {
            self.find(Table::KeyUses, tenant, id.uuid(), "the last use of an API key is no time");
        }
        if self.snapshot.value(Table::ApplicationKeys, key)?.is_none() {
            self.find(Table::KeyUses, tenant, id.uuid(), NO_RECORD);
        }
        Ok(())
    }

    /// The first part of a scheme's card ranges says how many parts there are.
    fn ranges(&mut self, (key, sealed): &Row) -> Result<(), Error> {
        let table = Table::ThreedsRanges;
        let Some((scheme, part)) = self.placed(table, tables::part_of_ranges_key(key)) else {
            return Ok(());
        };
        let read = if part == 0 {
            self.vault.card_ranges().read(&self.snapshot, scheme).map(drop)
        } else {
            let identity = Identity { tenant: &SystemKeys::SCOPE, table: table.number(), key };
            self.vault.keys().system().open(&identity, sealed).map(drop).map_err(Error::from)
        };
        self.sound(table, NOBODY, Uuid::nil(), read).map(drop)
    }

    /// A remembered answer must open, and the row under its idempotency key must find it.
    fn answer(&mut self, (key, sealed): &Row) -> Result<(), Error> {
        let table = Table::IdempotencyAnswers;
        let Some(tenant) = self.owner(table, key) else { return Ok(()) };
        let Some(keys) = self.keys(tenant)? else { return Ok(()) };
        add(&mut self.tally.entries, Table::Idempotency);
        let read = idempotency::open_answer(&keys, key, sealed);
        self.sound(table, tenant, Uuid::nil(), read)?;
        if !idempotency::is_found(&self.snapshot, key)? {
            let why = "an answer is not found by its idempotency key";
            self.find(Table::Idempotency, tenant, Uuid::nil(), why);
        }
        Ok(())
    }

    /// The tenant in the key of a row that a tenant seals.
    fn owner(&mut self, table: Table, key: &[u8]) -> Option<TenantId> {
        let owner = table.owner_of_key(key).map(|scope| tables::tenant_of_scope(&scope));
        self.placed(table, owner)
    }

    /// A row under an idempotency key must find an answer.
    fn finder(&mut self, (key, time): &Row) -> Result<(), Error> {
        let Some(answer) = self.placed(Table::Idempotency, tables::answer_of_finder(key, time))
        else {
            return Ok(());
        };
        if self.snapshot.value(Table::IdempotencyAnswers, &answer)?.is_none() {
            let scope = Table::Idempotency.scope_in_key(key).unwrap_or_default();
            let tenant = tables::tenant_of_scope(&scope);
            self.find(Table::Idempotency, tenant, Uuid::nil(), NO_RECORD);
        }
        Ok(())
    }

    fn event(&mut self, (key, sealed): &Row) -> Result<(), Error> {
        let table = Table::WebhookDeliveries;
        let Some(tenant) = self.owner(table, key) else { return Ok(()) };
        let Some(keys) = self.keys(tenant)? else { return Ok(()) };
        add(&mut self.tally.entries, Table::WebhookSchedule);
        let plain = keys.open(table.number(), key, sealed).map_err(Error::from);
        let read = plain.and_then(|plain| Ok(decode_event(plain.expose())?));
        self.sound(table, tenant, table.id_of_key(key), read).map(drop)
    }

    /// A row of the schedule must have its event. There are as many rows as events, so no event
    /// waits for ever without a place in the schedule.
    fn scheduled(&mut self, (key, value): &Row) -> Result<(), Error> {
        self.counted(tables::all_webhook_counts(Shard::VAULT));
        let table = Table::WebhookSchedule;
        let scheduled =
            tables::scheduled_of_key(key).filter(|_| tables::attempts_of_value(value).is_some());
        let Some((_, delivery)) = self.placed(table, scheduled) else { return Ok(()) };
        self.counted(tables::webhook_counts(delivery.tenant, delivery.webhook));
        let event = self.snapshot.value(Table::WebhookDeliveries, &delivery.delivery_key())?;
        if event.is_none() {
            self.find(table, delivery.tenant, delivery.event.uuid(), NO_RECORD);
        }
        Ok(())
    }

    fn name(&mut self, row: &Row) -> Result<(), Error> {
        let table = Table::TokenNames;
        let Some(tenant) = self.owner(table, &row.0) else { return Ok(()) };
        let Some(keys) = self.keys(tenant)? else { return Ok(()) };
        let opened = keys.open(table.number(), &row.0, &row.1).map_err(Error::from);
        let id = opened.and_then(|plain| {
            Uuid::from_slice(plain.expose()).ok().ok_or(Error::Internal(Fault::BadRecord))
        });
        match self.sound(table, tenant, Uuid::nil(), id)? {
            Some(id) => self.leads::<Token>(table, row, tenant, TokenId::new(id)),
            None => Ok(()),
        }
    }

    fn due(&mut self, row: &Row) -> Result<(), Error> {
        let table = Table::Expiries;
        let Some(due) = self.placed(table, tables::expiry_of_key(&row.0)) else { return Ok(()) };
        let (tenant, id) = (due.tenant, due.id);
        match due.kind {
            ExpiryKind::ClientKey => {
                self.leads::<ClientKey>(table, row, tenant, ClientKeyId::new(id))
            }
            ExpiryKind::ReactorResult => {
                self.leads::<ReactorResult>(table, row, tenant, ReactorRequestId::new(id))
            }
            ExpiryKind::Session => {
                self.leads::<Session>(table, row, tenant, AccessSessionId::new(id))
            }
            ExpiryKind::ThreedsSession | ExpiryKind::ThreedsWait => {
                let id = SessionId::new(id);
                self.leads::<threeds::session::ThreedsSession>(table, row, tenant, id)
            }
            ExpiryKind::Token => self.leads::<Token>(table, row, tenant, TokenId::new(id)),
            ExpiryKind::TokenIntent => {
                self.leads::<TokenIntent>(table, row, tenant, TokenIntentId::new(id))
            }
        }
    }

    /// A code must belong to a token or an intent whose record has its expiry, and must open. A
    /// code without its key counts as gone: destroying the key deletes the code.
    fn code(&mut self, row: &Row) -> Result<(), Error> {
        let table = Table::Cvcs;
        let Some(CvcEntry { tenant, id }) = self.placed(table, tables::cvc_of_key(&row.0)) else {
            return Ok(());
        };
        let Some(keys) = self.keys(tenant)? else { return Ok(()) };
        let target = match self.target::<Token>(table, row, &keys, TokenId::new(id))? {
            Target::Missing => {
                self.target::<TokenIntent>(table, row, &keys, TokenIntentId::new(id))?
            }
            found @ (Target::Sound | Target::Strange) => found,
        };
        self.judge(target, table, tenant, id);
        let (identity, now) = (tables::cvc_identity(tenant, id), Timestamp::from_micros(0));
        let opened = self.vault.cvcs().open(tenant, &identity, &row.1, now);
        if self.sound(table, tenant, id, opened)?.flatten().is_some() {
            self.tally.cvcs = self.tally.cvcs.saturating_add(1);
        }
        Ok(())
    }
}

fn add(counts: &mut BTreeMap<Table, u64>, table: Table) {
    let count = counts.entry(table).or_default();
    *count = count.saturating_add(1);
}
