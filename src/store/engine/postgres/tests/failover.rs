//! A standby that is promoted while several writers work, and an old server that comes back.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::store::engine::local::state::Origin;
use crate::store::engine::postgres::tests::eventually;
use crate::store::engine::postgres::tests::server::{Security, Server, server_for};
use crate::store::engine::postgres::{Access, Database, DatabaseUrl, PostgresEngine};
use crate::store::engine::{Engine as _, RowChange, Turns};
use crate::store::failure::StorageFailure;
use crate::store::shards::Shards;
use crate::store::tables::{Shard, Table};

const WRITERS: u16 = 3;

fn write(engine: &PostgresEngine, shard: u16, number: u32) -> Result<(), StorageFailure> {
    let key = [shard.to_be_bytes().as_slice(), &number.to_be_bytes()].concat();
    let row = RowChange { table: Table::Tokens, key, value: Some(vec![1]) };
    engine.apply_in(&Turns::from([Shard::new(shard)]), &mut |newest| {
        newest.get(Table::Counts, b"begin")?;
        Ok(vec![row.clone()])
    })
}

/// Writes rows until `is_over`. Returns the numbers of the rows whose write succeeded.
fn write_on(engine: &PostgresEngine, shard: u16, is_over: &AtomicBool) -> Vec<u32> {
    let mut answered = Vec::new();
    for number in 0.. {
        match write(engine, shard, number) {
            Ok(()) => answered.push(number),
            Err(failure) => assert!(failure.is_transient(), "{failure:?}"),
        }
        if is_over.load(Ordering::Acquire) {
            break;
        }
    }
    answered
}

fn has(engine: &PostgresEngine, shard: u16, number: u32) -> bool {
    let key = [shard.to_be_bytes().as_slice(), &number.to_be_bytes()].concat();
    engine.snapshot().unwrap().get(Table::Tokens, &key).unwrap().is_some()
}

#[test]
fn a_promoted_standby_has_every_answered_write_and_the_old_server_is_refused() {
    if server_for("a promoted standby").is_none() {
        return;
    }
    let first = Server::of_its_own(&Security::Open);
    let second = first.standby();
    let name = first.new_database_name();
    let hosts = format!("{},{}", first.directory().display(), second.directory().display());
    let url = format!("postgres://postgres@/{name}?host={hosts}&target_session_attrs=read-write");
    let open = || Database::new(DatabaseUrl::parse(&url).unwrap(), None).unwrap();
    open().create(Origin::default(), &[], Some(Shards::new(WRITERS))).unwrap();
    let engine = PostgresEngine::start(&open(), Access::ReadWrite).unwrap();
    let is_over = AtomicBool::new(false);
    let answered = std::thread::scope(|scope| {
        let (engine, is_over) = (&engine, &is_over);
        let writing: Vec<_> = (1..=WRITERS)
            .map(|shard| scope.spawn(move || write_on(engine, shard, is_over)))
            .collect();
        eventually("every writer has written", || (1..=WRITERS).all(|it| has(engine, it, 3)));
        first.stop();
        second.sql("postgres", "SELECT pg_promote()");
        eventually("the standby takes writes", || write(engine, 1, u32::MAX).is_ok());
        is_over.store(true, Ordering::Release);
        writing.into_iter().map(|it| it.join().unwrap()).collect::<Vec<_>>()
    });
    for (shard, numbers) in (1..).zip(&answered) {
        assert!(numbers.len() > 3);
        for number in numbers {
            assert!(has(&engine, shard, *number), "shard {shard}: write {number} was lost");
        }
    }

    // The old server comes back and would take writes. It no longer waits for a standby.
    let settings = first.directory().join("data/postgresql.auto.conf");
    std::fs::write(settings, "").unwrap();
    first.run();
    second.stop();
    let refused = write(&engine, 1, u32::MAX - 1);
    assert!(refused.is_err_and(|failure| failure.is_transient()), "the old server took a write");
    assert!(engine.snapshot().unwrap().get(Table::Tokens, b"any").is_err(), "or answered a read");
    second.run();
    eventually("the promoted server is used again", || write(&engine, 1, u32::MAX - 1).is_ok());
    // A process that knows only the old server cannot tell.
    let alone = url.replace(&format!(",{}", second.directory().display()), "");
    let alone = Database::new(DatabaseUrl::parse(&alone).unwrap(), None).unwrap();
    let alone = PostgresEngine::start(&alone, Access::ReadWrite).unwrap();
    assert!(write(&alone, 1, u32::MAX - 1).is_ok());
}
