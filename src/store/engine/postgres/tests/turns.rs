//! Several engines over one database.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::store::engine::postgres::tests::{counter, eventually, increment, server};
use crate::store::engine::postgres::{Access, PostgresEngine};
use crate::store::engine::{Engine as _, Hold, RowChange, Turns};
use crate::store::failure::StorageFailure;
use crate::store::shards::Shards;
use crate::store::tables::{Shard, Table};

const EACH: u8 = 25;

fn two_engines(test: &str) -> Option<[PostgresEngine; 2]> {
    let database = server::vault_with(test, Shards::new(3))?;
    let open = |()| PostgresEngine::start(&database, Access::ReadWrite).unwrap();
    Some([(); 2].map(open))
}

fn turns(shards: &[u16]) -> Turns {
    shards.iter().map(|shard| Shard::new(*shard)).collect()
}

/// Adds 1 to the number of each of these shards. Returns the number of decisions.
fn add(engine: &PostgresEngine, shards: &[u16]) -> usize {
    let mut decided = 0;
    let added = engine.apply_in(&turns(shards), &mut |newest| {
        decided += 1;
        let add = |shard: &u16| {
            let key = shard.to_be_bytes().to_vec();
            let number = newest.get(Table::Counts, &key)?.map_or(0, |value| value[0]);
            Ok(RowChange { table: Table::Counts, key, value: Some(vec![number + 1]) })
        };
        shards.iter().map(add).collect()
    });
    added.unwrap();
    decided
}

#[test]
fn batches_of_one_shard_take_turns_and_decide_once_each_in_any_mixture() {
    let Some(engines) = two_engines("two writers") else { return };
    let sets: [&[u16]; 6] = [&[1], &[2], &[0], &[1, 2], &[0, 1, 2, 3], &[3]];
    let decided: usize = std::thread::scope(|scope| {
        let race = |(place, shards): (usize, &&'static [u16])| {
            let (engine, shards) = (&engines[place % 2], *shards);
            scope.spawn(move || (0..EACH).map(|_| add(engine, shards)).sum::<usize>())
        };
        let racing: Vec<_> = sets.iter().enumerate().map(race).collect();
        racing.into_iter().map(|it| it.join().unwrap()).sum()
    });
    assert_eq!(decided, sets.len() * usize::from(EACH));
    let rows = engines[0].snapshot().unwrap();
    for (shard, count) in [(0_u16, 2), (1, 3), (2, 3), (3, 2)] {
        let found = rows.get(Table::Counts, &shard.to_be_bytes()).unwrap();
        assert_eq!(found, Some(vec![count * EACH]), "shard {shard}");
    }
    let batches = u64::from(EACH) * (1 + 1 + 1 + 2 + 4 + 1);
    assert_eq!(rows.moment().unwrap().sequence, batches, "a batch counts in each of its shards");
}

#[test]
fn a_batch_does_not_wait_for_one_of_another_shard_and_a_process_has_several_at_once() {
    let Some(engines) = two_engines("two shards") else { return };
    let within = engines[0].apply_in(&turns(&[1]), &mut |newest| {
        newest.get(Table::Counts, b"begin")?;
        add(&engines[0], &[2]);
        add(&engines[1], &[0, 3]);
        Ok(Vec::new())
    });
    within.unwrap();
    assert_eq!(add(&engines[1], &[1]), 1);
}

#[test]
fn a_row_of_another_shard_stays_as_a_batch_has_read_it_until_the_batch_ends() {
    let Some(engines) = two_engines("held rows") else { return };
    let row = |value: Option<u8>| RowChange {
        table: Table::Processes,
        key: b"process".to_vec(),
        value: value.map(|it| vec![it]),
    };
    let write = |value| engines[1].apply(&mut |_| Ok(vec![row(value)])).unwrap();
    let mut stored = 1;
    write(Some(stored));
    // An update may pass a batch that relies on the row's presence alone.
    for (hold, change, passes) in [
        (Hold::Delete, Some(2), true),
        (Hold::Delete, None, false),
        (Hold::Change, Some(3), false),
        (Hold::Change, None, false),
    ] {
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            engines[0]
                .apply_in(&turns(&[1]), &mut |newest| {
                    let key = vec![(Table::Processes, b"process".as_slice())];
                    let nothing = || (Vec::new(), None);
                    let sets = [nothing(), (key, Some(hold)), nothing()];
                    let values = newest.get_sets(&sets)?;
                    assert_eq!(values, [vec![], vec![Some(vec![stored])], vec![]]);
                    scope.spawn(|| {
                        write(change);
                        ended.store(true, Ordering::Release);
                    });
                    let name = engines[0].shared.database_name();
                    let waits = format!(
                        "SELECT count(*) FROM pg_stat_activity \
                         WHERE datname = '{name}' AND wait_event_type = 'Lock'"
                    );
                    eventually("the other batch is written or waits", || {
                        let is_over = ended.load(Ordering::Acquire);
                        let waits = server::server().unwrap().sql("postgres", &waits);
                        is_over || (!passes && waits.trim() != "0")
                    });
                    assert_eq!(ended.load(Ordering::Acquire), passes, "{hold:?} {change:?}");
                    Ok(Vec::new())
                })
                .unwrap();
        });
        assert!(ended.load(Ordering::Acquire));
        stored = change.unwrap_or(1);
        write(Some(stored));
    }
}

#[test]
fn a_shard_that_the_vault_does_not_have_is_refused() {
    let Some(engines) = two_engines("no such shard") else { return };
    let refused = engines[0].apply_in(&turns(&[1, 9]), &mut |newest| {
        newest.get(Table::Counts, b"begin")?;
        Ok(Vec::new())
    });
    assert!(matches!(refused, Err(StorageFailure::Damaged(_))), "{refused:?}");
    assert_eq!(add(&engines[1], &[1]), 1, "the turn was given back");
}

#[test]
fn a_turn_that_was_taken_is_used_by_the_next_batch_and_given_away_with_it() {
    let Some(engines) = two_engines("a turn taken early") else { return };
    for engine in &engines {
        increment(engine).unwrap();
    }
    for round in 0..5 {
        for engine in &engines {
            engine.take_turn(Shard::VAULT);
            assert_eq!(increment(engine).unwrap(), 1);
            engine.take_turn(Shard::VAULT);
            engine.apply(&mut |_| Ok(Vec::new())).unwrap();
        }
        assert_eq!(counter(&engines[0]).unwrap(), 4 + 2 * round);
    }
}

#[test]
fn a_turn_whose_connection_ended_is_taken_again() {
    let Some(engine) = server::engine("a lost turn") else { return };
    increment(&engine).unwrap();
    engine.take_turn(Shard::VAULT);
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
