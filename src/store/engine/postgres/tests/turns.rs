//! Several engines over one database.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier};
use std::time::Instant;

use crate::store::engine::postgres::tests::{counter, increment, server};
use crate::store::engine::postgres::{Access, PostgresEngine};
use crate::store::engine::{Engine as _, RowChange};
use crate::store::failure::StorageFailure;
use crate::store::tables::Table;
use crate::waiting::PATIENCE;

const EACH: u64 = 50;

fn two_engines(test: &str) -> Option<[PostgresEngine; 2]> {
    let database = server::empty_vault(test)?;
    let open = |()| PostgresEngine::start(&database, Access::ReadWrite).unwrap();
    Some([(); 2].map(open))
}

/// Two engines add to one number at once. Returns the number of decisions.
fn race(test: &str, has_turns: bool) -> Option<usize> {
    let engines = two_engines(test)?.map(Arc::new);
    let race = |engine: &Arc<PostgresEngine>| {
        let engine = Arc::clone(engine);
        engine.shared.has_turns.store(has_turns, Ordering::Relaxed);
        std::thread::spawn(move || {
            let begun = Instant::now();
            let (mut written, mut decided) = (0, 0);
            while written < EACH {
                match increment(engine.as_ref()) {
                    Ok(count) => (written, decided) = (written + 1, decided + count),
                    Err(StorageFailure::Unavailable(_))
                        if !has_turns && begun.elapsed() < PATIENCE => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
            decided
        })
    };
    let racing = engines.each_ref().map(race);
    let decided = racing.map(|it| it.join().unwrap()).iter().sum();
    for engine in &engines {
        assert_eq!(counter(engine.as_ref()).unwrap(), 2 * EACH);
        assert_eq!(engine.snapshot().unwrap().moment().unwrap().sequence, 2 * EACH);
    }
    Some(decided)
}

#[test]
fn writers_of_two_processes_take_turns_and_decide_once_each() {
    let Some(decided) = race("two writers", true) else { return };
    assert_eq!(decided, usize::try_from(2 * EACH).unwrap());
}

#[test]
fn a_database_without_turns_refuses_one_of_two_writers_and_it_decides_again() {
    let Some(decided) = race("two writers without turns", false) else { return };
    assert!(decided > usize::try_from(2 * EACH).unwrap(), "they never met: {decided}");
}

/// Each of two writers takes a place unless the other has taken its own. They write different rows,
/// and each decides on the other's row.
#[test]
fn without_turns_two_batches_of_different_rows_still_decide_one_after_the_other() {
    let Some(engines) = two_engines("different rows") else { return };
    for engine in &engines {
        engine.shared.has_turns.store(false, Ordering::Relaxed);
    }
    let take = |round: u8, own: u8, start: &Barrier| {
        start.wait();
        let decided = engines[usize::from(own)].apply(&mut |newest| {
            let taken = newest.get(Table::Counts, &[round, 1 - own])?.is_some();
            let (key, value) = (vec![round, own], Some(vec![1]));
            let row = RowChange { table: Table::Counts, key, value };
            Ok(if taken { Vec::new() } else { vec![row] })
        });
        decided.unwrap();
    };
    for round in 0..20 {
        let start = Barrier::new(2);
        std::thread::scope(|both| {
            both.spawn(|| take(round, 0, &start));
            both.spawn(|| take(round, 1, &start));
        });
    }
    let rows = engines[0].snapshot().unwrap();
    for round in 0..20 {
        let taken = [0, 1].map(|own| rows.get(Table::Counts, &[round, own]).unwrap().is_some());
        assert_ne!(taken[0], taken[1], "round {round}");
    }
}

#[test]
fn a_turn_that_was_taken_is_used_by_the_next_batch_and_given_away_with_it() {
    let Some(engines) = two_engines("a turn taken early") else { return };
    for engine in &engines {
        increment(engine).unwrap();
    }
    for round in 0..5 {
        for engine in &engines {
            engine.take_turn();
            assert_eq!(increment(engine).unwrap(), 1);
            engine.take_turn();
            engine.apply(&mut |_| Ok(Vec::new())).unwrap();
        }
        assert_eq!(counter(&engines[0]).unwrap(), 4 + 2 * round);
    }
}

#[test]
fn a_turn_whose_connection_ended_is_taken_again() {
    let Some(engine) = server::engine("a lost turn") else { return };
    increment(&engine).unwrap();
    engine.take_turn();
    let name = engine.shared.database_name();
    let end = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{name}'"
    );
    server::server().unwrap().sql("postgres", &end);
    assert_eq!(increment(&engine).unwrap(), 2, "decided on a new connection");
    assert_eq!(counter(&engine).unwrap(), 2);
}

#[test]
fn a_row_that_was_not_read_is_replaced_after_a_second_decision() {
    let Some(engine) = server::engine("unread rows") else { return };
    let put = |engine: &PostgresEngine, table, value: u8, is_read: bool| {
        let mut decided = 0;
        let applied = engine.apply(&mut |newest| {
            decided += 1;
            if is_read {
                newest.get(table, b"key")?;
            }
            let (key, value) = (b"key".to_vec(), Some(vec![value]));
            Ok(vec![RowChange { table, key, value }])
        });
        applied.unwrap();
        decided
    };
    for (table, unread) in [(Table::Tokens, 2), (Table::Counts, 1)] {
        assert_eq!(put(&engine, table, 1, false), 1, "a new row");
        assert_eq!(put(&engine, table, 2, false), unread, "{table:?}");
        assert_eq!(put(&engine, table, 3, true), 1, "the batch knows of the row");
        assert_eq!(engine.snapshot().unwrap().get(table, b"key").unwrap(), Some(vec![3]));
    }
}

#[test]
fn an_engine_sees_at_once_what_another_one_has_written() {
    let Some(engines) = two_engines("two engines") else { return };
    for number in 0..20 {
        increment(&engines[number % 2]).unwrap();
        let seen = counter(&engines[(number + 1) % 2]).unwrap();
        assert_eq!(seen, u64::try_from(number).unwrap() + 1);
    }
}

#[test]
fn an_engine_for_verification_writes_nothing() {
    let Some(database) = server::empty_vault("verification") else { return };
    let engine = PostgresEngine::start(&database, Access::ReadOnly).unwrap();
    assert!(increment(&engine).is_err());
    assert_eq!(counter(&engine).unwrap(), 0);
}
