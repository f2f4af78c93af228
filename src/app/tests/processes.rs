//! Two vaults over one store, as two processes on one database.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use uuid::Uuid;

use crate::app::KeyRotation;
use crate::app::open::start;
use crate::app::tests::{
    assert_clean, deduplicating, draft, master, named, other_master, prepared, prepared_key,
};
use crate::app::tokens::evaluations::Work;
use crate::app::{
    Beat, Caller, Error, Step, TokenDraft, Vault, Walk, WebhookDraft, Write, WriteOutcome,
    show_nothing,
};
use crate::bounds::{AUDIT_RETRY, LEADER_DOUBT_AFTER, SHARD_READS_WAITING_MAX};
use crate::clock::Clock;
use crate::crypto::Random;
use crate::domain::audit::{Entity, EntityKind};
use crate::domain::process::ProcessRole;
use crate::domain::webhook::EventKind;
use crate::idempotency::{AnswerStatus, RememberedAnswer};
use crate::store::tests::disk::TestDisk;
use crate::store::tests::{SharedEngine, shared_copies};
use crate::store::{Authority, Change, CommitFailure, CvcKeys, Table, Verdict};
use crate::waiting::{steps, wait_until, within};

/// Both processes have joined, and the first leads.
pub(super) struct Pair {
    pub(super) first: Vault,
    pub(super) second: Vault,
    engine: SharedEngine,
}

pub(super) fn vaults() -> Pair {
    let disk = TestDisk::holding(prepared().0.clone());
    let (stores, engine) = shared_copies(&disk);
    let [first, second] = stores.map(|store| {
        let keys = CvcKeys::on_volume(TestDisk::new().volume().as_ref());
        start(store, keys, master(), Clock::new(), Random::new()).unwrap()
    });
    Pair { first, second, engine }
}

impl Pair {
    /// Of the first process, which leads.
    fn rotation(&self) -> KeyRotation<'_> {
        self.first.rotation().by(Authority::Leader(self.first.processes().term()))
    }
}

pub(super) async fn pair() -> Pair {
    let pair = vaults();
    let (one, two) = (pair.first.processes(), pair.second.processes());
    let joined = Box::pin(one.join("one.example", ProcessRole::Server)).await.unwrap();
    assert!(joined.leads);
    let joined = Box::pin(two.join("two.example", ProcessRole::Server)).await.unwrap();
    assert_eq!(joined, Beat::default());
    Box::pin(pair.beat()).await;
    pair
}

impl Pair {
    fn poll(&self) {
        for vault in [&self.first, &self.second] {
            vault.processes().poll().unwrap();
        }
    }

    /// A poll and a beat of each process, as its loops do within a second.
    pub(super) async fn beat(&self) {
        self.poll();
        for vault in [&self.first, &self.second] {
            vault.processes().beat().await.unwrap();
        }
    }
}

pub(super) fn caller(vault: &Vault) -> Arc<Caller> {
    vault.access().authenticate(&prepared_key()).unwrap()
}

async fn create(vault: &Vault, draft: TokenDraft) -> Result<WriteOutcome, Error> {
    let caller = caller(vault);
    Ok(vault.tokens(&caller).create(draft, &Write::plain()).await?.outcome)
}

pub(super) async fn create_id(vault: &Vault, draft: TokenDraft) -> String {
    create(vault, draft).await.unwrap().shown.token.public_id()
}

fn data(vault: &Vault, id: &str) -> Value {
    let caller = caller(vault);
    let shown = vault.tokens(&caller).show_token(id, vault.now(), &Work::Read.budget()).unwrap();
    shown.token.data.value().expose().clone()
}

/// Makes `vault` consider the other process dead.
fn bury_others(vault: &Vault) {
    let mut beats = vault.processes.beats.lock();
    beats.values_mut().for_each(|(_, dead_at)| *dead_at = Duration::ZERO);
}

#[tokio::test]
async fn each_process_reads_the_writes_of_the_other_and_the_vault_stays_clean() {
    let pair = pair().await;
    let one = create_id(&pair.first, draft("one")).await;
    let two = create_id(&pair.second, draft("two")).await;
    for vault in [&pair.first, &pair.second] {
        assert_eq!(
            (data(vault, &one)["value"].as_str(), data(vault, &two)["value"].as_str()),
            (Some("one"), Some("two"))
        );
        vault.audit().sign().await.unwrap();
        assert_clean(vault);
    }
}

