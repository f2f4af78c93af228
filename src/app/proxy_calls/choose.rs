//! The pre-configured proxy that a call chooses by its key.

use std::sync::Arc;

use crate::app::Proxies;
use crate::app::caller::Caller;
use crate::app::error::Error;
use crate::app::fair_pool::{Credential, Party};
use crate::domain::id::TenantId;
use crate::domain::proxy::Proxy;
use crate::domain::quota::RateLimit;
use crate::domain::tenant::TenantKind;

#[derive(Debug)]
pub struct ChosenProxy {
    pub(super) proxy: Proxy,
    /// Creates the tokens of transforms, and acts for calls without an API key.
    pub application: Option<Arc<Caller>>,
    /// The tenant's factor of the rate limits.
    pub rate_limit: RateLimit,
    pub(super) tenant_kind: TenantKind,
}

impl ChosenProxy {
    pub const fn tenant(&self) -> TenantId {
        self.proxy.tenant
    }

    pub const fn requires_key(&self) -> bool {
        self.proxy.settings.require_auth
    }

    /// A call that has no API key is counted as a stranger's.
    pub fn credential(&self, caller: Option<&Caller>) -> Credential {
        let caller = if self.requires_key() { caller } else { self.application.as_deref() };
        Party::of(caller, self.proxy.tenant).credential
    }

    /// Identifies the proxy where calls are counted.
    pub const fn tag(&self) -> [u8; 16] {
        *self.proxy.id.uuid().as_bytes()
    }
}

impl Proxies<'_> {
    /// `None` if no proxy has this key.
    pub fn choose(self, key: &str) -> Result<Option<ChosenProxy>, Error> {
        let Some(proxy) = self.vault.proxies().find_by_key(key)? else { return Ok(None) };
        let snapshot = self.vault.snapshot()?;
        let access = self.vault.access();
        let application = self.vault.proxies().application_caller(&proxy)?.map(Arc::new);
        let tenant = access.tenant(&snapshot, proxy.tenant)?;
        let (rate_limit, tenant_kind) = (tenant.quotas.rate_limit, tenant.kind);
        Ok(Some(ChosenProxy { proxy, application, rate_limit, tenant_kind }))
    }
}
