//! Keys of proxies, and the rows that find them.

use uuid::Uuid;

use crate::domain::id::{ProxyId, TenantId};
use crate::store::tables::range::KeyRange;
use crate::store::tables::table::{Table, join, two_ids};

pub fn proxies(tenant: TenantId, proxy: ProxyId) -> Vec<u8> {
    join(&[tenant.bytes(), proxy.bytes()])
}

pub fn proxies_of(tenant: TenantId) -> KeyRange {
    KeyRange::prefix(Table::Proxies, tenant.bytes().to_vec())
}

/// The tenant and the proxy of a key of [`Table::Proxies`], or of a value of [`Table::ProxyKeys`].
pub fn proxy_of_key(key: &[u8]) -> Option<(TenantId, ProxyId)> {
    let (tenant, proxy): (Uuid, Uuid) = two_ids(key)?;
    Some((TenantId::new(tenant), ProxyId::new(proxy)))
}

/// The row that a proxy is found by; `hash` is the SHA-256 of its key.
pub fn proxy_keys(hash: &[u8; 32]) -> Vec<u8> {
    hash.to_vec()
}
