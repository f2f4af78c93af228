//! Reactors: programs of a tenant that callers run in the vault.

use crate::domain::answer_seed::AnswerSeed;
use crate::domain::id::{AccessSessionId, ApplicationId, ReactorId, ReactorRequestId, TenantId};
use crate::domain::program::Runtime;
use crate::domain::proxy::Configuration;
use crate::domain::time::Timestamp;
use crate::secret::Secret;

#[derive(Debug)]
pub struct Reactor {
    pub id: ReactorId,
    pub tenant: TenantId,
    pub settings: ReactorSettings,
    pub created_by: ApplicationId,
    pub created_at: Timestamp,
    pub modified_by: Option<ApplicationId>,
    pub modified_at: Option<Timestamp>,
    /// The key that seals the reactor's parts of remembered answers is derived from it.
    pub answer_seed: AnswerSeed,
}

/// The part of a reactor that a request sets.
#[derive(Debug)]
pub struct ReactorSettings {
    pub name: String,
    /// As it was sent. It is compiled when it is called, not when it is stored.
    pub code: Secret<String>,
    /// The program has the rights of this application.
    pub application: Option<ApplicationId>,
    pub configuration: Configuration,
    pub runtime: Option<Runtime>,
}

/// A call whose caller does not wait. Its answer is stored apart, as an answer to an idempotency key is.
#[derive(Debug)]
pub struct ReactorResult {
    pub id: ReactorRequestId,
    pub tenant: TenantId,
    pub reactor: ReactorId,
    pub requested_by: ApplicationId,
    /// The session of a public application that asked.
    pub session: Option<AccessSessionId>,
    /// The caller had no secret key.
    pub is_public: bool,
    pub requested_at: Timestamp,
    /// The call has ended by then, with or without an answer.
    pub ends_at: Timestamp,
    pub expires_at: Timestamp,
}

/// The answer of a program to its caller.
#[derive(Debug)]
pub struct ProgramAnswer {
    pub status: u16,
    /// Only names and values that an answer may have.
    pub headers: Vec<(String, Secret<String>)>,
    pub body: Secret<String>,
}

impl ReactorResult {
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}
