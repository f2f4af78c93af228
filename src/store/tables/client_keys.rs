//! Keys of client encryption keys.

use crate::domain::id::{ClientKeyId, TenantId};
use crate::store::tables::range::KeyRange;
use crate::store::tables::table::{Table, join, two_ids};

pub fn client_keys(tenant: TenantId, key: ClientKeyId) -> Vec<u8> {
    join(&[tenant.bytes(), key.bytes()])
}

pub fn client_keys_of(tenant: TenantId) -> KeyRange {
    KeyRange::prefix(Table::ClientKeys, tenant.bytes().to_vec())
}

/// The tenant and the client encryption key of a key of [`Table::ClientKeys`].
pub fn client_key_of_key(key: &[u8]) -> Option<(TenantId, ClientKeyId)> {
    let (tenant, id) = two_ids(key)?;
    Some((TenantId::new(tenant), ClientKeyId::new(id)))
}
