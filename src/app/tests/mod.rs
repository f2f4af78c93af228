//! The operations on failing disks, under concurrency and over time.

mod api_keys;
mod audit;
mod backups;
mod callers;
mod concurrency;
mod cost;
mod damage;
mod deletion;
mod erasure;
mod evaluations;
mod failures;
mod faults;
mod floor;
mod histories;
mod last_uses;
mod power;
mod processes;
mod proxies;
mod reactors;
mod records;
mod refusals;
mod reservations;
mod row_counts;
mod scrub;
mod sessions;
mod shared_codes;
mod simulation;
mod sweep;
mod threeds;
mod walks;
mod webhooks;
mod workload;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};

use crate::app::open::start;
use crate::app::tokens::evaluations::Work;
use crate::app::{
    ApplicationDraft, AuditPolicy, Caller, Deduplicate, Error, FirstKey, NewKey, Report,
    TenantDraft, TokenDraft, Vault, VaultFailure, Write, WriteOutcome,
};
use crate::clock::Clock;
use crate::crypto::{MasterKey, Random};
use crate::domain::access::{Access, AccessRule, Transform};
use crate::domain::application::{Application, ApplicationKind};
use crate::domain::container::Container;
use crate::domain::id::TenantId;
use crate::domain::key_text::KeyText;
use crate::domain::permission::Permission;
use crate::domain::quota::Quotas;
use crate::domain::tenant::{TenantKind, Threeds};
use crate::domain::token_type::TokenType;
use crate::domain::web_origin::AllowedOrigins;
use crate::secret::Secret;
use crate::store::tests::disk::{Image, TestDisk};
use crate::store::tests::{block_on, open_with_small_log, open_without_cache};
use crate::store::{CvcKeys, OpenFailure};

/// A vault with a tenant, an application and its key, on a test disk.
pub(in crate::app) struct TestVault {
    pub(in crate::app) app: Vault,
    disk: TestDisk,
    pub(in crate::app) caller: Arc<Caller>,
}

impl TestVault {
    pub(in crate::app) fn new() -> Self {
        let (image, _) = prepared();
        Self::on(TestDisk::holding(image.clone()), Clock::new()).unwrap()
    }

    fn on(disk: TestDisk, clock: Clock) -> Result<Self, Error> {
        Self::made_of(Vault::on_disk(&disk, master(), clock), disk)
    }

    /// With small log segments.
    fn with_small_log(disk: TestDisk, clock: Clock) -> Self {
        let keys = CvcKeys::on_volume(disk.volume().as_ref());
        let store = open_with_small_log(&disk, &clock);
        Self::made_of(start(store, keys, master(), clock, Random::new()), disk).unwrap()
    }

    /// Reads everything from the disk every time.
    fn without_cache(disk: TestDisk) -> Result<Self, Error> {
        let keys = CvcKeys::on_volume(disk.volume().as_ref());
        let store = open_without_cache(&disk);
        Self::made_of(start(store, keys, master(), Clock::new(), Random::new()), disk)
    }

    /// The vault as the next process finds it after a loss of power.
    fn again(&self) -> Self {
        Self::on(TestDisk::holding(self.disk.durable()), Clock::new()).unwrap()
    }

    fn with_audit(mut self, policy: AuditPolicy) -> Self {
        self.app = self.app.with_audit(policy);
        self
    }

    fn made_of(app: Result<Vault, VaultFailure>, disk: TestDisk) -> Result<Self, Error> {
        let app = app.map_err(|failure| match failure {
            VaultFailure::File(OpenFailure::Storage(failure)) => Error::from(failure),
            VaultFailure::File(_)
            | VaultFailure::KeysDamaged
            | VaultFailure::ReplacedMasterKey(_)
            | VaultFailure::WrongMasterKey => panic!("{failure:?}"),
        })?;
        let caller = app.access().authenticate(&prepared_key())?;
        Ok(Self { app, disk, caller })
    }

    async fn create(&self, draft: TokenDraft) -> Result<WriteOutcome, Error> {
        Ok(self.app.tokens(&self.caller).create(draft, &Write::plain()).await?.outcome)
    }

    pub(in crate::app) async fn create_id(&self, draft: TokenDraft) -> String {
        self.create(draft).await.unwrap().shown.token.public_id()
    }

    async fn delete(&self, id: &str) -> Result<(), Error> {
        self.app.tokens(&self.caller).delete(id).await
    }

    /// The whole value; `None` if the token does not exist.
    fn data(&self, id: &str) -> Option<Value> {
        match self.app.tokens(&self.caller).show_token(id, self.app.now(), &Work::Read.budget()) {
            Ok(shown) => Some(shown.token.data.value().expose().clone()),
            Err(Error::NotFound("token")) => None,
            Err(other) => panic!("{other:?}"),
        }
    }

