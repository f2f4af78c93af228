//! The part of the audit chain that an entry belongs to.

use crate::crypto::SystemKeys;
use crate::domain::id::TenantId;

/// The server's own entries, or those of a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditScope {
    Server,
    Tenant(TenantId),
}

impl AuditScope {
    pub(in crate::app) const fn bytes(&self) -> [u8; 16] {
        match self {
            Self::Server => SystemKeys::SCOPE,
            Self::Tenant(id) => id.uuid().into_bytes(),
        }
    }
}
