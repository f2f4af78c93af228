//! Writing events: a row for each webhook that subscribes to them, in the change of the act.

use serde_json::{Map, Value, json};

use crate::app::access::authenticate::application;
use crate::app::audit::entry::Deed;
use crate::app::commit::disk::DiskState;
use crate::app::error::Error;
use crate::app::origin;
use crate::app::tokens::rows;
use crate::app::webhooks::Webhooks;
use crate::app::webhooks::state::WebhookNews;
use crate::app::webhooks::subject::{Told, read_data};
use crate::app::webhooks::subscription_cache::Subscriber;
use crate::bounds::{
    WEBHOOK_PENDING_ALL_MAX, WEBHOOK_PENDING_MAX, WEBHOOK_PENDING_TENANT_MAX, WEBHOOK_QUEUES_MAX,
};
use crate::crypto::TenantKeys;
use crate::domain::audit::{Actor, AuditEntry, EntityKind};
use crate::domain::id::{EventId, TenantId, TokenId};
use crate::domain::origin::{Origin, TraceId};
use crate::domain::time::Timestamp;
use crate::domain::webhook::EventKind;
use crate::store::record::{EventRecord, encode_event};
use crate::store::tables::PendingDelivery;
use crate::store::{Change, Snapshot, Table, tables};

/// An event: its kind, and the members of its `data` besides the actor.
#[derive(Debug)]
pub(in crate::app) struct Happening {
    pub(in crate::app) kind: EventKind,
    pub(in crate::app) data: Map<String, Value>,
}