    fn in_an_hour(&self) -> String {
        self.app.now().plus(Duration::from_hours(1)).to_wire()
    }

    #[track_caller]
    fn assert_clean(&self) -> Report {
        assert_clean(&self.app)
    }
}

#[track_caller]
pub(in crate::app) fn assert_clean(app: &Vault) -> Report {
    let report = app.verification().verify().unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    report
}

pub(in crate::app) fn master() -> MasterKey {
    MasterKey::parse(&Secret::new(b"42".repeat(32))).unwrap()
}

pub(in crate::app) fn other_master() -> MasterKey {
    MasterKey::parse(&Secret::new(b"43".repeat(32))).unwrap()
}

fn prepared_key() -> KeyText {
    KeyText::parse(&prepared().1).unwrap()
}

/// The disk of a prepared, closed vault, and the text of its key.
fn prepared() -> &'static (Image, String) {
    static PREPARED: OnceLock<(Image, String)> = OnceLock::new();
    // Use another thread, since the first caller may be in a runtime already.
    PREPARED.get_or_init(|| std::thread::spawn(prepare).join().unwrap())
}

fn prepare() -> (Image, String) {
    let disk = TestDisk::new();
    let app = Vault::on_disk(&disk, master(), Clock::new()).unwrap();
    let (_, key) = block_on(new_tenant(&app, "first"));
    app.close();
    (disk.durable(), String::from(key.expose()))
}

pub(in crate::app) fn tenant_draft(name: &str) -> TenantDraft {
    TenantDraft {
        name: String::from(name),
        kind: TenantKind::Test,
        threeds: Threeds::Disabled,
        quotas: Quotas::default(),
    }
}

async fn new_tenant(app: &Vault, name: &str) -> (TenantId, KeyText) {
    let tenant = app.access().create_tenant(tenant_draft(name)).await.unwrap().id;
    (tenant, new_application(app, tenant, &everything()).await.1.text)
}

async fn new_application(
    app: &Vault,
    tenant: TenantId,
    draft: &ApplicationDraft,
) -> (Application, NewKey) {
    let made = app.access().create_application(tenant, draft, None, &Write::plain()).await;
    let (application, key) = made.unwrap().outcome;
    (application, key.unwrap())
}

pub(in crate::app) async fn new_caller(
    app: &Vault,
    tenant: TenantId,
    draft: &ApplicationDraft,
) -> Arc<Caller> {
    let (_, key) = new_application(app, tenant, draft).await;
    app.access().authenticate(&key.text).unwrap()
}

/// A rule of the first priority without conditions.
pub(in crate::app) fn rule(path: &str, transform: Transform, may: &[Permission]) -> AccessRule {
    AccessRule {
        description: None,
        priority: 1,
        container: Container::parse(path).unwrap(),
        conditions: Vec::new(),
        transform,
        permissions: may.to_vec(),
    }
}

/// May do everything everywhere and sees all data.
pub(in crate::app) fn everything() -> ApplicationDraft {
    use Permission::{TokenCreate, TokenDelete, TokenRead};
    let rule = rule("/", Transform::Reveal, &[TokenCreate, TokenDelete, TokenRead]);
    ApplicationDraft {
        name: String::from("everything"),
        kind: ApplicationKind::Private,
        access: Access::new(vec![], vec![rule]),
        allowed_origins: AllowedOrigins::default(),
        key: FirstKey::Made,
    }
}

/// Has rows in every index but the names.
fn draft(value: &str) -> TokenDraft {
    TokenDraft {
        kind: Some(TokenType::Token),
        data: Some(Secret::new(json!({ "value": value }))),
        containers: Some(
            ["/a/", "/b/c/"].iter().map(|path| Container::parse(path).unwrap()).collect(),
        ),
        metadata: [("Key", value)].into_iter().collect(),
        search_indexes: Some(vec![String::from("{{ data.value }}")]),
        ..TokenDraft::default()
    }
}

fn card(cvc: &str) -> TokenDraft {
    let data = json!({"number": "4242424242424242", "expiration_month": 12, "cvc": cvc});
    TokenDraft {
        kind: Some(TokenType::Card),
        data: Some(Secret::new(data)),
        ..TokenDraft::default()
    }
}

fn named(name: &str, value: &str) -> TokenDraft {
    TokenDraft { id: Some(String::from(name)), ..draft(value) }
}

fn deduplicating(value: &str) -> TokenDraft {
    TokenDraft { deduplicate: Some(Deduplicate::Yes), ..draft(value) }
}

fn expiring(value: &str, at: &str) -> TokenDraft {
    TokenDraft { expires_at: Some(String::from(at)), ..draft(value) }
}
