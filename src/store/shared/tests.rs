//! Two stores over one engine, as in two processes.

use std::sync::Arc;

use uuid::Uuid;

use crate::crypto::{DigestKey, Random};
use crate::domain::id::TenantId;
use crate::domain::process::ProcessRole;
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::SharedRows;
use crate::store::alarm::Alarm;
use crate::store::chain::Heads;
use crate::store::digests::RecordDigests;
use crate::store::engine::memory::MemoryEngine;
use crate::store::engine::{Engine as _, RowChange};
use crate::store::failure::CommitFailure;
use crate::store::shared::{Generation, Lease, Polled, ProcessRow};
use crate::store::tables::{self, Table, meta};
use crate::store::tests::block_on;
use crate::store::{Authority, Change, SealedEntries, Store, Verdict};

const AT: Timestamp = Timestamp::from_seconds(1_800_000_000);

fn engine() -> Arc<MemoryEngine> {
    Arc::new(MemoryEngine::shared())
}

fn open(engine: &Arc<MemoryEngine>) -> Store {
    Store::open_engine(Arc::<MemoryEngine>::clone(engine), Alarm::default()).unwrap()
}

fn tenant() -> TenantId {
    TenantId::new(Uuid::from_u128(7))
}

fn key() -> DigestKey {
    DigestKey::new(&Secret::new([5; 32]))
}

/// A token of the tenant, as a sealed value of a test.
fn token(number: u8, value: u8) -> Change {
    let key = [tenant().bytes().as_slice(), &[number; 16]].concat();
    Change::new().put(Table::Tokens, key, vec![value; 40])
}

fn entry() -> Change {
    let sealed = vec![b's'; 40];
    Change::new().audit(SealedEntries { scope: *tenant().bytes(), at: AT, count: 2, sealed })
}

fn counted() -> Change {
    Change::new().count(tables::digests(tenant().bytes())[..16].to_vec(), 1)
}

fn commit(store: &Store, change: Change) -> Result<Verdict, CommitFailure> {
    block_on(store.commit(change))
}

/// Two stores with digests, and a tenant.
fn two() -> (Arc<MemoryEngine>, Store, Store) {
    let engine = engine();
    let first = open(&engine);
    let tenant = Change::new().put(Table::Tenants, tables::tenants(tenant()), vec![1; 40]);
    first.begin_digests(&key(), tenant).unwrap();
    let second = open(&engine);
    for store in [&first, &second] {
        assert!(store.keep_digests(&key()).unwrap().is_none());
    }
    (engine, first, second)
}

fn shared(store: &Store) -> SharedRows<'_> {
    store.shared().unwrap()
}

fn row(store: &Store, beat: u64) -> ProcessRow {
    ProcessRow {
        id: shared(store).process().id(),
        beat,
        started_at: AT,
        beat_at: AT,
        keys_followed: 0,
        host: String::from("a.example"),
        version: String::from("1.2.3"),
        role: ProcessRole::Server,
        code_key: vec![7; 69],
    }
}

fn polled(store: &Store) -> Polled {
    Polled::read(&store.snapshot().unwrap(), shared(store).process().id()).unwrap()
}

fn assert_digests_are_right(store: &Store) {
    let snapshot = store.snapshot().unwrap();
    let stored = RecordDigests::read(&snapshot, &key()).unwrap().unwrap();
    let counted = RecordDigests::count(&snapshot, &key()).unwrap();
    assert!(stored.add_up());
    assert_eq!(stored.whole(), counted.whole());
    assert_eq!(stored.of(tenant().bytes()), counted.of(tenant().bytes()));
}

#[test]
fn a_batch_that_is_decided_again_is_written_once() {
    let (engine, store, _) = two();
    let before = engine.health().sequence;
    engine.decide_again_after(vec![Vec::new(), Vec::new()]);
    let change = token(1, 1).and(entry()).and(counted());
    assert_eq!(commit(&store, change), Ok(Verdict::Applied));
    let snapshot = store.snapshot().unwrap();
    assert_eq!(engine.health().sequence, before + 1);
    assert_eq!(Heads::read(&snapshot).unwrap().position().next, 2);
    assert_eq!(snapshot.count(tenant().bytes()).unwrap(), 1);
    assert_eq!(snapshot.len(Table::Audit).unwrap(), 1);
    assert_digests_are_right(&store);
}

#[test]
fn a_batch_that_is_decided_again_is_decided_on_the_newest_rows() {
    let (engine, store, _) = two();
    let place = b"name".to_vec();
    let taken =
        RowChange { table: Table::Meta, key: place.clone(), value: Some(b"other".to_vec()) };
    engine.decide_again_after(vec![vec![taken]]);
    let change = token(1, 1).and(entry()).expect_absent(Table::Meta, place);
    assert_eq!(commit(&store, change), Ok(Verdict::Refused));
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.len(Table::Tokens).unwrap(), 0);
    assert_eq!(Heads::read(&snapshot).unwrap().position().next, 0);
    assert_digests_are_right(&store);
}

