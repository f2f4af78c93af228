//! Ranges, pages and immutable snapshots.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::store::engine::memory::Model;
use crate::store::engine::tests::{contents, engines, in_range, key, rows, table, value};
use crate::store::engine::{Engine, Order, Read, RowChange};
use crate::store::tables::{KeyRange, Shard, Table};

fn batches() -> impl Strategy<Value = Vec<Vec<RowChange>>> {
    let row = (table(), key(), prop::option::weighted(0.7, 0_u8..9))
        .prop_map(|(table, key, byte)| RowChange { table, key, value: byte.map(value) });
    vec(vec(row, 1..12), 1..6)
}

fn write(engine: &dyn Engine, model: &mut Model, rows: &[RowChange]) {
    engine.apply(&mut |_| Ok(rows.to_vec())).unwrap();
    for RowChange { table, key, value } in rows.iter().cloned() {
        match value {
            Some(value) => drop(model.insert((table, key), value)),
            None => drop(model.remove(&(table, key))),
        }
    }
}

#[derive(Debug, Clone)]
struct Walk {
    table: Table,
    prefix: Vec<u8>,
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
    order: Order,
    count_max: usize,
}

fn walk() -> impl Strategy<Value = Walk> {
    let order = prop_oneof![Just(Order::Ascending), Just(Order::Descending)];
    let end = || prop::option::of(key());
    (table(), key(), end(), end(), order, 1_usize..6).prop_map(
        |(table, prefix, from, to, order, count_max)| {
            let prefix = prefix.into_iter().take(2).collect();
            Walk { table, prefix, from, to, order, count_max }
        },
    )
}

impl Walk {
    fn range(&self) -> KeyRange {
        let mut range = KeyRange::prefix(self.table, self.prefix.clone());
        if let Some(from) = &self.from {
            range = range.starting_at(from);
        }
        if let Some(to) = &self.to {
            range = range.ending_before(to);
        }
        range
    }

    fn keys(&self, snapshot: &dyn Read) -> Vec<Vec<u8>> {
        let (mut keys, mut rest) = (Vec::new(), self.range());
        loop {
            let page = snapshot.page(&rest, self.order, self.count_max).unwrap();
            assert!(page.rows.len() <= self.count_max);
            keys.extend(page.rows.into_iter().map(|(key, _)| key));
            match keys.last().filter(|_| !page.is_last) {
                None => return keys,
                Some(last) if self.order == Order::Ascending => rest = rest.starting_after(last),
                Some(last) => rest = rest.ending_before(last),
            }
        }
    }

    fn expected(&self, model: &Model) -> Vec<Vec<u8>> {
        let range = self.range();
        let mut keys = if range.is_empty() { Vec::new() } else { in_range(model, &range) };
        if self.order == Order::Descending {
            keys.reverse();
        }
        keys
    }
}

/// A snapshot and the rows that it must show.
type Held = (Arc<dyn Read>, Model);

/// A snapshot of this moment, also of an engine that starts it with the first read.
fn taken(engine: &dyn Engine) -> Arc<dyn Read> {
    let snapshot = engine.snapshot().unwrap();
    snapshot.moment().unwrap();
    snapshot
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pages_and_snapshots_show_the_rows_of_their_moment(
        batches in batches(), walks in vec(walk(), 1..8),
    ) {
        for subject in engines() {
            let (name, engine) = (subject.name, subject.engine.as_ref());
            let mut model = Model::new();
            let mut held: Vec<Held> = Vec::new();
            for (number, batch) in batches.iter().enumerate() {
                held.push((taken(engine), model.clone()));
                write(engine, &mut model, batch);
                held.push((taken(engine), model.clone()));
                subject.after_batch(number);
                held.push((taken(engine), model.clone()));
            }
            for (snapshot, model) in &held {
                prop_assert_eq!(&rows(snapshot.as_ref()), model, "{}", name);
                for walk in &walks {
                    let keys = walk.keys(snapshot.as_ref());
                    prop_assert_eq!(keys, walk.expected(model), "{} {:?}", name, walk);
                }
                check_values(snapshot.as_ref(), model, &batches);
            }
        }
    }
}

/// Each key alone, and all of them at once.
fn check_values(snapshot: &dyn Read, model: &Model, batches: &[Vec<RowChange>]) {
    let keys: Vec<_> =
        batches.iter().flatten().map(|row| (row.table, row.key.as_slice())).collect();
    let expected: Vec<_> =
        keys.iter().map(|(table, key)| model.get(&(*table, key.to_vec())).cloned()).collect();
    assert_eq!(snapshot.get_many(&keys).unwrap(), expected);
    for ((table, key), expected) in keys.iter().zip(expected) {
        assert_eq!(snapshot.get(*table, key).unwrap(), expected);
    }
}

#[test]
fn batches_are_numbered_one_after_the_other_and_empty_ones_are_not() {
    for subject in engines() {
        let engine = subject.engine.as_ref();
        let sequence = || engine.snapshot().unwrap().moment().unwrap().sequence;
        let before = sequence();
        let mut model = Model::new();
        for number in 1..5 {
            let row = RowChange { table: Table::Tokens, key: vec![1], value: Some(value(1)) };
            write(engine, &mut model, &[row]);
            assert_eq!(sequence(), before + number, "{}", subject.name);
            write(engine, &mut model, &[]);
            subject.after_batch(0);
            assert_eq!(sequence(), before + number, "{}", subject.name);
            assert_eq!(engine.health().sequence, sequence());
        }
    }
}

#[tokio::test]
async fn the_newest_rows_show_every_batch_before_and_keep_the_order_of_their_keys() {
    for subject in engines() {
        let engine = subject.engine.as_ref();
        let mut model = Model::new();
        for byte in 1..5 {
            engine.take_turn(Shard::VAULT);
            let row = RowChange { table: Table::Tokens, key: vec![1], value: Some(value(byte)) };
            write(engine, &mut model, &[row]);
            subject.after_batch(0);
            let places = [vec![9], vec![1], vec![0], vec![1]].map(|key| (Table::Tokens, key));
            let values = engine.newest().unwrap().fetch(places.to_vec()).await.unwrap();
            let found = Some(value(byte));
            assert_eq!(values, [None, found.clone(), None, found], "{}", subject.name);
        }
        assert!(engine.newest().unwrap().fetch(Vec::new()).await.unwrap().is_empty());
    }
}

#[test]
fn a_batch_that_is_not_decided_changes_nothing() {
    use crate::store::failure::StorageFailure;
    for subject in engines() {
        let engine = subject.engine.as_ref();
        let before = engine.snapshot().unwrap().moment().unwrap();
        let failed = engine.apply(&mut |_| Err(StorageFailure::Impossible("a test")));
        assert!(matches!(failed, Err(StorageFailure::Impossible("a test"))), "{}", subject.name);
        assert_eq!(engine.snapshot().unwrap().moment().unwrap(), before);
        let row = RowChange { table: Table::Tokens, key: vec![1], value: Some(value(1)) };
        write(engine, &mut Model::new(), &[row]);
        assert_eq!(contents(engine).len(), 1);
    }
}
