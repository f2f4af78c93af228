//! Several engines over one database.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::store::engine::Engine as _;
use crate::store::engine::postgres::tests::{counter, increment, server};
use crate::store::engine::postgres::{Access, PostgresEngine};
use crate::store::failure::StorageFailure;

const EACH: u64 = 50;

/// Two engines add to one number at once. Returns how often a batch was decided.
fn race(test: &str, has_turns: bool) -> Option<usize> {
    let database = server::empty_vault(test)?;
    let open = || Arc::new(PostgresEngine::start(&database, Access::ReadWrite).unwrap());
    let engines = [open(), open()];
    let race = |engine: &Arc<PostgresEngine>| {
        let engine = Arc::clone(engine);
        engine.shared.has_turns.store(has_turns, Ordering::Relaxed);
        std::thread::spawn(move || {
            let (mut written, mut decided) = (0, 0);
            while written < EACH {
                match increment(engine.as_ref()) {
                    Ok(count) => (written, decided) = (written + 1, decided + count),
                    Err(StorageFailure::Unavailable(_)) if !has_turns => (),
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

#[test]
fn an_engine_sees_at_once_what_another_one_has_written() {
    let Some(database) = server::empty_vault("two engines") else { return };
    let open = || PostgresEngine::start(&database, Access::ReadWrite).unwrap();
    let engines = [open(), open()];
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
