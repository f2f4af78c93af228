//! Client encryption keys, version 1.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::client_key::ClientKey;
use crate::domain::hex;
use crate::domain::id::{ApplicationId, ClientKeyId, TenantId};
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::record::encoding::{BadRecord, EncodeFailed, decode, encode, micros};

const VERSION: u8 = 1;

#[derive(Serialize, Deserialize)]
struct ClientKeyV1 {
    /// Hexadecimal.
    private: String,
    created_by: Uuid,
    created_at: i64,
    expires_at: i64,
}

pub fn encode_client_key(key: &ClientKey) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    encode(
        VERSION,
        &ClientKeyV1 {
            private: hex::encode(key.private.expose()),
            created_by: key.created_by.uuid(),
            created_at: micros(key.created_at),
            expires_at: micros(key.expires_at),
        },
    )
}

pub fn decode_client_key(
    tenant: TenantId,
    id: ClientKeyId,
    bytes: &[u8],
) -> Result<ClientKey, BadRecord> {
    let record: ClientKeyV1 = decode(VERSION, bytes)?;
    Ok(ClientKey {
        id,
        tenant,
        private: Secret::new(hex::decode(&record.private).ok_or(BadRecord)?),
        created_by: ApplicationId::new(record.created_by),
        created_at: Timestamp::from_micros(record.created_at),
        expires_at: Timestamp::from_micros(record.expires_at),
    })
}
