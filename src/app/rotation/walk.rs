//! The walk over all rows that a scope has sealed, in batches. Each row is sealed again under the
//! newest key, unless a concurrent change has written the row meanwhile.

use std::collections::BTreeSet;

use crate::app::KeyRotation;
use crate::app::access::authenticate::{api_key_identity, open_api_key};
use crate::app::error::{Error, Fault};
use crate::app::keys::facts::Rotation;
use crate::app::rotation::Step;
use crate::app::tokens::rows;
use crate::bounds::{BATCH_BYTES_MAX, REENCRYPT_BATCH_MAX, REENCRYPT_LOOKS_MAX};
use crate::crypto::{Identity, Phase, SealingKey, SystemKeys, TenantKeys, version};
use crate::store::record::encode_api_key;
use crate::store::tables::SealedBy;
use crate::store::{Change, Row, Snapshot, Table, Verdict, tables};

/// The progress of the walk, in memory only: after a restart the walk starts over and skips the
/// rows that are done.
#[derive(Debug, Default)]
pub struct Walk {
    of: Option<([u8; 16], Phase)>,
    /// The number of finished tables.
    done: usize,
    from: Vec<u8>,
    /// Rows that do not open under their own key.
    unopened: u64,
}

struct Stretch {
    rows: Vec<Row>,
    looked_at: usize,
    /// The next batch starts at this key; `None` at the end of the table.
    next: Option<Vec<u8>>,
}

/// The number of rows that a rotation examines.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) records: u64,
    /// Tokens whose entries under the old index key are removed. The server's scope has none.
    pub(super) tokens: u64,
}

/// The tables whose rows a scope seals. Tokens come before token names: resealing a token also
/// writes the rows of its names.
fn tables_of(scope: &[u8; 16]) -> impl Iterator<Item = Table> {
    let owner = if *scope == SystemKeys::SCOPE { SealedBy::Server } else { SealedBy::Tenant };
    Table::ALL.iter().rev().copied().filter(move |table| table.sealed_by() == owner)
}

pub(super) fn count(snapshot: &Snapshot, scope: &[u8; 16]) -> Result<Work, Error> {
    let mut work = Work::default();
    for table in tables_of(scope) {
        let mut rows: u64 = 0;
        for entry in snapshot.range(&table.rows_of(scope))? {
            entry?;
            rows = rows.saturating_add(1);
        }
        work.records = work.records.saturating_add(rows);
        if table == Table::Tokens {
            work.tokens = rows;
        }
    }
    Ok(work)
}

impl Walk {
    pub(super) fn scope(&self) -> Option<[u8; 16]> {
        self.of.map(|(scope, _)| scope)
    }

    /// True if the walk has not entered this scope and phase; it then starts over.
    pub(super) fn is_new_to(&self, rotation: &Rotation) -> bool {
        self.of != Some((rotation.scope, rotation.phase))
    }

    pub(super) fn enter(&mut self, rotation: &Rotation) {
        let same_scope = self.of.is_some_and(|(scope, _)| scope == rotation.scope);
        let unopened = if same_scope { self.unopened } else { 0 };
        *self = Self { of: Some((rotation.scope, rotation.phase)), unopened, ..Self::default() };
    }

    pub(super) const fn unopened(&self) -> u64 {
        self.unopened
    }

    fn go_on(&mut self, next: Option<Vec<u8>>) {
        if next.is_none() {
            self.done = self.done.saturating_add(1);
        }
        self.from = next.unwrap_or_default();
    }
}