#[test]
fn a_closing_that_is_decided_again_closes_once_and_one_that_is_refused_closes_nothing() {
    let (engine, store, _) = two();
    let scope = *tenant().bytes();
    let close = || Change::new().close_scope(scope, AT).expect_absent(Table::Meta, vec![9]);
    // The second decision must not refuse the row that the change itself adds to the scope.
    let own = close().and(token(3, 3));
    let taken = RowChange { table: Table::Meta, key: vec![9], value: Some(vec![1]) };
    engine.decide_again_after(vec![vec![taken]]);
    assert_eq!(commit(&store, own), Ok(Verdict::Refused));
    assert!(!store.is_closed(&scope));
    assert_eq!(commit(&store, token(1, 1)), Ok(Verdict::Applied));
    engine.decide_again_after(vec![vec![RowChange {
        table: Table::Meta,
        key: vec![9],
        value: None,
    }]]);
    assert_eq!(commit(&store, close().and(token(3, 3))), Ok(Verdict::Applied));
    assert!(store.is_closed(&scope));
    assert_eq!(commit(&store, token(2, 2)), Ok(Verdict::Closed));
}

#[test]
fn two_stores_write_one_audit_chain_and_one_set_of_digests_in_turn() {
    let (_, first, second) = two();
    for number in 0..10 {
        for (store, value) in [(&first, 1), (&second, 2)] {
            let change = token(number, value).and(token(number + 50 * value, 3)).and(entry());
            assert_eq!(commit(store, change.and(counted())), Ok(Verdict::Applied));
        }
    }
    let snapshot = first.snapshot().unwrap();
    assert_eq!(Heads::read(&snapshot).unwrap().position().next, 40);
    assert_eq!(snapshot.len(Table::Audit).unwrap(), 20);
    assert_eq!(snapshot.count(tenant().bytes()).unwrap(), 20);
    assert_digests_are_right(&first);
}

#[test]
fn digests_that_another_process_wrote_and_that_do_not_open_end_the_store() {
    let (engine, store, _) = two();
    let foreign = DigestKey::new(&Secret::new([6; 32])).seal(
        &crate::crypto::Identity { tenant: &[0; 16], table: 1, key: meta::AUDIT_RECORDS },
        &[1; 57],
        &Random::new(),
    );
    engine.insert(Table::Meta, vec![(meta::AUDIT_RECORDS.to_vec(), foreign)]);
    assert_eq!(commit(&store, entry()), Ok(Verdict::Applied), "no record changes");
    assert_eq!(commit(&store, token(1, 1)), Err(CommitFailure::Stopped));
}

#[test]
fn a_tenant_that_one_process_deletes_gets_no_row_from_another() {
    let (_, first, second) = two();
    let place = tables::tenants(tenant());
    let delete = Change::new().delete(Table::Tenants, place).close_scope(*tenant().bytes(), AT);
    assert_eq!(commit(&first, delete), Ok(Verdict::Applied));
    assert!(!second.is_closed(tenant().bytes()), "it has not looked yet");
    assert_eq!(commit(&second, token(1, 1)), Ok(Verdict::Closed));
    assert_eq!(commit(&second, counted()), Ok(Verdict::Closed));
    let passing = counted().put(Table::Meta, b"mine".to_vec(), vec![1]).passing_over_closed();
    assert_eq!(commit(&second, passing), Ok(Verdict::Applied));
    let snapshot = second.snapshot().unwrap();
    assert_eq!(snapshot.count(tenant().bytes()).unwrap(), 0);
    assert_eq!(snapshot.value(Table::Meta, b"mine").unwrap(), Some(vec![1]));
}

#[test]
fn a_process_that_was_counted_out_writes_nothing_until_it_joins_again() {
    let (_, first, second) = two();
    block_on(shared(&first).join(&row(&first, 1))).unwrap();
    block_on(shared(&second).join(&row(&second, 1))).unwrap();
    assert_eq!(commit(&second, token(1, 1)), Ok(Verdict::Applied));
    let dead = ProcessRow::all(&first.snapshot().unwrap()).unwrap();
    let dead = dead.iter().find(|it| it.id == row(&second, 0).id).unwrap();
    assert_eq!(*dead, row(&second, 1));
    assert!(block_on(shared(&first).count_out(dead)).unwrap());
    assert_eq!(commit(&second, token(2, 2)), Err(CommitFailure::Unavailable));
    assert_eq!(block_on(shared(&second).beat(&row(&second, 2))), Ok(false));
    assert_eq!(first.snapshot().unwrap().len(Table::Tokens).unwrap(), 1);
    block_on(shared(&second).join(&row(&second, 3))).unwrap();
    assert_eq!(commit(&second, token(2, 2)), Ok(Verdict::Applied));
    assert!(!block_on(shared(&first).count_out(dead)).unwrap(), "its row has changed");
}

