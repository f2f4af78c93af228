//! Connections that end during COMMIT: the outcome is looked up, and each batch is written once.

use std::time::Duration;

use crate::store::engine::local::state::Origin;
use crate::store::engine::postgres::outcome::find_out_within;
use crate::store::engine::postgres::tests::proxy::{Cut, Proxy};
use crate::store::engine::postgres::tests::{counter, eventually, increment, server};
use crate::store::engine::postgres::turn::BatchId;
use crate::store::engine::postgres::{Access, Database, DatabaseUrl, PostgresEngine};
use crate::store::engine::{Engine as _, Turns};
use crate::store::failure::StorageFailure;
use crate::store::shards::Shards;
use crate::store::tables::Shard;

fn behind_proxy(test: &str) -> Option<(Proxy, PostgresEngine)> {
    let server = server::server_for(test)?;
    let url = server.new_database();
    let direct = Database::new(DatabaseUrl::parse(&url).unwrap(), None).unwrap();
    direct.create(Origin::default(), &[], Some(Shards::default())).unwrap();
    let proxy = Proxy::start(server);
    let engine = PostgresEngine::start(&proxy.database(&url), Access::ReadWrite).unwrap();
    increment(&engine).unwrap();
    Some((proxy, engine))
}

#[track_caller]
fn check(test: &str, cut: Cut, decisions: usize) {
    let Some((proxy, engine)) = behind_proxy(test) else { return };
    proxy.cut(cut);
    assert_eq!(increment(&engine).unwrap(), decisions, "{cut:?}");
    assert!(proxy.has_cut(), "{cut:?}");
    assert_eq!(counter(&engine).unwrap(), 2, "{cut:?}");
    assert_eq!(increment(&engine).unwrap(), 1, "it goes on");
    assert_eq!(engine.snapshot().unwrap().moment().unwrap().sequence, 3, "{cut:?}");
    assert_eq!(engine.health().sequence, 3);
}

#[test]
fn a_commit_whose_answer_is_lost_is_found_and_not_repeated() {
    check("a lost answer", Cut::After, 1);
}

#[test]
fn a_commit_that_never_arrived_is_decided_again() {
    check("a lost COMMIT", Cut::Before, 2);
}

/// The database does not notice the client's end: it ends the transaction after its timeout, and
/// holds the turn until then.
#[test]
fn a_transaction_that_hangs_gives_its_turn_away_and_is_decided_again() {
    check("a hanging transaction", Cut::Hung, 2);
}

#[test]
fn a_commit_that_is_cut_off_on_its_way_is_written_once() {
    let Some((proxy, engine)) = behind_proxy("COMMIT on its way") else { return };
    for number in 2..12 {
        proxy.cut(Cut::Forwarded);
        increment(&engine).unwrap();
        assert!(proxy.has_cut());
        assert_eq!(counter(&engine).unwrap(), number);
    }
}

#[test]
fn an_outcome_that_cannot_be_found_out_is_never_guessed() {
    let Some((proxy, engine)) = behind_proxy("an unknown outcome") else { return };
    proxy.cut(Cut::AfterForGood);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| increment(&engine));
        eventually("the outcome is asked for", || engine.is_held_up(Shard::VAULT));
        let shards = Turns::from([Shard::VAULT]);
        let batch = BatchId { writer: &[7; 16], number: 1, shards: &shards };
        // Another lookup, with a shorter timeout.
        let failed = find_out_within(&engine.shared, batch, Duration::from_millis(300));
        assert_stays_unknown(failed.unwrap_err());
        assert!(engine.is_held_up(Shard::VAULT));
        assert!(!engine.is_held_up(Shard::new(1)), "other shards are written");
        proxy.accept_again();
        assert_eq!(writing.join().unwrap().unwrap(), 1);
    });
    assert!(!engine.is_held_up(Shard::VAULT));
    assert_eq!(counter(&engine).unwrap(), 2);
}

#[test]
fn a_process_that_is_about_to_end_does_not_wait_for_an_outcome() {
    let Some((proxy, engine)) = behind_proxy("an outcome at the end") else { return };
    proxy.cut(Cut::AfterForGood);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| increment(&engine));
        eventually("the outcome is asked for", || engine.is_held_up(Shard::VAULT));
        engine.stop_waiting();
        assert_stays_unknown(writing.join().unwrap().unwrap_err());
    });
    proxy.accept_again();
    // The engine pauses after a refusal before it connects again.
    eventually("the batch is there", || counter(&engine).is_ok_and(|count| count == 2));
}

#[track_caller]
fn assert_stays_unknown(failure: StorageFailure) {
    assert!(!failure.is_transient(), "the process ends");
    let StorageFailure::Database(what, _) = failure else { panic!("{failure:?}") };
    assert!(what.contains("did not say"), "{what}");
}
