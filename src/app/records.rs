//! The records that tenants seal. [`Record`] says in which table a record is, how it is read and
//! written, and which rows belong to it. Looking up, listing, creating, replacing and removing
//! records, and the checks of `verify` and the scrub, are generic over it.

use crate::app::Vault;
use crate::app::error::{Error, Fault};
use crate::app::tokens::rows;
use crate::crypto::{Sha256, TenantKeys, Version, version};
use crate::domain::application::Application;
use crate::domain::client_key::ClientKey;
use crate::domain::id::{
    AccessSessionId, ApplicationId, ClientKeyId, KeyId, ProxyId, ReactorId, ReactorRequestId,
    SessionId, TenantId, TokenId, TokenIntentId, WebhookId,
};
use crate::domain::proxy::{Proxy, ProxyKey};
use crate::domain::reactor::{Reactor, ReactorResult};
use crate::domain::session::Session;
use crate::domain::time::Timestamp;
use crate::domain::token::Token;
use crate::domain::token_intent::TokenIntent;
use crate::domain::webhook::Webhook;
use crate::secret::Secret;
use crate::store::record::{self, BadRecord, EncodeFailed, KeyRecord};
use crate::store::tables::{self, CodeEnd, CountKind, ExpiryKind, KeyRange};
use crate::store::{Change, Row, Snapshot, StorageFailure, Table};
use crate::threeds;

pub trait Record: Sized {
    type Id: Copy;
    const TABLE: Table;
    /// The record's name in the answer to an unknown id.
    const NAME: &'static str;
    /// The counter of the tenant's records, if they are counted.
    const COUNT: Option<CountKind> = None;

    /// A counter of some of these records only.
    fn also_counted(&self) -> Option<CountKind> {
        None
    }

    fn place(tenant: TenantId, id: Self::Id) -> Vec<u8>;
    fn id_of(place: &[u8]) -> Option<(TenantId, Self::Id)>;
    fn owner(&self) -> (TenantId, Self::Id);
    fn decode(tenant: TenantId, id: Self::Id, plain: &[u8]) -> Result<Self, BadRecord>;
    fn encode(&self) -> Result<Secret<Vec<u8>>, EncodeFailed>;

    /// The rows that find the record by another key, or at its expiry.
    fn entries(&self, _keys: &TenantKeys) -> Vec<Entry> {
        Vec::new()
    }

    /// Entries that a record may have during a rotation, under keys that look-ups do not use.
    fn other_entries(&self, _keys: &TenantKeys) -> Vec<(Table, Vec<u8>)> {
        Vec::new()
    }

    /// False for an expired record, which the sweep removes.
    fn is_live(&self, _now: Timestamp) -> bool {
        true
    }

    fn open(
        keys: &TenantKeys,
        tenant: TenantId,
        id: Self::Id,
        sealed: &[u8],
    ) -> Result<(Self, Version), Error> {
        let plain = keys.open(Self::TABLE.number(), &Self::place(tenant, id), sealed)?;
        let version = version(sealed).ok_or(Error::Internal(Fault::BadRecord))?;
        Ok((Self::decode(tenant, id, plain.expose())?, version))
    }
}

/// A row that belongs to a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub(in crate::app) table: Table,
    pub(in crate::app) key: Vec<u8>,
    /// `None` for a sealed value.
    pub(in crate::app) value: Option<Vec<u8>>,
}

impl Entry {
    fn due(at: Timestamp, kind: ExpiryKind, tenant: TenantId, id: uuid::Uuid) -> Self {
        let key = tables::expiries(at, kind, tenant, id);
        Self { table: Table::Expiries, key, value: Some(Vec::new()) }
    }

    const fn sealed(table: Table, key: Vec<u8>) -> Self {
        Self { table, key, value: None }
    }
}

/// Implements [`Record`] in one row, from functions of other modules.
macro_rules! record {
    (
        $name:literal $record:ty, $id:ty, $table:ident, ($place:path, $id_of:path),
        ($encode:path, $decode:path $(, $is_live:path)?) { $($more:tt)* }
    ) => {
        impl Record for $record {
            type Id = $id;
            const TABLE: Table = Table::$table;
            const NAME: &'static str = $name;

            fn place(tenant: TenantId, id: $id) -> Vec<u8> {
                $place(tenant, id)
            }

            fn id_of(place: &[u8]) -> Option<(TenantId, $id)> {
                $id_of(place)
            }

            fn owner(&self) -> (TenantId, $id) {
                (self.tenant, self.id)
            }

            fn decode(tenant: TenantId, id: $id, plain: &[u8]) -> Result<Self, BadRecord> {
                $decode(tenant, id, plain)
            }

            fn encode(&self) -> Result<Secret<Vec<u8>>, EncodeFailed> {
                $encode(self)
            }

            $(fn is_live(&self, now: Timestamp) -> bool {
                $is_live(self, now)
            })?

            $($more)*
        }
    };
}

