//! `strongroom key list`: every key with its age, its uses, and the number of values under it. All
//! values are counted one by one in a single snapshot, by the key numbers that the file holds in
//! clear. Memory grows with the number of keys.
//!
//! Counting reads the whole file. [`KeyRing::ages`] lists ages and states without it.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use crate::app::KeyRing;
use crate::app::access::authenticate::open_api_key;
use crate::app::error::{Error, Fault};
use crate::app::keys::facts;
use crate::app::keys::facts::{KeyFacts, Rotation};
use crate::app::rotation::audit::count_entries as count_rows;
use crate::app::tokens::rows;
use crate::crypto::{IndexKey, KeyPurpose, Phase, SealingKey, SystemKeys, TenantKeys};
use crate::domain::hex;
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::store::tables::SealedBy;
use crate::store::{Row, Snapshot, Table, meta, tables};

/// Nothing in it is secret.
#[derive(Debug)]
pub struct KeyInventory {
    pub master: MasterEntry,
    /// By scope, the server first; then by purpose and number.
    pub keys: Vec<ListedKey>,
    pub rotations: Vec<ListedRotation>,
    /// Sealed records that name no listed key; 0 if they were not counted.
    pub unaccounted_records: u64,
    pub counted_at: Timestamp,
}

#[derive(Debug)]
pub struct ListedRotation {
    /// `None` for the server's keys.
    pub tenant: Option<TenantId>,
    pub phase: Phase,
    pub started_at: Timestamp,
}

#[derive(Debug)]
pub struct MasterEntry {
    /// Identifies the key without revealing it.
    pub check: String,
    /// `None` if the key was made before the file recorded this time.
    pub made_at: Option<Timestamp>,
}

#[derive(Debug)]
pub struct ListedKey {
    /// `None` for the server's keys.
    pub tenant: Option<TenantId>,
    /// `None` for a purpose code that this program does not use.
    pub purpose: Option<KeyPurpose>,
    pub number: u32,
    pub state: KeyState,
    pub made_at: Option<Timestamp>,
    pub destroyed_at: Option<Timestamp>,
    /// The number of values that the key has sealed. Too low if a process was ever killed. `None`
    /// for keys that seal no records.
    pub uses: Option<u64>,
    /// Values sealed under the key; `None` if it seals none or they were not counted.
    pub records: Option<u64>,
    /// Index entries made with this key that no newer key has; `None` if it makes none or they were
    /// not counted.
    pub index_entries: Option<u64>,
    /// Index entries made with this key that the newest key has too. During a rotation every new
    /// token gets both; they are removed at its end.
    pub doubled_entries: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    Current,
    Destroyed,
    /// The server's first index key, when there is a newer one. It makes the tags of API keys, so
    /// it is never destroyed.
    Lasting,
    /// There is a newer key.
    Retiring,
}

impl KeyState {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Destroyed => "destroyed",
            Self::Lasting => "lasting",
            Self::Retiring => "retiring",
        }
    }
}

impl ListedKey {
    pub fn age(&self, now: Timestamp) -> Option<Duration> {
        self.made_at.map(|at| now.since(at))
    }
}

/// The number of tokens whose entries are read at once.
const COUNTED_TOGETHER: usize = 64;

/// Counts of records, by scope and by the number of the sealing key.
type Records = HashMap<[u8; 16], HashMap<u32, u64>>;