impl Webhooks<'_> {
    /// The change that adds the event of an act, if it has one.
    pub(in crate::app) fn event(self, tenant: TenantId, deed: &Deed<'_>) -> Change {
        match deed.subject.told(deed.act) {
            Told::Event(kind) => {
                let data = || deed.subject.data(kind);
                self.emit(tenant, deed.actor, kind, deed.at, data)
            }
            Told::Lacking => Change::impossible("an event of webhooks lacks its content"),
            Told::Nothing => Change::new(),
        }
    }

    /// The change that adds an event of this tenant to the queues of the webhooks that subscribe to
    /// it. Join it to the change of the act.
    pub(in crate::app) fn emit(
        self,
        tenant: TenantId,
        actor: Actor,
        kind: EventKind,
        at: Timestamp,
        data: impl FnOnce() -> Map<String, Value>,
    ) -> Change {
        self.emit_traced(tenant, actor, kind, at, origin::current().as_deref(), data)
    }

    /// As [`Webhooks::emit`], for an act of a request that was served before.
    pub(in crate::app) fn emit_traced(
        self,
        tenant: TenantId,
        actor: Actor,
        kind: EventKind,
        at: Timestamp,
        origin: Option<&Origin>,
        data: impl FnOnce() -> Map<String, Value>,
    ) -> Change {
        let added = self.subscribers(tenant).and_then(|subscribers| {
            let wanted: Vec<_> =
                subscribers.iter().filter(|it| it.events.contains(&kind)).collect();
            if wanted.is_empty() {
                return Ok(Change::new());
            }
            let happening = Happening { kind, data: data() };
            let trace = origin.and_then(|origin| origin.trace.as_ref());
            self.add(tenant, actor, happening, at, trace, &wanted)
        });
        match added {
            Ok(added) => added,
            // The tenant is being deleted, with its webhooks. The writer refuses the rest.
            Err(Error::Unauthenticated) => Change::new(),
            // Only a disk that fails or a tenant whose keys are damaged gets here.
            Err(_) => Change::impossible("an event of webhooks cannot be written"),
        }
    }

    /// The change that adds `token.read`, if a token was read. A token that was deleted since has no
    /// type any more.
    pub(in crate::app) fn read_event(self, tenant: TenantId, read: &AuditEntry) -> Change {
        let AuditEntry { at, actor, entity, origin, .. } = read;
        if entity.kind != EntityKind::Token {
            return Change::new();
        }
        let kind = || {
            let snapshot = self.vault.snapshot().ok()?;
            let keys = self.vault.keys().tenant_keys(&snapshot, tenant).ok()?;
            let found = rows::find_by_id(&snapshot, &keys, tenant, TokenId::new(entity.id)).ok()?;
            Some(found?.token.kind)
        };
        let data = || read_data(entity, kind());
        self.emit_traced(tenant, *actor, EventKind::TokenRead, *at, origin.as_deref(), data)
    }

    fn add(
        self,
        tenant: TenantId,
        actor: Actor,
        happening: Happening,
        at: Timestamp,
        trace: Option<&TraceId>,
        wanted: &[&Subscriber],
    ) -> Result<Change, Error> {
        let snapshot = self.vault.snapshot()?;
        let keys = self.vault.keys().tenant_keys(&snapshot, tenant)?;
        let Happening { kind, mut data } = happening;
        data.insert(String::from("actor"), actor_value(&snapshot, &keys, tenant, actor)?);
        let trace = trace.map(ToString::to_string);
        let record = EventRecord { kind, at, trace, data: Value::Object(data).to_string() };
        let plain = encode_event(&record)?;
        let event = EventId::new(self.vault.next_id(at));
        let mut change = Change::new();
        for Subscriber { webhook, .. } in wanted {
            let delivery = PendingDelivery { tenant, webhook: *webhook, event };
            if !self.has_room(&snapshot, &delivery)? {
                self.vault.webhooks.counts.dropped.add(1);
                self.vault.webhooks.tell(WebhookNews::Dropped { tenant, webhook: *webhook });
                continue;
            }
            let key = delivery.delivery_key();
            let table = Table::WebhookDeliveries;
            let sealed = keys.seal(table.number(), &key, plain.expose(), self.vault.random());
            change = change
                .put(table, key, sealed)
                .put(Table::WebhookSchedule, delivery.schedule_key(at), tables::attempts_value(0))
                .and(counted(&delivery, 1));
        }
        self.vault.webhooks.wake.notify_one();
        Ok(change)
    }

    /// Without room the newest event is dropped: its act must not fail, and the receiver
    /// gets those before it without a gap. The bound of the tenant keeps room in that of the vault
    /// for other tenants. Below the floor of free space there is no room
    /// at all, since deletions and reads, which go on there, must not use up the rest of the disk.
    fn has_room(self, snapshot: &Snapshot, delivery: &PendingDelivery) -> Result<bool, Error> {
        let PendingDelivery { tenant, webhook, .. } = *delivery;
        Ok(self.vault.disk_state() == DiskState::Writable
            && snapshot.count(&tables::webhook_counts(tenant, webhook))? < WEBHOOK_PENDING_MAX
            && snapshot
                .sum(&tables::webhook_counts_of(tenant), WEBHOOK_QUEUES_MAX)?
                .is_some_and(|pending| pending < WEBHOOK_PENDING_TENANT_MAX)
            && snapshot.count(&tables::all_webhook_counts())? < WEBHOOK_PENDING_ALL_MAX)
    }
}

/// Adds to the numbers of events that wait.
pub(super) fn counted(delivery: &PendingDelivery, by: i64) -> Change {
    Change::new()
        .count(tables::webhook_counts(delivery.tenant, delivery.webhook), by)
        .count(tables::all_webhook_counts(), by)
}

fn actor_value(
    snapshot: &Snapshot,
    keys: &TenantKeys,
    tenant: TenantId,
    actor: Actor,
) -> Result<Value, Error> {
    let (kind, name) = match actor {
        Actor::Application(id) => {
            // An application that was created in this very change, or is damaged, has no name here.
            let found = application(snapshot, keys, tenant, id);
            let name = match found {
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
        Actor::ProxyCaller => ("user", "caller of a proxy"),
        Actor::System => ("system", "system"),
        Actor::Unknown => ("user", "unknown"),
    };
    Ok(json!({"type": kind, "name": name}))
}