#[tokio::test]
async fn processes_are_listed_with_their_leader() {
    let pair = pair().await;
    let listed = pair.second.processes().list().unwrap();
    let shown: Vec<_> =
        listed.iter().map(|it| (it.host.as_str(), it.is_leader, it.is_own)).collect();
    assert_eq!(shown, [("one.example", true, false), ("two.example", false, true)]);
    assert_eq!((pair.first.processes().live(), pair.second.processes().live()), (2, 2));
    assert!(pair.first.processes().leads() && !pair.second.processes().leads());
}

#[tokio::test]
async fn a_deleted_api_key_is_refused_by_the_other_process_after_its_next_look() {
    let pair = pair().await;
    let own = caller(&pair.first);
    let (tenant, application) = (own.tenant.id, own.application.id);
    let write = Write::plain();
    let made = pair.first.access().create_key(tenant, application, None, None, &write);
    let made = made.await.unwrap().outcome;
    pair.poll();
    pair.second.access().authenticate(&made.text).unwrap();
    let delete = pair.first.access().delete_key(tenant, application, made.key.id, None);
    delete.await.unwrap();
    pair.second.access().authenticate(&made.text).expect("it is cached, and has not looked");
    pair.poll();
    let refused = pair.second.access().authenticate(&made.text);
    assert!(matches!(refused, Err(Error::Unauthenticated)));
}

#[tokio::test]
async fn a_process_that_could_not_look_for_a_second_uses_no_cached_caller() {
    let pair = pair().await;
    caller(&pair.second);
    pair.engine.reach(false);
    pair.second.access().authenticate(&prepared_key()).expect("the cache is fresh");
    wait_until("the cache to be out of date", async || {
        let found = pair.second.access().authenticate(&prepared_key());
        matches!(found, Err(Error::Busy))
    })
    .await;
    pair.engine.reach(true);
    caller(&pair.second);
}

#[tokio::test]
async fn a_process_that_was_stopped_for_long_follows_the_keys_before_it_answers() {
    let pair = pair().await;
    let id = create_id(&pair.first, draft("a")).await;
    caller(&pair.second);
    // The second process stops; the first counts it out and rotates all keys without it.
    bury_others(&pair.first);
    pair.first.processes().beat().await.unwrap();
    pair.first.rotation().rotate_server().await.unwrap();
    let mut walk = Walk::default();
    for _ in steps("a rotation without the second process") {
        pair.first.processes().poll().unwrap();
        pair.first.processes().beat().await.unwrap();
        if let Step::Finished(..) = pair.rotation().rotate_step(&mut walk).await.unwrap() {
            break;
        }
    }
    pair.first.processes().beat().await.unwrap();
    pair.first.rotation().destroy_key(None, 1).await.unwrap();
    let process = pair.second.store().shared().unwrap().process();
    wait_until("the caches to be out of date", async || process.is_stale()).await;
    assert_eq!(data(&pair.second, &id)["value"], "a");
    assert!(matches!(create(&pair.second, draft("b")).await, Err(Error::Busy)));
    pair.second.processes().beat().await.unwrap();
    create(&pair.second, draft("b")).await.unwrap();
}

#[tokio::test]
async fn a_webhook_that_one_process_creates_gets_the_events_of_the_other() {
    let pair = pair().await;
    let (tenant, kind) = (caller(&pair.first).tenant.id, EventKind::TokenCreated);
    assert!(!pair.second.webhooks().wants(tenant, kind).unwrap());
    let draft = WebhookDraft {
        name: String::from("hook"),
        url: String::from("https://hook.example/"),
        events: vec![kind],
        notify_email: None,
    };
    let own = caller(&pair.first);
    pair.first.webhooks().create(&own, &draft, &Write::plain()).await.unwrap();
    pair.poll();
    assert!(pair.second.webhooks().wants(tenant, kind).unwrap());
}

