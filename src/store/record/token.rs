//! Tokens, version 1. Values that equal the default of the token's type are left out, and decoding
//! takes them from the type.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::domain::answer_seed::AnswerSeed;
use crate::domain::container::Container;
use crate::domain::data::Data;
use crate::domain::hex;
use crate::domain::id::{ApplicationId, TenantId, TokenId};
use crate::domain::time::Timestamp;
use crate::domain::token::{Token, TokenName};
use crate::domain::token_type::TokenType;
use crate::secret::Secret;
use crate::store::record::encoding::{
    BadRecord, EncodeFailed, VERSION, bad, body, encode, unencodable,
};

#[derive(Serialize, Deserialize)]
struct TokenV1<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    data: &'a RawValue,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cvc_expires_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    mask: Option<&'a RawValue>,
    #[serde(borrow)]
    containers: Vec<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metadata: Cow<'a, BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    search_indexes: Option<Cow<'a, [String]>>,
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    search_terms: Cow<'a, [String]>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    fingerprint_expression: Option<Cow<'a, str>>,
    #[serde(borrow)]
    fingerprint: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
    created_by: Uuid,
    created_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modified_by: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modified_at: Option<i64>,
    /// Hexadecimal.
    #[serde(borrow)]
    answer_seed: Cow<'a, str>,
}

/// Fails for data or a mask whose text is not JSON.
pub fn encode_token(token: &Token) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let record = TokenV1 {
        r#type: Cow::Borrowed(token.kind.as_str()),
        data: serde_json::from_str(token.data.json()).map_err(unencodable)?,
        cvc_expires_at: token.cvc_expires_at.map(Timestamp::micros),
        id: token.name.as_ref().map(|name| String::from(name.as_str())),
        mask: token.mask.as_deref().map(serde_json::from_str).transpose().map_err(unencodable)?,
        containers: token.containers.iter().map(|it| Cow::Borrowed(it.as_str())).collect(),
        metadata: Cow::Borrowed(&token.metadata),
        search_indexes: token.search_indexes.as_deref().map(Cow::Borrowed),
        search_terms: Cow::Borrowed(&token.search_terms),
        fingerprint_expression: token.fingerprint_expression.as_deref().map(Cow::Borrowed),
        fingerprint: Cow::Borrowed(&token.fingerprint),
        expires_at: token.expires_at.map(Timestamp::micros),
        created_by: token.created_by.uuid(),
        created_at: token.created_at.micros(),
        modified_by: token.modified_by.map(ApplicationId::uuid),
        modified_at: token.modified_at.map(Timestamp::micros),
        answer_seed: hex::encode(token.answer_seed.expose()).into(),
    };
    encode(VERSION, &record)
}

/// The tenant and the id come from the record's key, which the seal authenticates.
pub fn decode_token(tenant: TenantId, id: TokenId, bytes: &[u8]) -> Result<Token, BadRecord> {
    let record: TokenV1<'_> = serde_json::from_slice(body(VERSION, bytes)?).map_err(bad)?;
    let containers: Option<Vec<_>> =
        record.containers.iter().map(|path| Container::parse(path).ok()).collect();
    let name = record.id.as_deref().map(TokenName::parse).transpose();
    Ok(Token {
        id,
        name: name.ok().ok_or(BadRecord)?,
        tenant,
        kind: TokenType::parse(&record.r#type).ok_or(BadRecord)?,
        data: Data::from_json(String::from(record.data.get())),
        cvc: None,
        cvc_expires_at: record.cvc_expires_at.map(Timestamp::from_micros),
        mask: record.mask.map(|mask| String::from(mask.get())),
        containers: containers.ok_or(BadRecord)?,
        metadata: record.metadata.into_owned(),
        search_indexes: record.search_indexes.map(Cow::into_owned),
        search_terms: record.search_terms.into_owned(),
        fingerprint_expression: record.fingerprint_expression.map(Cow::into_owned),
        fingerprint: record.fingerprint.into_owned(),
        expires_at: record.expires_at.map(Timestamp::from_micros),
        created_by: ApplicationId::new(record.created_by),
        created_at: Timestamp::from_micros(record.created_at),
        modified_by: record.modified_by.map(ApplicationId::new),
        modified_at: record.modified_at.map(Timestamp::from_micros),
        answer_seed: AnswerSeed::new(hex::decode(&record.answer_seed).ok_or(BadRecord)?),
    })
}
