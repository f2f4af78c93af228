//! Sessions of public applications, version 1.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::access::{Access, AccessRule, Transform};
use crate::domain::condition::{Attribute, Condition, Operator};
use crate::domain::container::Container;
use crate::domain::hex;
use crate::domain::id::{AccessSessionId, ApplicationId, TenantId};
use crate::domain::session::{Session, SessionGrant};
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::record::access::{permissions, texts};
use crate::store::record::encoding::{BadRecord, EncodeFailed, decode, encode, micros};

const VERSION: u8 = 1;

#[derive(Serialize, Deserialize)]
struct SessionV1 {
    application: Uuid,
    /// Hexadecimal, as the other hashes.
    made_with: String,
    key_hash: String,
    created_at: i64,
    expires_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grant: Option<GrantV1>,
}

#[derive(Serialize, Deserialize)]
struct GrantV1 {
    grantor: Uuid,
    authorized_with: String,
    authorized_at: i64,
    permissions: Vec<String>,
    rules: Vec<RuleV1>,
}

#[derive(Serialize, Deserialize)]
struct RuleV1 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    priority: u32,
    container: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    conditions: Vec<ConditionV1>,
    transform: String,
    permissions: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct ConditionV1 {
    attribute: String,
    operator: String,
    value: String,
}

pub fn encode_access_session(session: &Session) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let condition = |it: &Condition| ConditionV1 {
        attribute: String::from(it.attribute.as_str()),
        operator: String::from(it.operator.as_str()),
        value: it.value.clone(),
    };
    let rule = |rule: &AccessRule| RuleV1 {
        description: rule.description.clone(),
        priority: rule.priority,
        container: String::from(rule.container.as_str()),
        conditions: rule.conditions.iter().map(condition).collect(),
        transform: String::from(rule.transform.as_str()),
        permissions: texts(&rule.permissions),
    };
    let grant = |grant: &SessionGrant| GrantV1 {
        grantor: grant.grantor.uuid(),
        authorized_with: hex::encode(&grant.authorized_with),
        authorized_at: micros(grant.authorized_at),
        permissions: texts(grant.access.permissions()),
        rules: grant.access.rules().iter().map(rule).collect(),
    };
    encode(
        VERSION,
        &SessionV1 {
            application: session.application.uuid(),
            made_with: hex::encode(&session.made_with),
            key_hash: hex::encode(&session.key_hash),
            created_at: micros(session.created_at),
            expires_at: micros(session.expires_at),
            grant: session.grant.as_ref().map(grant),
        },
    )
}

pub fn decode_access_session(
    tenant: TenantId,
    id: AccessSessionId,
    bytes: &[u8],
) -> Result<Session, BadRecord> {
    let record: SessionV1 = decode(VERSION, bytes)?;
    Ok(Session {
        id,
        tenant,
        application: ApplicationId::new(record.application),
        made_with: hex::decode(&record.made_with).ok_or(BadRecord)?,
        key_hash: hex::decode(&record.key_hash).ok_or(BadRecord)?,
        created_at: Timestamp::from_micros(record.created_at),
        expires_at: Timestamp::from_micros(record.expires_at),
        grant: record.grant.map(|grant| decode_grant(&grant).ok_or(BadRecord)).transpose()?,
    })
}

fn decode_grant(grant: &GrantV1) -> Option<SessionGrant> {
    let rules: Option<Vec<_>> = grant.rules.iter().map(decode_rule).collect();
    Some(SessionGrant {
        grantor: ApplicationId::new(grant.grantor),
        authorized_with: hex::decode(&grant.authorized_with)?,
        authorized_at: Timestamp::from_micros(grant.authorized_at),
        access: Access::new(permissions(&grant.permissions)?, rules?),
    })
}

fn decode_rule(rule: &RuleV1) -> Option<AccessRule> {
    let condition = |it: &ConditionV1| {
        Some(Condition {
            attribute: Attribute::parse(&it.attribute)?,
            operator: Operator::parse(&it.operator)?,
            value: it.value.clone(),
        })
    };
    Some(AccessRule {
        description: rule.description.clone(),
        priority: rule.priority,
        container: Container::parse(&rule.container).ok()?,
        conditions: rule.conditions.iter().map(condition).collect::<Option<_>>()?,
        transform: Transform::parse(&rule.transform)?,
        permissions: permissions(&rule.permissions)?,
    })
}
