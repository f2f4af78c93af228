//! A layer against a list of all versions: the ones that snapshots see, and the dropped ones.

use std::collections::BTreeMap;
use std::ops::Bound;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::store::engine::local::layer::{Layer, LayerValue};
use crate::store::engine::local::log::Position;
use crate::store::engine::{Order, RowChange};
use crate::store::failure::StorageFailure;
use crate::store::tables::Table;

#[derive(Debug, Clone)]
enum Step {
    /// Keys and lengths of values; `None` deletes.
    Batch(Vec<(u8, Option<usize>)>),
    Hold,
    /// Drops the snapshot at this index.
    Release(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => vec((0_u8..6, prop::option::of(0_usize..40)), 0..5).prop_map(Step::Batch),
        2 => Just(Step::Hold),
        1 => any::<prop::sample::Index>().prop_map(Step::Release),
    ]
}

fn row(key: u8, value: Option<Vec<u8>>) -> RowChange {
    RowChange { table: Table::Tokens, key: vec![key], value }
}

/// The rows at each moment. A missing key was never written; `None` is a deletion.
type History = Vec<BTreeMap<Vec<u8>, Option<Vec<u8>>>>;

fn check(layer: &Layer, history: &History, sequence: usize) {
    let (rows, at) = (&history[sequence], u64::try_from(sequence).unwrap());
    for key in 0..6 {
        let value = layer.get(Table::Tokens, &[key], at).unwrap().map(|LayerValue(value)| value);
        assert_eq!(value, rows.get([key].as_slice()).cloned());
    }
    let whole = (Bound::Unbounded, Bound::Unbounded);
    let mut all: Vec<_> = rows.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    assert_eq!(layer.rows(Table::Tokens, whole, Order::Ascending, at, 9).unwrap(), all);
    all.reverse();
    all.truncate(3);
    assert_eq!(layer.rows(Table::Tokens, whole, Order::Descending, at, 3).unwrap(), all);
    assert!(
        layer
            .rows(Table::Tokens, (Bound::Excluded(&[5]), Bound::Unbounded), Order::Ascending, at, 9)
            .unwrap()
            .is_empty()
    );
}

proptest! {
    #[test]
    fn every_snapshot_sees_the_versions_of_its_moment(steps in vec(step(), 1..40)) {
        let layer = Layer::new(Position::default());
        let mut history: History = vec![BTreeMap::new()];
        let mut held: Vec<usize> = Vec::new();
        for step in steps {
            match step {
                Step::Batch(rows) => {
                    let newest = history.len() - 1;
                    let mut next = history[newest].clone();
                    let sequence = u64::try_from(history.len()).unwrap();
                    let oldest = held.iter().copied().min().unwrap_or(newest);
                    let value = |len: Option<usize>| len.map(|len| vec![7; len]);
                    next.extend(rows.iter().map(|(key, len)| (vec![*key], value(*len))));
                    let oldest = u64::try_from(oldest).unwrap();
                    for (key, len) in rows {
                        layer.insert(row(key, value(len)), sequence, oldest).unwrap();
                    }
                    history.push(next);
                }
                Step::Hold => held.push(history.len() - 1),
                Step::Release(_) if held.is_empty() => (),
                Step::Release(at) => drop(held.swap_remove(at.index(held.len()))),
            }
            check(&layer, &history, history.len() - 1);
            for sequence in &held {
                check(&layer, &history, *sequence);
            }
        }
        let mut newest = BTreeMap::new();
        let each = |key: &[u8], value: Option<&[u8]>| -> Result<(), StorageFailure> {
            newest.insert(key.to_vec(), value.map(<[u8]>::to_vec));
            Ok(())
        };
        layer.for_each(Table::Tokens, each).unwrap();
        prop_assert_eq!(&newest, history.last().unwrap());
        prop_assert_eq!(layer.is_empty(), newest.is_empty());
    }
}

#[test]
fn versions_that_no_snapshot_can_see_take_no_memory() {
    let layer = Layer::new(Position::default());
    layer.insert(row(1, Some(vec![1; 100])), 1, 0).unwrap();
    let one = layer.bytes();
    for sequence in 2..50 {
        layer.insert(row(1, Some(vec![1; 100])), sequence, sequence - 1).unwrap();
    }
    // The previous batch's version is kept, because a snapshot may use it.
    let version = 100 + 40;
    assert!(layer.bytes() <= one + version, "{} bytes, {one} for one version", layer.bytes());
    for sequence in 50..60 {
        layer.insert(row(1, None), sequence, 49).unwrap();
    }
    let held = layer.get(Table::Tokens, &[1], 49).unwrap();
    assert_eq!(held, Some(LayerValue(Some(vec![1; 100]))), "it is held");
    layer.insert(row(1, None), 60, 60).unwrap();
    assert!(layer.bytes() < one, "a deletion alone is left");
}
