//! Access: API keys and the callers that they stand for, tenants and applications.

pub(in crate::app) mod api_keys;
pub(in crate::app) mod applications;
pub(in crate::app) mod authenticate;
pub(in crate::app) mod caller;
pub(in crate::app) mod callers;
mod last_use_rows;
pub(in crate::app) mod last_uses;
mod operator_caller;
pub(in crate::app) mod sessions;
pub(in crate::app) mod tenants;

use crate::app::vault::Vault;

/// Tenants, applications, their API keys, and the callers that the keys stand for.
#[derive(Debug, Clone, Copy)]
pub struct AccessControl<'a> {
    pub(in crate::app) vault: &'a Vault,
}

impl Vault {
    pub const fn access(&self) -> AccessControl<'_> {
        AccessControl { vault: self }
    }
}
