//! Writing events: a row for each subscribed webhook, in the same change as the act.

use serde_json::{Map, Value, json};

use crate::app::audit::entry::{AuditedAct, EventEffects};
use crate::app::audit::subject::{LacksContent, read_data};
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::Priority;
use crate::app::commit::disk::DiskState;
use crate::app::error::Error;
use crate::app::records;
use crate::app::tokens::rows;
use crate::app::webhooks::state::WebhookNews;
use crate::app::webhooks::subscriptions::Subscriber;
use crate::app::{Webhooks, origin};
use crate::bounds::{
    WEBHOOK_PENDING_ALL_MAX, WEBHOOK_PENDING_MAX, WEBHOOK_PENDING_TENANT_MAX, WEBHOOK_QUEUES_MAX,
};
use crate::crypto::TenantKeys;
use crate::domain::application::Application;
use crate::domain::audit::{Act, Actor, AuditEntry, EntityKind};
use crate::domain::id::{EventId, TenantId, TokenId, WebhookId};
use crate::domain::origin::TraceId;
use crate::domain::time::Timestamp;
use crate::domain::webhook::{EventKind, Webhook, WebhookStatus};
use crate::secret::Secret;
use crate::store::record::{EventRecord, encode_event};
use crate::store::tables::PendingDelivery;
use crate::store::{Change, NewEvent, Shards, Snapshot, Table, tables};

