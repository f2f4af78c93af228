//! The world of a run: a disk, a clock, a vault without threads, and the dice.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use tokio::runtime::Runtime;

use crate::app::open::{first_change, start};
use crate::app::tests::everything;
use crate::app::tests::floor::{FLOOR, Free};
use crate::app::tests::simulation::asks::Request;
use crate::app::tests::simulation::clients::rule;
use crate::app::tests::simulation::invariants::Ledger;
use crate::app::tests::simulation::model::{
    CVC_RETENTION, INTENT_RETENTION, Model, THREEDS_RETENTION, Tenant,
};
use crate::app::tests::simulation::readers::Reader;
use crate::app::tests::simulation::trace::Trace;
use crate::app::{
    ApplicationDraft, DiskState, FirstKey, TenantDraft, Vault, VaultFailure, Walk, Write,
};
use crate::clock::Clock;
use crate::crypto::{MasterKey, Random};
use crate::domain::access::Access;
use crate::domain::application::ApplicationKind;
use crate::domain::id::TenantId;
use crate::domain::permission::Permission;
use crate::domain::quota::Quotas;
use crate::domain::tenant::{TenantKind, Threeds};
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::tests::disk::{Dice, TestDisk};
use crate::store::tests::stepped::{Stepper, open_stepped};
use crate::store::tests::{TestDirectory, shards};
use crate::store::{CvcKeys, Table};
use crate::waiting::{receive, steps};

/// Of every second seed.
const SHARDS: u16 = 16;

/// For the first tenant; the second one has no quota.
const TOKEN_LIMIT: usize = 16;

/// The tenants, and the texts of their keys.
#[derive(Debug, Default)]
pub(super) struct Site {
    pub(super) tenants: Vec<SiteTenant>,
}

#[derive(Debug)]
pub(super) struct SiteTenant {
    pub(super) id: TenantId,
    /// The key of the application that may do everything.
    pub(super) whole: String,
    /// The key of the application that may read in `/a/`.
    pub(super) part: String,
    /// The key of the public application.
    pub(super) page: String,
}

/// An open vault, and the writer of its store.
pub(super) struct Server {
    pub(super) app: Arc<Vault>,
    pub(super) stepper: Stepper,
}

pub(super) struct World {
    pub(super) dice: Dice,
    pub(super) clock: Clock,
    pub(super) disk: TestDisk,
    pub(super) free: Free,
    pub(super) server: Option<Server>,
    pub(super) site: Arc<Site>,
    pub(super) model: Model,
    /// The number of the master key in use.
    pub(super) master: usize,
    pub(super) walk: Arc<tokio::sync::Mutex<Walk>>,
    pub(super) readers: Vec<Reader>,
    /// Sent requests with idempotency keys.
    pub(super) keyed: Vec<Request>,
    pub(super) next_key: u64,
    pub(super) backups: TestDirectory,
    pub(super) ledger: Ledger,
    pub(super) trace: Arc<Mutex<Trace>>,
    /// With shards, each tenant has its own chain and digests, as in a database.
    has_shards: bool,
    runtime: Runtime,
}

