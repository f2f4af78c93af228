//! The rows of a session: its record and its entries in the table of expiries.

use std::collections::HashMap;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::app::error::{Error, Fault};
use crate::app::threeds::ThreedsSessions;
use crate::app::upkeep::verify::Report;
use crate::crypto::{TenantKeys, Version, version};
use crate::domain::id::{SessionId, TenantId};
use crate::store::record::{decode_session, encode_session};
use crate::store::tables::{self, ExpiryKind};
use crate::store::{Change, Snapshot, Table};
use crate::threeds::session::{CardOrigin, CardSource, Session};

impl ThreedsSessions<'_> {
    pub(super) fn create_session_rows(
        self,
        keys: &TenantKeys,
        session: &Session,
    ) -> Result<Change, Error> {
        let place = tables::threeds_sessions(session.id, session.tenant);
        let change = Change::new().expect_absent(Table::ThreedsSessions, place);
        Ok(change.and(self.put_session(keys, session)?))
    }

    /// Replaces the session that was read by a new version of it.
    pub(super) fn replace_session(
        self,
        keys: &TenantKeys,
        before: &Session,
        session: &Session,
        version: Version,
    ) -> Result<Change, Error> {
        let place = tables::threeds_sessions(session.id, session.tenant);
        let mut change = Change::new().expect_version(Table::ThreedsSessions, place, version);
        for due in dues(before) {
            change = change.delete(Table::Expiries, due);
        }
        Ok(change.and(self.put_session(keys, session)?))
    }

    fn put_session(self, keys: &TenantKeys, session: &Session) -> Result<Change, Error> {
        let place = tables::threeds_sessions(session.id, session.tenant);
        let table = Table::ThreedsSessions.number();
        let plain = encode_session(session)?;
        let sealed = keys.seal(table, &place, plain.expose(), self.vault.random());
        // Open the sealed record before it is written, so that no answer confirms an unreadable
        // one.
        if keys.open(table, &place, &sealed)?.expose() != plain.expose() {
            return Err(Error::Internal(Fault::DoesNotOpen));
        }
        let mut change = Change::new().put(Table::ThreedsSessions, place, sealed);
        for due in dues(session) {
            change = change.put(Table::Expiries, due, Vec::new());
        }
        Ok(change)
    }

    #[expect(clippy::unused_self, reason = "it reads as one of the look-ups")]
    pub(super) fn find_session_by_id(
        self,
        snapshot: &Snapshot,
        keys: &TenantKeys,
        tenant: TenantId,
        id: SessionId,
    ) -> Result<Option<(Session, Version)>, Error> {
        let place = tables::threeds_sessions(id, tenant);
        match snapshot.value(Table::ThreedsSessions, &place)? {
            Some(sealed) => open(keys, tenant, id, &sealed).map(Some),
            None => Ok(None),
        }
    }

    /// The tenant of a session, for requests that have an id and no API key.
    pub(super) fn find_session_tenant(
        self,
        snapshot: &Snapshot,
        id: SessionId,
    ) -> Result<Option<(TenantId, TenantKeys)>, Error> {
        let entries = snapshot.first(&tables::threeds_sessions_of(id), 1)?;
        let Some((key, _)) = entries.first() else { return Ok(None) };
        let session = tables::session_of_key(key);
        let (_, tenant) = session.ok_or(Error::Internal(Fault::BadRecord))?;
        match self.vault.keys().tenant_keys(snapshot, tenant) {
            // The tenant is being deleted.
            Err(Error::Unauthenticated) => Ok(None),
            keys => Ok(Some((tenant, keys?))),
        }
    }

    /// Checks that every session opens and has its entries.
    pub(in crate::app) fn verify_sessions(
        self,
        snapshot: &Snapshot,
        report: &mut Report,
    ) -> Result<(), Error> {
        let mut known: HashMap<TenantId, Option<TenantKeys>> = HashMap::new();
        for entry in snapshot.range(&Table::ThreedsSessions.whole())? {
            let (key, sealed) = entry?;
            report.threeds_sessions = report.threeds_sessions.saturating_add(1);
            let Some((id, tenant)) = tables::session_of_key(&key) else {
                report.find(String::from("a 3DS session has no legal place"));
                continue;
            };
            if self.vault.store.is_closed(tenant.bytes()) {
                continue;
            }
            let keys = known
                .entry(tenant)
                .or_insert_with(|| self.vault.keys().tenant_keys(snapshot, tenant).ok());
            let opened = keys.as_ref().and_then(|keys| open(keys, tenant, id, &sealed).ok());
            let Some((session, _)) = opened else {
                report.find(format!("3DS session {id}: its record does not open"));
                continue;
            };
            for due in dues(&session) {
                report.index_entries = report.index_entries.saturating_add(1);
                if snapshot.value(Table::Expiries, &due)?.is_none() {
                    report.find(format!("3DS session {id}: an entry of due is missing"));
                }
            }
        }
        Ok(())
    }
}

