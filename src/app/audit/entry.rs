//! Audit entries and the acts that they tell of.

use crate::app::access::caller::Caller;
use crate::app::origin;
use crate::app::webhooks::subject::Subject;
use crate::domain::audit::{Act, Actor, AuditEntry};
use crate::domain::time::Timestamp;
use crate::domain::token::Token;

impl Caller {
    pub(in crate::app) const fn actor(&self) -> Actor {
        Actor::Application(self.application.id)
    }

    pub(in crate::app) fn did<'s>(
        &self,
        act: Act,
        subject: impl Into<Subject<'s>>,
        at: Timestamp,
    ) -> Deed<'s> {
        Deed { at, actor: self.actor(), act, subject: subject.into() }
    }
}

/// An act on a tenant's resource: its audit entry, and its event if webhooks tell of it.
#[derive(Debug, Clone)]
pub(in crate::app) struct Deed<'a> {
    pub(in crate::app) at: Timestamp,
    pub(in crate::app) actor: Actor,
    pub(in crate::app) act: Act,
    pub(in crate::app) subject: Subject<'a>,
}

impl Deed<'_> {
    pub(in crate::app) fn entry(&self) -> AuditEntry {
        origin::entry(self.at, self.actor, self.act, self.subject.entity())
    }
}

/// The caller's application, or the operator if there is no caller.
pub(in crate::app) fn actor_of(caller: Option<&Caller>) -> Actor {
    caller.map_or(Actor::Operator, Caller::actor)
}

/// The expiry of a token.
pub(in crate::app) fn expired(token: &Token, at: Timestamp) -> Deed<'_> {
    Deed { at, actor: Actor::System, act: Act::Expire, subject: token.into() }
}
