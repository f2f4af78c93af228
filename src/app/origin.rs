//! The origin of the request or command that the current task serves. Audit entries record it, and
//! webhook events carry its trace id, so that a receiver can find the request in its own log.
//!
//! Operations do not take the origin as an argument: no decision depends on it. A spawned task has
//! no origin, so acts of background tasks have none.

use std::sync::Arc;

use crate::domain::audit::{Act, Actor, AuditEntry, Entity};
use crate::domain::id::KeyId;
use crate::domain::origin::Origin;
use crate::domain::time::Timestamp;

tokio::task_local! {
    static ORIGIN: Arc<Origin>;
}

/// Not an `async fn`, whose future would hold `work` twice.
pub fn originated<T>(
    origin: Arc<Origin>,
    work: impl Future<Output = T>,
) -> impl Future<Output = T> {
    ORIGIN.scope(origin, work)
}

/// For a command of the command line. Futures that it waits for on its own thread have the origin
/// too.
pub fn originated_by_process<T>(origin: Origin, work: impl FnOnce() -> T) -> T {
    ORIGIN.sync_scope(Arc::new(origin), work)
}

/// `None` outside of a request or command.
pub(in crate::app) fn current() -> Option<Arc<Origin>> {
    ORIGIN.try_with(Arc::clone).ok()
}

pub(in crate::app) fn note_key(key: KeyId) {
    // Outside of a request there is no origin to note the key in.
    ORIGIN.try_with(|origin| origin.note_key(key)).ok();
}

/// The entry of an act that takes place now. Acts of the system have no origin, even if a request
/// causes them.
pub(in crate::app) fn entry(at: Timestamp, actor: Actor, act: Act, entity: Entity) -> AuditEntry {
    let origin = if actor == Actor::System { None } else { current() };
    AuditEntry { origin, ..AuditEntry::new(at, actor, act, entity) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::audit::EntityKind;

    fn made(actor: Actor) -> Option<Arc<Origin>> {
        let entity = Entity::of_server(EntityKind::Vault);
        entry(Timestamp::from_seconds(1), actor, Act::Create, entity).origin
    }

    #[tokio::test]
    async fn an_entry_has_the_origin_of_its_own_task_and_the_system_none() {
        assert_eq!(made(Actor::Operator), None);
        let origin = Arc::new(Origin::of_request(None, "one"));
        originated(Arc::clone(&origin), async {
            assert_eq!(made(Actor::Cardholder), Some(Arc::clone(&origin)));
            assert_eq!(made(Actor::System), None);
            let other = Arc::new(Origin::of_request(None, "two"));
            let inner = originated(Arc::clone(&other), async { made(Actor::Cardholder) });
            assert_eq!(inner.await, Some(other));
            let mut others = tokio::task::JoinSet::new();
            others.spawn(async { made(Actor::Cardholder) });
            let spawned = others.join_next().await.unwrap().unwrap();
            assert_eq!(spawned, None, "a task of its own is no part of the request");
            note_key(KeyId::new(uuid::Uuid::from_u128(1)));
        })
        .await;
        assert_eq!(origin.key(), Some(KeyId::new(uuid::Uuid::from_u128(1))));
        note_key(KeyId::new(uuid::Uuid::from_u128(2)));
    }

    #[test]
    fn what_a_command_waits_for_on_its_own_thread_has_its_origin() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let origin = Origin::of_request(None, "command");
        let found = originated_by_process(origin.clone(), || {
            runtime.block_on(async { made(Actor::Operator) })
        });
        assert_eq!(found.as_deref(), Some(&origin));
        assert_eq!(made(Actor::Operator), None);
    }
}