record! {
    "application" Application, ApplicationId, Applications, (tables::applications, tables::application_of_key),
    (record::encode_application, record::decode_application) {}
}

record! {
    "key" ClientKey, ClientKeyId, ClientKeys, (tables::client_keys, tables::client_key_of_key),
    (record::encode_client_key, record::decode_client_key, ClientKey::is_live) {
        fn entries(&self, _keys: &TenantKeys) -> Vec<Entry> {
            vec![Entry::due(self.expires_at, ExpiryKind::ClientKey, self.tenant, self.id.uuid())]
        }
    }
}

record! {
    "proxy" Proxy, ProxyId, Proxies, (tables::proxies, tables::proxy_of_key),
    (record::encode_proxy, record::decode_proxy) {
        fn entries(&self, _keys: &TenantKeys) -> Vec<Entry> {
            let key = tables::proxy_keys(&proxy_key_hash(&self.key));
            let value = Some(tables::proxies(self.tenant, self.id));
            vec![Entry { table: Table::ProxyKeys, key, value }]
        }
    }
}

record! {
    "reactor" Reactor, ReactorId, Reactors, (tables::reactors, tables::reactor_of_key),
    (record::encode_reactor, record::decode_reactor) {}
}

record! {
    "result" ReactorResult, ReactorRequestId, ReactorResults,
    (tables::reactor_results, tables::reactor_result_of_key),
    (record::encode_reactor_result, record::decode_reactor_result, ReactorResult::is_live) {
        const COUNT: Option<CountKind> = Some(CountKind::ReactorResults);

        fn entries(&self, _keys: &TenantKeys) -> Vec<Entry> {
            let id = self.id.uuid();
            vec![Entry::due(self.expires_at, ExpiryKind::ReactorResult, self.tenant, id)]
        }

        fn also_counted(&self) -> Option<CountKind> {
            self.is_public.then_some(CountKind::PublicReactorResults)
        }
    }
}

record! {
    "session" Session, AccessSessionId, Sessions, (tables::sessions, tables::session_of_place),
    (record::encode_access_session, record::decode_access_session, Session::is_live) {
        const COUNT: Option<CountKind> = Some(CountKind::Sessions);

        fn entries(&self, _keys: &TenantKeys) -> Vec<Entry> {
            let key = tables::session_keys(&self.key_hash);
            let value = Some(tables::sessions(self.tenant, self.id));
            let finder = Entry { table: Table::SessionKeys, key, value };
            let id = self.id.uuid();
            vec![finder, Entry::due(self.expires_at, ExpiryKind::Session, self.tenant, id)]
        }
    }
}

record! {
    "session" threeds::session::ThreedsSession, SessionId, ThreedsSessions,
    (tables::threeds_sessions, tables::session_of_key),
    (record::encode_session, record::decode_session) {
        fn entries(&self, _keys: &TenantKeys) -> Vec<Entry> {
            let due = |at, kind| Entry::due(at, kind, self.tenant, self.id.uuid());
            let removal = due(self.kept_until, ExpiryKind::ThreedsSession);
            let wait = self.waits_until.map(|at| due(at, ExpiryKind::ThreedsWait));
            wait.into_iter().chain([removal]).collect()
        }

        fn is_live(&self, now: Timestamp) -> bool {
            now < self.kept_until
        }
    }
}

record! {
    "token intent" TokenIntent, TokenIntentId, TokenIntents, (tables::token_intents, tables::token_intent_of_key),
    (record::encode_token_intent, record::decode_token_intent, TokenIntent::is_live) {
        const COUNT: Option<CountKind> = Some(CountKind::TokenIntents);

        fn entries(&self, _keys: &TenantKeys) -> Vec<Entry> {
            let id = self.id.uuid();
            let code = self.cvc_expires_at.map(|at| tables::cvcs(at, self.tenant, id).to_vec());
            let code = code.map(|key| Entry::sealed(Table::Cvcs, key));
            let due = Entry::due(self.expires_at, ExpiryKind::TokenIntent, self.tenant, id);
            code.into_iter().chain([due]).collect()
        }
    }
}

