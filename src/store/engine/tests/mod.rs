//! Rules that every engine keeps; each test runs on all of them. The durable engine's crashes have
//! separate tests.

mod reads;
mod transient;

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::store::batch::Batch;
use crate::store::change::{Change, Expect, Write};
use crate::store::engine::local::LocalEngine;
use crate::store::engine::local::tests::{prepared, start};
use crate::store::engine::memory::{MemoryEngine, Model};
use crate::store::engine::postgres::PostgresEngine;
use crate::store::engine::postgres::tests::reused::ReusedEngine;
use crate::store::engine::{Engine, Order, Read};
use crate::store::tables::KeyRange;
use crate::store::tests::disk::TestDisk;
use crate::store::{Store, Table, Verdict};

/// Long enough for a sealed value; the byte is its version as well.
fn value(byte: u8) -> Vec<u8> {
    vec![byte; 24]
}

/// Short keys, and keys in all slices of the local engine.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        2 => vec(0_u8..3, 0..4),
        1 => vec(0_u8..4, 1..3).prop_map(|end| [vec![1; 16], end].concat()),
    ]
}

fn table() -> impl Strategy<Value = Table> {
    prop_oneof![Just(Table::TokenLists), Just(Table::Tokens)]
}

/// Expectations about the model's current rows, so that many of them hold.
#[derive(Debug, Clone)]
enum PlannedExpect {
    Absent(Table, Vec<u8>),
    CountsAtMost(Vec<Vec<u8>>, i64),
    Is(Table, Vec<u8>, u8),
    Present(Table, Vec<u8>),
    RowsAtMost(Table, Vec<u8>, usize),
    /// The current keys under the prefix, without the last one if the flag is set.
    Under(Table, Vec<u8>, bool),
    UnderExactly(Table, Vec<u8>, Vec<Vec<u8>>),
    Value(Table, Vec<u8>, u8),
}

fn planned_expect() -> impl Strategy<Value = PlannedExpect> {
    prop_oneof![
        (table(), key()).prop_map(|(table, key)| PlannedExpect::Absent(table, key)),
        (vec(key(), 0..3), -3_i64..20)
            .prop_map(|(keys, most)| PlannedExpect::CountsAtMost(keys, most)),
        (table(), key(), 0_u8..4)
            .prop_map(|(table, key, version)| PlannedExpect::Is(table, key, version)),
        (table(), key()).prop_map(|(table, key)| PlannedExpect::Present(table, key)),
        (table(), key(), 0_usize..9)
            .prop_map(|(table, prefix, most)| PlannedExpect::RowsAtMost(table, prefix, most)),
        (table(), key(), prop::bool::weighted(0.1))
            .prop_map(|(table, prefix, less)| PlannedExpect::Under(table, prefix, less)),
        (table(), key(), vec(key(), 0..3))
            .prop_map(|(table, prefix, keys)| PlannedExpect::UnderExactly(table, prefix, keys)),
        (table(), key(), 0_u8..4)
            .prop_map(|(table, key, byte)| PlannedExpect::Value(table, key, byte)),
    ]
}

#[derive(Debug, Clone)]
enum PlannedWrite {
    Add(Vec<u8>, i64),
    Delete(Table, Vec<u8>),
    Put(Table, Vec<u8>, u8),
}

fn planned_write() -> impl Strategy<Value = PlannedWrite> {
    prop_oneof![
        1 => (key(), -3_i64..9).prop_map(|(key, by)| PlannedWrite::Add(key, by)),
        2 => (table(), key()).prop_map(|(table, key)| PlannedWrite::Delete(table, key)),
        3 => (table(), key(), 0_u8..4).prop_map(|(table, key, byte)| PlannedWrite::Put(table, key, byte)),
    ]
}

type Plan = Vec<Vec<(Vec<PlannedExpect>, Vec<PlannedWrite>)>>;

fn plan() -> impl Strategy<Value = Plan> {
    vec(vec((vec(planned_expect(), 0..3), vec(planned_write(), 0..6)), 1..8), 1..5)
}

fn in_range(model: &Model, range: &KeyRange) -> Vec<Vec<u8>> {
    let keys = model.keys().filter(|(of, key)| *of == range.table() && range.contains(key));
    keys.map(|(_, key)| key.clone()).collect()
}

