//! Checks of index entries: each must refer to a record that has this entry. An entry of a record
//! that does not open is not reported, because the record itself is.

use uuid::Uuid;

use super::Look;
use crate::app::error::Error;
use crate::app::tokens::intents;
use crate::app::tokens::rows;
use crate::crypto::TenantKeys;
use crate::domain::id::{
    AccessSessionId, ClientKeyId, SessionId, TenantId, TokenId, TokenIntentId,
};
use crate::domain::token::Token;
use crate::domain::token_intent::TokenIntent;
use crate::store::tables::{CvcEntry, ExpiryKind, ListKey};
use crate::store::{Row, Table, tables};

const NO_RECORD: &str = "an index entry leads to no record";
const STRANGE: &str = "an index entry is not its record's";

/// The record that an index entry refers to.
enum EntryTarget {
    To(Box<Token>),
    /// A record that does not open.
    ToDamage,
    Nowhere,
}

impl Look<'_> {
    pub(super) fn listed(&mut self, (key, value): &Row) -> Result<(), Error> {
        let Some(ListKey { tenant, token: id, .. }) = tables::list_key(key) else {
            self.misplaced(Table::TokenLists);
            return Ok(());
        };
        self.learn(tenant)?;
        let Some(keys) = self.keys(tenant) else { return Ok(()) };
        match self.follow(keys, tenant, id)? {
            EntryTarget::To(token) => {
                let place = (Table::TokenLists, key.clone());
                let own = rows::entries(&token, keys.index());
                let is_own = own.get(&place).is_some_and(|own| own == value)
                    || rows::entries_under_other_keys(&token, keys).contains(&place);
                if !is_own {
                    self.find(Table::TokenLists, tenant, id.uuid(), STRANGE);
                }
            }
            EntryTarget::ToDamage => (),
            EntryTarget::Nowhere => self.find(Table::TokenLists, tenant, id.uuid(), NO_RECORD),
        }
        Ok(())
    }

    pub(super) fn name(&mut self, (key, sealed): &Row) -> Result<(), Error> {
        let Some(tenant) = tables::tenant_of_name_key(key) else {
            self.misplaced(Table::TokenNames);
            return Ok(());
        };
        self.learn(tenant)?;
        let Some(keys) = self.keys(tenant) else { return Ok(()) };
        let opened = keys.open(Table::TokenNames.number(), key, sealed).map_err(Error::from);
        let opened = self.sound(Table::TokenNames, tenant, Uuid::nil(), opened)?;
        let Some(opened) = opened else { return Ok(()) };
        let Ok(id) = Uuid::from_slice(opened.expose()) else {
            self.find(Table::TokenNames, tenant, Uuid::nil(), STRANGE);
            return Ok(());
        };
        match self.follow(keys, tenant, TokenId::new(id))? {
            EntryTarget::To(token) => {
                let is_own = token.name.as_ref().is_some_and(|name| {
                    let places = keys.active_indexes();
                    places.map(|index| rows::name_key(index, tenant, name)).any(|it| it == *key)
                });
                if !is_own {
                    self.find(Table::TokenNames, tenant, id, STRANGE);
                }
            }
            EntryTarget::ToDamage => (),
            EntryTarget::Nowhere => self.find(Table::TokenNames, tenant, id, NO_RECORD),
        }
        Ok(())
    }

    pub(super) fn due(&mut self, (key, _): &Row) -> Result<(), Error> {
        let Some(due) = tables::expiry_of_key(key) else {
            self.misplaced(Table::Expiries);
            return Ok(());
        };
        let (tenant, id) = (due.tenant, due.id);
        self.learn(tenant)?;
        let Some(keys) = self.keys(tenant) else { return Ok(()) };
        let is_own = match due.kind {
            ExpiryKind::Token => match self.follow(keys, tenant, TokenId::new(id))? {
                EntryTarget::To(token) => {
                    let place = (Table::Expiries, key.clone());
                    rows::entries(&token, keys.index()).contains_key(&place)
                }
                EntryTarget::ToDamage => true,
                EntryTarget::Nowhere => false,
            },
            ExpiryKind::TokenIntent => {
                self.is_of_intent(keys, tenant, id, |intent| intents::due(intent) == *key)?
            }
            ExpiryKind::ClientKey => {
                let place = tables::client_keys(tenant, ClientKeyId::new(id));
                self.snapshot.value(Table::ClientKeys, &place)?.is_some()
            }
            ExpiryKind::Session => {
                let place = tables::sessions(tenant, AccessSessionId::new(id));
                self.snapshot.value(Table::Sessions, &place)?.is_some()
            }
            ExpiryKind::ThreedsSession | ExpiryKind::ThreedsWait => {
                let place = tables::threeds_sessions(SessionId::new(id), tenant);
                self.snapshot.value(Table::ThreedsSessions, &place)?.is_some()
            }
        };
        if !is_own {
            self.find(Table::Expiries, tenant, id, NO_RECORD);
        }
        Ok(())
    }

    /// A code must belong to a token or an intent whose record has its expiry.
    pub(super) fn code(&mut self, (key, _): &Row) -> Result<(), Error> {
        let Some(CvcEntry { tenant, id }) = tables::cvc_of_key(key) else {
            self.misplaced(Table::Cvcs);
            return Ok(());
        };
        self.learn(tenant)?;
        let Some(keys) = self.keys(tenant) else { return Ok(()) };
        let is_own = match self.follow(keys, tenant, TokenId::new(id))? {
            EntryTarget::To(token) => rows::cvc_key(&token).is_some_and(|own| own == *key),
            EntryTarget::ToDamage => true,
            EntryTarget::Nowhere => self.is_of_intent(keys, tenant, id, |intent| {
                intents::cvc_key(intent).is_some_and(|own| own == *key)
            })?,
        };
        if !is_own {
            self.find(Table::Cvcs, tenant, id, NO_RECORD);
        }
        Ok(())
    }

    /// A row under an idempotency key must find an answer.
    pub(super) fn finder(&mut self, (key, time): &Row) -> Result<(), Error> {
        let Some(answer) = tables::answer_of_finder(key, time) else {
            self.misplaced(Table::Idempotency);
            return Ok(());
        };
        if self.snapshot.value(Table::IdempotencyAnswers, &answer)?.is_none() {
            let scope = Table::IdempotencyAnswers.owner_of_key(&answer).unwrap_or_default();
            let tenant = tables::tenant_of_scope(&scope);
            self.find(Table::Idempotency, tenant, Uuid::nil(), NO_RECORD);
        }
        Ok(())
    }

    /// The last use of an API key must have its key.
    pub(super) fn key_use(&mut self, (key, value): &Row) -> Result<(), Error> {
        let Some((tenant, id)) = tables::application_key_of_key(key) else {
            self.misplaced(Table::KeyUses);
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

    /// True if the intent of this id exists and passes the check, or does not open.
    fn is_of_intent(
        &self,
        keys: &TenantKeys,
        tenant: TenantId,
        id: Uuid,
        check: impl Fn(&TokenIntent) -> bool,
    ) -> Result<bool, Error> {
        match intents::find_by_id(&self.snapshot, keys, tenant, TokenIntentId::new(id)) {
            Ok(found) => Ok(found.is_some_and(|(intent, _)| check(&intent))),
            Err(Error::Internal(_)) => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn follow(
        &self,
        keys: &TenantKeys,
        tenant: TenantId,
        id: TokenId,
    ) -> Result<EntryTarget, Error> {
        match rows::find_by_id(&self.snapshot, keys, tenant, id) {
            Ok(Some(found)) => Ok(EntryTarget::To(Box::new(found.token))),
            Ok(None) => Ok(EntryTarget::Nowhere),
            Err(Error::Internal(_)) => Ok(EntryTarget::ToDamage),
            Err(error) => Err(error),
        }
    }
}
