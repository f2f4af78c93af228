//! Webhooks: every act has its event, and every event arrives, however the receiver behaves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};

use crate::app::outbound::{Outbound, OutboundFailure, OutboundRequest, OutboundResponse, Sending};
use crate::app::tests::{
    TestVault, assert_clean, card, draft, expiring, master, other_master, prepared,
};
use crate::app::{Error, Vault, WebhookChange, WebhookDraft, WebhookNews, Write};
use crate::bounds::{
    WEBHOOK_PENDING_MAX, WEBHOOK_PENDING_TENANT_MAX, WEBHOOK_QUEUES_MAX, WEBHOOKS_MAX,
};
use crate::clock::Clock;
use crate::domain::id::{TenantId, WebhookId};
use crate::domain::origin::Origin;
use crate::domain::time::Timestamp;
use crate::domain::webhook::{EventKind, FailureReason, WebhookStatus};
use crate::secret::Secret;
use crate::store::tests::block_on;
use crate::store::tests::disk::{Image, TestDisk};
use crate::store::{Authority, Change, Table, tables};
use crate::waiting::{wait_until, within};

const HOST: &str = "one.example";

#[derive(Clone, Copy)]
enum Behaviour {
    Hang,
    Fail(OutboundFailure),
    Answer(u16),
}

/// Receivers by host; hosts that are not listed answer with 204.
#[derive(Debug, Default)]
struct Receivers {
    state: Mutex<ReceiverState>,
    clock: Clock,
}

#[derive(Default)]
struct ReceiverState {
    behaviours: HashMap<String, Behaviour>,
    got: Vec<Delivery>,
}

opaque_debug!(ReceiverState);

#[derive(Clone)]
struct Delivery {
    host: String,
    at: Timestamp,
    headers: Vec<String>,
    body: Value,
    text: String,
}

impl Receivers {
    fn new(clock: &Clock) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), clock: clock.clone() })
    }

    fn set(&self, host: &str, behaviour: Behaviour) {
        self.state.lock().unwrap().behaviours.insert(String::from(host), behaviour);
    }

    fn got(&self, host: &str) -> Vec<Delivery> {
        let state = self.state.lock().unwrap();
        state.got.iter().filter(|it| it.host == host).cloned().collect()
    }

    fn kinds(&self, host: &str) -> Vec<String> {
        let kind = |it: &Delivery| String::from(it.body["event"]["type"].as_str().unwrap());
        self.got(host).iter().map(kind).collect()
    }
}

impl Outbound for Receivers {
    fn send(&self, request: OutboundRequest) -> Sending<'_> {
        let text = String::from_utf8(request.body.expose().clone()).unwrap();
        let behaviour = {
            let mut state = self.state.lock().unwrap();
            state.got.push(Delivery {
                host: request.url.host.clone(),
                at: self.clock.now(),
                headers: request.headers.iter().map(|(name, _)| name.clone()).collect(),
                body: serde_json::from_str(&text).unwrap(),
                text,
            });
            state.behaviours.get(&request.url.host).copied()
        };
        Box::pin(async move {
            match behaviour.unwrap_or(Behaviour::Answer(204)) {
                Behaviour::Hang => std::future::pending().await,
                Behaviour::Fail(failure) => Err(failure),
                Behaviour::Answer(status) => Ok(OutboundResponse {
                    status,
                    headers: Vec::new(),
                    body: Secret::new(Vec::new()),
                }),
            }
        })
    }
}

/// The prepared vault, with a webhook to [`HOST`] for every kind of event, so that the key is made
/// once for all tests.
fn with_webhook() -> &'static (Image, WebhookId) {
    static MADE: OnceLock<(Image, WebhookId)> = OnceLock::new();
    let make = || {
        let disk = TestDisk::holding(prepared().0.clone());
        let vault = TestVault::on(disk, Clock::new()).unwrap();
        let id = block_on(webhook(&vault, HOST, &EventKind::ALL));
        vault.app.close();
        (vault.disk.durable(), id)
    };
    MADE.get_or_init(|| std::thread::spawn(make).join().unwrap())
}

struct Setting {
    vault: TestVault,
    receivers: Arc<Receivers>,
    clock: Clock,
    webhook: WebhookId,
}

fn setting() -> Setting {
    let (image, webhook) = with_webhook();
    on(TestDisk::holding(image.clone()), Clock::new(), *webhook)
}