#[test]
fn a_leader_that_was_replaced_changes_nothing() {
    let (_, first, second) = two();
    for store in [&first, &second] {
        block_on(shared(store).join(&row(store, 1))).unwrap();
    }
    let early = block_on(shared(&first).take_lease(None)).unwrap().unwrap();
    assert_eq!(block_on(shared(&second).take_lease(None)), Ok(None));
    let lease = polled(&second).lease.unwrap();
    assert_eq!(lease, Lease { holder: row(&first, 0).id, number: 1 });
    assert_eq!(block_on(shared(&second).take_lease(Some(lease))), Ok(None), "its holder lives");
    assert_eq!(
        commit(&first, token(1, 1).by(Authority::Leader(Some(early)))),
        Ok(Verdict::Applied)
    );
    // The first process pauses; the second counts it out and leads; the first joins again and
    // continues its old work.
    assert!(block_on(shared(&second).count_out(&row(&first, 1))).unwrap());
    let late = block_on(shared(&second).take_lease(Some(lease))).unwrap().unwrap();
    block_on(shared(&first).join(&row(&first, 9))).unwrap();
    // Also on another thread: the change carries the term.
    for authority in [Authority::Leader(Some(early)), Authority::Leader(None)] {
        let moved = || commit(&first, token(2, 2).by(authority));
        let fenced = std::thread::scope(|scope| scope.spawn(moved).join().unwrap());
        assert_eq!(fenced, Err(CommitFailure::Unavailable), "{authority:?}");
        // One part makes the whole change need a leader.
        let part = token(2, 2).and(token(5, 5).by(authority));
        assert_eq!(commit(&first, part), Err(CommitFailure::Unavailable));
    }
    assert_eq!(commit(&first, token(3, 3)), Ok(Verdict::Applied), "a request is not fenced");
    assert_eq!(
        commit(&second, token(4, 4).by(Authority::Leader(Some(late)))),
        Ok(Verdict::Applied)
    );
    assert_eq!(first.snapshot().unwrap().len(Table::Tokens).unwrap(), 3);
}

#[test]
fn a_change_advances_the_generations_that_it_concerns_and_no_other() {
    let (_, store, _) = two();
    let all = [
        (Generation::Access, Table::ApiKeys, vec![1; 32]),
        (Generation::Webhooks, Table::Webhooks, [tenant().bytes().as_slice(), &[1; 16]].concat()),
        (Generation::Keys, Table::Meta, meta::rotation(tenant().bytes())),
        (Generation::Ranges, Table::ThreedsRanges, b"visa".to_vec()),
    ];
    for (kind, table, place) in &all {
        let before = polled(&store).generations;
        let change = Change::new().put(*table, place.clone(), vec![2; 40]);
        let refused = change.clone().expect_present(Table::Meta, b"nothing".to_vec());
        assert_eq!(commit(&store, refused), Ok(Verdict::Refused));
        assert_eq!(polled(&store).generations, before);
        assert_eq!(commit(&store, change), Ok(Verdict::Applied));
        let after = polled(&store).generations;
        for (other, ..) in &all {
            let by = u64::from(other == kind);
            assert_eq!(after.of(*other), before.of(*other) + by, "{kind:?} and {other:?}");
        }
    }
    let before = polled(&store).generations;
    commit(&store, token(1, 1).and(entry())).unwrap();
    assert_eq!(polled(&store).generations, before);
}

#[test]
fn caches_are_used_only_for_a_second_after_a_look_at_the_generations() {
    let (_, store, _) = two();
    assert_ne!(store.access_generation(), store.access_generation(), "it has never looked");
    let process = shared(&store).process();
    process.note_poll(process.age());
    assert_eq!(store.access_generation(), store.access_generation());
    assert_eq!(store.webhook_generation(), store.webhook_generation());
}

#[test]
fn a_store_of_one_process_has_no_rows_of_processes() {
    let engine = Arc::new(MemoryEngine::default());
    let store = Store::open_engine(Arc::<MemoryEngine>::clone(&engine), Alarm::default()).unwrap();
    assert!(store.shared().is_none());
    let change = Change::new().put(Table::ApiKeys, vec![1; 32], vec![1; 40]);
    assert_eq!(commit(&store, change), Ok(Verdict::Applied));
    assert_eq!(store.snapshot().unwrap().len(Table::Processes).unwrap(), 0);
    assert_eq!(store.access_generation(), 1);
}
