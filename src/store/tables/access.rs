//! Keys of tenants, applications, API keys and the encryption keys of each scope.

use uuid::Uuid;

use crate::domain::id::{ApplicationId, KeyId, TenantId};
use crate::store::tables::range::KeyRange;
use crate::store::tables::records::applications;
use crate::store::tables::table::{Table, join, two_ids};

pub fn tenants(tenant: TenantId) -> Vec<u8> {
    tenant.bytes().to_vec()
}

pub fn tenant_of_key(key: &[u8]) -> Option<TenantId> {
    Uuid::from_slice(key).ok().map(TenantId::new)
}

/// The key of the row that finds an API key; `place` comes from `crypto::api_keys::ApiKeyIndex`.
pub fn api_keys(place: &[u8; 32]) -> Vec<u8> {
    place.to_vec()
}

pub fn api_key_of_key(key: &[u8]) -> Option<&[u8; 32]> {
    key.try_into().ok()
}

pub fn application_keys(tenant: TenantId, application: ApplicationId, key: KeyId) -> Vec<u8> {
    join(&[tenant.bytes(), application.bytes(), key.bytes()])
}

pub fn application_keys_of_tenant(tenant: TenantId) -> KeyRange {
    KeyRange::prefix(Table::ApplicationKeys, tenant.bytes().to_vec())
}

pub fn application_keys_of(tenant: TenantId, application: ApplicationId) -> KeyRange {
    KeyRange::prefix(Table::ApplicationKeys, applications(tenant, application))
}

pub fn application_key_of_key(key: &[u8]) -> Option<(TenantId, (ApplicationId, KeyId))> {
    let (tenant, rest) = key.split_first_chunk()?;
    let (application, id) = two_ids(rest)?;
    let tenant = TenantId::new(Uuid::from_bytes(*tenant));
    Some((tenant, (ApplicationId::new(application), KeyId::new(id))))
}

/// A row of [`Table::KeyUses`] has the same key as the API key in [`Table::ApplicationKeys`].
pub fn key_uses(tenant: TenantId, application: ApplicationId, key: KeyId) -> Vec<u8> {
    application_keys(tenant, application, key)
}

pub fn key_uses_of(tenant: TenantId) -> KeyRange {
    KeyRange::prefix(Table::KeyUses, tenant.bytes().to_vec())
}

/// A minute since 1970, for [`Table::KeyUses`].
pub fn minute_value(minute: i64) -> Vec<u8> {
    minute.to_be_bytes().to_vec()
}

pub fn minute_of_value(value: &[u8]) -> Option<i64> {
    value.try_into().ok().map(i64::from_be_bytes)
}

pub fn keys(scope: &[u8; 16], purpose: u8, number: u32) -> Vec<u8> {
    join(&[scope, &[purpose], &number.to_be_bytes()])
}

/// The keys of a scope, for all purposes.
pub fn keys_of(scope: &[u8; 16]) -> KeyRange {
    KeyRange::prefix(Table::Keys, scope.to_vec())
}

pub fn keys_of_purpose(scope: &[u8; 16], purpose: u8) -> KeyRange {
    KeyRange::prefix(Table::Keys, join(&[scope, &[purpose]]))
}

/// The purpose and the number in a key of [`Table::Keys`].
pub fn key_parts(key: &[u8]) -> Option<(u8, u32)> {
    let (_, &[purpose, ref number @ ..]) = key.split_first_chunk::<16>()? else { return None };
    Some((purpose, u32::from_be_bytes(number.try_into().ok()?)))
}

pub fn scope_of_keys_key(key: &[u8]) -> Option<&[u8; 16]> {
    key.first_chunk()
}