fn on(disk: TestDisk, clock: Clock, webhook: WebhookId) -> Setting {
    let vault = TestVault::on(disk, clock.clone()).unwrap();
    let receivers = Receivers::new(&clock);
    crate::app::configure_outbound(&vault.app, Arc::<Receivers>::clone(&receivers));
    Setting { vault, receivers, clock, webhook }
}

pub(super) async fn webhook(vault: &TestVault, host: &str, events: &[EventKind]) -> WebhookId {
    let draft = webhook_draft(host, events);
    let made = vault.app.webhooks().create(&vault.caller, &draft, &Write::plain()).await;
    made.unwrap().outcome.id
}

fn webhook_draft(host: &str, events: &[EventKind]) -> WebhookDraft {
    WebhookDraft {
        name: String::from(host),
        url: format!("https://{host}/hook"),
        events: events.to_vec(),
        notify_email: None,
    }
}

impl Setting {
    fn tenant(&self) -> TenantId {
        self.vault.caller.tenant.id
    }

    fn rows(&self, table: Table) -> u64 {
        self.vault.app.store().snapshot().unwrap().len(table).unwrap()
    }

    fn status(&self) -> WebhookStatus {
        self.vault.app.webhooks().read(&self.vault.caller, self.webhook).unwrap().status
    }

    /// True if the outcome of every attempt is written.
    fn nothing_is_due(&self) -> bool {
        let due = tables::webhook_schedule(Timestamp::from_micros(0), self.vault.app.now());
        self.vault.app.store().snapshot().unwrap().first(&due, 1).unwrap().is_empty()
    }

    async fn deliver_until(&self, what: &str, mut condition: impl FnMut() -> bool) {
        tokio::select! {
            () = self.vault.app.webhooks().deliver(Authority::Leader(None)) => panic!("the worker ended"),
            () = wait_until(what, async || condition()) => (),
        }
    }

    async fn pending(&self) -> Vec<&'static str> {
        let webhooks = self.vault.app.webhooks();
        let found = webhooks.pending(self.tenant(), self.webhook).await.unwrap();
        found.iter().map(|event| event.kind.unwrap().as_str()).collect()
    }
}

#[tokio::test]
async fn an_event_is_delivered_with_what_the_interface_shows_and_no_data() {
    let it = setting();
    let origin = Arc::new(Origin::of_request(None, "trace-7"));
    let created = crate::app::originated(origin, it.vault.create(draft("secret value"))).await;
    let id = created.unwrap().shown.token.public_id();
    it.deliver_until("the event", || it.rows(Table::WebhookDeliveries) == 0).await;
    let [delivery] = it.receivers.got(HOST).try_into().ok().unwrap();
    let event = &delivery.body["event"];
    assert_eq!(event["type"], "token.created");
    assert_eq!(event["tenant_id"], it.tenant().to_string());
    assert_eq!(event["trace_id"], "trace-7");
    let token = &event["data"]["token"];
    assert_eq!((&token["id"], &token["type"]), (&json!(id), &json!("token")));
    assert_eq!(token["metadata"], json!({"Key": "secret value"}));
    assert_eq!(token["containers"], json!(["/a/", "/b/c/"]));
    assert_eq!(token["search_indexes"], json!(["{{ data.value }}"]));
    let mut members: Vec<_> = token.as_object().unwrap().keys().map(String::as_str).collect();
    members.sort_unstable();
    let expected = [
        "containers",
        "created_at",
        "created_by",
        "fingerprint",
        "fingerprint_expression",
        "id",
        "metadata",
        "search_indexes",
        "type",
    ];
    assert_eq!(members, expected, "nothing of the data, and no mask");
    let actor = json!({
        "id": it.vault.caller.application.id.to_string(), "type": "application",
        "name": "everything",
    });
    assert_eq!(event["data"]["actor"], actor);
    for member in ["id", "type", "tenant_id", "data"] {
        assert_eq!(delivery.body[member], event[member]);
    }
    let names = ["content-type", "user-agent", "bt-signature", "bt-signature-version"];
    assert_eq!(delivery.headers, names);
    assert_eq!(crate::domain::canonical_json::canonical(&delivery.body), delivery.text);
    it.vault.assert_clean();
}

