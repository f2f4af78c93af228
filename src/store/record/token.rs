//! Tokens, version 1, in binary. In order: type, data as JSON text, the time when the card
//! verification code expires, predefined id, mask as JSON text, containers, metadata as pairs of
//! texts, expressions of search indexes, search terms, expression of the fingerprint, fingerprint,
//! expiry, creator (16 bytes), time of creation, last modifier, time of the last change, the
//! seed of remembered answers (16 bytes), and the blinded idempotency key of the creation (16 bytes).
//!
//! If the mask, the search indexes or the fingerprint expression are absent, the token type's
//! apply.

use uuid::Uuid;

use crate::domain::answer_seed::AnswerSeed;
use crate::domain::container::Container;
use crate::domain::data::Data;
use crate::domain::id::{ApplicationId, TenantId, TokenId};
use crate::domain::token::{Token, TokenName};
use crate::domain::token_type::TokenType;
use crate::secret::Secret;
use crate::store::record::binary::{Reader, Writer};
use crate::store::record::encoding::{BadRecord, EncodeFailed};

pub fn encode_token(token: &Token) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    let mut out = Writer::with_room(token.bytes());
    out.text(token.kind.as_str());
    out.text(token.data.json());
    out.optional(token.cvc_expires_at, Writer::time);
    out.optional(token.name.as_ref().map(TokenName::as_str), Writer::text);
    out.optional(token.mask.as_deref(), Writer::text);
    out.list(token.containers.iter().map(Container::as_str), Writer::text);
    out.list(token.metadata.iter(), |out, (name, value)| {
        out.text(name);
        out.text(value);
    });
    out.optional(token.search_indexes.as_deref(), write_texts);
    write_texts(&mut out, &token.search_terms);
    out.optional(token.fingerprint_expression.as_deref(), Writer::text);
    out.text(&token.fingerprint);
    out.optional(token.expires_at, Writer::time);
    out.bytes(token.created_by.bytes());
    out.time(token.created_at);
    out.optional(token.modified_by.as_ref(), |out, by| out.bytes(by.bytes()));
    out.optional(token.modified_at, Writer::time);
    out.bytes(token.answer_seed.expose());
    out.optional(token.created_under, |out, key| out.bytes(&key));
    out.finish()
}

/// The tenant and the id come from the record's key, which the seal authenticates.
pub fn decode_token(tenant: TenantId, id: TokenId, bytes: &[u8]) -> Result<Token, BadRecord> {
    let mut record = Reader::new(bytes)?;
    let container = |it: &mut Reader<'_>| Container::parse(it.text()?).ok().ok_or(BadRecord);
    let name = |it: &mut Reader<'_>| TokenName::parse(it.text()?).ok().ok_or(BadRecord);
    let application =
        |it: &mut Reader<'_>| it.array().map(Uuid::from_bytes).map(ApplicationId::new);
    // Field order matters: members are decoded in this order.
    let token = Token {
        id,
        tenant,
        kind: TokenType::parse(record.text()?).ok_or(BadRecord)?,
        data: Data::from_json(record.owned_text()?),
        cvc: None,
        cvc_expires_at: record.optional(Reader::time)?,
        name: record.optional(name)?,
        mask: record.optional(Reader::owned_text)?,
        containers: record.list(container)?,
        metadata: record.list(|it| Ok((it.text()?, it.text()?)))?,
        search_indexes: record.optional(|it| it.list(Reader::owned_text))?,
        search_terms: record.list(Reader::owned_text)?,
        fingerprint_expression: record.optional(Reader::owned_text)?,
        fingerprint: record.owned_text()?,
        expires_at: record.optional(Reader::time)?,
        created_by: application(&mut record)?,
        created_at: record.time()?,
        modified_by: record.optional(application)?,
        modified_at: record.optional(Reader::time)?,
        answer_seed: AnswerSeed::new(record.array()?),
        created_under: record.optional(Reader::array)?,
    };
    record.end()?;
    Ok(token)
}

fn write_texts(out: &mut Writer, texts: &[String]) {
    out.list(texts.iter(), |out, text| out.text(text));
}