#[tokio::test]
async fn one_idempotency_key_makes_one_token_in_two_processes() {
    let pair = pair().await;
    let callers = [caller(&pair.first), caller(&pair.second)];
    let begin = async |vault: &Vault, caller| {
        vault.idempotency().begin(caller, ("POST", "/tokens", "k"), show_nothing).await.unwrap()
    };
    let guards = [begin(&pair.first, &callers[0]).await, begin(&pair.second, &callers[1]).await];
    let render = |_: &WriteOutcome| RememberedAnswer::empty(AnswerStatus::Created);
    let first = Write { guard: Some(&guards[0]), render: &render };
    pair.first.tokens(&callers[0]).create(draft("one"), &first).await.unwrap();
    let second = Write { guard: Some(&guards[1]), render: &render };
    let again = pair.second.tokens(&callers[1]).create(draft("one"), &second).await;
    assert!(matches!(again, Err(Error::Replayed(_))), "{again:?}");
    assert_eq!(pair.second.store().snapshot().unwrap().len(Table::Tokens).unwrap(), 1);
}

#[tokio::test]
async fn a_name_and_a_value_belong_to_one_token_in_two_processes() {
    let pair = pair().await;
    let one = create(&pair.first, deduplicating("one")).await.unwrap();
    let other = create(&pair.second, deduplicating("one")).await.unwrap();
    assert_eq!(one.shown.token.public_id(), other.shown.token.public_id());
    create(&pair.first, named("mine", "one")).await.unwrap();
    let taken = create(&pair.second, named("mine", "two")).await;
    assert!(matches!(taken, Err(Error::Conflict(_))), "{taken:?}");
}

/// Takes the leader's steps, with `between` after each, until the rotation is over.
async fn finish_rotation(pair: &Pair, mut between: impl AsyncFnMut()) {
    let mut walk = Walk::default();
    for _ in steps("the phases of a rotation") {
        match pair.rotation().rotate_step(&mut walk).await.unwrap() {
            Step::Finished(_, unopened) => return assert_eq!(unopened, 0),
            Step::Waiting => pair.beat().await,
            Step::Entered(..) | Step::Idle | Step::MasterReplaced | Step::Walked { .. } => (),
        }
        between().await;
    }
}

#[tokio::test]
async fn a_rotation_waits_for_all_processes_and_both_read_everything_all_the_time() {
    let pair = pair().await;
    let ids = [create_id(&pair.first, draft("a")).await, create_id(&pair.second, draft("a")).await];
    let tenant = caller(&pair.second).tenant.id;
    pair.first.rotation().rotate_tenant(tenant).await.unwrap();
    finish_rotation(&pair, async || {
        let late = create_id(&pair.second, draft("b")).await;
        for vault in [&pair.first, &pair.second] {
            assert_eq!(data(vault, &ids[0]), data(vault, &ids[1]));
            assert_eq!(data(vault, &late)["value"], "b");
        }
    })
    .await;
    pair.first.rotation().destroy_key(Some(tenant), 1).await.unwrap();
    pair.beat().await;
    assert_clean(&pair.second);
}

#[tokio::test]
async fn a_rotation_does_not_go_on_while_a_process_works_with_older_keys() {
    let pair = pair().await;
    let held = pair.second.store().snapshot().unwrap();
    pair.first.rotation().rotate_server().await.unwrap();
    let mut walk = Walk::default();
    pair.rotation().rotate_step(&mut walk).await.unwrap();
    for _ in 0..5 {
        pair.beat().await;
        let step = pair.rotation().rotate_step(&mut walk).await.unwrap();
        assert_eq!(step, Step::Waiting);
    }
    drop(held);
    pair.beat().await;
    let step = pair.rotation().rotate_step(&mut walk).await.unwrap();
    assert_eq!(step, Step::Walked { looked_at: 0, written: 0 }, "the next phase");
}

/// Begins the creation of a token and gives up, as a client that closes its connection. The change
/// waits for its turn.
async fn create_cancelled(vault: &Vault, name: &str) {
    let caller = caller(vault);
    let tokens = vault.tokens(&caller);
    let write = Write::plain();
    let mut creating = pin!(tokens.create(named(name, "late"), &write));
    let pause = Duration::from_millis(100);
    assert!(tokio::time::timeout(pause, creating.as_mut()).await.is_err(), "it has its turn");
}

