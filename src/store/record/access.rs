//! Applications, versions 1 and 2, and their keys, version 1.
//!
//! An application is written in version 2 only if it has allowed origins. An earlier program, which
//! would not check them, then refuses the record instead of ignoring them.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::access::{Access, AccessRule, Transform};
use crate::domain::answer_seed::AnswerSeed;
use crate::domain::application::{ApiKey, Application, ApplicationKind, KeyForm};
use crate::domain::container::Container;
use crate::domain::hex;
use crate::domain::id::{ApplicationId, KeyId, TenantId};
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::domain::web_origin::{AllowedOrigins, WebOrigin};
use crate::secret::Secret;
use crate::store::record::encoding::{BadRecord, EncodeFailed, decode, encode, micros};

const VERSION: u8 = 1;
const WITH_ORIGINS: u8 = 2;

/// An API key and the tag that it is found by.
#[derive(Debug, PartialEq, Eq)]
pub struct KeyRecord {
    pub key: ApiKey,
    pub tag: [u8; 32],
    /// Absent in records of earlier versions.
    pub answer_seed: Option<AnswerSeed>,
}

#[derive(Serialize, Deserialize)]
struct ApplicationRecord {
    name: String,
    r#type: String,
    permissions: Vec<String>,
    rules: Vec<RuleV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created_by: Option<Uuid>,
    created_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modified_by: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modified_at: Option<i64>,
    /// In version 2 alone, and there never empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    allowed_origins: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct RuleV1 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    priority: u32,
    container: String,
    transform: String,
    permissions: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct ApiKeyV1 {
    id: Uuid,
    tenant: Uuid,
    application: Uuid,
    legacy: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created_by: Option<Uuid>,
    created_at: i64,
    tag: [u8; 32],
    /// Hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer_seed: Option<String>,
}

pub fn encode_application(application: &Application) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    // Only sessions have rules with conditions. Without them such a rule would grant more.
    if application.access.rules().iter().any(|rule| !rule.conditions.is_empty()) {
        return Err(EncodeFailed);
    }
    let rule = |rule: &AccessRule| RuleV1 {
        description: rule.description.clone(),
        priority: rule.priority,
        container: String::from(rule.container.as_str()),
        transform: String::from(rule.transform.as_str()),
        permissions: texts(&rule.permissions),
    };
    let origins = &application.allowed_origins;
    encode(
        if origins.is_empty() { VERSION } else { WITH_ORIGINS },
        &ApplicationRecord {
            name: application.name.clone(),
            r#type: String::from(application.kind.as_str()),
            permissions: texts(application.access.permissions()),
            rules: application.access.rules().iter().map(rule).collect(),
            created_by: application.created_by.map(ApplicationId::uuid),
            created_at: micros(application.created_at),
            modified_by: application.modified_by.map(ApplicationId::uuid),
            modified_at: application.modified_at.map(micros),
            allowed_origins: origins.texts().map(String::from).collect(),
        },
    )
}

pub fn decode_application(
    tenant: TenantId,
    id: ApplicationId,
    bytes: &[u8],
) -> Result<Application, BadRecord> {
    let version = if bytes.first() == Some(&WITH_ORIGINS) { WITH_ORIGINS } else { VERSION };
    let record: ApplicationRecord = decode(version, bytes)?;
    if record.allowed_origins.is_empty() != (version == VERSION) {
        return Err(BadRecord);
    }
    let origins = record.allowed_origins.iter().map(|text| WebOrigin::parse(text).ok());
    let origins = origins.collect::<Option<_>>().and_then(AllowedOrigins::new);
    let rule = |rule: &RuleV1| {
        Some(AccessRule {
            description: rule.description.clone(),
            priority: rule.priority,
            container: Container::parse(&rule.container).ok()?,
            conditions: Vec::new(),
            transform: Transform::parse(&rule.transform)?,
            permissions: permissions(&rule.permissions)?,
        })
    };
    let rules: Option<Vec<_>> = record.rules.iter().map(rule).collect();
    let plain = permissions(&record.permissions).ok_or(BadRecord)?;
    Ok(Application {
        id,
        tenant,
        name: record.name,
        kind: ApplicationKind::parse(&record.r#type).ok_or(BadRecord)?,
        access: Access::new(plain, rules.ok_or(BadRecord)?),
        allowed_origins: origins.ok_or(BadRecord)?,
        created_by: record.created_by.map(ApplicationId::new),
        created_at: Timestamp::from_micros(record.created_at),
        modified_by: record.modified_by.map(ApplicationId::new),
        modified_at: record.modified_at.map(Timestamp::from_micros),
    })
}

pub fn encode_api_key(record: &KeyRecord) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let KeyRecord { key, tag, answer_seed } = record;
    encode(
        VERSION,
        &ApiKeyV1 {
            id: key.id.uuid(),
            tenant: key.tenant.uuid(),
            application: key.application.uuid(),
            legacy: key.form == KeyForm::Legacy,
            created_by: key.created_by.map(ApplicationId::uuid),
            created_at: micros(key.created_at),
            tag: *tag,
            answer_seed: answer_seed.as_ref().map(|seed| hex::encode(seed.expose())),
        },
    )
}

pub fn decode_api_key(bytes: &[u8]) -> Result<KeyRecord, BadRecord> {
    let record: ApiKeyV1 = decode(VERSION, bytes)?;
    let key = ApiKey {
        id: KeyId::new(record.id),
        tenant: TenantId::new(record.tenant),
        application: ApplicationId::new(record.application),
        form: if record.legacy { KeyForm::Legacy } else { KeyForm::Current },
        created_by: record.created_by.map(ApplicationId::new),
        created_at: Timestamp::from_micros(record.created_at),
    };
    let seed = record.answer_seed.as_deref().map(|text| hex::decode(text).ok_or(BadRecord));
    let answer_seed = seed.transpose()?.map(AnswerSeed::new);
    Ok(KeyRecord { key, tag: record.tag, answer_seed })
}

pub(super) fn texts(permissions: &[Permission]) -> Vec<String> {
    permissions.iter().map(|permission| String::from(permission.as_str())).collect()
}

pub(super) fn permissions(texts: &[String]) -> Option<Vec<Permission>> {
    texts.iter().map(|text| Permission::parse(text)).collect()
}
