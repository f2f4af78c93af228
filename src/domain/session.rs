//! Sessions: short-lived keys that a public application requests and a private one authorizes.

use crate::domain::access::Access;
use crate::domain::id::{AccessSessionId, ApplicationId, TenantId};
use crate::domain::time::Timestamp;

/// A session. Until it is authorized, its key is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: AccessSessionId,
    pub tenant: TenantId,
    /// The public application that the session acts for.
    pub application: ApplicationId,
    /// The tag of the API key that made the session. The session ends with that key.
    pub made_with: [u8; 32],
    /// The SHA-256 of the text of the session's key.
    pub key_hash: [u8; 32],
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub grant: Option<SessionGrant>,
}

/// The rights of a session, and the application that gave them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionGrant {
    pub grantor: ApplicationId,
    /// The tag of the API key that authorized the session. The session ends with that key.
    pub authorized_with: [u8; 32],
    pub authorized_at: Timestamp,
    pub access: Access,
}

impl Session {
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}
