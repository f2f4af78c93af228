//! Authentication: from the text of an API key to its tenant, its application and their rights.

use std::sync::Arc;

use crate::app::AccessControl;
use crate::app::access::sessions::hash_of_key;
use crate::app::caller::{Caller, PersonRights, SessionRights};
use crate::app::error::{Error, Fault};
use crate::app::origin;
use crate::app::records;
use crate::bounds::KEY_TEXT_BYTES_MAX;
use crate::crypto::{Identity, SystemKeys, is_equal};
use crate::domain::application::{Application, ApplicationKind};
use crate::domain::id::{ApplicationId, TenantId};
use crate::domain::key_text::KeyText;
use crate::domain::session::Session;
use crate::domain::tenant::Tenant;
use crate::store::record::{KeyRecord, decode_api_key, decode_tenant};
use crate::store::{Snapshot, Table, tables};

impl AccessControl<'_> {
    /// As [`AccessControl::authenticate`], for the bytes that a client presented as a key.
    pub fn authenticate_presented(self, bytes: &[u8]) -> Result<Arc<Caller>, Error> {
        let caller = self.find(bytes)?;
        caller.last_use.note(self.vault.now());
        origin::note_key(caller.key.id);
        Ok(caller)
    }

    /// Notes the use of the key. The use of a session counts for the key that made the session.
    pub fn authenticate(self, text: &KeyText) -> Result<Arc<Caller>, Error> {
        self.authenticate_presented(text.expose().as_bytes())
    }

    /// A quick hash of the text finds keys that were used before, without a copy of the text.
    /// Unknown texts are not cached.
    fn find(self, bytes: &[u8]) -> Result<Arc<Caller>, Error> {
        self.vault.processes().poll_if_stale()?;
        let callers = &self.vault.callers;
        let quick = Some(bytes).filter(|bytes| bytes.len() <= KEY_TEXT_BYTES_MAX);
        let quick = quick.and_then(|bytes| self.vault.key_texts.of(bytes));
        let quick = quick.ok_or(Error::Unauthenticated)?;
        let generation = self.vault.store.access_generation();
        let known = callers.find(&quick, generation);
        if let Some(known) = known.filter(|caller| caller.is_live(self.vault.now())) {
            return Ok(known);
        }
        let text = str::from_utf8(bytes).ok().and_then(KeyText::parse);
        let caller = self.find_by_text(&text.ok_or(Error::Unauthenticated)?)?;
        callers.remember(quick, &caller, generation);
        Ok(caller)
    }

    fn find_by_text(self, text: &KeyText) -> Result<Arc<Caller>, Error> {
        if text.may_be_of_session()
            && let Some(caller) = self.find_session_caller(&hash_of_key(text))?
        {
            return Ok(caller);
        }
        self.find_caller(&self.tag(text))
    }

    /// Looks an authenticated caller up again: its key may have been deleted or restricted since.
    /// The tag is known, so the text of the key is not hashed a second time.
    pub fn authenticate_again(self, caller: &Caller) -> Result<Arc<Caller>, Error> {
        self.vault.processes().poll_if_stale()?;
        if let Some(PersonRights { person, role }) = &caller.person {
            return self.person(caller.tenant.id, person, *role);
        }
        if let Some(identity) = &caller.program {
            return self.program(identity);
        }
        match &caller.session {
            None => self.find_caller(&caller.tag),
            Some(session) => {
                self.find_session_caller(&session.key_hash)?.ok_or(Error::Unauthenticated)
            }
        }
    }

    /// `None` for a session that does not exist, is not authorized or has ended: clients must not
    /// be able to distinguish these.
    fn find_session_caller(self, hash: &[u8; 32]) -> Result<Option<Arc<Caller>>, Error> {
        let now = self.vault.now();
        loop {
            let generation = self.vault.store.access_generation();
            if let Some(caller) = self.vault.callers.find(hash, generation) {
                return Ok(Some(caller).filter(|caller| caller.is_live(now)));
            }
            let system = self.vault.keys().system();
            let snapshot = self.vault.snapshot()?;
            let Some(found) = snapshot.value(Table::SessionKeys, &tables::session_keys(hash))?
            else {
                return Ok(None);
            };
            let found = tables::session_of_place(&found);
            let (tenant, id) = found.ok_or(Error::Internal(Fault::BadRecord))?;
            let keys = self.vault.keys().tenant_keys(&snapshot, tenant)?;
            let found = records::find::<Session>(&snapshot, &keys, id)?;
            let (session, _) = found.ok_or(Error::Internal(Fault::Dangling))?;
            if !is_equal(&session.key_hash, hash) {
                return Err(Error::Internal(Fault::BadRecord));
            }
            if !session.is_live(now) {
                return Ok(None);
            }
            if let Some(caller) = self.session_caller(&snapshot, session)? {
                let caller = Arc::new(caller);
                self.vault.callers.remember(*hash, &caller, generation);
                return Ok(Some(caller));
            }
            // As for API keys: a rotation may have moved the row of one of the two keys.
            if Arc::ptr_eq(&system, &self.vault.keys().system()) {
                return Ok(None);
            }
        }
    }

    /// `None` for a session that is not authorized, or one of whose two API keys is gone. The cache
    /// of callers stays right, because a change of keys or applications empties it.
    fn session_caller(
        self,
        snapshot: &Snapshot,
        session: Session,
    ) -> Result<Option<Caller>, Error> {
        let Session { id, tenant, application: owner, made_with, key_hash, expires_at, .. } =
            session;
        let Some(grant) = session.grant else { return Ok(None) };
        let Some(made) = self.key_record(snapshot, &made_with)? else { return Ok(None) };
        let Some(authorized) = self.key_record(snapshot, &grant.authorized_with)? else {
            return Ok(None);
        };
        let mut caller = self.caller(snapshot, made)?;
        let grantor = self.caller(snapshot, authorized)?;
        let is_own = (caller.tenant.id, caller.application.id) == (tenant, owner)
            && (grantor.tenant.id, grantor.application.id) == (tenant, grant.grantor);
        let kinds = (caller.application.kind, grantor.application.kind);
        if !is_own || kinds != (ApplicationKind::Public, ApplicationKind::Private) {
            return Err(Error::Internal(Fault::BadRecord));
        }
        let (granted, grantor) = (grant.access, grantor.application.access);
        caller.session = Some(SessionRights { id, expires_at, key_hash, granted, grantor });
        Ok(Some(caller))
    }

    fn find_caller(self, tag: &[u8; 32]) -> Result<Arc<Caller>, Error> {
        loop {
            let generation = self.vault.store.access_generation();
            if let Some(caller) = self.vault.callers.find(tag, generation) {
                return Ok(caller);
            }
            let system = self.vault.keys().system();
            let snapshot = self.vault.snapshot()?;
            if let Some(record) = self.key_record(&snapshot, tag)? {
                let caller = Arc::new(self.caller(&snapshot, record)?);
                self.vault.callers.remember(*tag, &caller, generation);
                return Ok(caller);
            }
            // A rotation may have moved the row to a place that these keys do not know. If the keys
            // did not change during the look-up, the row does not exist.
            if Arc::ptr_eq(&system, &self.vault.keys().system()) {
                return Err(Error::Unauthenticated);
            }
        }
    }

    /// The keyed hash that finds an API key. Because it is keyed, the time of a look-up reveals
    /// nothing about the texts of other keys.
    pub(in crate::app) fn tag(self, text: &KeyText) -> [u8; 32] {
        self.vault.keys().system().api_keys().tag(text.expose())
    }

    pub(in crate::app) fn key_record(
        self,
        snapshot: &Snapshot,
        tag: &[u8; 32],
    ) -> Result<Option<KeyRecord>, Error> {
        let system = self.vault.keys().system();
        for place in system.api_keys().places(tag) {
            if let Some(sealed) = snapshot.value(Table::ApiKeys, &place)? {
                return open_api_key(&system, &place, &sealed).map(Some);
            }
        }
        Ok(None)
    }

    fn caller(self, snapshot: &Snapshot, record: KeyRecord) -> Result<Caller, Error> {
        let KeyRecord { key, tag, .. } = record;
        let keys = self.vault.keys().tenant_keys(snapshot, key.tenant)?;
        let dangling = Error::Internal(Fault::Dangling);
        let (application, _) = records::find(snapshot, &keys, key.application)?.ok_or(dangling)?;
        let tenant = self.tenant(snapshot, key.tenant)?;
        let (session, last_use) = (None, self.vault.last_uses.share(&key));
        let epoch = snapshot.epoch();
        Ok(Caller {
            tenant,
            application,
            key,
            tag,
            last_use,
            session,
            person: None,
            program: None,
            keys,
            _epoch: epoch,
        })
    }

    /// A caller with the rights of an application but without an API key. Its requests are counted
    /// under `tag`. `None` if the application does not exist.
    pub(in crate::app) fn caller_without_key(
        self,
        tenant: TenantId,
        id: ApplicationId,
        tag: [u8; 32],
    ) -> Result<Option<Caller>, Error> {
        let snapshot = self.vault.snapshot()?;
        let keys = self.vault.keys().tenant_keys(&snapshot, tenant)?;
        let Some((application, _)) = records::find::<Application>(&snapshot, &keys, id)? else {
            return Ok(None);
        };
        let tenant = self.tenant(&snapshot, tenant)?;
        let caller = Caller::without_key(tenant, application, tag, keys, snapshot.epoch());
        Ok(Some(caller))
    }

    pub(in crate::app) fn tenant(self, snapshot: &Snapshot, id: TenantId) -> Result<Tenant, Error> {
        self.find_tenant(snapshot, id)?.ok_or(Error::Internal(Fault::Dangling))
    }

    pub(in crate::app) fn find_tenant(
        self,
        snapshot: &Snapshot,
        id: TenantId,
    ) -> Result<Option<Tenant>, Error> {
        let key = tables::tenants(id);
        let Some(sealed) = snapshot.value(Table::Tenants, &key)? else {
            return Ok(None);
        };
        let plain = self.vault.keys().system().open(&tenant_identity(&key), &sealed)?;
        Ok(Some(decode_tenant(id, plain.expose())?))
    }
}

pub(in crate::app) fn open_api_key(
    system: &SystemKeys,
    place: &[u8; 32],
    sealed: &[u8],
) -> Result<KeyRecord, Error> {
    let plain = system.open(&api_key_identity(place), sealed)?;
    Ok(decode_api_key(plain.expose())?)
}

/// Rows of API keys and tenants belong to the server, whose scope is all zeros.
pub(in crate::app) const fn api_key_identity(place: &[u8; 32]) -> Identity<'_> {
    Identity { tenant: &[0; 16], table: Table::ApiKeys.number(), key: place }
}

pub(in crate::app) const fn tenant_identity(key: &[u8]) -> Identity<'_> {
    Identity { tenant: &[0; 16], table: Table::Tenants.number(), key }
}