#[tokio::test]
async fn a_rotation_waits_for_changes_that_wait_for_the_turn_of_their_shard() {
    let pair = pair().await;
    create_id(&pair.first, draft("a")).await;
    let tenant = caller(&pair.first).tenant.id;
    pair.first.rotation().rotate_tenant(tenant).await.unwrap();
    let mut walk = Walk::default();
    pair.rotation().rotate_step(&mut walk).await.unwrap();
    pair.beat().await;
    let turn = pair.engine.hold_turn();
    create_cancelled(&pair.first, "mine").await;
    {
        let rotation = pair.rotation();
        let step = rotation.rotate_step(&mut walk);
        let step = tokio::time::timeout(Duration::from_millis(300), step).await;
        assert!(matches!(step, Err(_) | Ok(Ok(Step::Waiting))), "{step:?}");
    }
    drop(turn);
    finish_rotation(&pair, async || ()).await;
    assert_eq!(data(&pair.second, "mine")["value"], "late");
    assert_clean(&pair.second);
}

#[tokio::test]
async fn a_process_that_was_counted_out_joins_again_without_what_it_had_queued() {
    let pair = pair().await;
    caller(&pair.second);
    let turn = pair.engine.hold_turn();
    create_cancelled(&pair.second, "mine").await;
    // The first beat sees the newest row of the second process.
    pair.first.processes().beat().await.unwrap();
    bury_others(&pair.first);
    let counted_out = pair.first.processes().beat().await.unwrap().counted_out;
    assert_eq!(counted_out.len(), 1);
    {
        let second = pair.second.processes();
        let joining = tokio::time::timeout(Duration::from_millis(300), second.beat()).await;
        assert!(joining.is_err(), "it joins while the change waits: {joining:?}");
    }
    drop(turn);
    wait_until("the process to join", async || {
        pair.second.processes().beat().await.unwrap();
        pair.second.store().shared().unwrap().process().is_member()
    })
    .await;
    let found = pair.first.store().snapshot().unwrap().len(Table::Tokens).unwrap();
    assert_eq!(found, 0, "the change of the time before was written");
}

#[tokio::test]
async fn the_server_s_keys_rotate_and_both_processes_know_all_callers() {
    let pair = pair().await;
    let id = create_id(&pair.first, draft("a")).await;
    pair.second.rotation().rotate_server().await.unwrap();
    pair.poll();
    finish_rotation(&pair, async || {
        for vault in [&pair.first, &pair.second] {
            assert_eq!(data(vault, &id)["value"], "a");
        }
    })
    .await;
    pair.beat().await;
    pair.first.rotation().destroy_key(None, 1).await.unwrap();
    pair.poll();
    assert_eq!(data(&pair.second, &id)["value"], "a");
}

#[tokio::test]
async fn the_signing_key_is_replaced_and_the_other_process_signs_with_the_new_one() {
    let pair = pair().await;
    create_id(&pair.first, draft("a")).await;
    pair.second.audit().sign().await.unwrap();
    pair.first.rotation().rotate_audit().await.unwrap();
    create_id(&pair.first, draft("b")).await;
    // It has not polled since.
    pair.second.audit().sign().await.unwrap();
    pair.poll();
    for vault in [&pair.first, &pair.second] {
        create_id(vault, draft("c")).await;
        vault.audit().sign().await.unwrap();
        assert_clean(vault);
        assert!(vault.audit().news().is_none());
    }
}

#[tokio::test]
async fn the_master_key_is_replaced_only_by_a_process_that_is_alone() {
    let pair = pair().await;
    let refused = pair.first.rotation().rotate_master(other_master()).await;
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    pair.second.processes().leave().await.unwrap();
    assert!(pair.first.rotation().rotate_master(other_master()).await.unwrap().keys > 0);
}

#[tokio::test]
async fn a_tenant_that_one_process_deletes_is_refused_by_the_other_at_once() {
    let pair = pair().await;
    let cached = caller(&pair.second);
    pair.first.deletion().begin(cached.tenant.id, None).await.unwrap();
    let write = pair.second.tokens(&cached).create(draft("late"), &Write::plain()).await;
    assert!(matches!(write, Err(Error::Unauthenticated)), "{write:?}");
    pair.poll();
    let found = pair.second.access().authenticate(&prepared_key());
    assert!(matches!(found, Err(Error::Unauthenticated)));
    assert!(pair.second.store().is_closed(cached.tenant.id.bytes()));
}

