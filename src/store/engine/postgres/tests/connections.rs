//! Connections that are in use, end, or are refused.

use std::sync::Arc;

use crate::bounds::DATABASE_CONNECTIONS_MAX;
use crate::store::engine::local::state::Origin;
use crate::store::engine::postgres::tests::server::{Security, Server};
use crate::store::engine::postgres::tests::{
    COUNTER, assert_unavailable, counter, eventually, increment, server,
};
use crate::store::engine::postgres::wait::wait;
use crate::store::engine::postgres::{Access, Database, DatabaseUrl, PostgresEngine};
use crate::store::engine::{Engine as _, Read};
use crate::store::failure::StorageFailure;
use crate::store::shards::Shards;
use crate::store::tables::Table;
use crate::waiting::PATIENCE;

#[test]
fn a_snapshot_that_is_never_read_takes_no_connection() {
    let Some(engine) = server::engine("unread snapshots") else { return };
    let unread: Vec<Arc<dyn Read>> = (0..100).map(|_| engine.snapshot().unwrap()).collect();
    assert_eq!(counter(&engine).unwrap(), 0);
    drop(unread);
}

#[test]
fn a_reader_waits_for_a_connection_and_then_fails_for_now() {
    let Some(engine) = server::engine("a full pool") else { return };
    let engine = Arc::new(engine);
    let read = || {
        let snapshot = engine.snapshot().unwrap();
        snapshot.moment().unwrap();
        snapshot
    };
    let mut held: Vec<_> = (0..DATABASE_CONNECTIONS_MAX).map(|_| read()).collect();
    increment(engine.as_ref()).unwrap();
    assert_unavailable(counter(engine.as_ref()), "all connections to the database are in use");
    let waiting = {
        let engine = Arc::clone(&engine);
        std::thread::spawn(move || counter(engine.as_ref()))
    };
    held.pop();
    assert_eq!(waiting.join().unwrap().unwrap(), 1);
    assert_eq!(held[0].moment().unwrap().sequence, 0, "the others did not move");
}

#[test]
fn connections_in_use_repeated_batches_and_failed_connects_are_counted() {
    let Some((server, engine)) = engine_of_its_own("counts") else { return };
    let counts = || {
        let health = engine.health();
        (health.connections_used, health.repeats, health.connects_failed)
    };
    increment(&engine).unwrap();
    assert_eq!(counts(), (0, 0, 0));
    let snapshots: Vec<_> = (0..3).map(|_| engine.snapshot().unwrap()).collect();
    for snapshot in &snapshots {
        snapshot.moment().unwrap();
    }
    assert_eq!(counts(), (3, 0, 0));
    drop(snapshots);
    assert_eq!(counts(), (0, 0, 0));
    end_connections(&server, &engine);
    increment(&engine).unwrap();
    assert_eq!(counts(), (0, 1, 0));
    server.stop();
    assert!(increment(&engine).is_err());
    let (_, _, failed) = counts();
    assert!(failed > 0);
}

#[test]
fn a_connection_that_ends_takes_its_snapshot_along_and_later_ones_work() {
    let Some(engine) = server::engine("an ended connection") else { return };
    increment(&engine).unwrap();
    let snapshot = engine.snapshot().unwrap();
    snapshot.moment().unwrap();
    let server = server::server().unwrap();
    end_connections(server, &engine);
    assert!(matches!(snapshot.moment(), Err(StorageFailure::Unavailable(_))));
    assert!(matches!(snapshot.moment(), Err(StorageFailure::Unavailable(_))), "for good");
    assert_eq!(counter(&engine).unwrap(), 1);
    increment(&engine).unwrap();
    assert_eq!(counter(&engine).unwrap(), 2);
}

#[test]
fn snapshots_that_have_ended_leave_no_transaction_open() {
    let Some(engine) = server::engine("ended snapshots") else { return };
    let snapshots: Vec<Arc<dyn Read>> = (0..3).map(|_| engine.snapshot().unwrap()).collect();
    for snapshot in &snapshots {
        snapshot.moment().unwrap();
    }
    let server = server::server().unwrap();
    assert_eq!(open_transactions(server, &engine), 3);
    drop(snapshots);
    eventually("all transactions end", || open_transactions(server, &engine) == 0);
}

#[test]
fn the_newest_rows_are_read_without_a_transaction_also_on_a_new_connection() {
    let Some(engine) = server::engine("the newest rows") else { return };
    let server = server::server().unwrap();
    let newest = engine.newest().unwrap();
    let place = || (Table::Tokens, COUNTER.to_vec());
    for expected in 1..4_u64 {
        increment(&engine).unwrap();
        let fetched = newest.fetch(vec![place(), (Table::Tokens, vec![7]), place()]);
        let counted = Some(expected.to_be_bytes().to_vec());
        let values = wait(fetched, PATIENCE).expect("an answer").unwrap();
        assert_eq!(values, [counted.clone(), None, counted]);
        eventually("no transaction is open", || open_transactions(server, &engine) == 0);
        end_connections(server, &engine);
    }
}

/// The engine's connections that are in a transaction and run no statement.
fn open_transactions(server: &Server, engine: &PostgresEngine) -> usize {
    let database = engine.shared.database_name();
    let text = format!(
        "SELECT count(*) FROM pg_stat_activity \
         WHERE datname = '{database}' AND state LIKE 'idle in transaction%'"
    );
    server.sql("postgres", &text).trim().parse().unwrap()
}

/// An engine on a server that the test may stop.
fn engine_of_its_own(test: &str) -> Option<(Server, PostgresEngine)> {
    server::server_for(test)?;
    let server = Server::of_its_own(&Security::Open);
    let database =
        Database::new(DatabaseUrl::parse(&server.new_database()).unwrap(), None).unwrap();
    database.create(Origin::default(), &[], Some(Shards::default())).unwrap();
    let engine = PostgresEngine::start(&database, Access::ReadWrite).unwrap();
    Some((server, engine))
}

fn end_connections(server: &Server, engine: &PostgresEngine) {
    let database = engine.shared.database_name();
    let text = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{database}'"
    );
    server.sql("postgres", &text);
}

#[test]
fn a_restart_of_the_database_is_survived() {
    let Some((server, engine)) = engine_of_its_own("a restart") else { return };
    increment(&engine).unwrap();
    assert_eq!(counter(&engine).unwrap(), 1);
    server.stop();
    assert!(matches!(increment(&engine), Err(StorageFailure::Unavailable(_))));
    assert!(matches!(counter(&engine), Err(StorageFailure::Unavailable(_))));
    assert!(matches!(engine.check_place(), Err(StorageFailure::Unavailable(_))));
    server.run();
    eventually("the engine finds the database", || increment(&engine).is_ok());
    assert_eq!(counter(&engine).unwrap(), 2, "the failed ones left nothing");
    engine.check_place().unwrap();
}

#[test]
fn reads_work_on_the_threads_of_every_runtime() {
    let Some(engine) = server::engine("runtimes") else { return };
    increment(&engine).unwrap();
    let engine = Arc::new(engine);
    let one = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let many = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    for runtime in [one, many] {
        let task = {
            let engine = Arc::clone(&engine);
            async move {
                // More than a task's budget.
                for _ in 0..300 {
                    assert_eq!(counter(engine.as_ref()).unwrap(), 1);
                }
            }
        };
        runtime.block_on(async { runtime.spawn(task).await }).unwrap();
    }
}