#[tokio::test]
async fn every_act_of_a_token_has_its_event() {
    let it = setting();
    let first = it.vault.create_id(card("123")).await;
    let tokens = it.vault.app.tokens(&it.vault.caller);
    tokens.read(&first).await.unwrap();
    it.vault.app.audit().flush_reads().await.unwrap();
    it.vault.delete(&first).await.unwrap();
    it.vault.create(expiring("x", &it.vault.in_an_hour())).await.unwrap();
    it.vault.create(card("456")).await.unwrap();
    it.clock.advance(Duration::from_hours(2));
    it.vault.app.upkeep().sweep_all().await.unwrap();
    let mut found = it.pending().await;
    found.sort_unstable();
    let expected = [
        "token.created",
        "token.created",
        "token.created",
        "token.deleted",
        "token.expired",
        "token.property.expired",
        "token.read",
    ];
    assert_eq!(found, expected);
    it.vault.assert_clean();
}

#[tokio::test]
async fn a_webhook_hears_only_of_what_it_subscribed_to_and_others_write_nothing() {
    let it = setting();
    let draft_of = |status| WebhookChange {
        draft: webhook_draft(HOST, &[EventKind::TokenDeleted]),
        status: Some(status),
    };
    let webhooks = it.vault.app.webhooks();
    let change = async |status| {
        let (caller, id) = (&it.vault.caller, it.webhook);
        webhooks.update(caller, id, &draft_of(status), &Write::plain()).await.unwrap();
    };
    change(WebhookStatus::Enabled).await;
    let first = it.vault.create_id(draft("a")).await;
    assert_eq!(it.rows(Table::WebhookDeliveries), 0);
    it.vault.delete(&first).await.unwrap();
    assert_eq!(it.pending().await, ["token.deleted"]);
    change(WebhookStatus::Disabled).await;
    let second = it.vault.create_id(draft("b")).await;
    it.vault.delete(&second).await.unwrap();
    assert_eq!(it.rows(Table::WebhookDeliveries), 1, "a disabled webhook gets no more events");
    it.deliver_until("the queue is discarded", || it.rows(Table::WebhookSchedule) == 0).await;
    assert!(it.receivers.got(HOST).is_empty(), "a disabled webhook is not called");
    it.vault.assert_clean();
}

#[tokio::test]
async fn a_failed_delivery_is_repeated_on_schedule_and_three_days_of_failures_disable() {
    let (image, id) = with_webhook();
    let clock = Clock::stopped_at(Clock::new().now());
    let it = on(TestDisk::holding(image.clone()), clock, *id);
    it.receivers.set(HOST, Behaviour::Answer(500));
    it.vault.create(draft("x")).await.unwrap();
    let begun = it.vault.app.now();
    let mut after = Vec::new();
    let mut advance = |pause| {
        it.clock.advance(Duration::from_secs(pause));
        after.push(it.vault.app.now().since(begun).as_secs());
        after.len()
    };
    for pause in [0, 5, 30, 120, 600, 3_600, 21_600, 86_400, 86_400] {
        let count = advance(pause);
        let settled = || it.receivers.got(HOST).len() == count && it.nothing_is_due();
        it.deliver_until("an attempt is settled", settled).await;
    }
    assert_eq!(it.status(), WebhookStatus::Enabled);
    advance(60_445);
    // The worker that disables the webhook reports it after its write, so it must run until then.
    let news = tokio::select! {
        () = it.vault.app.webhooks().deliver(Authority::Leader(None)) => panic!("the worker ended"),
        news = within("the news", it.vault.app.webhooks().news()) => news,
    };
    let attempts: Vec<_> =
        it.receivers.got(HOST).iter().map(|got| got.at.since(begun).as_secs()).collect();
    assert_eq!(attempts, after);
    assert_eq!(after.last(), Some(&(3 * 86_400)));
    let ids: Vec<_> = it.receivers.got(HOST).iter().map(|got| got.body["id"].clone()).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "the event keeps its id");
    assert_eq!(it.status(), WebhookStatus::Disabled);
    let (tenant, webhook) = (it.tenant(), it.webhook);
    assert_eq!(news, WebhookNews::Disabled { tenant, webhook, reason: "status" });
    it.deliver_until("an empty queue", || it.rows(Table::WebhookDeliveries) == 0).await;
    let listed = it.vault.app.webhooks().list_with_queues(tenant).unwrap();
    assert_eq!(listed[0].last_failure.unwrap().reason, FailureReason::Status(500));
    assert_eq!((listed[0].pending, it.rows(Table::WebhookDeliveries)), (0, 0));
    it.vault.assert_clean();
}

