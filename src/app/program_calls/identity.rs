//! The identity of one call of a program: a key that exists for this call alone.
//!
//! The key is stored nowhere. It is honoured for requests that arrive through the host of its call,
//! until the call ends. The rights are looked up for every request, so that the deletion of the
//! program or of its application ends them at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use uuid::Uuid;

use crate::app::AccessControl;
use crate::app::caller::Caller;
use crate::app::error::Error;
use crate::app::fair_pool::Credential;
use crate::crypto::{Sha256, is_equal};
use crate::domain::access::Access;
use crate::domain::application::{Application, ApplicationKind};
use crate::domain::audit::Entity;
use crate::domain::id::{ApplicationId, ProxyId, ReactorId, TenantId};
use crate::domain::key_text::KeyText;
use crate::domain::permission::Permission;
use crate::store::{Snapshot, StorageFailure, Table, tables};

#[derive(Debug)]
pub struct ProgramIdentity {
    key: KeyText,
    tenant: TenantId,
    owner: ProgramOwner,
    rights: ProgramRights,
    /// That of the request which the program works for: a stranger stays one if its request runs a
    /// program that sends others.
    pub(in crate::app) credential: Credential,
    has_ended: AtomicBool,
}

/// The record that holds the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum ProgramOwner {
    Proxy(ProxyId),
    Reactor(ReactorId),
}

#[derive(Debug)]
pub(in crate::app) enum ProgramRights {
    Application(ApplicationId),
    /// Those of `runtime.permissions`.
    Permissions(Vec<Permission>),
}

impl ProgramOwner {
    pub(super) const fn uuid(self) -> Uuid {
        match self {
            Self::Proxy(id) => id.uuid(),
            Self::Reactor(id) => id.uuid(),
        }
    }

    pub(in crate::app) fn is_there(
        self,
        snapshot: &Snapshot,
        tenant: TenantId,
    ) -> Result<bool, StorageFailure> {
        let row = match self {
            Self::Proxy(id) => (Table::Proxies, tables::proxies(tenant, id)),
            Self::Reactor(id) => (Table::Reactors, tables::reactors(tenant, id)),
        };
        Ok(snapshot.value(row.0, &row.1)?.is_some())
    }

    /// The same for all calls of a program, so that the rate limits count them together.
    fn tag(self) -> [u8; 32] {
        let mut digest = Sha256::new();
        digest.update(b"calls of a program");
        digest.update(self.uuid().as_bytes());
        digest.finish()
    }
}

/// The tag of the programs of a reactor, where requests are counted.
pub(in crate::app) fn tag_of(reactor: ReactorId) -> [u8; 32] {
    ProgramOwner::Reactor(reactor).tag()
}

impl From<ProgramOwner> for Entity {
    fn from(owner: ProgramOwner) -> Self {
        match owner {
            ProgramOwner::Proxy(id) => id.into(),
            ProgramOwner::Reactor(id) => id.into(),
        }
    }
}

impl ProgramIdentity {
    pub(in crate::app) fn new(
        key: KeyText,
        tenant: TenantId,
        owner: ProgramOwner,
        (rights, credential): (ProgramRights, Credential),
    ) -> Self {
        Self { key, tenant, owner, rights, credential, has_ended: AtomicBool::new(false) }
    }

    /// True if a request has the key of this call.
    pub fn is_key(&self, text: &[u8]) -> bool {
        is_equal(self.key.expose().as_bytes(), text)
    }

    pub(super) fn key(&self) -> &str {
        self.key.expose()
    }

    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
    }

    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }
}

impl AccessControl<'_> {
    /// The caller of a request that a program sends with the key of its call.
    pub fn program(self, identity: &Arc<ProgramIdentity>) -> Result<Arc<Caller>, Error> {
        self.vault.processes().poll_if_stale()?;
        if identity.has_ended() {
            return Err(Error::Unauthenticated);
        }
        let (tenant, owner) = (identity.tenant, identity.owner);
        let snapshot = self.vault.snapshot()?;
        if !owner.is_there(&snapshot, tenant)? {
            return Err(Error::Unauthenticated);
        }
        let caller = match &identity.rights {
            ProgramRights::Application(id) => self.caller_without_key(tenant, *id, owner.tag())?,
            ProgramRights::Permissions(permissions) => {
                Some(self.caller_by_permissions(&snapshot, identity, permissions)?)
            }
        };
        let mut caller = caller.ok_or(Error::Unauthenticated)?;
        caller.program = Some(Arc::clone(identity));
        Ok(Arc::new(caller))
    }

    /// The program acts under the id of its reactor or proxy: it has no application.
    fn caller_by_permissions(
        self,
        snapshot: &Snapshot,
        identity: &ProgramIdentity,
        permissions: &[Permission],
    ) -> Result<Caller, Error> {
        let (tenant, owner) = (identity.tenant, identity.owner);
        let keys = self.vault.keys().tenant_keys(snapshot, tenant)?;
        let record = self.tenant(snapshot, tenant)?;
        let access = Access::new(permissions.to_vec(), Vec::new());
        let kind = ApplicationKind::Private;
        let mut application = Application::unstored(&record, "program", kind, access);
        application.id = ApplicationId::new(owner.uuid());
        Ok(Caller::without_key(record, application, owner.tag(), keys, snapshot.epoch()))
    }
}