/// The expects, as an operation that read `model` would state them.
fn change(model: &Model, expects: &[PlannedExpect], writes: &[PlannedWrite]) -> Change {
    let mut change = Change::new();
    for expect in expects.iter().cloned() {
        change = match expect {
            PlannedExpect::Absent(table, key) => change.expect_absent(table, key),
            PlannedExpect::CountsAtMost(keys, most) => change.expect_counts_at_most(keys, most),
            PlannedExpect::Is(table, key, version) => {
                change.expect_version(table, key, [version; 16])
            }
            PlannedExpect::Present(table, key) => change.expect_present(table, key),
            PlannedExpect::RowsAtMost(table, prefix, most) => {
                change.expect_rows_at_most(KeyRange::prefix(table, prefix), most)
            }
            PlannedExpect::Under(table, prefix, less) => {
                let mut keys = in_range(model, &KeyRange::prefix(table, prefix.clone()));
                keys.truncate(keys.len().saturating_sub(usize::from(less)));
                change.expect_keys(KeyRange::prefix(table, prefix), keys)
            }
            PlannedExpect::UnderExactly(table, prefix, keys) => {
                change.expect_keys(KeyRange::prefix(table, prefix), keys)
            }
            PlannedExpect::Value(table, key, byte) => change.expect_value(table, key, value(byte)),
        };
    }
    for write in writes.iter().cloned() {
        change = match write {
            PlannedWrite::Add(key, by) => change.count(key, by),
            PlannedWrite::Delete(table, key) => change.delete(table, key),
            PlannedWrite::Put(table, key, byte) => change.put(table, key, value(byte)),
        };
    }
    change
}

fn count(model: &Model, key: &[u8]) -> i64 {
    let count = model.get(&(Table::Counts, key.to_vec()));
    count.map_or(0, |bytes| i64::from_be_bytes(bytes.as_slice().try_into().unwrap()))
}

fn apply(model: &mut Model, change: &Change) -> Verdict {
    let holds = change.expects.iter().all(|expect| match expect {
        Expect::Absent(table, key, _) => !model.contains_key(&(*table, key.clone())),
        Expect::CountsAtMost(keys, most) => {
            let counts = keys.iter().map(|key| count(model, key));
            counts.sum::<i64>() <= *most
        }
        Expect::Is(table, key, version) => {
            model.get(&(*table, key.clone())).is_some_and(|value| value[5..21] == *version)
        }
        Expect::Present(table, key) => model.contains_key(&(*table, key.clone())),
        Expect::Keys(range, keys) => in_range(model, range) == *keys,
        Expect::RowsAtMost(range, most) => in_range(model, range).len() <= *most,
        Expect::Value(table, key, value) => model.get(&(*table, key.clone())) == Some(value),
    });
    if !holds {
        return Verdict::Refused;
    }
    for write in &change.writes {
        match write {
            Write::Add(key, by) => {
                let count = model.entry((Table::Counts, key.clone())).or_insert_with(|| vec![0; 8]);
                let sum = i64::from_be_bytes(count.as_slice().try_into().unwrap()) + by;
                *count = sum.to_be_bytes().to_vec();
            }
            // The chain's tests check the numbers.
            Write::Audit(_) => (),
            Write::Delete(table, key) => drop(model.remove(&(*table, key.clone()))),
            Write::Put(table, key, value) => {
                model.insert((*table, key.clone()), value.clone());
            }
        }
    }
    Verdict::Applied
}

/// An empty engine, and its work between two batches.
struct Subject {
    name: &'static str,
    engine: Arc<dyn Engine>,
    merging: Option<(Arc<LocalEngine>, Merges)>,
    /// Closes the engine when it is dropped.
    _store: Option<Store>,
    /// Empties the database for the next test when it is dropped.
    _database: Option<ReusedEngine>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Merges {
    /// All rows, between any two batches.
    All,
    /// Part 0 and one slice in turn, between any two batches.
    InTurn,
}

impl Subject {
    fn merging(name: &'static str, merges: Merges) -> Self {
        let engine = Arc::new(start(&TestDisk::holding(prepared().clone())).unwrap());
        let merging = Some((Arc::clone(&engine), merges));
        Self { name, engine, merging, _store: None, _database: None }
    }

