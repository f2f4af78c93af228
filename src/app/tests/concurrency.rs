//! Concurrent requests on one value, one name or one record; and a writer that does not keep up.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use tokio::task::JoinSet;

use crate::app::tests::{TestVault, deduplicating, draft, named};
use crate::app::{Error, TokenDraft, TokenOrigin, WriteOutcome};
use crate::bounds::QUEUE_CHANGES_MAX;
use crate::store::Change;
use crate::store::tables::{self, CountKind};
use crate::store::tests::disk::{Fault, Operation};
use crate::waiting::{wait_until, within};

const AT_ONCE: usize = 64;

async fn create_at_once(
    vault: &Arc<TestVault>,
    draft: fn(usize) -> TokenDraft,
) -> Vec<Result<WriteOutcome, Error>> {
    let mut creates = JoinSet::new();
    for n in 0..AT_ONCE {
        let vault = Arc::clone(vault);
        creates.spawn(async move { vault.create(draft(n)).await });
    }
    creates.join_all().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_deduplicating_creates_of_one_value_give_one_token() {
    let vault = Arc::new(TestVault::new());
    let created = create_at_once(&vault, |_| deduplicating("one")).await;
    let created: Vec<_> = created.into_iter().map(Result::unwrap).collect();
    let new = created.iter().filter(|it| it.origin == TokenOrigin::New).count();
    let ids: std::collections::BTreeSet<_> = created.iter().map(|it| it.shown.token.id).collect();
    assert_eq!((new, ids.len()), (1, 1));
    assert_eq!(vault.assert_clean().tokens, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_creates_of_one_predefined_id_give_one_token_and_conflicts() {
    let vault = Arc::new(TestVault::new());
    let created = create_at_once(&vault, |n| named("the one", &n.to_string())).await;
    let conflicts = created.iter().filter(|it| matches!(it, Err(Error::Conflict(_)))).count();
    let made = created.iter().filter(|it| it.is_ok()).count();
    assert_eq!((made, conflicts), (1, AT_ONCE - 1));
    assert_eq!(vault.assert_clean().tokens, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_deletes_of_one_token_are_one_delete() {
    let vault = Arc::new(TestVault::new());
    let id = vault.create_id(named("the one", "x")).await;
    let mut deletes = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (vault, id) = (Arc::clone(&vault), id.clone());
        deletes.spawn(async move { vault.delete(&id).await });
    }
    let outcomes = deletes.join_all().await;
    let gone = outcomes.iter().filter(|it| matches!(it, Err(Error::NotFound(_)))).count();
    let done = outcomes.iter().filter(|it| it.is_ok()).count();
    assert_eq!((done, gone), (1, AT_ONCE - 1));
    assert_eq!(vault.assert_clean().tokens, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_name_that_is_made_and_deleted_by_many_is_never_half_there() {
    let vault = Arc::new(TestVault::new());
    let mut tasks = JoinSet::new();
    for n in 0..16 {
        let vault = Arc::clone(&vault);
        tasks.spawn(async move {
            for _ in 0..8 {
                match vault.create(named("the one", &n.to_string())).await {
                    Ok(_) | Err(Error::Conflict(_) | Error::Busy) => (),
                    Err(other) => panic!("{other:?}"),
                }
                match vault.delete("the one").await {
                    Ok(()) | Err(Error::NotFound(_) | Error::Busy) => (),
                    Err(other) => panic!("{other:?}"),
                }
            }
        });
    }
    tasks.join_all().await;
    vault.assert_clean();
}

/// A vault whose writer is in the middle of a commit, with a full queue behind it.
async fn with_full_queue() -> (TestVault, String) {
    let vault = TestVault::new();
    let id = vault.create_id(draft("before")).await;
    let begun = vault.disk.count(Operation::Sync);
    vault.disk.plan(Operation::Sync, 1, Fault::Block);
    let count = tables::counts(vault.caller.tenant.id, CountKind::Tokens);
    // A change is submitted when its commit is first polled. The test does not wait for these.
    let hand_over = || {
        let commit = pin!(vault.app.store().commit(Change::new().count(count.clone(), 0)));
        assert!(commit.poll(&mut Context::from_waker(Waker::noop())).is_pending());
    };
    hand_over();
    vault.disk.wait_for(Operation::Sync, begun + 1);
    (0..QUEUE_CHANGES_MAX).for_each(|_| hand_over());
    (vault, id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_create_that_finds_the_queue_full_is_told_so_at_once() {
    let (vault, id) = with_full_queue().await;
    assert!(matches!(vault.create(draft("too much")).await, Err(Error::Busy)));
    assert!(matches!(vault.delete(&id).await, Err(Error::Busy)));
    assert!(vault.data(&id).is_some(), "reading does not wait for the writer");
    vault.disk.release();
    wait_until("the queue has a place", async || {
        !matches!(vault.create(deduplicating("later")).await, Err(Error::Busy))
    })
    .await;
    assert_eq!(vault.assert_clean().tokens, 2);
}

#[tokio::test]
async fn a_duplicate_that_is_found_costs_the_disk_nothing() {
    let vault = TestVault::new();
    let first = vault.create_id(deduplicating("one")).await;
    vault.disk.plan(Operation::Sync, 1, Fault::Block);
    let again = vault.create_id(deduplicating("one"));
    let again = within("an answer without the disk", again).await;
    vault.disk.release();
    assert_eq!(again, first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_create_whose_client_left_is_made_whole() {
    let vault = Arc::new(TestVault::new());
    let begun = vault.disk.count(Operation::Sync);
    vault.disk.plan(Operation::Sync, 1, Fault::Block);
    let client = {
        let vault = Arc::clone(&vault);
        let mut client = JoinSet::new();
        client.spawn(async move { vault.create(named("left behind", "x")).await });
        client
    };
    vault.disk.wait_for(Operation::Sync, begun + 1);
    drop(client);
    vault.disk.release();
    vault.create(draft("the next")).await.unwrap();
    assert!(vault.data("left behind").is_some());
    assert_eq!(vault.assert_clean().tokens, 2);
}