record! {
    "token" Token, TokenId, Tokens, (tables::tokens, tables::token_of_key),
    (record::encode_token, record::decode_token, Token::is_live) {
        const COUNT: Option<CountKind> = Some(CountKind::Tokens);

        /// The entries that look-ups use. During a rotation there are others.
        fn entries(&self, keys: &TenantKeys) -> Vec<Entry> {
            let code = rows::cvc_key(self).map(|key| Entry::sealed(Table::Cvcs, key));
            let name = self.name.as_ref().map(|name| {
                let key = rows::name_key(keys.index(), self.tenant, name);
                Entry::sealed(Table::TokenNames, key)
            });
            let listed = rows::entries(self, keys.index()).into_iter();
            let listed = listed.map(|((table, key), it)| Entry { table, key, value: Some(it) });
            listed.chain(code).chain(name).collect()
        }

        fn other_entries(&self, keys: &TenantKeys) -> Vec<(Table, Vec<u8>)> {
            rows::entries_under_other_keys(self, keys)
        }

        /// The fault names the token.
        fn open(
            keys: &TenantKeys,
            tenant: TenantId,
            id: TokenId,
            sealed: &[u8],
        ) -> Result<(Self, Version), Error> {
            let found = rows::open(keys, tenant, id, sealed.to_vec())?;
            Ok((found.token, found.version))
        }
    }
}

record! {
    "webhook" Webhook, WebhookId, Webhooks, (tables::webhooks, tables::webhook_of_key),
    (record::encode_webhook, record::decode_webhook) {}
}

impl Record for KeyRecord {
    type Id = (ApplicationId, KeyId);
    const TABLE: Table = Table::ApplicationKeys;
    const NAME: &'static str = "key";

    fn place(tenant: TenantId, (application, key): Self::Id) -> Vec<u8> {
        tables::application_keys(tenant, application, key)
    }

    fn id_of(place: &[u8]) -> Option<(TenantId, Self::Id)> {
        tables::application_key_of_key(place)
    }

    fn owner(&self) -> (TenantId, Self::Id) {
        (self.key.tenant, (self.key.application, self.key.id))
    }

    fn decode(tenant: TenantId, id: Self::Id, plain: &[u8]) -> Result<Self, BadRecord> {
        let record = record::decode_api_key(plain)?;
        if record.owner() == (tenant, id) { Ok(record) } else { Err(BadRecord) }
    }

    fn encode(&self) -> Result<Secret<Vec<u8>>, EncodeFailed> {
        record::encode_api_key(self)
    }
}

/// The hash that finds a proxy by its key. A key holds 128 random bits, so the hash does not
/// disclose it.
pub(in crate::app) fn proxy_key_hash(key: &ProxyKey) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(key.expose().as_bytes());
    digest.finish()
}

/// Fails with the keys of another tenant.
pub(in crate::app) fn open<R: Record>(
    keys: &TenantKeys,
    (place, sealed): &Row,
) -> Result<(R, Version), Error> {
    let own = R::id_of(place).filter(|(owner, _)| *owner == keys.tenant());
    let (tenant, id) = own.ok_or(Error::Internal(Fault::BadRecord))?;
    R::open(keys, tenant, id, sealed)
}

/// The record and its version, also if it is not live.
pub(in crate::app) fn find<R: Record>(
    snapshot: &Snapshot,
    keys: &TenantKeys,
    id: R::Id,
) -> Result<Option<(R, Version)>, Error> {
    let sealed = snapshot.value(R::TABLE, &R::place(keys.tenant(), id))?;
    sealed.map(|sealed| R::open(keys, keys.tenant(), id, &sealed)).transpose()
}

/// As [`find`]; fails unless the record is live.
pub(in crate::app) fn require<R: Record>(
    snapshot: &Snapshot,
    keys: &TenantKeys,
    id: R::Id,
    now: Timestamp,
) -> Result<(R, Version), Error> {
    let found = find::<R>(snapshot, keys, id)?.filter(|(record, _)| record.is_live(now));
    found.ok_or(Error::NotFound(R::NAME))
}

pub(in crate::app) fn rows_of<R: Record>(
    snapshot: &Snapshot,
    keys: &TenantKeys,
) -> Result<impl Iterator<Item = Result<Row, StorageFailure>> + use<R>, StorageFailure> {
    snapshot.range(&R::TABLE.rows_of(keys.tenant().bytes()))
}

/// A change that is refused if the record has changed.
pub(in crate::app) fn expect<R: Record>(record: &R, version: Version) -> Change {
    let (tenant, id) = record.owner();
    Change::new().expect_version(R::TABLE, R::place(tenant, id), version)
}

/// Refuses a further row of a range that has `max` rows. The writer counts them again, so concurrent
/// changes, also of other processes, cannot exceed the maximum together.
pub(in crate::app) fn require_room(
    snapshot: &Snapshot,
    range: KeyRange,
    max: usize,
    full: Error,
) -> Result<Change, Error> {
    let mut left = max;
    for row in snapshot.range(&range)?.take(max) {
        row?;
        left = left.saturating_sub(1);
    }
    if left == 0 {
        return Err(full);
    }
    Ok(Change::new().expect_rows_at_most(range, max.saturating_sub(1)))
}

