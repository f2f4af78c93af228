//! Pre-configured proxies: their records and the keys that choose them.

pub(in crate::app) mod expressions;
pub(in crate::app) mod transforms;

use crate::app::Proxies;
use crate::app::caller::Caller;
use crate::app::error::{Error, Fault};
use crate::app::records::{self, proxy_key_hash};
use crate::crypto::is_equal;
use crate::domain::proxy::{Proxy, ProxyKey};
use crate::store::{Table, tables};

impl Proxies<'_> {
    /// `None` if no proxy has this key. The key alone leads to the tenant.
    pub fn find_by_key(self, text: &str) -> Result<Option<Proxy>, Error> {
        let Some(presented) = ProxyKey::parse(text) else { return Ok(None) };
        let snapshot = self.vault.snapshot()?;
        let row = tables::proxy_keys(&proxy_key_hash(&presented));
        let Some(found) = snapshot.value(Table::ProxyKeys, &row)? else { return Ok(None) };
        let (tenant, id) = tables::proxy_of_key(&found).ok_or(Error::Internal(Fault::BadRecord))?;
        let keys = match self.vault.keys().tenant_keys(&snapshot, tenant) {
            // The tenant is being deleted.
            Err(Error::Unauthenticated) => return Ok(None),
            keys => keys?,
        };
        let dangling = Error::Internal(Fault::Dangling);
        let (proxy, _) = records::find::<Proxy>(&snapshot, &keys, id)?.ok_or(dangling)?;
        // The index row is not sealed. Only the record proves which key a proxy has.
        if is_equal(proxy.key.expose().as_bytes(), presented.expose().as_bytes()) {
            Ok(Some(proxy))
        } else {
            Err(Error::Internal(Fault::Dangling))
        }
    }

    /// A caller with the rights of the proxy's application. It uses the tokens of calls without an
    /// API key, and creates the tokens of transforms. `None` if the proxy has no application, or if
    /// the application was deleted.
    pub fn application_caller(self, proxy: &Proxy) -> Result<Option<Caller>, Error> {
        let Some(id) = proxy.settings.application else { return Ok(None) };
        self.vault.access().caller_without_key(proxy.tenant, id, proxy_key_hash(&proxy.key))
    }
}
