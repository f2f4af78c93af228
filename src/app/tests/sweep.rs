//! Due records are removed in order and in bounded batches, and nothing else is.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::app::tests::{TestVault, card, draft, expiring, named, new_tenant, prepared};
use crate::app::upkeep::sweep::SweepProgress;
use crate::app::{Error, TokenDraft, Write};
use crate::bounds::SWEEP_BATCH_MAX;
use crate::clock::Clock;
use crate::domain::time::Timestamp;
use crate::store::tables::ExpiryKind;
use crate::store::tests::block_on;
use crate::store::tests::disk::{Fault, Operation, TestDisk};
use crate::store::{Change, Table, tables};

const HOUR: Duration = Duration::from_hours(1);

fn with_clock() -> (Arc<TestVault>, Clock) {
    let clock = Clock::new();
    let disk = TestDisk::holding(prepared().0.clone());
    (Arc::new(TestVault::on(disk, clock.clone()).unwrap()), clock)
}

fn count(vault: &TestVault, table: Table) -> u64 {
    vault.app.store().snapshot().unwrap().len(table).unwrap()
}

fn due(vault: &TestVault) -> Vec<Vec<u8>> {
    let snapshot = vault.app.store().snapshot().unwrap();
    let rows = snapshot.first(&Table::Expiries.whole(), usize::MAX).unwrap();
    rows.into_iter().map(|(key, _)| key).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_sweep_takes_bounded_batches_oldest_first() {
    let (vault, clock) = with_clock();
    let count = SWEEP_BATCH_MAX + 20;
    let start = vault.app.now().plus(HOUR);
    let mut creates = JoinSet::new();
    for n in 0..count {
        let vault = Arc::clone(&vault);
        creates.spawn(async move {
            // Some later ones are created first: only the due time may count.
            let at = start.plus(Duration::from_secs(u64::try_from(n * 7 % count).unwrap()));
            let draft = TokenDraft {
                search_indexes: Some(vec![]),
                containers: None,
                ..expiring(&n.to_string(), &at.to_wire())
            };
            vault.create(draft).await.unwrap();
        });
    }
    creates.join_all().await;
    let none = SweepProgress { removed: 0, next: None };
    assert_eq!(vault.app.upkeep().sweep(&[]).await.unwrap(), none, "nothing is due yet");
    let before = due(&vault);
    assert_eq!(before.len(), count);
    clock.advance(HOUR + HOUR);
    let swept = vault.app.upkeep().sweep(&[]).await.unwrap();
    assert_eq!(swept.removed, SWEEP_BATCH_MAX);
    assert_eq!(due(&vault), before[SWEEP_BATCH_MAX..], "the oldest went first");
    assert_eq!(vault.assert_clean().tokens, 20);
    let rest = vault.app.upkeep().sweep(&swept.next.unwrap()).await.unwrap();
    assert_eq!(rest, SweepProgress { removed: 20, next: None });
    assert_eq!(vault.app.upkeep().sweep_all().await.unwrap(), 0);
    assert_eq!(vault.assert_clean().tokens, 0);
}

#[test]
fn a_sweep_takes_what_is_due_of_every_tenant_and_leaves_the_rest() {
    let (vault, clock) = with_clock();
    block_on(async {
        let (other, key) = new_tenant(&vault.app, "other").await;
        let caller = vault.app.access().authenticate(&key).unwrap();
        let (soon, later) = (vault.in_an_hour(), vault.app.now().plus(HOUR * 3).to_wire());
        for at in [&soon, &later] {
            vault.create_id(expiring("x", at)).await;
            vault.app.tokens(&caller).create(expiring("x", at), &Write::plain()).await.unwrap();
        }
        vault.create_id(draft("x")).await;
        clock.advance(HOUR * 2);
        assert_eq!(vault.app.upkeep().sweep_all().await.unwrap(), 2);
        assert_eq!(vault.app.access().count_tokens(other).unwrap(), 1);
        assert_eq!(vault.app.access().count_tokens(vault.caller.tenant.id).unwrap(), 2);
    });
    vault.assert_clean();
}

#[test]
fn an_expired_token_is_gone_before_it_is_swept_and_its_name_is_free() {
    let (vault, clock) = with_clock();
    block_on(async {
        let at = vault.in_an_hour();
        let short =
            |value: &str| TokenDraft { id: Some(String::from("name")), ..expiring(value, &at) };
        vault.create_id(short("first")).await;
        let again = vault.create(named("name", "second")).await;
        assert!(matches!(again, Err(Error::Conflict(_))), "{again:?}");
        assert!(vault.data("name").is_some());
        clock.advance(HOUR * 2);
        assert_eq!(vault.data("name"), None);
        assert!(matches!(vault.delete("name").await, Err(Error::NotFound(_))));
        assert_eq!(vault.assert_clean().tokens, 1, "its rows are there until the sweep");
        vault.create_id(named("name", "second")).await;
        assert_eq!(vault.assert_clean().tokens, 1, "the expired one went with its name");
        assert_eq!(vault.app.upkeep().sweep_all().await.unwrap(), 0);
        assert_eq!(vault.data("name"), Some(serde_json::json!({ "value": "second" })));
    });
}

#[test]
fn an_expired_duplicate_is_none() {
    let (vault, clock) = with_clock();
    block_on(async {
        let at = vault.in_an_hour();
        let once = |draft| TokenDraft { deduplicate: Some(crate::app::Deduplicate::Yes), ..draft };
        let first = vault.create_id(once(expiring("x", &at))).await;
        assert_eq!(vault.create_id(once(draft("x"))).await, first);
        clock.advance(HOUR * 2);
        assert_ne!(vault.create_id(once(draft("x"))).await, first);
    });
    assert_eq!(vault.assert_clean().tokens, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_sweep_that_decided_before_a_delete_was_made_decides_again() {
    let (vault, clock) = with_clock();
    let at = vault.in_an_hour();
    let doomed = vault.create_id(expiring("deleted", &at)).await;
    vault.create_id(expiring("swept", &at)).await;
    let begun = vault.disk.count(Operation::Sync);
    vault.disk.plan(Operation::Sync, 1, Fault::Block);
    let mut tasks = JoinSet::new();
    {
        let vault = Arc::clone(&vault);
        tasks.spawn(async move { vault.delete(&doomed).await.map(|()| 0) });
    }
    vault.disk.wait_for(Operation::Sync, begun + 1);
    clock.advance(HOUR * 2);
    // The delete is queued at the writer but not visible yet: the sweep plans with its token.
    let mut sweep = Box::pin(vault.app.upkeep().sweep_all());
    let first = std::future::poll_fn(|context| {
        std::task::Poll::Ready(sweep.as_mut().poll(context).is_pending())
    });
    assert!(first.await, "the sweep waits for the writer");
    vault.disk.release();
    assert_eq!(sweep.await.unwrap(), 1);
    assert!(tasks.join_all().await.into_iter().all(|it| it.is_ok()));
    assert_eq!(vault.assert_clean().tokens, 0);
}

#[test]
fn a_due_entry_of_a_live_token_takes_only_itself() {
    let (vault, clock) = with_clock();
    let created = block_on(vault.create(draft("live"))).unwrap().shown.token;
    let early = tables::expiries(
        Timestamp::from_seconds(1),
        ExpiryKind::Token,
        created.tenant,
        created.id.uuid(),
    );
    let nowhere = tables::expiries(
        Timestamp::from_seconds(1),
        ExpiryKind::Token,
        created.tenant,
        uuid::Uuid::nil(),
    );
    let stray =
        Change::new().put(Table::Expiries, early, vec![]).put(Table::Expiries, nowhere, vec![]);
    block_on(vault.app.store().commit(stray)).unwrap();
    clock.advance(HOUR);
    block_on(vault.app.upkeep().sweep_all()).unwrap();
    assert!(vault.data(&created.public_id()).is_some());
    assert_eq!(vault.assert_clean().tokens, 1);
}

#[test]
fn a_token_that_does_not_open_does_not_hold_up_the_others() {
    let (vault, clock) = with_clock();
    block_on(async {
        let at = vault.in_an_hour();
        let broken = vault.create(expiring("broken", &at)).await.unwrap().shown.token;
        vault.create_id(expiring("whole", &at)).await;
        let record = tables::tokens(broken.tenant, broken.id);
        let damage = Change::new().put(Table::Tokens, record.clone(), vec![0; 60]);
        vault.app.store().commit(damage).await.unwrap();
        clock.advance(HOUR * 2);
        assert_eq!(vault.app.upkeep().sweep_all().await.unwrap(), 1);
        let snapshot = vault.app.store().snapshot().unwrap();
        assert!(snapshot.value(Table::Tokens, &record).unwrap().is_some(), "kept for examination");
        assert_eq!(snapshot.len(Table::Tokens).unwrap(), 1);
    });
}

async fn code(vault: &TestVault, id: &str) -> Option<String> {
    let read = vault.app.tokens(&vault.caller).read(id).await.unwrap();
    read.token.cvc.map(|code| code.expose().clone())
}

#[test]
fn a_code_is_not_read_after_its_hour_and_is_removed_after_its_minute() {
    let (vault, clock) = with_clock();
    block_on(async {
        let (id, deleted) =
            (vault.create_id(card("123")).await, vault.create_id(card("456")).await);
        assert_eq!(count(&vault, Table::Cvcs), 2);
        vault.delete(&deleted).await.unwrap();
        assert_eq!(count(&vault, Table::Cvcs), 1);
        assert_eq!(due(&vault), Vec::<Vec<u8>>::new(), "codes have no entries there");
        clock.advance(HOUR / 2);
        assert_eq!(vault.app.upkeep().sweep_all().await.unwrap(), 0);
        assert_eq!(code(&vault, &id).await.as_deref(), Some("123"));
        clock.advance(HOUR / 2);
        assert_eq!(code(&vault, &id).await, None);
        clock.advance(Duration::from_mins(1));
        assert!(vault.app.upkeep().oldest_due().unwrap().is_some());
        assert_eq!(vault.app.upkeep().sweep_all().await.unwrap(), 1);
        assert_eq!(vault.app.upkeep().oldest_due().unwrap(), None);
        assert_eq!((code(&vault, &id).await, count(&vault, Table::Cvcs)), (None, 0));
        assert_eq!(vault.app.upkeep().sweep_all().await.unwrap(), 0);
    });
    vault.assert_clean();
}

#[test]
fn a_code_that_no_record_has_is_removed_alone() {
    let (vault, clock) = with_clock();
    let token = block_on(vault.create(card("123"))).unwrap().shown.token;
    let early = Timestamp::from_seconds(60);
    let mut strays = Change::new();
    for id in [token.id.uuid(), uuid::Uuid::nil()] {
        strays =
            strays.put(Table::Cvcs, tables::cvcs(early, token.tenant, id).to_vec(), vec![0; 60]);
    }
    block_on(vault.app.store().commit(strays)).unwrap();
    assert_eq!(block_on(vault.app.upkeep().sweep_all()).unwrap(), 2);
    assert_eq!(count(&vault, Table::Cvcs), 1);
    assert_eq!(block_on(code(&vault, &token.public_id())).as_deref(), Some("123"));
    clock.advance(HOUR * 2);
    assert_eq!(block_on(vault.app.upkeep().sweep_all()).unwrap(), 1);
    vault.assert_clean();
}
