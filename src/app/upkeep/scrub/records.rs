//! Checks of records: each must open and have its index entries and dependent rows.

use uuid::Uuid;

use super::Look;
use crate::app::access::applications::open_application;
use crate::app::access::authenticate::open_api_key;
use crate::app::commit::idempotency;
use crate::app::error::Error;
use crate::app::threeds::open_session_row;
use crate::app::tokens::intents;
use crate::app::tokens::rows;
use crate::domain::id::TenantId;
use crate::store::record::decode_api_key;
use crate::store::{Row, Table, tables};

const NO_ENTRY: &str = "an index entry of a record is missing or has another value";
const NO_FINDER: &str = "an answer is not found by its idempotency key";
const NO_CODE: &str = "a card verification code is missing";

impl Look<'_> {
    pub(super) fn tenant(&mut self, (key, _): &Row) -> Result<(), Error> {
        let Some(tenant) = tables::tenant_of_key(key) else {
            self.misplaced(Table::Tenants);
            return Ok(());
        };
        let read = self.app.access().find_tenant(&self.snapshot, tenant);
        self.sound(Table::Tenants, tenant, tenant.uuid(), read)?;
        self.learn(tenant)
    }

    pub(super) fn application(&mut self, (key, sealed): &Row) -> Result<(), Error> {
        let Some((tenant, id)) = tables::application_of_key(key) else {
            self.misplaced(Table::Applications);
            return Ok(());
        };
        self.learn(tenant)?;
        let Some(keys) = self.keys(tenant) else { return Ok(()) };
        let read = open_application(keys, tenant, key, sealed);
        self.sound(Table::Applications, tenant, id.uuid(), read)?;
        Ok(())
    }

    pub(super) fn application_key(&mut self, (key, sealed): &Row) -> Result<(), Error> {
        let Some((tenant, id)) = tables::application_key_of_key(key) else {
            self.misplaced(Table::ApplicationKeys);
            return Ok(());
        };
        let id = id.uuid();
        self.learn(tenant)?;
        let Some(keys) = self.keys(tenant) else { return Ok(()) };
        let table = Table::ApplicationKeys;
        let plain = keys.open(table.number(), key, sealed).map_err(Error::from);
        let read = plain.and_then(|plain| Ok(decode_api_key(plain.expose())?));
        if let Some(record) = self.sound(table, tenant, id, read)? {
            let found = self.app.access().key_record(&self.snapshot, &record.tag);
            if self.sound(Table::ApiKeys, tenant, id, found)? == Some(None) {
                self.find(Table::ApiKeys, tenant, id, "an API key is listed but cannot be used");
            }
        }
        Ok(())
    }

    pub(super) fn api_key(&mut self, (key, sealed): &Row) -> Result<(), Error> {
        let nil = TenantId::new(Uuid::nil());
        let Some(place) = tables::api_key_of_key(key) else {
            self.misplaced(Table::ApiKeys);
            return Ok(());
        };
        let read = open_api_key(&self.app.keys().system(), place, sealed);
        let Some(record) = self.sound(Table::ApiKeys, nil, nil.uuid(), read)? else {
            return Ok(());
        };
        let own = record.key;
        let listed = tables::application_keys(own.tenant, own.application, own.id);
        if self.snapshot.value(Table::ApplicationKeys, &listed)?.is_none() {
            let id = own.id.uuid();
            self.find(Table::ApplicationKeys, own.tenant, id, "an API key is not listed");
        }
        Ok(())
    }

    pub(super) fn token(&mut self, (key, sealed): &Row) -> Result<(), Error> {
        let Some((tenant, id)) = tables::token_of_key(key) else {
            self.misplaced(Table::Tokens);
            return Ok(());
        };
        self.learn(tenant)?;
        let Some(keys) = self.keys(tenant) else { return Ok(()) };
        let read = rows::open(keys, tenant, id, sealed);
        let id = id.uuid();
        let Some(found) = self.sound(Table::Tokens, tenant, id, read)? else { return Ok(()) };
        let (places, expected): (Vec<_>, Vec<_>) =
            rows::entries(&found.token, keys.index()).into_iter().unzip();
        let stored = self.snapshot.values_at(&places)?;
        let entries = places.iter().zip(expected.into_iter().map(Some).zip(stored));
        for ((table, _), _) in entries.filter(|(_, (expected, stored))| expected != stored) {
            self.find(*table, tenant, id, NO_ENTRY);
        }
        if let Some(name) = &found.token.name {
            let place = rows::name_key(keys.index(), tenant, name);
            if self.snapshot.value(Table::TokenNames, &place)?.is_none() {
                self.find(Table::TokenNames, tenant, id, NO_ENTRY);
            }
        }
        self.has_code(tenant, id, rows::cvc_key(&found.token))
    }

    pub(super) fn intent(&mut self, (key, _): &Row) -> Result<(), Error> {
        let Some((tenant, intent)) = tables::token_intent_of_key(key) else {
            self.misplaced(Table::TokenIntents);
            return Ok(());
        };
        self.learn(tenant)?;
        let Some(keys) = self.keys(tenant) else { return Ok(()) };
        let id = intent.uuid();
        let read = intents::find_by_id(&self.snapshot, keys, tenant, intent);
        let found = self.sound(Table::TokenIntents, tenant, id, read)?;
        let Some((intent, _)) = found.flatten() else { return Ok(()) };
        if self.snapshot.value(Table::Expiries, &intents::due(&intent))?.is_none() {
            self.find(Table::Expiries, tenant, id, NO_ENTRY);
        }
        self.has_code(tenant, id, intents::cvc_key(&intent))
    }

    pub(super) fn session(&mut self, row: &Row) -> Result<(), Error> {
        let Some((session, tenant)) = tables::session_of_key(&row.0) else {
            self.misplaced(Table::ThreedsSessions);
            return Ok(());
        };
        let id = session.uuid();
        self.learn(tenant)?;
        let Some(keys) = self.keys(tenant) else { return Ok(()) };
        let read = open_session_row(keys, tenant, id, &row.1);
        let dues = self.sound(Table::ThreedsSessions, tenant, id, read)?;
        for due in dues.into_iter().flatten() {
            if self.snapshot.value(Table::Expiries, &due)?.is_none() {
                self.find(Table::Expiries, tenant, id, NO_ENTRY);
            }
        }
        Ok(())
    }

    /// A remembered answer must open, and the row under its idempotency key must find it.
    pub(super) fn answer(&mut self, (key, sealed): &Row) -> Result<(), Error> {
        let table = Table::IdempotencyAnswers;
        let Some(tenant) = table.owner_of_key(key).map(|scope| tables::tenant_of_scope(&scope))
        else {
            self.misplaced(table);
            return Ok(());
        };
        self.learn(tenant)?;
        let Some(keys) = self.keys(tenant) else { return Ok(()) };
        let read = idempotency::open_answer(keys, key, sealed);
        self.sound(table, tenant, Uuid::nil(), read)?;
        if !idempotency::is_found(&self.snapshot, key)? {
            self.find(Table::Idempotency, tenant, Uuid::nil(), NO_FINDER);
        }
        Ok(())
    }

    /// A row of a tenant that has no index entries must open.
    pub(super) fn sealed(&mut self, table: Table, (key, sealed): &Row) -> Result<(), Error> {
        let Some(tenant) = table.owner_of_key(key).map(|scope| tables::tenant_of_scope(&scope))
        else {
            self.misplaced(table);
            return Ok(());
        };
        self.learn(tenant)?;
        let Some(keys) = self.keys(tenant) else { return Ok(()) };
        let read = keys.open(table.number(), key, sealed).map_err(Error::from);
        self.sound(table, tenant, table.id_of_key(key), read)?;
        Ok(())
    }

    /// Looks for the code of a record that has one.
    fn has_code(&self, tenant: TenantId, id: Uuid, key: Option<Vec<u8>>) -> Result<(), Error> {
        if let Some(key) = key
            && self.snapshot.value(Table::Cvcs, &key)?.is_none()
        {
            self.find(Table::Cvcs, tenant, id, NO_CODE);
        }
        Ok(())
    }
}
