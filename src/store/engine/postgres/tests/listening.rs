//! Notices of changes that other processes have to follow.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::Notify;

use crate::store::engine::local::state::Origin;
use crate::store::engine::postgres::tests::proxy::Proxy;
use crate::store::engine::postgres::tests::server::{Server, server, server_for};
use crate::store::engine::postgres::tests::{eventually, increment};
use crate::store::engine::postgres::wait::wait;
use crate::store::engine::postgres::{Access, Database, DatabaseUrl, PostgresEngine};
use crate::store::engine::{Engine as _, RowChange};
use crate::store::shards::Shards;
use crate::store::tables::{GENERATIONS, Table};
use crate::waiting::PATIENCE;

fn vault(test: &str) -> Option<(Database, String)> {
    let url = server_for(test)?.new_database();
    let database = Database::new(DatabaseUrl::parse(&url).unwrap(), None).unwrap();
    database.create(Origin::default(), &[], Some(Shards::default())).unwrap();
    Some((database, url))
}

/// A listening engine. Its first notification, at the start, is consumed.
fn listening(database: &Database) -> (PostgresEngine, Arc<Notify>) {
    let engine = PostgresEngine::start(database, Access::ReadWrite).unwrap();
    let changes = engine.changes().unwrap();
    hear(&changes, "it listens");
    (engine, changes)
}

#[track_caller]
fn hear(changes: &Notify, what: &str) {
    assert!(wait(changes.notified(), PATIENCE).is_some(), "waited in vain: {what}");
}

/// Changes the generations. Returns the number of decisions.
fn advance(engine: &PostgresEngine, value: u8) -> usize {
    let mut decided = 0;
    let applied = engine.apply(&mut |_| {
        decided += 1;
        let (key, value) = (GENERATIONS.to_vec(), Some(vec![value]));
        Ok(vec![RowChange { table: Table::Processes, key, value }])
    });
    applied.unwrap();
    decided
}

fn listeners(server: &Server, engine: &PostgresEngine) -> String {
    let database = engine.shared.database_name();
    let text = format!(
        "SELECT count(*) FROM pg_stat_activity \
         WHERE datname = '{database}' AND query LIKE 'LISTEN%'"
    );
    server.sql("postgres", &text)
}

#[test]
fn a_change_of_the_generations_is_heard_by_the_other_process() {
    let Some((database, _)) = vault("notices") else { return };
    let (one, of_one) = listening(&database);
    let (two, of_two) = listening(&database);
    for round in 0..5 {
        advance(if round % 2 == 0 { &one } else { &two }, round);
        hear(&of_one, "a change");
        hear(&of_two, "a change");
    }
}

#[test]
fn other_changes_are_not_heard() {
    let Some((database, _)) = vault("other changes") else { return };
    let (one, changes) = listening(&database);
    let server = server().unwrap();
    let name = one.shared.database_name();
    for _ in 0..5 {
        increment(&one).unwrap();
    }
    // This notice comes after any notices of the batches.
    server.sql(name, "NOTIFY strongroom");
    hear(&changes, "the notice of this test");
    assert!(wait(changes.notified(), std::time::Duration::from_millis(50)).is_none());
}

#[test]
fn a_listener_whose_connection_ended_listens_again() {
    let Some((database, _)) = vault("an ended listener") else { return };
    let (engine, changes) = listening(&database);
    let end = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
         WHERE datname = '{}' AND query LIKE 'LISTEN%'",
        engine.shared.database_name()
    );
    server().unwrap().sql("postgres", &end);
    hear(&changes, "it listens again");
    advance(&engine, 1);
    hear(&changes, "a change");
}

#[test]
fn the_connection_of_a_listener_ends_with_its_engine() {
    let Some((database, _)) = vault("the end of a listener") else { return };
    let (kept, _) = listening(&database);
    let (dropped, _) = listening(&database);
    let server = server().unwrap();
    assert_eq!(listeners(server, &kept), "2");
    drop(dropped);
    eventually("its connection has ended", || listeners(server, &kept) == "1");
}

#[test]
fn a_batch_whose_notice_is_refused_is_written_without_it() {
    let Some((_, url)) = vault("refused notices") else { return };
    let proxy = Proxy::start(server().unwrap());
    let (engine, changes) = listening(&proxy.database(&url));
    proxy.refuse_notices();
    assert_eq!(advance(&engine, 1), 2, "decided again without the notice");
    assert!(!engine.shared.has_notices.load(Ordering::Relaxed));
    assert_eq!(advance(&engine, 2), 1);
    let row = engine.snapshot().unwrap().get(Table::Processes, GENERATIONS).unwrap();
    assert_eq!(row, Some(vec![2]));
    drop(changes);
}
