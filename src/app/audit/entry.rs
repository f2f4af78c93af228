//! Making audit entries.

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

/// Whoever calls, or the operator when nobody does.
pub(in crate::app) fn actor_of(caller: Option<&Caller>) -> Actor {
    caller.map_or(Actor::Operator, Caller::actor)
}

/// A token that time has ended.
pub(in crate::app) fn expired(token: &Token, at: Timestamp) -> AuditEntry {
    AuditEntry { at, actor: Actor::System, act: Act::Expire, entity: Entity::token(token) }
}