impl KeyRotation<'_> {
    /// `None` when all tables are done.
    pub(super) async fn reseal_some(
        self,
        rotation: &Rotation,
        walk: &mut Walk,
    ) -> Result<Option<Step>, Error> {
        let Some(table) = tables_of(&rotation.scope).nth(walk.done) else { return Ok(None) };
        let snapshot = self.vault.snapshot()?;
        let tenant = tables::tenant_of_scope(&rotation.scope);
        let keys = match rotation.scope {
            SystemKeys::SCOPE => None,
            _ => Some(self.vault.keys().tenant_keys(&snapshot, tenant)?),
        };
        let number =
            keys.as_ref().map_or_else(|| self.vault.keys().system().number(), TenantKeys::number);
        let is_old = |row: &Row| SealingKey::number_of(&row.1) != Some(number);
        let stretch = stretch(&snapshot, table, &rotation.scope, &walk.from, is_old)?;
        let mut changes = Vec::with_capacity(stretch.rows.len());
        for (key, sealed) in &stretch.rows {
            let resealed = match &keys {
                None if table == Table::ApiKeys => self.move_api_key(key, sealed),
                None => self.reseal_of_server(table, key, sealed),
                Some(keys) if table == Table::Tokens => self.reseal_token(keys, key, sealed),
                Some(keys) => self.reseal_of_tenant(keys, table, key, sealed),
            };
            match resealed {
                Ok(change) => changes.push(change),
                // A row that does not open stays as it is, under the old key.
                Err(error) => {
                    self.vault.damage.pass_over(table, tenant, table.id_of_key(key), error)?;
                    walk.unopened = walk.unopened.saturating_add(1);
                }
            }
        }
        drop(snapshot);
        let written = changes.len();
        self.commit_each(changes).await?;
        walk.go_on(stretch.next);
        Ok(Some(Step::Walked { looked_at: stretch.looked_at, written }))
    }

    /// Removes a batch of entries under the old index key. `None` when all tokens were examined.
    pub(super) async fn clear_some(
        self,
        rotation: &Rotation,
        walk: &mut Walk,
    ) -> Result<Option<Step>, Error> {
        if walk.done > 0 {
            return Ok(None);
        }
        let snapshot = self.vault.snapshot()?;
        let tenant = tables::tenant_of_scope(&rotation.scope);
        let keys = self.vault.keys().tenant_keys(&snapshot, tenant)?;
        let stretch = stretch(&snapshot, Table::Tokens, &rotation.scope, &walk.from, |_| true)?;
        let (mut places, mut tokens) = (Vec::new(), Vec::new());
        for (at, (key, sealed)) in stretch.rows.iter().enumerate() {
            let id = tables::token_of_key(key).map(|(_, id)| id);
            let found = id.and_then(|id| rows::open(&keys, tenant, id, sealed.clone()).ok());
            let Some(found) = found else { continue };
            let old = rows::entries_under_other_keys(&found.token, &keys);
            tokens.extend(old.iter().map(|_| at));
            places.extend(old);
        }
        let present = snapshot.values_at(&places)?;
        drop(snapshot);
        let (mut change, mut written) = (Change::new(), BTreeSet::new());
        for (((table, key), value), token) in places.into_iter().zip(present).zip(tokens) {
            // In this phase no request writes entries under the old key, so no expectation is
            // needed.
            if value.is_some() {
                change = change.delete(table, key);
                written.insert(token);
            }
        }
        let written = written.len();
        self.vault.store.commit(change.by(self.by)).await?;
        walk.go_on(stretch.next);
        Ok(Some(Step::Walked { looked_at: stretch.looked_at, written }))
    }

    /// Commits the changes together, or one by one if that is refused. A change that is then
    /// refused needs no retry: a concurrent change has written its row under the newest key. Large
    /// changes are committed in several groups.
    async fn commit_each(self, mut changes: Vec<Change>) -> Result<(), Error> {
        while !changes.is_empty() {
            let mut bytes: usize = 0;
            let fits = |change: &&Change| {
                let has_room = bytes < BATCH_BYTES_MAX;
                bytes = bytes.saturating_add(change.bytes());
                has_room
            };
            let count = changes.iter().take_while(fits).count();
            let rest = changes.split_off(count);
            self.commit_group(std::mem::replace(&mut changes, rest)).await?;
        }
        Ok(())
    }

    async fn commit_group(self, changes: Vec<Change>) -> Result<(), Error> {
        let all = changes.iter().cloned().fold(Change::new(), Change::and);
        if self.vault.store.commit(all.by(self.by)).await? != Verdict::Applied {
            for change in changes {
                self.vault.store.commit(change.by(self.by)).await?;
            }
        }
        Ok(())
    }

    fn reseal_token(self, keys: &TenantKeys, key: &[u8], sealed: &[u8]) -> Result<Change, Error> {
        let (tenant, id) = tables::token_of_key(key).ok_or(Error::Internal(Fault::BadRecord))?;
        let found = rows::open(keys, tenant, id, sealed.to_vec())?;
        let change = Change::new().expect_version(Table::Tokens, key.to_vec(), found.version);
        Ok(change.and(self.vault.token_rows().reseal(&found.token, keys)?))
    }

    fn reseal_of_tenant(
        self,
        keys: &TenantKeys,
        table: Table,
        key: &[u8],
        sealed: &[u8],
    ) -> Result<Change, Error> {
        let plain = keys.open(table.number(), key, sealed)?;
        let again = keys.seal(table.number(), key, plain.expose(), self.vault.random());
        replaced(table, key, sealed, again)
    }

    /// Seals the row of an API key again, under the row key that the newest index key derives.
    fn move_api_key(self, key: &[u8], sealed: &[u8]) -> Result<Change, Error> {
        let bad = || Error::Internal(Fault::BadRecord);
        let (system, place) =
            (self.vault.keys().system(), tables::api_key_of_key(key).ok_or_else(bad)?);
        let record = open_api_key(&system, place, sealed)?;
        let new = system.api_keys().newest_place(&record.tag);
        let plain = encode_api_key(&record)?;
        let again = system.seal(&api_key_identity(&new), plain.expose(), self.vault.random());
        let version = version(sealed).ok_or_else(bad)?;
        let change = Change::new().expect_version(Table::ApiKeys, key.to_vec(), version);
        Ok(change.delete(Table::ApiKeys, key.to_vec()).put(
            Table::ApiKeys,
            tables::api_keys(&new),
            again,
        ))
    }

    fn reseal_of_server(self, table: Table, key: &[u8], sealed: &[u8]) -> Result<Change, Error> {
        let identity = Identity { tenant: &SystemKeys::SCOPE, table: table.number(), key };
        let system = self.vault.keys().system();
        let plain = system.open(&identity, sealed)?;
        let again = system.seal(&identity, plain.expose(), self.vault.random());
        replaced(table, key, sealed, again)
    }
}

fn replaced(table: Table, key: &[u8], old: &[u8], new: Vec<u8>) -> Result<Change, Error> {
    let version = version(old).ok_or(Error::Internal(Fault::BadRecord))?;
    let change = Change::new().expect_version(table, key.to_vec(), version);
    Ok(change.put(table, key.to_vec(), new))
}

/// Both the examined and the returned rows are bounded.
fn stretch(
    snapshot: &Snapshot,
    table: Table,
    scope: &[u8; 16],
    from: &[u8],
    wanted: impl Fn(&Row) -> bool,
) -> Result<Stretch, Error> {
    let range = table.rows_of(scope).starting_at(from);
    let (mut rows, mut looked_at) = (Vec::new(), 0_usize);
    for entry in snapshot.range(&range)? {
        let row = entry?;
        if rows.len() == REENCRYPT_BATCH_MAX || looked_at == REENCRYPT_LOOKS_MAX {
            return Ok(Stretch { rows, looked_at, next: Some(row.0) });
        }
        looked_at = looked_at.saturating_add(1);
        if table.owner_of_key(&row.0) == Some(*scope) && wanted(&row) {
            rows.push(row);
        }
    }
    Ok(Stretch { rows, looked_at, next: None })
}