#[tokio::test]
async fn work_of_the_leader_runs_in_one_process_and_moves_when_it_leaves() {
    let pair = pair().await;
    let runs = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let lead = async |vault: &Vault, at: usize| {
        let work = |_| async {
            runs[at].fetch_add(1, Ordering::Relaxed);
            std::future::pending::<()>().await;
        };
        vault.processes().lead(work).await;
    };
    let ran = || (runs[0].load(Ordering::Relaxed), runs[1].load(Ordering::Relaxed));
    let script = async {
        wait_until("the first process to lead", async || ran() == (1, 0)).await;
        pair.first.processes().leave().await.unwrap();
        let news = pair.second.processes().beat().await.unwrap();
        assert!(news.leads);
        wait_until("the second process to lead", async || ran() == (1, 1)).await;
        assert_eq!(pair.second.processes().live(), 1);
    };
    tokio::select! {
        () = lead(&pair.first, 0) => panic!("the work does not end"),
        () = lead(&pair.second, 1) => panic!("the work does not end"),
        () = script => (),
    }
}

#[tokio::test]
async fn a_leader_that_could_not_look_for_long_stops_its_work_until_it_looks_again() {
    let pair = pair().await;
    let processes = || pair.first.processes();
    processes().doubt();
    assert!(processes().leads(), "it has just looked");
    tokio::time::sleep(LEADER_DOUBT_AFTER + Duration::from_millis(50)).await;
    assert!(processes().leads(), "nothing has asked");
    processes().doubt();
    assert!(!processes().leads());
    processes().poll().unwrap();
    assert!(processes().leads(), "its lease is still its own");
}

#[tokio::test]
async fn a_leader_that_wakes_late_is_fenced_and_joins_again() {
    let pair = pair().await;
    let early = Authority::Leader(pair.first.processes().term());
    // The first process is suspended.
    bury_others(&pair.second);
    let news = pair.second.processes().beat().await.unwrap();
    assert!(news.leads && news.counted_out.len() == 1, "{news:?}");
    // It resumes its work.
    let put = |key: &[u8]| Change::new().put(Table::Meta, key.to_vec(), vec![1]);
    let late = pair.first.store().commit(put(b"late").by(early)).await;
    assert_eq!(late, Err(CommitFailure::Unavailable));
    assert!(matches!(create(&pair.first, draft("late")).await, Err(Error::Busy)));
    let news = pair.first.processes().beat().await.unwrap();
    assert!(news.has_joined_again && !news.leads);
    assert!(!pair.first.processes().leads());
    // Also refused in another task: the term is part of the change.
    let (store, change) = (pair.first.store().clone(), put(b"late").by(early));
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move { store.commit(change).await });
    let moved = tasks.join_next().await.unwrap().unwrap();
    assert_eq!(moved, Err(CommitFailure::Unavailable), "the lease has another number");
    let none = pair.first.store().commit(put(b"late").by(Authority::Leader(None))).await;
    assert_eq!(none, Err(CommitFailure::Unavailable), "it needs a leader and has none");
    create(&pair.first, draft("after")).await.unwrap();
    let term = Authority::Leader(pair.second.processes().term());
    let own = pair.second.store().commit(put(b"own").by(term)).await;
    assert_eq!(own, Ok(Verdict::Applied));
}

#[tokio::test]
async fn a_process_that_was_counted_out_joins_only_when_its_earlier_work_has_ended() {
    let pair = pair().await;
    let held = pair.first.store().snapshot().unwrap();
    bury_others(&pair.second);
    pair.second.processes().beat().await.unwrap();
    let joining = pair.first.processes().beat();
    let waits = tokio::time::timeout(Duration::from_millis(200), joining).await;
    assert!(waits.is_err(), "a request may still use what it read before");
    drop(held);
    let news = within("the process to join", pair.first.processes().beat()).await.unwrap();
    assert!(news.has_joined_again);
}

