//! Records of sessions and client encryption keys: their vectors.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::domain::access::AccessRule;
use crate::domain::condition::Condition;
use crate::domain::hex;
use crate::domain::id::{AccessSessionId, ClientKeyId, TenantId};
use crate::domain::permission::Permission;
use crate::store::record::{
    decode_access_session, decode_client_key, encode_access_session, encode_client_key,
};
use crate::store::tests::records::check_vectors;

const TENANT: TenantId = TenantId::new(Uuid::from_u128(1));

fn texts(permissions: &[Permission]) -> Vec<&'static str> {
    permissions.iter().map(|it| it.as_str()).collect()
}

fn tell_rule(rule: &AccessRule) -> Value {
    let condition = |it: &Condition| json!([it.attribute.as_str(), it.operator.as_str(), it.value]);
    json!({
        "description": rule.description,
        "priority": rule.priority,
        "container": rule.container.as_str(),
        "conditions": rule.conditions.iter().map(condition).collect::<Vec<_>>(),
        "transform": rule.transform.as_str(),
        "permissions": texts(&rule.permissions),
    })
}

#[test]
fn sessions_of_version_1_are_read_and_written_as_ever() {
    check_vectors(
        include_str!("../../../tests/vectors/session-v1.json"),
        |bytes| decode_access_session(TENANT, AccessSessionId::new(Uuid::from_u128(2)), bytes),
        |session| {
            let grant = session.grant.as_ref().map(|grant| {
                json!({
                    "grantor": grant.grantor.to_string(),
                    "authorized_with": hex::encode(&grant.authorized_with),
                    "authorized_at": grant.authorized_at.micros(),
                    "permissions": texts(grant.access.permissions()),
                    "rules": grant.access.rules().iter().map(tell_rule).collect::<Vec<_>>(),
                })
            });
            json!({
                "application": session.application.to_string(),
                "made_with": hex::encode(&session.made_with),
                "key_hash": hex::encode(&session.key_hash),
                "created_at": session.created_at.micros(),
                "expires_at": session.expires_at.micros(),
                "grant": grant,
            })
        },
        |session| encode_access_session(session).unwrap().expose().clone(),
    );
}

#[test]
fn client_keys_of_version_1_are_read_and_written_as_ever() {
    check_vectors(
        include_str!("../../../tests/vectors/client-key-v1.json"),
        |bytes| decode_client_key(TENANT, ClientKeyId::new(Uuid::from_u128(2)), bytes),
        |key| {
            json!({
                "private": hex::encode(key.private.expose()),
                "created_by": key.created_by.to_string(),
                "created_at": key.created_at.micros(),
                "expires_at": key.expires_at.micros(),
            })
        },
        |key| encode_client_key(key).unwrap().expose().clone(),
    );
}
