//! Client encryption keys: clients encrypt values under the public half before they send them.

use crate::domain::id::{ApplicationId, ClientKeyId, TenantId};
use crate::domain::time::Timestamp;
use crate::secret::Secret;

#[derive(Debug)]
pub struct ClientKey {
    pub id: ClientKeyId,
    pub tenant: TenantId,
    /// The private half of an X25519 key pair.
    pub private: Secret<[u8; 32]>,
    pub created_by: ApplicationId,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

impl ClientKey {
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}
