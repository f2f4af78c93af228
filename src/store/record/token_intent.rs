//! Token intents, version 1.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::domain::answer_seed::AnswerSeed;
use crate::domain::data::Data;
use crate::domain::hex;
use crate::domain::id::{ApplicationId, TenantId, TokenIntentId};
use crate::domain::time::Timestamp;
use crate::domain::token_intent::TokenIntent;
use crate::domain::token_type::TokenType;
use crate::secret::Secret;
use crate::store::record::encoding::{
    BadRecord, EncodeFailed, bad, body, encode, micros, unencodable,
};

const VERSION: u8 = 1;

#[derive(Serialize, Deserialize)]
struct TokenIntentV1<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    data: &'a RawValue,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cvc_expires_at: Option<i64>,
    #[serde(borrow)]
    fingerprint: Cow<'a, str>,
    created_by: Uuid,
    created_at: i64,
    expires_at: i64,
    /// Hexadecimal.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    answer_seed: Option<Cow<'a, str>>,
}

/// Fails for data or a mask whose text is not JSON.
pub fn encode_token_intent(intent: &TokenIntent) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let record = TokenIntentV1 {
        r#type: Cow::Borrowed(intent.kind.as_str()),
        data: serde_json::from_str(intent.data.json()).map_err(unencodable)?,
        cvc_expires_at: intent.cvc_expires_at.map(micros),
        fingerprint: Cow::Borrowed(&intent.fingerprint),
        created_by: intent.created_by.uuid(),
        created_at: micros(intent.created_at),
        expires_at: micros(intent.expires_at),
        answer_seed: intent.answer_seed.as_ref().map(|it| hex::encode(it.expose()).into()),
    };
    encode(VERSION, &record)
}

pub fn decode_token_intent(
    tenant: TenantId,
    id: TokenIntentId,
    bytes: &[u8],
) -> Result<TokenIntent, BadRecord> {
    let record: TokenIntentV1<'_> = serde_json::from_slice(body(VERSION, bytes)?).map_err(bad)?;
    let seed = record.answer_seed.as_deref().map(|text| hex::decode(text).ok_or(BadRecord));
    Ok(TokenIntent {
        id,
        tenant,
        kind: TokenType::parse(&record.r#type).ok_or(BadRecord)?,
        data: Data::from_json(String::from(record.data.get())),
        cvc: None,
        cvc_expires_at: record.cvc_expires_at.map(Timestamp::from_micros),
        fingerprint: record.fingerprint.into_owned(),
        created_by: ApplicationId::new(record.created_by),
        created_at: Timestamp::from_micros(record.created_at),
        expires_at: Timestamp::from_micros(record.expires_at),
        answer_seed: seed.transpose()?.map(AnswerSeed::new),
    })
}
