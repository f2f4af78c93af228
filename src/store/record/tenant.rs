//! Tenants, version 1.

use std::collections::BTreeMap;

use serde::Serializer;
use serde_json::value::RawValue;

use crate::domain::id::TenantId;
use crate::domain::quota::Quotas;
use crate::domain::tenant::{Tenant, TenantKind, Threeds};
use crate::store::record::shape::{Stored, flags, plain, record, texts};

record! { encode_tenant, decode_tenant(id: TenantId): Tenant {
    name, kind = "type", threeds, settings, quotas, created_at, modified_by?, modified_at?,
} }

flags! { Threeds { false Disabled, true Enabled } }
texts! { as_str: TenantKind; }

/// Texts by name. The token limit is left out if it is not set.
impl Stored for Quotas {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let texts: BTreeMap<_, _> = self
            .texts()
            .into_iter()
            .filter(|(name, _)| *name != "token_limit" || self.token_limit.is_some())
            .collect();
        serializer.collect_map(texts)
    }

    fn read(json: &RawValue) -> Option<Self> {
        let mut quotas = Self::default();
        for (name, value) in plain::<BTreeMap<String, String>>(json)? {
            quotas.set(&name, &value).ok()?;
        }
        Some(quotas)
    }
}