impl KeyRing<'_> {
    /// With counts, which requires reading the whole file.
    pub async fn inventory(self) -> Result<KeyInventory, Error> {
        self.vault.rotation().write_uses().await?;
        self.vault.operator_walks.run(|| self.count_everything()).await?
    }

    fn count_everything(self) -> Result<KeyInventory, Error> {
        let (snapshot, now) = (self.vault.snapshot()?, self.vault.now());
        let mut counted = HashMap::new();
        let mut records = count_records(&snapshot, None)?;
        for scope in scopes(&snapshot)? {
            let records = records.remove(&scope).unwrap_or_default();
            counted.insert(scope, self.count_entries(&snapshot, &scope, records)?);
        }
        let mut inventory = inventory(&snapshot, &counted, now)?;
        // Records of a scope that is neither the server nor a tenant.
        let strays = records.values().flat_map(HashMap::values);
        inventory.unaccounted_records =
            strays.fold(inventory.unaccounted_records, |sum, it| sum.saturating_add(*it));
        Ok(inventory)
    }

    /// Without counts, which is fast.
    pub fn ages(self) -> Result<KeyInventory, Error> {
        inventory(&self.vault.snapshot()?, &HashMap::new(), self.vault.now())
    }

    pub(super) async fn count_scope(
        self,
        snapshot: &Snapshot,
        scope: &[u8; 16],
    ) -> Result<KeyCounts, Error> {
        let count = || {
            let records = count_records(snapshot, Some(scope))?.remove(scope);
            self.count_entries(snapshot, scope, records.unwrap_or_default())
        };
        self.vault.operator_walks.run(count).await?
    }

    /// Index entries do not name their key.
    fn count_entries(
        self,
        snapshot: &Snapshot,
        scope: &[u8; 16],
        records: HashMap<u32, u64>,
    ) -> Result<KeyCounts, Error> {
        let mut counted = KeyCounts { records, ..KeyCounts::default() };
        if *scope == SystemKeys::SCOPE {
            let system = self.system();
            for entry in snapshot.range(&Table::ApiKeys.whole())? {
                let (key, sealed) = entry?;
                let record = tables::api_key_of_key(&key)
                    .and_then(|place| open_api_key(&system, place, &sealed).ok());
                let newer = record.and_then(|it| {
                    system.api_keys().places(&it.tag).position(|place| place.as_slice() == key)
                });
                match newer {
                    Some(newer) => counted.add(newer, 1),
                    None => counted.unplaced = counted.unplaced.saturating_add(1),
                }
            }
            counted.audit_rows = count_rows(snapshot)?.into_iter().collect();
            return Ok(counted);
        }
        self.count_token_entries(snapshot, tables::tenant_of_scope(scope), &mut counted)?;
        Ok(counted)
    }

    /// If the tenant has more than one index key, opens every token, and counts its entries under
    /// the newest key and under the key that a rotation replaces.
    fn count_token_entries(
        self,
        snapshot: &Snapshot,
        tenant: TenantId,
        counted: &mut KeyCounts,
    ) -> Result<(), Error> {
        let mut all: u64 = 0;
        for range in [tables::blinded_token_lists_of(tenant), tables::token_names_of(tenant)] {
            for entry in snapshot.range(&range)? {
                entry?;
                all = all.saturating_add(1);
            }
        }
        let purpose = KeyPurpose::Index.code();
        let index = snapshot.first(&tables::keys_of_purpose(tenant.bytes(), purpose), 2)?;
        if index.len() < 2 {
            counted.add(0, all);
            return Ok(());
        }
        let keys = self.tenant_keys(snapshot, tenant)?;
        let mut placed: u64 = 0;
        let mut tokens = snapshot.range(&tables::tokens_of(tenant))?;
        loop {
            let some: Vec<_> = tokens.by_ref().take(COUNTED_TOGETHER).collect::<Result<_, _>>()?;
            if some.is_empty() {
                break;
            }
            let found = count_entries_of(snapshot, tenant, &keys, &some, counted)?;
            placed = placed.saturating_add(found);
        }
        counted.unplaced = all.saturating_sub(placed);
        Ok(())
    }
}

/// Reads the entries of some tokens at once. Returns the number of all.
fn count_entries_of(
    snapshot: &Snapshot,
    tenant: TenantId,
    keys: &TenantKeys,
    tokens: &[Row],
    counted: &mut KeyCounts,
) -> Result<u64, Error> {
    let (mut places, mut shares) = (Vec::new(), Vec::new());
    for (key, sealed) in tokens {
        let id = tables::token_of_key(key).map(|(_, id)| id);
        let found = id.and_then(|id| rows::open(keys, tenant, id, sealed.clone()).ok());
        let Some(found) = found else { continue };
        let under = |index: Option<&IndexKey>| {
            index.map(|index| rows::entries_under(&found.token, index)).unwrap_or_default()
        };
        let (new, old) = (under(keys.newest_index()), under(keys.replaced_index()));
        shares.push((new.len(), old.len()));
        places.extend(new.into_iter().chain(old));
    }
    let mut present = snapshot.values_at(&places)?.into_iter().map(|it| u64::from(it.is_some()));
    let mut total: u64 = 0;
    for (new, old) in shares {
        let mut present = |count| present.by_ref().take(count).fold(0_u64, u64::saturating_add);
        let (new, old) = (present(new), present(old));
        // All entries of a token under one key are written at once.
        let doubled = old.min(new);
        counted.add(0, new);
        counted.add(1, old.saturating_sub(doubled));
        counted.doubled = counted.doubled.saturating_add(doubled);
        total = total.saturating_add(new).saturating_add(old);
    }
    Ok(total)
}

