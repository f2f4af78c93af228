//! Token intents, version 1. The card verification code has a row of its own.

use crate::domain::id::{TenantId, TokenIntentId};
use crate::domain::token_intent::TokenIntent;
use crate::secret::Secret;
use crate::store::record::encoding::{BadRecord, EncodeFailed};
use crate::store::record::shape::{decode_shape, encode_shape, members};

members! { TokenIntent, tenant: TenantId, id: TokenIntentId, cvc: Option<Secret<String>> {
    kind = "type", data, cvc_expires_at?, fingerprint, created_by, created_at, expires_at,
    answer_seed,
} }

/// Fails for data whose text is not JSON.
pub fn encode_token_intent(intent: &TokenIntent) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    encode_shape(intent)
}

pub fn decode_token_intent(
    tenant: TenantId,
    id: TokenIntentId,
    bytes: &[u8],
) -> Result<TokenIntent, BadRecord> {
    decode_shape((tenant, id, None), bytes)
}
