//! Constructors of audit entries.

use crate::app::access::caller::Caller;
use crate::domain::audit::{Act, Actor, AuditEntry, Entity};
use crate::domain::time::Timestamp;
use crate::domain::token::Token;

impl Caller {
    pub(in crate::app) const fn actor(&self) -> Actor {
        Actor::Application(self.application.id)
    }

    pub(in crate::app) const fn did(&self, act: Act, entity: Entity, at: Timestamp) -> AuditEntry {
        AuditEntry { at, actor: self.actor(), act, entity }
    }
}

/// The caller's application, or the operator if there is no caller.
pub(in crate::app) fn actor_of(caller: Option<&Caller>) -> Actor {
    caller.map_or(Actor::Operator, Caller::actor)
}

/// The entry of a token that expired.
pub(in crate::app) fn expired(token: &Token, at: Timestamp) -> AuditEntry {
    AuditEntry { at, actor: Actor::System, act: Act::Expire, entity: Entity::token(token) }
}
