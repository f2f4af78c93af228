//! Audit entries and the acts that they record.

use crate::app::audit::subject::Subject;
use crate::app::caller::Caller;
use crate::app::origin;
use crate::crypto::SystemKeys;
use crate::domain::audit::{Act, Actor, AuditEntry};
use crate::domain::id::{TenantId, WebhookId};
use crate::domain::time::Timestamp;
use crate::domain::token::Token;

impl Caller {
    pub(in crate::app) const fn actor(&self) -> Actor {
        if self.person.is_some() {
            return Actor::Person;
        }
        Actor::Application(self.application.id)
    }

    pub(in crate::app) fn did<'s>(
        &self,
        act: Act,
        subject: impl Into<Subject<'s>>,
        at: Timestamp,
    ) -> AuditedAct<'s> {
        AuditedAct { at, actor: self.actor(), act, subject: subject.into() }
    }
}

/// An act on a tenant's resource, with the content of its audit entry and of its webhook event.
#[derive(Debug, Clone)]
pub(in crate::app) struct AuditedAct<'a> {
    pub(in crate::app) at: Timestamp,
    pub(in crate::app) actor: Actor,
    pub(in crate::app) act: Act,
    pub(in crate::app) subject: Subject<'a>,
}

impl AuditedAct<'_> {
    pub(in crate::app) fn entry(&self) -> AuditEntry {
        origin::entry(self.at, self.actor, self.act, self.subject.entity())
    }
}

/// The caller's application, or the operator if there is no caller.
pub(in crate::app) fn actor_of(caller: Option<&Caller>) -> Actor {
    caller.map_or(Actor::Operator, Caller::actor)
}

pub(in crate::app) fn expired(token: &Token, at: Timestamp) -> AuditedAct<'_> {
    AuditedAct { at, actor: Actor::System, act: Act::Expire, subject: token.into() }
}

/// One scope of the audit log. A reader gets the entries of one scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditScope {
    Server,
    Tenant(TenantId),
}

impl AuditScope {
    pub(in crate::app) const fn bytes(&self) -> [u8; 16] {
        match self {
            Self::Server => SystemKeys::SCOPE,
            Self::Tenant(id) => id.uuid().into_bytes(),
        }
    }
}

/// Effects of events outside of the file, after the commit.
#[derive(Debug, Default)]
pub(in crate::app) struct EventEffects {
    /// Wakes the delivery worker.
    pub(in crate::app) has_events: bool,
    /// Webhooks whose queues had no room for an event.
    pub(in crate::app) dropped: Vec<(TenantId, WebhookId)>,
}