fn inventory(
    snapshot: &Snapshot,
    counted: &HashMap<[u8; 16], KeyCounts>,
    counted_at: Timestamp,
) -> Result<KeyInventory, Error> {
    let check = meta::master_check(snapshot)?.unwrap_or_default();
    let made_at = facts::master_made(snapshot)?;
    let (mut keys, mut unaccounted_records) = (Vec::new(), 0_u64);
    for scope in scopes(snapshot)?.into_iter().chain(deleted_scopes(snapshot)?) {
        let counted = counted.get(&scope);
        let listed = list_scope(snapshot, &scope, counted)?;
        let alive = listed.iter().filter(|key| key.state != KeyState::Destroyed);
        let numbers: Vec<_> = alive
            .filter(|key| key.purpose == Some(KeyPurpose::Seal))
            .map(|key| key.number)
            .collect();
        let outside = counted.map_or(0, |counted| counted.records_outside(&numbers));
        unaccounted_records = unaccounted_records.saturating_add(outside);
        keys.extend(listed);
    }
    let master = MasterEntry { check: hex::encode(&check), made_at };
    let listed = |rotation: Rotation| ListedRotation {
        tenant: tenant_of(&rotation.scope),
        phase: rotation.phase,
        started_at: rotation.started_at,
    };
    let rotations = Rotation::all(snapshot)?.into_iter().map(listed).collect();
    Ok(KeyInventory { master, keys, rotations, unaccounted_records, counted_at })
}

/// The server first.
fn scopes(snapshot: &Snapshot) -> Result<Vec<[u8; 16]>, Error> {
    let mut scopes = vec![SystemKeys::SCOPE];
    for (key, _) in snapshot.first(&Table::Tenants.whole(), usize::MAX)? {
        let tenant = tables::tenant_of_key(&key).ok_or(Error::Internal(Fault::BadRecord))?;
        scopes.push(*tenant.bytes());
    }
    Ok(scopes)
}

/// Facts about the keys of deleted tenants stay in the file.
fn deleted_scopes(snapshot: &Snapshot) -> Result<BTreeSet<[u8; 16]>, Error> {
    let mut deleted = BTreeSet::new();
    for row in snapshot.range(&tables::meta::all_key_facts())? {
        let (key, _) = row?;
        let place = tables::meta::key_of_facts(&key);
        let scope = place.and_then(tables::scope_of_keys_key);
        deleted.insert(*scope.ok_or(Error::Internal(Fault::BadRecord))?);
    }
    for scope in scopes(snapshot)? {
        deleted.remove(&scope);
    }
    Ok(deleted)
}

fn list_scope(
    snapshot: &Snapshot,
    scope: &[u8; 16],
    counted: Option<&KeyCounts>,
) -> Result<Vec<ListedKey>, Error> {
    let stored = snapshot.first(&tables::keys_of(scope), usize::MAX)?;
    let alive: Vec<_> = stored.into_iter().map(|(place, _)| place).collect();
    let mut places = alive.clone();
    for (place, facts) in KeyFacts::under(snapshot, scope)? {
        if facts.destroyed_at.is_some() {
            places.push(place);
        }
    }
    places.sort_unstable();
    let newest_of = |code: u8| {
        let parts = alive.iter().filter_map(|place| tables::key_parts(place));
        parts.filter(|(own, _)| *own == code).map(|(_, number)| number).max().unwrap_or(0)
    };
    let index = KeyPurpose::Index.code();
    let is_index = |place: &&Vec<u8>| tables::key_parts(place).is_some_and(|(it, _)| it == index);
    let first_index = alive.iter().find(is_index);
    let mut keys = Vec::with_capacity(places.len());
    for place in &places {
        let Some((code, number)) = tables::key_parts(place) else { continue };
        let facts = KeyFacts::of(snapshot, place)?;
        let purpose = KeyPurpose::from_code(code);
        let state = match alive.contains(place) {
            false => KeyState::Destroyed,
            true if number == newest_of(code) => KeyState::Current,
            true if *scope == SystemKeys::SCOPE && Some(place) == first_index => KeyState::Lasting,
            true => KeyState::Retiring,
        };
        let counted = counted.filter(|_| state != KeyState::Destroyed);
        let is = |wanted| purpose == Some(wanted);
        let entries = counted.filter(|_| is(KeyPurpose::Index)).map(|it| {
            let numbers = alive.iter().filter_map(|place| tables::key_parts(place));
            it.entries_of(numbers.filter(|(own, other)| *own == code && *other > number).count())
        });
        let uses = snapshot.count(&tables::seal_counts(scope, number))?;
        keys.push(ListedKey {
            tenant: tenant_of(scope),
            purpose,
            number,
            state,
            made_at: facts.made_at,
            destroyed_at: facts.destroyed_at,
            uses: is(KeyPurpose::Seal).then(|| u64::try_from(uses).unwrap_or(0)),
            records: counted.and_then(|it| match purpose? {
                KeyPurpose::Audit => Some(it.audit_rows.get(&number).copied().unwrap_or(0)),
                KeyPurpose::Seal => Some(it.records(number)),
                KeyPurpose::Digest
                | KeyPurpose::Fingerprint
                | KeyPurpose::Index
                | KeyPurpose::Sign
                | KeyPurpose::Webhook => None,
            }),
            index_entries: entries.map(|it| it.0),
            doubled_entries: entries.map(|it| it.1),
        });
    }
    Ok(keys)
}