/// Deletes a session whose retention is over.
pub(in crate::app) fn remove_session(
    snapshot: &Snapshot,
    keys: &TenantKeys,
    tenant: TenantId,
    id: Uuid,
) -> Result<Change, Error> {
    let place = tables::threeds_sessions(SessionId::new(id), tenant);
    let Some(sealed) = snapshot.value(Table::ThreedsSessions, &place)? else {
        return Ok(Change::new());
    };
    let (session, version) = open(keys, tenant, SessionId::new(id), &sealed)?;
    let mut change = Change::new().expect_version(Table::ThreedsSessions, place.clone(), version);
    for due in dues(&session) {
        change = change.delete(Table::Expiries, due);
    }
    Ok(change.delete(Table::ThreedsSessions, place))
}

fn open(
    keys: &TenantKeys,
    tenant: TenantId,
    id: SessionId,
    sealed: &[u8],
) -> Result<(Session, Version), Error> {
    let place = tables::threeds_sessions(id, tenant);
    let plain = keys.open(Table::ThreedsSessions.number(), &place, sealed)?;
    let version = version(sealed).ok_or(Error::Internal(Fault::BadRecord))?;
    Ok((decode_session(tenant, id, plain.expose())?, version))
}

/// The entries in [`Table::Expiries`] of the session in this row.
pub(in crate::app) fn open_session_row(
    keys: &TenantKeys,
    tenant: TenantId,
    id: Uuid,
    sealed: &[u8],
) -> Result<Vec<Vec<u8>>, Error> {
    Ok(dues(&open(keys, tenant, SessionId::new(id), sealed)?.0))
}

/// The members of a session that say whose it is.
#[derive(Debug)]
pub(in crate::app) struct SessionOwner {
    /// The id of the token or the intent, as the caller gave it.
    pub(in crate::app) card: String,
    pub(in crate::app) origin: Option<CardOrigin>,
    pub(in crate::app) metadata: Option<Map<String, Value>>,
}

pub(in crate::app) fn open_session_owner(
    keys: &TenantKeys,
    tenant: TenantId,
    id: SessionId,
    sealed: &[u8],
) -> Result<SessionOwner, Error> {
    let (session, _) = open(keys, tenant, id, sealed)?;
    let (CardSource::Pan(card) | CardSource::Token(card) | CardSource::TokenIntent(card)) =
        session.card;
    Ok(SessionOwner { card, origin: session.card_origin, metadata: session.metadata })
}

fn dues(session: &Session) -> Vec<Vec<u8>> {
    let due = |at, falls| tables::expiries(at, falls, session.tenant, session.id.uuid());
    let removal = due(session.kept_until, ExpiryKind::ThreedsSession);
    let wait = session.waits_until.map(|at| due(at, ExpiryKind::ThreedsWait));
    wait.into_iter().chain([removal]).collect()
}