#[tokio::test]
async fn a_success_ends_the_count_of_days_of_failures() {
    let it = setting();
    it.receivers.set(HOST, Behaviour::Answer(500));
    it.vault.create(draft("x")).await.unwrap();
    let failing = || {
        let listed = it.vault.app.webhooks().list_with_queues(it.tenant()).unwrap();
        listed[0].webhook.failing.is_some()
    };
    it.deliver_until("a failure", failing).await;
    it.receivers.set(HOST, Behaviour::Answer(200));
    it.clock.advance(Duration::from_secs(6));
    it.deliver_until("a success", || it.rows(Table::WebhookSchedule) == 0).await;
    assert!(!failing());
    assert_eq!(it.receivers.got(HOST).len(), 2);
}

#[tokio::test]
async fn neither_a_restart_nor_a_crash_after_the_request_loses_an_event() {
    let it = setting();
    let id = it.vault.create_id(draft("x")).await;
    it.receivers.set(HOST, Behaviour::Hang);
    it.deliver_until("the request", || it.receivers.got(HOST).len() == 1).await;
    // The process is killed here: only durable rows remain.
    let again = on(TestDisk::holding(it.vault.disk.durable()), Clock::new(), it.webhook);
    again.deliver_until("the second request", || again.rows(Table::WebhookSchedule) == 0).await;
    let (first, second) = (it.receivers.got(HOST), again.receivers.got(HOST));
    assert_eq!(second[0].body["event"]["data"]["token"]["id"], id);
    assert_eq!(first[0].body["id"], second[0].body["id"]);
    again.vault.assert_clean();
}

#[tokio::test]
async fn receivers_that_hang_delay_nobody_else() {
    let it = setting();
    it.receivers.set(HOST, Behaviour::Hang);
    it.receivers.set("two.example", Behaviour::Hang);
    webhook(&it.vault, "two.example", &EventKind::ALL).await;
    webhook(&it.vault, "three.example", &[EventKind::TokenCreated]).await;
    for number in 0..100 {
        it.vault.create(draft(&number.to_string())).await.unwrap();
    }
    let all = || it.receivers.got("three.example").len() == 100;
    it.deliver_until("all events at the receiver that answers", all).await;
    assert!(it.receivers.got(HOST).len() <= 2, "at most two requests at a time");
}

#[tokio::test]
async fn a_receiver_that_is_silent_is_left_alone_until_its_time() {
    let it = setting();
    it.receivers.set(HOST, Behaviour::Fail(OutboundFailure::TimedOut));
    for number in 0..20 {
        it.vault.create(draft(&number.to_string())).await.unwrap();
    }
    webhook(&it.vault, "two.example", &[EventKind::TokenDeleted]).await;
    it.deliver_until("a failure", || !it.receivers.got(HOST).is_empty()).await;
    let id = it.vault.create_id(draft("last")).await;
    it.vault.delete(&id).await.unwrap();
    it.deliver_until("the other webhook", || {
        it.receivers.kinds("two.example") == ["token.deleted"]
    })
    .await;
    // Each run of the worker begins without a pause and tries at most two at a time.
    assert!(it.receivers.got(HOST).len() <= 4, "{}", it.receivers.got(HOST).len());
    // The operator's retry makes everything due, and the receiver answers again.
    it.receivers.set(HOST, Behaviour::Answer(200));
    it.vault.app.webhooks().retry(it.tenant(), it.webhook).await.unwrap();
    it.deliver_until("everything", || it.rows(Table::WebhookSchedule) == 0).await;
    it.vault.assert_clean();
}

#[tokio::test]
async fn an_event_that_is_refused_for_three_days_is_dropped_while_others_arrive() {
    let it = setting();
    it.receivers.set(HOST, Behaviour::Answer(400));
    it.vault.create(draft("x")).await.unwrap();
    // Without the outcome, the event would be due again and be accepted below.
    it.deliver_until("a refusal", || !it.receivers.got(HOST).is_empty() && it.nothing_is_due())
        .await;
    it.receivers.set(HOST, Behaviour::Answer(200));
    it.vault.create(draft("y")).await.unwrap();
    it.deliver_until("a success", || it.rows(Table::WebhookSchedule) == 1).await;
    it.clock.advance(Duration::from_hours(73));
    it.receivers.set(HOST, Behaviour::Answer(400));
    it.deliver_until("the event is given up", || it.rows(Table::WebhookSchedule) == 0).await;
    assert_eq!(it.status(), WebhookStatus::Enabled);
}

