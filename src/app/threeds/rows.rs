//! The rows of a session: its record, and its entries in the table of expiries.

use serde_json::{Map, Value};

use crate::app::ThreedsSessions;
use crate::app::error::{Error, Fault};
use crate::app::records::{self, Record};
use crate::crypto::{TenantKeys, Version};
use crate::domain::id::{SessionId, TenantId};
use crate::store::tables::{self};
use crate::store::{Change, Snapshot};
use crate::threeds::session::{CardOrigin, ThreedsSession};

impl ThreedsSessions<'_> {
    pub(super) fn create_session_rows(
        self,
        keys: &TenantKeys,
        session: &ThreedsSession,
    ) -> Result<Change, Error> {
        self.vault.create_record(keys, session)
    }

    pub(super) fn replace_session(
        self,
        keys: &TenantKeys,
        before: &ThreedsSession,
        session: &ThreedsSession,
        version: Version,
    ) -> Result<Change, Error> {
        self.vault.replace_record(keys, &before.entries(keys), session, version)
    }

    #[expect(clippy::unused_self, reason = "it reads as one of the look-ups")]
    pub(super) fn find_session_by_id(
        self,
        snapshot: &Snapshot,
        keys: &TenantKeys,
        _tenant: TenantId,
        id: SessionId,
    ) -> Result<Option<(ThreedsSession, Version)>, Error> {
        records::find(snapshot, keys, id)
    }

    /// For requests that have an id and no API key.
    pub(super) fn find_session_tenant(
        self,
        snapshot: &Snapshot,
        id: SessionId,
    ) -> Result<Option<(TenantId, TenantKeys)>, Error> {
        let entries = snapshot.first(&tables::threeds_sessions_of(id), 1)?;
        let Some((key, _)) = entries.first() else { return Ok(None) };
        let session = tables::session_of_key(key);
        let (tenant, _) = session.ok_or(Error::Internal(Fault::BadRecord))?;
        match self.vault.keys().tenant_keys(snapshot, tenant) {
            // The tenant is being deleted.
            Err(Error::Unauthenticated) => Ok(None),
            keys => Ok(Some((tenant, keys?))),
        }
    }
}

/// The members of a session that identify the person.
#[derive(Debug)]
pub(in crate::app) struct SessionOwner {
    pub(in crate::app) origin: CardOrigin,
    pub(in crate::app) metadata: Option<Map<String, Value>>,
}

pub(in crate::app) fn open_session_owner(
    keys: &TenantKeys,
    tenant: TenantId,
    id: SessionId,
    sealed: &[u8],
) -> Result<SessionOwner, Error> {
    let (session, _) = ThreedsSession::open(keys, tenant, id, sealed)?;
    Ok(SessionOwner { origin: session.card_origin, metadata: session.metadata })
}
