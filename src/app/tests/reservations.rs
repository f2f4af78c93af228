//! Reservations of idempotency keys for programs, in two vaults over one store.

use std::sync::Arc;
use std::time::Duration;

use crate::app::commit::commit_loop::Priority;
use crate::app::tests::processes::{Pair, caller, pair};
use crate::app::tests::{TestVault, assert_clean};
use crate::app::{Caller, Error, Guard, Vault, Write, show_nothing};
use crate::bounds::RESERVATION_GRACE;
use crate::idempotency::{AnswerStatus, RememberedAnswer};
use crate::secret::Secret;
use crate::store::tests::block_on;
use crate::store::{Authority, Change, Table};

const TIME: Duration = Duration::from_secs(30);

async fn begin(vault: &Vault, caller: &Arc<Caller>) -> Result<Guard, Error> {
    vault.idempotency().begin(caller, ("POST", "/react", "k"), show_nothing).await
}

async fn reserved(vault: &Vault) -> Guard {
    let guard = begin(vault, &caller(vault)).await.unwrap();
    vault.idempotency().reserve(&guard, TIME).await.unwrap();
    guard
}

/// Remembers an answer as a call that ran does.
async fn answer(vault: &Vault, guard: &Guard) -> Result<(), Error> {
    let body = || Secret::new(b"\"paid\"".to_vec());
    let render = |(): &()| RememberedAnswer::new(AnswerStatus::Ok, body());
    let write = Write { guard: Some(guard), render: &render };
    let written = vault.commit_write(Priority::Normal, &write, |_| Ok((Change::new(), ())));
    written.await.map(drop)
}

async fn release(vault: &Vault, guard: &Guard) {
    let released = vault.commit(Priority::Normal, |snapshot| Ok((guard.release(snapshot)?, ())));
    released.await.unwrap();
}

#[track_caller]
fn assert_in_flight<T>(found: Result<T, Error>) {
    let error = found.err();
    assert!(matches!(error, Some(Error::InFlight)), "{error:?}");
}

#[track_caller]
fn assert_replayed<T: std::fmt::Debug>(found: Result<T, Error>) {
    let Err(Error::Replayed(replay)) = found else { panic!("{found:?}") };
    assert_eq!(replay.body.expose(), b"\"paid\"");
    assert!(replay.shown.is_empty());
}

fn rows(vault: &Vault) -> (u64, u64) {
    let snapshot = vault.snapshot().unwrap();
    let count = |table| snapshot.len(table).unwrap();
    (count(Table::Idempotency), count(Table::IdempotencyAnswers))
}

fn advance(pair: &Pair, by: Duration) {
    for vault in [&pair.first, &pair.second] {
        vault.clock().advance(by);
    }
}

async fn sweep(leader: &Vault) {
    let authority = Authority::Leader(leader.processes().term());
    leader.upkeep().by(authority).sweep_all().await.unwrap();
}

#[tokio::test]
async fn a_reserved_key_is_refused_elsewhere_until_its_answer_replaces_the_reservation() {
    let pair = pair().await;
    let guard = reserved(&pair.first).await;
    let other = caller(&pair.second);
    assert_in_flight(begin(&pair.second, &other).await);
    assert_eq!(rows(&pair.second), (1, 1));
    assert_clean(&pair.second);
    answer(&pair.first, &guard).await.unwrap();
    assert_eq!(rows(&pair.second), (1, 1));
    assert_replayed(begin(&pair.second, &other).await);
    assert_clean(&pair.second);
}

#[tokio::test]
async fn of_two_requests_that_began_together_one_reserves_the_key() {
    let pair = pair().await;
    let late = begin(&pair.second, &caller(&pair.second)).await.unwrap();
    let guard = reserved(&pair.first).await;
    assert_in_flight(pair.second.idempotency().reserve(&late, TIME).await);
    answer(&pair.first, &guard).await.unwrap();
    assert_replayed(pair.second.idempotency().reserve(&late, TIME).await);
    release(&pair.second, &late).await;
    assert_eq!(rows(&pair.first), (1, 1), "it made no reservation");
}

#[tokio::test]
async fn a_failure_frees_the_key_at_once() {
    let pair = pair().await;
    let guard = reserved(&pair.first).await;
    release(&pair.first, &guard).await;
    assert_eq!(rows(&pair.first), (0, 0));
    let other = reserved(&pair.second).await;
    // The first one does not end the reservation of the other.
    release(&pair.first, &guard).await;
    assert_in_flight(answer(&pair.first, &guard).await);
    answer(&pair.second, &other).await.unwrap();
}

#[tokio::test]
async fn a_reservation_that_its_process_left_ends_with_its_time() {
    let pair = pair().await;
    let left = reserved(&pair.first).await;
    advance(&pair, (TIME + RESERVATION_GRACE).saturating_sub(Duration::from_secs(1)));
    let other = caller(&pair.second);
    assert_in_flight(begin(&pair.second, &other).await);
    advance(&pair, Duration::from_secs(1));
    let next = reserved(&pair.second).await;
    assert_eq!(rows(&pair.second), (1, 1), "the new one replaced it");
    // The first process was stopped, and its program ends now.
    release(&pair.first, &left).await;
    assert_in_flight(answer(&pair.first, &left).await);
    answer(&pair.second, &next).await.unwrap();
    assert_replayed(answer(&pair.first, &left).await);
    assert_clean(&pair.second);
}

#[tokio::test]
async fn a_reservation_after_its_end_is_swept_and_its_late_answer_is_kept() {
    let pair = pair().await;
    let late = reserved(&pair.first).await;
    sweep(&pair.first).await;
    assert_eq!(rows(&pair.first), (1, 1));
    advance(&pair, TIME + RESERVATION_GRACE + Duration::from_secs(1));
    sweep(&pair.first).await;
    assert_eq!(rows(&pair.first), (0, 0));
    answer(&pair.first, &late).await.unwrap();
    assert_replayed(begin(&pair.second, &caller(&pair.second)).await);
}

#[test]
fn one_process_alone_reserves_nothing() {
    let vault = TestVault::new();
    block_on(async {
        let guard = begin(&vault.app, &vault.caller).await.unwrap();
        vault.app.idempotency().reserve(&guard, TIME).await.unwrap();
        assert!(!guard.is_reserved());
        assert_eq!(rows(&vault.app), (0, 0));
        assert_in_flight(begin(&vault.app, &vault.caller).await);
    });
}