/// As [`require_room`], for records that are counted.
pub(in crate::app) fn require_counted_room(
    snapshot: &Snapshot,
    (tenant, kind): (TenantId, CountKind),
    max: usize,
    full: Error,
) -> Result<Change, Error> {
    let place = tables::counts(tenant, kind);
    let most = i64::try_from(max).unwrap_or(i64::MAX).saturating_sub(1);
    if snapshot.count(&place)? > most {
        return Err(full);
    }
    Ok(Change::new().expect_counts_at_most(vec![place], most))
}

/// Removes the record and its entries.
pub(in crate::app) fn remove<R: Record>(keys: &TenantKeys, record: &R, version: Version) -> Change {
    let (tenant, id) = record.owner();
    let change = expect(record, version).delete(R::TABLE, R::place(tenant, id));
    let change = counted(change, record, -1);
    record.entries(keys).into_iter().fold(change, |change, it| {
        let is_code = it.table == Table::Cvcs;
        let change = change.delete(it.table, it.key);
        if is_code {
            change.count(tables::code_ends(tenant, CodeEnd::WithToken), 1)
        } else {
            change
        }
    })
}

fn counted<R: Record>(change: Change, record: &R, by: i64) -> Change {
    let (tenant, _) = record.owner();
    let kinds = R::COUNT.into_iter().chain(record.also_counted());
    kinds.fold(change, |change, kind| change.count(tables::counts(tenant, kind), by))
}

impl Vault {
    /// Opens rows one after the other. Damaged rows are noted and left out.
    pub(in crate::app) fn sound_records<R: Record>(
        &self,
        keys: &TenantKeys,
        rows: impl Iterator<Item = Result<Row, StorageFailure>>,
    ) -> impl Iterator<Item = Result<R, Error>> {
        let open = |row: Result<Row, StorageFailure>| {
            let row = match row {
                Ok(row) => row,
                Err(failure) => return Some(Err(failure.into())),
            };
            let id = R::TABLE.id_of_key(&row.0);
            match open::<R>(keys, &row) {
                Ok((record, _)) => Some(Ok(record)),
                Err(error) => {
                    self.damage.pass_over(R::TABLE, keys.tenant(), id, error).err().map(Err)
                }
            }
        };
        rows.filter_map(open)
    }

    fn sealed<R: Record>(&self, keys: &TenantKeys, record: &R) -> Result<Change, Error> {
        let (tenant, id) = record.owner();
        let (place, plain) = (R::place(tenant, id), record.encode()?);
        let sealed = keys.seal(R::TABLE.number(), &place, plain.expose(), self.random());
        // Open the sealed record before it is written, so that no answer confirms an unreadable
        // one.
        if keys.open(R::TABLE.number(), &place, &sealed)?.expose() != plain.expose() {
            return Err(Error::Internal(Fault::DoesNotOpen));
        }
        Ok(Change::new().put(R::TABLE, place, sealed))
    }

    /// The caller writes the entries with sealed values.
    pub(in crate::app) fn create_record<R: Record>(
        &self,
        keys: &TenantKeys,
        record: &R,
    ) -> Result<Change, Error> {
        let (tenant, id) = record.owner();
        let mut change = self.sealed(keys, record)?.expect_absent(R::TABLE, R::place(tenant, id));
        for Entry { table, key, value } in record.entries(keys) {
            if let Some(value) = value {
                change = change.expect_absent(table, key.clone()).put(table, key, value);
            }
        }
        Ok(counted(change, record, 1))
    }

    /// The new record must have the same entries.
    pub(in crate::app) fn update_record<R: Record>(
        &self,
        keys: &TenantKeys,
        record: &R,
        version: Version,
    ) -> Result<Change, Error> {
        Ok(expect(record, version).and(self.sealed(keys, record)?))
    }

    /// `old` holds the entries of the record that was read.
    pub(in crate::app) fn replace_record<R: Record>(
        &self,
        keys: &TenantKeys,
        old: &[Entry],
        record: &R,
        version: Version,
    ) -> Result<Change, Error> {
        let mut change = self.update_record(keys, record, version)?;
        let new = record.entries(keys);
        for Entry { table, key, .. } in old.iter().filter(|it| !new.contains(it)) {
            change = change.delete(*table, key.clone());
        }
        for Entry { table, key, value } in new.into_iter().filter(|it| !old.contains(it)) {
            if let Some(value) = value {
                change = change.put(table, key, value);
            }
        }
        Ok(change)
    }
}
