//! Applications, their keys and their sessions, version 1.

use crate::domain::answer_seed::AnswerSeed;
use crate::domain::application::{ApiKey, Application, ApplicationKind, KeyForm};
use crate::domain::id::{AccessSessionId, ApplicationId, TenantId};
use crate::domain::session::{Session, SessionGrant};
use crate::domain::web_origin::{AllowedOrigins, WebOrigin};
use crate::secret::Secret;
use crate::store::record::encoding::{BadRecord, EncodeFailed};
use crate::store::record::shape::{
    Members, Shape, Sparse, decode_shape, encode_shape, flags, members, put, record, stored_as,
    texts,
};

/// An API key and the tag that finds it.
#[derive(Debug, PartialEq, Eq)]
pub struct KeyRecord {
    pub key: ApiKey,
    pub tag: [u8; 32],
    pub answer_seed: AnswerSeed,
}

members! { Application, tenant: TenantId, id: ApplicationId {
    name, kind = "type", ..access, created_by?, created_at, modified_by?, modified_at?,
    allowed_origins?,
} }

record! { encode_access_session, decode_access_session(tenant: TenantId, id: AccessSessionId): Session {
    application, made_with, key_hash, created_at, expires_at, grant?,
} }

members! { SessionGrant { grantor, authorized_with, authorized_at, ..access } }
members! { ApiKey { id, tenant, application, form = "legacy", created_by?, created_at } }
flags! { KeyForm { false Current, true Legacy } }
texts! { as_str: ApplicationKind, WebOrigin; }

pub fn encode_application(application: &Application) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    // Only sessions have rules with conditions.
    if application.access.rules().iter().any(|rule| !rule.conditions.is_empty()) {
        return Err(EncodeFailed);
    }
    encode_shape(application)
}

pub fn decode_application(
    tenant: TenantId,
    id: ApplicationId,
    bytes: &[u8],
) -> Result<Application, BadRecord> {
    decode_shape((tenant, id), bytes)
}

pub fn encode_api_key(record: &KeyRecord) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    encode_shape(record)
}

pub fn decode_api_key(bytes: &[u8]) -> Result<KeyRecord, BadRecord> {
    decode_shape((), bytes)
}

/// The tag is a list of numbers, unlike the hashes of other records.
impl Shape for KeyRecord {
    type Key = ();

    fn write_members<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.key.write_members(map)?;
        map.serialize_entry("tag", &self.tag)?;
        put(map, "answer_seed", &self.answer_seed)
    }

    fn read_members(members: &Members<'_>, (): ()) -> Option<Self> {
        let tag: Vec<u8> = members.required("tag")?;
        Some(Self {
            key: ApiKey::read_members(members, ())?,
            tag: tag.try_into().ok()?,
            answer_seed: members.required("answer_seed")?,
        })
    }
}

stored_as! { AllowedOrigins: |it| it.texts().collect::<Vec<_>>(), Self::new; }

impl Sparse for AllowedOrigins {
    fn is_left_out(&self) -> bool {
        self.is_empty()
    }
}