impl Webhooks<'_> {
    /// Adds the event of an act, if it has one.
    pub(in crate::app) fn event(self, tenant: TenantId, act: &AuditedAct<'_>) -> Change {
        match act.subject.event(act.act) {
            Ok(Some(kind)) => self.emit(tenant, act.actor, kind, act.at, || act.subject.data(kind)),
            Ok(None) => Change::new(),
            Err(LacksContent) => Change::impossible("an event of webhooks lacks its content"),
        }
    }

    /// Adds an event of this tenant, if a webhook subscribes to it. Combine it with the change of
    /// the act.
    pub(in crate::app) fn emit(
        self,
        tenant: TenantId,
        actor: Actor,
        kind: EventKind,
        at: Timestamp,
        data: impl FnOnce() -> Map<String, Value>,
    ) -> Change {
        match self.wants(tenant, kind) {
            Ok(true) => {
                let (trace, data) = (current_trace(), data());
                Change::new().event(NewEvent { tenant, actor, kind, at, trace, data })
            }
            // The tenant is being deleted, with its webhooks. The writer refuses the rest.
            Ok(false) | Err(Error::Unauthenticated) => Change::new(),
            Err(_) => unwritten(),
        }
    }

    /// Sends `webhook.test` to one webhook, whatever it subscribes to. Returns the id of the event.
    pub async fn test(self, caller: &Caller, webhook: WebhookId) -> Result<EventId, Error> {
        let (at, tenant, actor) = (self.vault.now(), caller.tenant.id, caller.actor());
        let event = EventId::new(self.vault.next_id(at));
        let delivery = PendingDelivery { tenant, webhook, event };
        // A change or deletion of the webhook waits for this lane, so that no event stays behind.
        let _turn = self.vault.lanes.take(webhook.bytes()).await?;
        self.vault
            .commit(Priority::Normal, |snapshot| {
                let (found, _): (Webhook, _) =
                    records::require(snapshot, &caller.keys, webhook, at)?;
                if found.status == WebhookStatus::Disabled {
                    return Err(Error::Unprocessable(DISABLED));
                }
                if !self.has_room(snapshot, &delivery)? {
                    return Err(Error::Unprocessable(NO_ROOM));
                }
                let (kind, trace) = (EventKind::WebhookTest, current_trace());
                let shown = json!({"id": webhook.to_string(), "name": found.name});
                let data = Map::from_iter([(String::from("webhook"), shown)]);
                let new = NewEvent { tenant, actor, kind, at, trace, data };
                let change = self
                    .queued(&caller.keys, &delivery, &encoded(snapshot, &caller.keys, new)?, at)
                    .and(self.vault.audit().caller_entry(caller, Act::Invoke, webhook, at));
                Ok((change, ()))
            })
            .await?;
        // Ends a pause after failures: the caller wants to know if the receiver answers now.
        self.vault.webhooks.unblock(tenant, webhook);
        Ok(event)
    }

    /// Adds `token.read`, if a token was read. A token that was deleted since has no type any more.
    pub(in crate::app) fn read_event(
        self,
        snapshot: &Snapshot,
        tenant: TenantId,
        read: &AuditEntry,
    ) -> Change {
        let AuditEntry { at, actor, entity, origin, .. } = read;
        if entity.kind != EntityKind::Token {
            return Change::new();
        }
        let type_of_token = || {
            let keys = self.vault.keys().tenant_keys(snapshot, tenant).ok()?;
            let found = rows::find_by_id(snapshot, &keys, tenant, TokenId::new(entity.id)).ok()?;
            Some(found?.token.kind)
        };
        let trace = origin.as_ref().and_then(|origin| origin.trace.clone());
        let (kind, data) = (EventKind::TokenRead, read_data(entity, type_of_token()));
        Change::new().event(NewEvent { tenant, actor: *actor, kind, at: *at, trace, data })
    }

    /// Turns the events of a change into rows. [`Webhooks::after_commit`] takes the effects when
    /// the change is committed.
    pub(in crate::app) fn write_events(
        self,
        snapshot: &Snapshot,
        mut change: Change,
    ) -> (Change, EventEffects) {
        let mut effects = EventEffects::default();
        for event in change.take_events() {
            match self.rows_of(snapshot, event, &mut effects) {
                Ok(rows) => change = change.and(rows),
                // As in [`Webhooks::emit`].
                Err(Error::Unauthenticated) => (),
                // Only a failing disk or damaged keys of the tenant lead here.
                Err(_) => change = change.and(unwritten()),
            }
        }
        (change, effects)
    }

    pub(in crate::app) fn after_commit(self, effects: EventEffects) {
        let webhooks = &self.vault.webhooks;
        for (tenant, webhook) in effects.dropped {
            webhooks.counts.dropped.add(1);
            webhooks.tell(WebhookNews::Dropped { tenant, webhook });
        }
        if effects.has_events {
            webhooks.wake.notify_one();
        }
    }

    fn rows_of(
        self,
        snapshot: &Snapshot,
        event: NewEvent,
        effects: &mut EventEffects,
    ) -> Result<Change, Error> {
        let NewEvent { tenant, kind, at, .. } = event;
        let subscribers = self.subscribers(tenant)?;
        // The last subscriber may be gone since the decision.
        if !subscribers.iter().any(|it| it.events.contains(&kind)) {
            return Ok(Change::new());
        }
        let keys = self.vault.keys().tenant_keys(snapshot, tenant)?;
        let plain = encoded(snapshot, &keys, event)?;
        let event = EventId::new(self.vault.next_id(at));
        let mut change = Change::new();
        for Subscriber { webhook, .. } in subscribers.iter().filter(|it| it.events.contains(&kind))
        {
            let delivery = PendingDelivery { tenant, webhook: *webhook, event };
            if !self.has_room(snapshot, &delivery)? {
                effects.dropped.push((tenant, *webhook));
                continue;
            }
            change = change.and(self.queued(&keys, &delivery, &plain, at));
        }
        effects.has_events = true;
        Ok(change)
    }

    /// Adds an event to the queue of one webhook.
    fn queued(
        self,
        keys: &TenantKeys,
        delivery: &PendingDelivery,
        plain: &Secret<Vec<u8>>,
        at: Timestamp,
    ) -> Change {
        let (table, key) = (Table::WebhookDeliveries, delivery.delivery_key());
        let sealed = keys.seal(table.number(), &key, plain.expose(), self.vault.random());
        Change::new()
            .put(table, key, sealed)
            .put(Table::WebhookSchedule, delivery.schedule_key(at), tables::attempts_value(0))
            .and(counted(self.vault.store.shards(), delivery, 1))
    }

    /// Without room the newest event is dropped: its act must not fail, and the receiver gets the
    /// earlier events without a gap. The tenant's bound keeps room in the vault's bound for other
    /// tenants. Below the floor of free space there is no room at all: deletions and reads, which
    /// continue there, must not use up the rest of the disk.
    fn has_room(self, snapshot: &Snapshot, delivery: &PendingDelivery) -> Result<bool, Error> {
        let PendingDelivery { tenant, webhook, .. } = *delivery;
        Ok(self.vault.disk_state() == DiskState::Writable
            && snapshot.count(&tables::webhook_counts(tenant, webhook))? < WEBHOOK_PENDING_MAX
            && snapshot
                .sum(&tables::webhook_counts_of(tenant), WEBHOOK_QUEUES_MAX)?
                .is_some_and(|pending| pending < WEBHOOK_PENDING_TENANT_MAX)
            && pending_of_all(snapshot)? < WEBHOOK_PENDING_ALL_MAX)
    }
}

