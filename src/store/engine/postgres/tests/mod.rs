//! The engine on a real server, which the tests start.

mod commits;
mod connections;
mod failover;
mod listening;
mod opening;
mod proxy;
pub(in crate::store) mod reused;
pub(in crate::store) mod server;
mod tls;
mod turns;
mod urls;

use std::future::pending;
use std::time::{Duration, Instant};

use crate::store::engine::postgres::wait::wait;
use crate::store::engine::{Engine, RowChange};
use crate::store::failure::StorageFailure;
use crate::store::tables::Table;
use crate::waiting::PATIENCE;

const COUNTER: &[u8] = b"counter";

/// Adds one to a number that the batch reads. Returns the number of decisions.
fn increment(engine: &dyn Engine) -> Result<usize, StorageFailure> {
    let mut decided = 0;
    engine.apply(&mut |newest| {
        decided += 1;
        let value = newest.get(Table::Tokens, COUNTER)?;
        let value = value.map_or(0, |value| u64::from_be_bytes(value.try_into().unwrap())) + 1;
        let value = Some(value.to_be_bytes().to_vec());
        Ok(vec![RowChange { table: Table::Tokens, key: COUNTER.to_vec(), value }])
    })?;
    Ok(decided)
}

fn counter(engine: &dyn Engine) -> Result<u64, StorageFailure> {
    let value = engine.snapshot()?.get(Table::Tokens, COUNTER)?;
    Ok(value.map_or(0, |value| u64::from_be_bytes(value.try_into().unwrap())))
}

#[track_caller]
fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain: {what}");
        wait(pending::<()>(), Duration::from_millis(20));
    }
}

#[track_caller]
fn assert_unavailable<T>(result: Result<T, StorageFailure>, expected: &str) {
    match result {
        Err(StorageFailure::Unavailable(why)) => assert_eq!(why, expected),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it succeeded"),
    }
}
