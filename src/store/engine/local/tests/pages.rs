//! Pages over the data file, a frozen layer and an active one, against a map.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use crate::store::engine::local::tests::{apply, merge_all, prepared, start};
use crate::store::engine::{Engine as _, Order, Read, RowChange};
use crate::store::tables::{KeyRange, Table};
use crate::store::tests::disk::TestDisk;

/// Keys of all slices, more than one piece of a layer; `None` deletes.
type Batch = BTreeMap<u8, Option<u8>>;

fn batch() -> impl Strategy<Value = Batch> {
    btree_map(any::<u8>(), prop::option::weighted(0.7, any::<u8>()), 0..120)
}

fn key(byte: u8) -> Vec<u8> {
    [vec![7; 16], vec![byte]].concat()
}

fn pages(view: &dyn Read, range: &KeyRange, order: Order, count_max: usize) -> Vec<(u8, u8)> {
    let (mut rows, mut rest) = (Vec::new(), range.clone());
    loop {
        let page = view.page(&rest, order, count_max).unwrap();
        assert!(page.rows.len() <= count_max);
        let last = page.rows.last().map(|(key, _)| key.clone());
        rows.extend(page.rows.iter().map(|(key, value)| (key[16], value[0])));
        match last.filter(|_| !page.is_last) {
            None => return rows,
            Some(last) => {
                rest = match order {
                    Order::Ascending => rest.starting_after(&last),
                    Order::Descending => rest.ending_before(&last),
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn pages_show_the_newest_row_of_every_key_once_and_in_order(
        batches in vec(batch(), 3),
        ranges in vec((any::<u8>(), any::<u8>(), 1_usize..50, any::<bool>()), 12),
        turn in 0_usize..4,
    ) {
        let engine = start(&TestDisk::holding(prepared().clone())).unwrap();
        let table = Table::TokenLists;
        let put = |batch: &Batch| {
            let row = |(byte, value): (&u8, &Option<u8>)| RowChange {
                table, key: key(*byte), value: value.map(|value| vec![value]),
            };
            apply(&engine, &batch.iter().map(row).collect::<Vec<_>>()).unwrap();
        };
        put(&batches[0]);
        merge_all(&engine);
        put(&batches[1]);
        let mut snapshots = vec![engine.snapshot().unwrap()];
        let before = model_rows(&batches[..2]);
        engine.merge_turn_while(turn, || {
            put(&batches[2]);
            snapshots.push(engine.snapshot().unwrap());
        }).unwrap();
        let after = model_rows(&batches);
        snapshots.push(engine.snapshot().unwrap());
        for (view, model) in snapshots.iter().zip([&before, &after, &after]) {
            for (from, to, count_max, is_ascending) in &ranges {
                let order = if *is_ascending { Order::Ascending } else { Order::Descending };
                let range = table.whole().starting_at(&key(*from)).ending_before(&key(*to));
                let mut expected: Vec<_> =
                    model.iter().filter(|row| (from..to).contains(&&row.0)).copied().collect();
                if !is_ascending {
                    expected.reverse();
                }
                prop_assert_eq!(pages(view.as_ref(), &range, order, *count_max), expected);
            }
        }
    }
}

fn model_rows(batches: &[Batch]) -> Vec<(u8, u8)> {
    let newest: Batch = batches.iter().flatten().map(|(key, value)| (*key, *value)).collect();
    newest.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}