#[tokio::test]
async fn a_process_whose_beats_are_seen_is_not_counted_out() {
    let pair = pair().await;
    bury_others(&pair.second);
    pair.first.processes().beat().await.unwrap();
    let news = pair.second.processes().beat().await.unwrap();
    assert_eq!(news, Beat::default());
}

#[tokio::test]
async fn too_many_processes_are_refused() {
    use crate::bounds::PROCESSES_MAX;
    use crate::store::shared::ProcessRow;
    let pair = pair().await;
    let shared = pair.first.store().shared().unwrap();
    let now = pair.first.now();
    for number in 2..PROCESSES_MAX {
        let row = ProcessRow {
            id: Uuid::from_u128(u128::try_from(number).unwrap()),
            beat: 1,
            started_at: now,
            beat_at: now,
            keys_followed: 0,
            host: String::from("many\u{1b}[31m.example"),
            version: String::from("1"),
            role: ProcessRole::Server,
            code_key: Vec::new(),
        };
        shared.join(&row).await.unwrap();
    }
    let refused = pair.second.processes().join("one too many", ProcessRole::Server).await;
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    let listed = pair.first.processes().list().unwrap();
    assert!(listed.iter().any(|it| it.host == "many?[31m.example"), "{listed:?}");
}

#[tokio::test]
async fn a_command_is_one_of_the_processes_but_never_leads_and_shares_no_rate() {
    let pair = vaults();
    let (command, server) = (pair.first.processes(), pair.second.processes());
    let joined = command.join("one.example", ProcessRole::Command).await.unwrap();
    assert!(!joined.leads && !command.beat().await.unwrap().leads);
    assert!(server.join("two.example", ProcessRole::Server).await.unwrap().leads);
    assert!(command.is_led_by_other().unwrap() && !server.is_led_by_other().unwrap());
    assert!(!server.is_alone().unwrap());
    assert_eq!((server.live(), server.list().unwrap().len()), (1, 2));
    command.leave().await.unwrap();
    assert!(server.is_alone().unwrap());
}

#[tokio::test]
async fn a_vault_on_a_local_file_is_alone_and_leads() {
    let vault = crate::app::tests::TestVault::new();
    let processes = vault.app.processes();
    assert!(!processes.may_be_several() && processes.leads());
    assert_eq!((processes.live(), processes.list().unwrap().len()), (1, 0));
    assert_eq!(processes.join("one.example", ProcessRole::Server).await.unwrap(), Beat::default());
    processes.poll().unwrap();
    processes.leave().await.unwrap();
    assert_eq!(vault.app.store().snapshot().unwrap().len(Table::Processes).unwrap(), 0);
}

#[tokio::test]
async fn an_entry_of_a_read_outlasts_a_database_that_does_not_answer() {
    let pair = pair().await;
    let (audit, own) = (pair.first.audit(), caller(&pair.first));
    let entries = || pair.first.audit().status().unwrap().head.next;
    let before = entries();
    let token = Entity::new(EntityKind::Token, Uuid::from_u128(7));
    for _ in 0..2 {
        audit.note_read(&own, token.clone(), pair.first.now()).await.unwrap();
        pair.engine.reach(false);
        let mut written = pin!(audit.flush_reads());
        let waited = tokio::time::timeout(2 * AUDIT_RETRY, written.as_mut()).await;
        assert!(waited.is_err(), "it is not written, and not given up");
        pair.engine.reach(true);
        within("the entry is written", written).await.unwrap();
    }
    assert_eq!(entries(), before + 2);
}

#[tokio::test]
async fn a_shard_with_many_entries_that_are_not_written_takes_no_more_until_they_are() {
    let pair = pair().await;
    let (audit, own) = (pair.first.audit(), caller(&pair.first));
    let token = Entity::new(EntityKind::Token, Uuid::from_u128(7));
    let note = || audit.note_read(&own, token.clone(), pair.first.now());
    for _ in 0..SHARD_READS_WAITING_MAX {
        note().await.unwrap();
    }
    let mut next = pin!(note());
    let waited = tokio::time::timeout(AUDIT_RETRY, next.as_mut()).await;
    assert!(waited.is_err(), "it waits for a place");
    within("all are written", audit.flush_reads()).await.unwrap();
    within("there is a place", next).await.unwrap();
}