#[tokio::test]
async fn without_room_the_event_is_dropped_and_the_act_is_not() {
    let it = setting();
    let full = tables::webhook_counts(it.tenant(), it.webhook);
    let change = Change::new().count(full, WEBHOOK_PENDING_MAX);
    it.vault.app.store().commit(change).await.unwrap();
    let id = it.vault.create_id(draft("x")).await;
    assert!(it.vault.data(&id).is_some());
    assert_eq!(it.rows(Table::WebhookDeliveries), 0);
    let (tenant, webhook) = (it.tenant(), it.webhook);
    let news = within("the news", it.vault.app.webhooks().news()).await;
    assert_eq!(news, WebhookNews::Dropped { tenant, webhook });
    // A test event is only useful if it is sent.
    let refused = it.vault.app.webhooks().test(&it.vault.caller, webhook).await;
    assert!(matches!(refused, Err(Error::Unprocessable(_))), "{refused:?}");
}

#[tokio::test]
async fn the_queues_of_one_tenant_share_a_bound_below_that_of_the_vault() {
    let it = setting();
    let second = webhook(&it.vault, "two.example", &[EventKind::TokenCreated]).await;
    // The queues of deleted webhooks count until they are removed.
    let gone = WebhookId::new(uuid::Uuid::from_u128(7));
    let half = WEBHOOK_PENDING_TENANT_MAX / 2;
    let before = it.rows(Table::WebhookDeliveries);
    for (webhook, count) in [(second, half - 1), (gone, half)] {
        let count = Change::new().count(tables::webhook_counts(it.tenant(), webhook), count);
        it.vault.app.store().commit(count).await.unwrap();
    }
    it.vault.create(draft("x")).await.unwrap();
    assert_eq!(it.rows(Table::WebhookDeliveries), before + 2, "there was room before the change");
    it.vault.create(draft("y")).await.unwrap();
    assert_eq!(it.rows(Table::WebhookDeliveries), before + 2);
}

#[tokio::test]
async fn a_tenant_with_too_many_queues_to_count_gets_no_events() {
    let it = setting();
    for number in 1..u128::try_from(WEBHOOK_QUEUES_MAX).unwrap() {
        let gone = WebhookId::new(uuid::Uuid::from_u128(number));
        let count = Change::new().count(tables::webhook_counts(it.tenant(), gone), 1);
        it.vault.app.store().commit(count).await.unwrap();
    }
    it.vault.create(draft("x")).await.unwrap();
    assert_eq!(it.rows(Table::WebhookDeliveries), 1);
    it.vault.create(draft("y")).await.unwrap();
    assert_eq!(it.rows(Table::WebhookDeliveries), 1);
}

#[tokio::test]
async fn the_queue_of_a_deleted_webhook_is_removed_after_a_crash() {
    let it = setting();
    it.vault.create(draft("x")).await.unwrap();
    // Not due for a long time, so that only the start of the worker finds it.
    let range = tables::webhook_schedule(Timestamp::from_micros(0), it.vault.app.now());
    let snapshot = it.vault.app.store().snapshot().unwrap();
    let rows = snapshot.first(&range, 9).unwrap();
    for (key, value) in rows {
        let (_, delivery) = tables::scheduled_of_key(&key).unwrap();
        let later = delivery.schedule_key(it.vault.app.now().plus(Duration::from_hours(20)));
        let moved = Change::new().delete(Table::WebhookSchedule, key).put(
            Table::WebhookSchedule,
            later,
            value,
        );
        it.vault.app.store().commit(moved).await.unwrap();
    }
    // A second webhook whose events are gone, but not their count.
    let second = webhook(&it.vault, "two.example", &[EventKind::TokenDeleted]).await;
    it.vault.app.webhooks().delete(&it.vault.caller, it.webhook).await.unwrap();
    it.vault.app.webhooks().delete(&it.vault.caller, second).await.unwrap();
    let counts = [it.webhook, second].map(|id| tables::webhook_counts(it.tenant(), id));
    let left = Change::new().count(counts[1].clone(), 1);
    it.vault.app.store().commit(left).await.unwrap();
    let left = Change::new().count(counts[1].clone(), -1);
    it.vault.app.store().commit(left).await.unwrap();
    // The process is killed here, before the worker has removed anything.
    let again = on(TestDisk::holding(it.vault.disk.durable()), Clock::new(), it.webhook);
    assert_eq!(again.rows(Table::WebhookSchedule), 1);
    let is_gone = |count: &Vec<u8>| {
        let snapshot = again.vault.app.store().snapshot().unwrap();
        snapshot.value(Table::Counts, count).unwrap().is_none()
    };
    assert!(!counts.iter().any(is_gone));
    again.deliver_until("everything is removed", || counts.iter().all(is_gone)).await;
    assert_eq!(again.rows(Table::WebhookSchedule), 0);
    assert_eq!(again.rows(Table::WebhookDeliveries), 0);
    again.vault.assert_clean();
}