/// The number of events that wait for any webhook of the vault.
pub(super) fn pending_of_all(snapshot: &Snapshot) -> Result<i64, Error> {
    Ok(snapshot.sum(&tables::every_webhook_count(), usize::MAX)?.unwrap_or(i64::MAX))
}

const DISABLED: &str = "The webhook is disabled; enable it first.";
const NO_ROOM: &str = "Too many events wait for webhooks; try again when some are delivered.";

fn current_trace() -> Option<TraceId> {
    origin::current().and_then(|origin| origin.trace.clone())
}

fn unwritten() -> Change {
    Change::impossible("an event of webhooks cannot be written")
}

/// Adds to the counts of pending events.
pub(super) fn counted(shards: Shards, delivery: &PendingDelivery, by: i64) -> Change {
    let shard = shards.of_scope(delivery.tenant.bytes());
    Change::new()
        .count(tables::webhook_counts(delivery.tenant, delivery.webhook), by)
        .count(tables::all_webhook_counts(shard), by)
}

/// The rows of all webhooks of an event hold the same record.
fn encoded(
    snapshot: &Snapshot,
    keys: &TenantKeys,
    event: NewEvent,
) -> Result<Secret<Vec<u8>>, Error> {
    let NewEvent { actor, kind, at, trace, mut data, .. } = event;
    data.insert(String::from("actor"), actor_value(snapshot, keys, actor)?);
    let trace = trace.map(|trace| trace.to_string());
    let data = Value::Object(data).to_string();
    Ok(encode_event(&EventRecord { kind, at, trace, data })?)
}

fn actor_value(snapshot: &Snapshot, keys: &TenantKeys, actor: Actor) -> Result<Value, Error> {
    let (kind, name) = match actor {
        Actor::Application(id) => {
            // An application that was created in this very change, or is damaged, has no name here.
            let name = match records::find::<Application>(snapshot, keys, id) {
                Ok(found) => found.map(|(application, _)| application.name),
                Err(Error::Internal(_)) => None,
                Err(error) => return Err(error),
            };
            let name = name.unwrap_or_default();
            return Ok(json!({"id": id.to_string(), "type": "application", "name": name}));
        }
        Actor::Cardholder => ("user", "cardholder"),
        Actor::DirectoryServer => ("system", "directory server"),
        Actor::Operator => ("admin", "operator"),
        // Receivers of events are no readers of the log: they do not learn the person's name.
        Actor::Person => ("user", "person at the console"),
        Actor::ProxyCaller => ("user", "caller of a proxy"),
        Actor::System => ("system", "system"),
        Actor::Unknown => ("user", "unknown"),
    };
    Ok(json!({"type": kind, "name": name}))
}
