//! Tenants, version 1.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::id::{ApplicationId, TenantId};
use crate::domain::quota::Quotas;
use crate::domain::tenant::{Tenant, TenantKind, Threeds};
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::record::encoding::{BadRecord, EncodeFailed, decode, encode, micros};

const VERSION: u8 = 1;

#[derive(Serialize, Deserialize)]
struct TenantV1 {
    name: String,
    r#type: String,
    threeds: bool,
    settings: BTreeMap<String, String>,
    quotas: BTreeMap<String, String>,
    created_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modified_by: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modified_at: Option<i64>,
}

pub fn encode_tenant(tenant: &Tenant) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    // The token limit was added after version 1. It is left out if it is not set, so that the
    // records of a vault that does not use it stay the same.
    let quotas = tenant.quotas.texts().into_iter();
    let quotas =
        quotas.filter(|(name, _)| *name != "token_limit" || tenant.quotas.token_limit.is_some());
    encode(
        VERSION,
        &TenantV1 {
            name: tenant.name.clone(),
            r#type: String::from(tenant.kind.as_str()),
            threeds: tenant.threeds == Threeds::Enabled,
            settings: tenant.settings.clone(),
            quotas: quotas.map(|(name, value)| (String::from(name), value)).collect(),
            created_at: micros(tenant.created_at),
            modified_by: tenant.modified_by.map(ApplicationId::uuid),
            modified_at: tenant.modified_at.map(micros),
        },
    )
}

pub fn decode_tenant(id: TenantId, bytes: &[u8]) -> Result<Tenant, BadRecord> {
    let record: TenantV1 = decode(VERSION, bytes)?;
    let mut quotas = Quotas::default();
    for (name, value) in &record.quotas {
        quotas.set(name, value).ok().ok_or(BadRecord)?;
    }
    Ok(Tenant {
        id,
        name: record.name,
        kind: TenantKind::parse(&record.r#type).ok_or(BadRecord)?,
        threeds: if record.threeds { Threeds::Enabled } else { Threeds::Disabled },
        settings: record.settings,
        quotas,
        created_at: Timestamp::from_micros(record.created_at),
        modified_by: record.modified_by.map(ApplicationId::new),
        modified_at: record.modified_at.map(Timestamp::from_micros),
    })
}