    fn after_batch(&self, number: usize) {
        match &self.merging {
            None => (),
            Some((local, Merges::InTurn)) => local.merge_turn(number).unwrap(),
            Some((local, Merges::All)) => (0..4).for_each(|it| local.merge_turn(it).unwrap()),
        }
    }
}

fn engines() -> Vec<Subject> {
    let local = Store::on_disk(&TestDisk::holding(prepared().clone()), Change::new()).unwrap();
    let memory = Arc::new(MemoryEngine::default());
    let mut engines = vec![
        Subject { name: "memory", engine: memory, merging: None, _store: None, _database: None },
        Subject {
            name: "local",
            engine: Arc::clone(&local.0.engine),
            merging: None,
            _store: Some(local),
            _database: None,
        },
        Subject::merging("local, merging all", Merges::All),
        Subject::merging("local, merging in turn", Merges::InTurn),
    ];
    if let Some(reused) = ReusedEngine::take() {
        let engine = Arc::<PostgresEngine>::clone(reused.engine());
        engines.push(Subject {
            name: "postgres",
            engine,
            merging: None,
            _store: None,
            _database: Some(reused),
        });
    }
    engines
}

fn contents(engine: &dyn Engine) -> Model {
    rows(engine.snapshot().unwrap().as_ref())
}

fn rows(snapshot: &dyn Read) -> Model {
    let mut model = Model::new();
    for table in [Table::Counts, Table::TokenLists, Table::Tokens] {
        let page = snapshot.page(&table.whole(), Order::Ascending, usize::MAX).unwrap();
        assert!(page.is_last);
        model.extend(page.rows.into_iter().map(|(key, value)| ((table, key), value)));
    }
    model
}

fn commit(engine: &dyn Engine, changes: &[Change]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let decided = engine.apply(&mut |newest| {
        let mut batch = Batch::new(newest, None);
        verdicts = changes.iter().map(|change| batch.take(change.clone()).unwrap()).collect();
        batch.rows()
    });
    decided.unwrap();
    verdicts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn changes_in_batches_end_as_they_would_one_after_the_other(plan in plan()) {
        for subject in engines() {
            let (name, engine) = (subject.name, subject.engine.as_ref());
            let mut model = Model::new();
            for (number, batch) in plan.iter().enumerate() {
                let (mut changes, mut expected) = (Vec::new(), Vec::new());
                for (expects, writes) in batch {
                    let change = change(&model, expects, writes);
                    expected.push(apply(&mut model, &change));
                    changes.push(change);
                }
                prop_assert_eq!(commit(engine, &changes), expected, "{}", name);
                prop_assert_eq!(contents(engine), model.clone(), "{}", name);
                subject.after_batch(number);
                prop_assert_eq!(contents(engine), model.clone(), "{}, after a merge", name);
            }
        }
    }
}

#[track_caller]
fn check_under(before: &[&[u8]], first: &Change, keys: &[&[u8]], expected: Verdict) {
    let put = |change: Change, key: &&[u8]| change.put(Table::Tokens, key.to_vec(), value(1));
    let before = before.iter().fold(Change::new(), put);
    let keys: Vec<_> = keys.iter().map(|key| key.to_vec()).collect();
    for subject in engines() {
        let (name, engine) = (subject.name, subject.engine.as_ref());
        commit(engine, std::slice::from_ref(&before));
        subject.after_batch(0);
        let range = KeyRange::prefix(Table::Tokens, b"a".to_vec());
        let second = Change::new().expect_keys(range, keys.clone());
        let verdicts = commit(engine, &[first.clone(), second]);
        assert_eq!(verdicts, [Verdict::Applied, expected], "{name}");
    }
}

#[test]
fn what_is_under_a_prefix_includes_what_the_same_batch_did_before() {
    let put = |key: &[u8]| Change::new().put(Table::Tokens, key.to_vec(), value(2));
    let delete = |key: &[u8]| Change::new().delete(Table::Tokens, key.to_vec());
    let none: &[&[u8]] = &[];
    check_under(none, &put(b"a1"), none, Verdict::Refused);
    check_under(none, &put(b"a1"), &[b"a1"], Verdict::Applied);
    check_under(none, &put(b"b1"), none, Verdict::Applied);
    check_under(&[b"a1"], &delete(b"a1"), none, Verdict::Applied);
    check_under(&[b"a1"], &delete(b"a1"), &[b"a1"], Verdict::Refused);
    check_under(&[b"a1", b"a2"], &put(b"a1"), &[b"a1", b"a2"], Verdict::Applied);
    check_under(&[b"a2"], &put(b"a1"), &[b"a1", b"a2"], Verdict::Applied);
    check_under(&[b"a2"], &put(b"a3"), &[b"a2"], Verdict::Refused);
    check_under(&[b"a1", b"a2", b"a3"], &delete(b"a2"), &[b"a1", b"a3"], Verdict::Applied);
    check_under(&[b"a1", b"a2", b"a3"], &put(b"b"), &[b"a1", b"a2"], Verdict::Refused);
}

#[test]
fn a_refused_change_leaves_nothing_for_those_behind_it() {
    let refused = Change::new()
        .expect_present(Table::Tokens, b"none".to_vec())
        .put(Table::Tokens, b"a".to_vec(), value(1))
        .count(b"n".to_vec(), 1);
    let behind = Change::new().expect_absent(Table::Tokens, b"a".to_vec()).count(b"n".to_vec(), 2);
    let two = 2_i64.to_be_bytes().to_vec();
    for Subject { name, engine, .. } in engines() {
        let verdicts = commit(engine.as_ref(), &[refused.clone(), behind.clone()]);
        assert_eq!(verdicts, [Verdict::Refused, Verdict::Applied], "{name}");
        let expected = Model::from([((Table::Counts, b"n".to_vec()), two.clone())]);
        assert_eq!(contents(engine.as_ref()), expected, "{name}");
    }
}