fn tenant_of(scope: &[u8; 16]) -> Option<TenantId> {
    (*scope != SystemKeys::SCOPE).then(|| tables::tenant_of_scope(scope))
}

/// Counts the sealed records of one scope, or of all scopes in one pass.
fn count_records(snapshot: &Snapshot, only: Option<&[u8; 16]>) -> Result<Records, Error> {
    let mut records = Records::new();
    for table in Table::ALL.iter().filter(|table| table.sealed_by() != SealedBy::Others) {
        let range = only.map_or_else(|| table.whole(), |scope| table.rows_of(scope));
        for entry in snapshot.range(&range)? {
            let (key, sealed) = entry?;
            if let Some(scope) = table.owner_of_key(&key)
                && only.is_none_or(|only| *only == scope)
            {
                let number = SealingKey::number_of(&sealed).unwrap_or(0);
                let count = records.entry(scope).or_default().entry(number).or_default();
                *count = count.saturating_add(1);
            }
        }
    }
    Ok(records)
}

/// The number of values under the keys of one scope.
#[derive(Debug, Default)]
pub(super) struct KeyCounts {
    /// Sealed records, by the number of the sealing key.
    pub(super) records: HashMap<u32, u64>,
    /// Rows of the audit chain, by the number of the sealing key. Only the server's scope has them.
    pub(super) audit_rows: HashMap<u32, u64>,
    /// Index entries by key, the newest key first, without those in `doubled`.
    pub(super) entries: Vec<u64>,
    /// Index entries under the key that a rotation replaces which the newest key has too.
    pub(super) doubled: u64,
    /// Index entries of records that do not open, so that their key cannot be determined.
    pub(super) unplaced: u64,
}

impl KeyCounts {
    pub(super) fn records(&self, number: u32) -> u64 {
        self.records.get(&number).copied().unwrap_or(0)
    }

    /// All index entries except those that only the newest key has.
    pub(super) fn older_entries(&self) -> u64 {
        let older = self.entries.iter().skip(1);
        older.fold(self.doubled.saturating_add(self.unplaced), |sum, it| sum.saturating_add(*it))
    }

    /// The entries of the key with this number of newer keys, and the doubled ones.
    pub(super) fn entries_of(&self, newer: usize) -> (u64, u64) {
        let own = self.entries.get(newer).copied().unwrap_or(0);
        match newer {
            0 => (own, 0),
            // An entry with an unknown key could be under any older key.
            1 => (own.saturating_add(self.unplaced), self.doubled),
            _ => (own.saturating_add(self.unplaced), 0),
        }
    }

    /// Records that are sealed under none of these keys.
    pub(super) fn records_outside(&self, numbers: &[u32]) -> u64 {
        let outside = self.records.iter().filter(|(number, _)| !numbers.contains(*number));
        outside.fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    pub(super) fn add(&mut self, newer: usize, count: u64) {
        if self.entries.len() <= newer {
            self.entries.resize(newer.saturating_add(1), 0);
        }
        if let Some(entries) = self.entries.get_mut(newer) {
            *entries = entries.saturating_add(count);
        }
    }
}
