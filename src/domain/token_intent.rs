//! A token intent: a short-lived placeholder for sensitive data.

use serde_json::Value;

use crate::domain::answer_seed::AnswerSeed;
use crate::domain::condition::{Target, TargetId};
use crate::domain::container::Container;
use crate::domain::data::Data;
use crate::domain::id::{ApplicationId, TenantId, TokenIntentId};
use crate::domain::time::Timestamp;
use crate::domain::token_type::TokenType;
use crate::secret::Secret;

#[derive(Debug)]
pub struct TokenIntent {
    pub id: TokenIntentId,
    pub tenant: TenantId,
    pub kind: TokenType,
    /// Without the card verification code, which is stored separately.
    pub data: Data,
    pub cvc: Option<Secret<String>>,
    pub cvc_expires_at: Option<Timestamp>,
    pub fingerprint: String,
    pub created_by: ApplicationId,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub answer_seed: AnswerSeed,
}

impl TokenIntent {
    /// The intent as access rules see it. It has no containers of its own.
    pub const fn target<'a>(&self, containers: &'a [Container]) -> Target<'a> {
        Target { containers, id: TargetId::Assigned(self.id.uuid()) }
    }

    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }

    pub fn whole_data(&self) -> Secret<Value> {
        self.data.with(self.cvc.as_ref())
    }
}
