//! Tenants. Every resource belongs to one tenant, and no tenant sees the resources of another.

use std::collections::BTreeMap;

use crate::domain::id::{ApplicationId, TenantId};
use crate::domain::quota::Quotas;
use crate::domain::time::Timestamp;
use crate::domain::words::words;

words! {
    pub enum TenantKind {
        Production = "production";
        Test = "test";
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threeds {
    Disabled,
    Enabled,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    pub id: TenantId,
    pub name: String,
    pub kind: TenantKind,
    pub threeds: Threeds,
    /// Settings of the tenant's programs; values are texts such as `"true"`.
    pub settings: BTreeMap<String, String>,
    pub quotas: Quotas,
    pub created_at: Timestamp,
    pub modified_by: Option<ApplicationId>,
    pub modified_at: Option<Timestamp>,
}
