//! Keys of the sessions of public applications.

use crate::domain::id::{AccessSessionId, TenantId};
use crate::store::tables::table::{join, two_ids};

pub fn sessions(tenant: TenantId, session: AccessSessionId) -> Vec<u8> {
    join(&[tenant.bytes(), session.bytes()])
}

/// The row that a session is found by; `hash` is the SHA-256 of its key's text.
pub fn session_keys(hash: &[u8; 32]) -> Vec<u8> {
    hash.to_vec()
}

/// The value of a row that finds a session.
pub fn session_place(tenant: TenantId, session: AccessSessionId) -> Vec<u8> {
    sessions(tenant, session)
}

/// The tenant and the session in the value of a row that finds a session.
pub fn session_of_place(value: &[u8]) -> Option<(TenantId, AccessSessionId)> {
    let (tenant, session) = two_ids(value)?;
    Some((TenantId::new(tenant), AccessSessionId::new(session)))
}
