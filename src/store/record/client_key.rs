//! Client encryption keys, version 1.

use crate::domain::client_key::ClientKey;
use crate::domain::id::{ClientKeyId, TenantId};
use crate::store::record::shape::record;

record! { encode_client_key, decode_client_key(tenant: TenantId, id: ClientKeyId): ClientKey {
    private, created_by, created_at, expires_at,
} }