#[tokio::test]
async fn a_deleted_webhook_leaves_nothing_behind() {
    let it = setting();
    for number in 0..1_200 {
        it.vault.create(draft(&number.to_string())).await.unwrap();
    }
    assert_eq!(it.rows(Table::WebhookSchedule), 1_200);
    it.vault.app.webhooks().delete(&it.vault.caller, it.webhook).await.unwrap();
    let count = tables::webhook_counts(it.tenant(), it.webhook);
    let left = || it.vault.app.store().snapshot().unwrap().value(Table::Counts, &count).unwrap();
    // The count is removed last.
    it.deliver_until("its events and their count are removed", || left().is_none()).await;
    assert!(it.receivers.got(HOST).is_empty());
    assert_eq!(it.rows(Table::WebhookSchedule), 0);
    assert_eq!(it.rows(Table::WebhookDeliveries), 0);
    let missing = it.vault.app.webhooks().read(&it.vault.caller, it.webhook);
    assert!(missing.is_err());
    it.vault.assert_clean();
}

#[tokio::test]
async fn a_webhook_that_is_enabled_again_keeps_its_events() {
    let it = setting();
    for status in [WebhookStatus::Disabled, WebhookStatus::Enabled] {
        let draft = webhook_draft(HOST, &EventKind::ALL);
        let change = WebhookChange { draft, status: Some(status) };
        let webhooks = it.vault.app.webhooks();
        webhooks.update(&it.vault.caller, it.webhook, &change, &Write::plain()).await.unwrap();
    }
    // The worker has not seen yet that the webhook was disabled.
    it.vault.create(draft("x")).await.unwrap();
    it.deliver_until("the event", || it.receivers.kinds(HOST) == ["token.created"]).await;
    it.vault.assert_clean();
}

#[tokio::test]
async fn a_tenant_has_at_most_five_webhooks_also_when_they_come_at_once() {
    let it = setting();
    let (webhooks, caller) = (it.vault.app.webhooks(), &it.vault.caller);
    let draft = webhook_draft("more.example", &[EventKind::TokenRead]);
    let write = Write::plain();
    let (first, second, third, fourth, fifth) = tokio::join!(
        webhooks.create(caller, &draft, &write),
        webhooks.create(caller, &draft, &write),
        webhooks.create(caller, &draft, &write),
        webhooks.create(caller, &draft, &write),
        webhooks.create(caller, &draft, &write),
    );
    let made = [first, second, third, fourth, fifth].iter().filter(|it| it.is_ok()).count();
    assert_eq!(made, WEBHOOKS_MAX - 1);
    let first = webhooks.list(caller, None, 3).unwrap();
    assert_eq!((first.webhooks.len(), first.next.is_some()), (3, true));
    let second = webhooks.list(caller, first.next, 3).unwrap();
    assert_eq!((second.webhooks.len(), second.next), (2, None));
}

#[tokio::test]
async fn the_signing_key_survives_a_new_master_key_and_can_be_replaced() {
    let it = setting();
    let before = it.vault.app.webhooks().public_key().unwrap().unwrap();
    it.vault.app.rotation().rotate_master(other_master()).await.unwrap();
    it.vault.app.close();
    let disk = TestDisk::holding(it.vault.disk.durable());
    assert!(Vault::on_disk(&disk, master(), Clock::new()).is_err(), "the old master key");
    let app = Vault::on_disk(&disk, other_master(), Clock::new()).unwrap();
    assert_eq!(app.webhooks().public_key().unwrap().unwrap(), before);
    let after = app.webhooks().rotate_key().await.unwrap();
    assert_ne!(after, before);
    assert_eq!(app.webhooks().public_key().unwrap().unwrap(), after);
    assert_clean(&app);
}
