//! A vault with a row in every table, with images of its disk after a stop and after a kill.

use std::sync::{Arc, OnceLock};

use serde_json::json;

use crate::app::tests::threeds::{self, Servers};
use crate::app::tests::{
    TestVault, card, deduplicating, draft, expiring, named, prepared, proxies, reactors, sessions,
    webhooks,
};
use crate::app::tokens::intents::TokenIntentDraft;
use crate::app::{Vault, Write, WriteOutcome, show_nothing};
use crate::bounds::THREEDS_RETENTION;
use crate::clock::Clock;
use crate::domain::id::{ProxyId, TenantId, WebhookId};
use crate::domain::key_text::KeyText;
use crate::domain::tenant::TenantKind;
use crate::domain::token_type::TokenType;
use crate::domain::webhook::EventKind;
use crate::idempotency::{AnswerStatus, RememberedAnswer};
use crate::secret::Secret;
use crate::store::tests::block_on;
use crate::store::tests::disk::{Image, TestDisk};
use crate::store::{Table, meta};

/// The ids of everything that the vault must show.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) tokens: Vec<String>,
    pub(super) intents: Vec<String>,
    pub(super) sessions: Vec<String>,
    pub(super) threeds: String,
    pub(super) threeds_key: String,
    pub(super) proxy: ProxyId,
    pub(super) proxy_key: String,
    pub(super) webhook: WebhookId,
    pub(super) tenant: TenantId,
}

/// The disk at several moments, and its content.
pub(super) struct Scene {
    /// Everything is in the data file.
    pub(super) stopped: Image,
    /// A part is only in the log, which has several segments and a spare.
    pub(super) killed: Image,
    /// As `killed`, without the last batch of the log.
    pub(super) before_last: Image,
    /// An earlier moment. Old pages and files are taken from it.
    pub(super) earlier: Image,
    pub(super) clock: Clock,
    pub(super) known: Known,
}

pub(super) const IDEMPOTENT: (&str, &str, &str) = ("POST", "/tokens", "a-key");

pub(super) fn scene() -> &'static Scene {
    static SCENE: OnceLock<Scene> = OnceLock::new();
    SCENE.get_or_init(|| std::thread::spawn(make).join().unwrap())
}

fn make() -> Scene {
    // Stop the clock, so that nothing expires in a long run.
    let clock = Clock::stopped_at(Clock::new().now());
    let vault = TestVault::with_small_log(TestDisk::holding(prepared().0.clone()), clock.clone());
    vault.app.threeds().configure_threeds(THREEDS_RETENTION, Some(Arc::new(Servers::default())));
    let store = vault.app.store();
    let known = block_on(async {
        let mut known = everything(&vault).await;
        for turn in 0..64 {
            store.merge_now(turn).unwrap();
        }
        known.tokens.extend(some_tokens(&vault, "merged").await);
        store.merge_now(0).unwrap();
        known
    });
    let earlier = vault.disk.volatile();
    let known = block_on(async {
        let mut known = known;
        known.tokens.extend(some_tokens(&vault, "in part").await);
        store.merge_now(1).unwrap();
        known.tokens.extend(some_tokens(&vault, "in the log").await);
        vault.app.audit().sign().await.unwrap();
        known
    });
    store.note_end_now().unwrap();
    let before_last = vault.disk.volatile();
    let known = block_on(async {
        let mut known = known;
        known.tokens.push(vault.create_id(draft("the last one")).await);
        known
    });
    let killed = vault.disk.volatile();
    assert!(killed.len() > 3, "{:?}", killed.keys());
    every_table_has_rows(&vault.app);
    let TestVault { app, disk, .. } = vault;
    app.close();
    drop(app);
    Scene { stopped: disk.volatile(), killed, before_last, earlier, clock, known }
}

fn every_table_has_rows(app: &Vault) {
    let snapshot = app.store().snapshot().unwrap();
    // A store of one process has no rows of processes.
    for table in Table::ALL.iter().filter(|table| **table != Table::Processes) {
        assert!(snapshot.len(*table).unwrap() > 0, "{} is empty", table.name());
    }
    assert!(meta::file_id(&snapshot).unwrap().is_some());
}

async fn some_tokens(vault: &TestVault, value: &str) -> Vec<String> {
    let mut ids = Vec::new();
    for round in 0..4 {
        ids.push(vault.create_id(draft(&format!("{value} {round}"))).await);
        let in_an_hour = vault.in_an_hour();
        ids.push(vault.create_id(expiring(&format!("{value} expires {round}"), &in_an_hour)).await);
        let gone = vault.create_id(draft("deleted")).await;
        vault.delete(&gone).await.unwrap();
    }
    ids
}

async fn everything(vault: &TestVault) -> Known {
    let app = &vault.app;
    let webhook = webhooks::webhook(vault, "one.example", &EventKind::ALL).await;
    let mut tokens = some_tokens(vault, "first").await;
    tokens.push(vault.create_id(named("a name", "named")).await);
    tokens.push(vault.create_id(deduplicating("once")).await);
    tokens.push(vault.create_id(card("123")).await);
    tokens.push(remembered(vault).await);
    let mut intents = Vec::new();
    for _ in 0..2 {
        let data = json!({"number": "4242424242424242", "expiration_month": 12, "cvc": "321"});
        let draft = TokenIntentDraft {
            kind: Some(TokenType::Card),
            data: Some(Secret::new(data)),
            ..TokenIntentDraft::default()
        };
        let made = app.token_intents(&vault.caller).create(&draft, &Write::plain()).await;
        intents.push(made.unwrap().outcome.intent.id.to_string());
    }
    let page = sessions::public(vault).await;
    let mut keys = Vec::new();
    for _ in 0..2 {
        let session = app.access().create_session(&page).await.unwrap();
        sessions::authorize(vault, &session).await.unwrap();
        keys.push(String::from(session.text.expose()));
    }
    app.client_keys().create(&vault.caller, None, &Write::plain()).await.unwrap();
    let proxy = proxies::create(vault, &json!([])).await.unwrap();
    reactors::reactor_with_result(vault).await;
    let (threeds, threeds_key) = threeds_session(app).await;
    // Authentication notes the last use of a key.
    app.access().authenticate(&crate::app::tests::prepared_key()).unwrap();
    app.access().write_last_uses().await.unwrap();
    app.audit().refusals().write().await.unwrap();
    app.audit().sign().await.unwrap();
    Known {
        tokens,
        intents,
        sessions: keys,
        threeds,
        threeds_key,
        proxy: proxy.id,
        proxy_key: String::from(proxy.key.expose()),
        webhook,
        tenant: vault.caller.tenant.id,
    }
}

async fn remembered(vault: &TestVault) -> String {
    let guard =
        vault.app.idempotency().begin(&vault.caller, IDEMPOTENT, show_nothing).await.unwrap();
    let render = |_: &WriteOutcome| RememberedAnswer::empty(AnswerStatus::Created);
    let write = Write { guard: Some(&guard), render: &render };
    let made = vault.app.tokens(&vault.caller).create(card("999"), &write).await.unwrap();
    made.outcome.shown.token.public_id()
}

/// The id of a 3DS session, and the key of an application that can read it.
async fn threeds_session(app: &Vault) -> (String, String) {
    for (_, refreshed) in app.card_ranges().refresh_all().await {
        refreshed.unwrap();
    }
    let (caller, key) = threeds::caller_with_key(app, TenantKind::Test).await;
    let session = threeds::create(app, &caller, "4200000000000004").await.unwrap();
    (session.id.to_string(), key)
}

pub(super) fn key_text(text: &str) -> KeyText {
    KeyText::parse(text).unwrap()
}
