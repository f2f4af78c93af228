//! Pre-configured proxies: their records and the keys that choose them.

pub(in crate::app) mod expressions;
pub(in crate::app) mod manage;
pub(in crate::app) mod transforms;

use crate::app::access::caller::Caller;
use crate::app::error::{Error, Fault};
use crate::app::vault::Vault;
use crate::crypto::{Sha256, TenantKeys, Version, is_equal, version};
use crate::domain::id::{ProxyId, TenantId};
use crate::domain::proxy::{Proxy, ProxyKey};
use crate::store::record::decode_proxy;
use crate::store::{Snapshot, Table, tables};

/// The proxies of all tenants.
#[derive(Debug, Clone, Copy)]
pub struct Proxies<'a> {
    pub(in crate::app) vault: &'a Vault,
}

impl Vault {
    pub const fn proxies(&self) -> Proxies<'_> {
        Proxies { vault: self }
    }
}

impl Proxies<'_> {
    /// The proxy that a caller chooses with this text; `None` if no proxy has it. The tenant is not
    /// known before: the key alone leads to it.
    pub fn find_by_key(self, text: &str) -> Result<Option<Proxy>, Error> {
        let Some(presented) = ProxyKey::parse(text) else { return Ok(None) };
        let snapshot = self.vault.snapshot()?;
        let row = tables::proxy_keys(&hash(&presented));
        let Some(found) = snapshot.value(Table::ProxyKeys, &row)? else { return Ok(None) };
        let (tenant, id) = tables::proxy_of_key(&found).ok_or(Error::Internal(Fault::BadRecord))?;
        let keys = match self.vault.keys().tenant_keys(&snapshot, tenant) {
            // The tenant is being deleted.
            Err(Error::Unauthenticated) => return Ok(None),
            keys => keys?,
        };
        let dangling = Error::Internal(Fault::Dangling);
        let (proxy, _) = find(&snapshot, &keys, tenant, id)?.ok_or(dangling)?;
        // The row is not sealed. Only the record says which key a proxy has.
        if is_equal(proxy.key.expose().as_bytes(), presented.expose().as_bytes()) {
            Ok(Some(proxy))
        } else {
            Err(Error::Internal(Fault::Dangling))
        }
    }
}

impl Proxies<'_> {
    /// A caller with the rights of the proxy's application. It uses the tokens of calls without an
    /// API key, and it makes the tokens of transforms. `None` if the proxy has no application, or
    /// if that was deleted.
    pub fn application_caller(self, proxy: &Proxy) -> Result<Option<Caller>, Error> {
        let Some(id) = proxy.settings.application else { return Ok(None) };
        self.vault.access().caller_without_key(proxy.tenant, id, hash(&proxy.key))
    }
}

/// The hash that finds a proxy by its key. A key holds 128 random bits, so the hash does not
/// disclose it.
pub(in crate::app) fn hash(key: &ProxyKey) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(key.expose().as_bytes());
    digest.finish()
}

/// Reads a proxy and the version of its sealed record.
pub(in crate::app) fn find(
    snapshot: &Snapshot,
    keys: &TenantKeys,
    tenant: TenantId,
    id: ProxyId,
) -> Result<Option<(Proxy, Version)>, Error> {
    let key = tables::proxies(tenant, id);
    let Some(sealed) = snapshot.value(Table::Proxies, &key)? else { return Ok(None) };
    let found = version(&sealed).ok_or(Error::Internal(Fault::BadRecord))?;
    Ok(Some((open(keys, tenant, &key, &sealed)?, found)))
}

pub(in crate::app) fn open(
    keys: &TenantKeys,
    tenant: TenantId,
    key: &[u8],
    sealed: &[u8],
) -> Result<Proxy, Error> {
    let of_key = tables::proxy_of_key(key).filter(|(owner, _)| *owner == tenant);
    let (_, id) = of_key.ok_or(Error::Internal(Fault::BadRecord))?;
    let plain = keys.open(Table::Proxies.number(), key, sealed)?;
    Ok(decode_proxy(tenant, id, plain.expose())?)
}