/// Set when a future was woken.
#[derive(Default)]
pub(super) struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Flag {
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

pub(super) fn master_of(number: usize) -> MasterKey {
    let text = format!("{:064x}", number + 0x1234_5678);
    MasterKey::parse(&Secret::new(text.into_bytes())).unwrap()
}

impl World {
    pub(super) fn new(seed: u64, trace: Arc<Mutex<Trace>>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            // With one thread, work is done in the order in which it was started.
            .max_blocking_threads(1)
            .build()
            .unwrap();
        let mut world = Self {
            dice: Dice(seed),
            clock: Clock::stopped_at(Timestamp::from_seconds(1_800_000_000)),
            disk: TestDisk::new(),
            free: Free::default(),
            server: None,
            site: Arc::default(),
            model: Model::default(),
            master: 0,
            walk: Arc::default(),
            readers: Vec::new(),
            keyed: Vec::new(),
            next_key: 0,
            backups: TestDirectory::new(),
            ledger: Ledger::default(),
            trace,
            has_shards: seed % 2 == 1,
            runtime,
        };
        let runtime = world.runtime.handle().clone();
        let _entered = runtime.enter();
        world.server = Some(world.open(0).unwrap());
        let limits = [Some(TOKEN_LIMIT), None];
        let tenants = limits.map(|limit| world.new_tenant(limit));
        world.site = Arc::new(Site { tenants: tenants.into() });
        world.model.tenants = limits.map(|limit| Tenant { limit, ..Tenant::default() }).into();
        world
    }

    pub(super) fn runtime(&self) -> tokio::runtime::Handle {
        self.runtime.handle().clone()
    }

    pub(super) fn roll(&mut self, sides: usize) -> usize {
        usize::try_from(self.dice.roll(u64::try_from(sides).unwrap())).unwrap()
    }

    pub(super) fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }

    pub(super) fn note(&self, line: String) {
        self.trace.lock().unwrap().note(line);
    }

    pub(super) fn app(&self) -> Arc<Vault> {
        Arc::clone(&self.server.as_ref().unwrap().app)
    }

    pub(super) fn step_writer(&mut self) -> bool {
        self.server.as_mut().unwrap().stepper.step()
    }

    pub(super) fn open(&mut self, master: usize) -> Result<Server, VaultFailure> {
        let random = Random::seeded(self.dice.roll(u64::MAX));
        let key = master_of(master);
        let first = || {
            let first = first_change(&key, &random, self.clock.now());
            if !self.has_shards {
                return first;
            }
            let (row, value) = shards::row(SHARDS);
            first.put(Table::Meta, row, value)
        };
        let opened = open_stepped(&self.disk, &self.clock, first);
        let (store, stepper) = opened.map_err(VaultFailure::File)?;
        let keys = CvcKeys::on_volume(self.disk.volume().as_ref());
        let mut app = start(store, keys, key.clone(), self.clock.clone(), random)?;
        self.free.watched_by(&mut app);
        self.set_disk_of(&app, DiskState::Writable);
        app.threeds().configure_threeds(THREEDS_RETENTION, None);
        Ok(Server { app: Arc::new(app), stepper })
    }

    fn set_disk_of(&self, app: &Vault, state: DiskState) {
        let free = match state {
            DiskState::Writable => 10 * FLOOR,
            DiskState::ReadOnly => FLOOR - 1,
            DiskState::Full => 0,
        };
        self.free.set(app, free);
    }

    pub(super) fn set_disk(&self, state: DiskState) {
        self.set_disk_of(&self.app(), state);
    }

    /// Waits until all blocking work started so far is done.
    pub(super) fn settle(&self) {
        let (done, wait) = std::sync::mpsc::channel();
        drop(self.runtime.spawn_blocking(move || done.send(()).unwrap()));
        receive("blocking work", &wait);
    }

    /// Runs the writer too.
    pub(super) fn drive<T>(&mut self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        for _ in steps("the end of a future") {
            let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(output) = polled {
                return output;
            }
            self.settle();
            self.step_writer();
        }
        panic!("the steps have no end")
    }

    fn new_tenant(&mut self, limit: Option<usize>) -> SiteTenant {
        use Permission::{TokenCreate, TokenDelete, TokenRead, TokenSearch, TokenUpdate};
        let app = self.app();
        let quotas = Quotas {
            cvc_retention: CVC_RETENTION,
            token_intent_retention: INTENT_RETENTION,
            token_limit: limit.map(|limit| u64::try_from(limit).unwrap()),
            ..Quotas::default()
        };
        let draft = TenantDraft {
            name: String::from("simulated"),
            kind: TenantKind::Test,
            threeds: Threeds::Enabled,
            quotas,
        };
        let tenant = self.drive(app.access().create_tenant(draft)).unwrap().id;
        let all = [TokenCreate, TokenDelete, TokenRead, TokenSearch, TokenUpdate];
        let part = [TokenRead, TokenSearch];
        let mut key = |kind: ApplicationKind, access: Access| {
            let draft = ApplicationDraft { kind, access, key: FirstKey::Made, ..everything() };
            let write = Write::plain();
            let made = app.access().create_application(tenant, &draft, None, &write);
            String::from(self.drive(made).unwrap().outcome.1.unwrap().text.expose())
        };
        SiteTenant {
            id: tenant,
            whole: key(ApplicationKind::Private, Access::new(vec![], vec![rule("/", &all)])),
            part: key(ApplicationKind::Private, Access::new(vec![], vec![rule("/a/", &part)])),
            page: key(ApplicationKind::Public, Access::new(vec![TokenCreate], vec![])),
        }
    }
}
