//! Snapshots held during batches and merges.

use crate::store::engine::Engine as _;
use crate::store::engine::local::tests::{apply, contents, prepared, put, start};
use crate::store::tables::Table;
use crate::store::tests::disk::TestDisk;

const KEY: [u8; 17] = [3; 17];

#[test]
fn a_snapshot_of_a_merge_keeps_its_rows_although_no_batch_made_it() {
    let engine = start(&TestDisk::holding(prepared().clone())).unwrap();
    apply(&engine, &put(Table::TokenLists, &KEY, b"old")).unwrap();
    // Another slice's turn: the row stays in its layer.
    engine.merge_turn(0).unwrap();
    let snapshot = engine.snapshot().unwrap();
    for value in [b"new".as_slice(), b"newer", b"newest"] {
        apply(&engine, &put(Table::TokenLists, &KEY, value)).unwrap();
        let found = snapshot.get(Table::TokenLists, &KEY).unwrap();
        assert_eq!(found.as_deref(), Some(b"old".as_slice()));
    }
}

#[test]
fn views_that_are_no_longer_used_are_forgotten_while_an_old_snapshot_is_held() {
    let engine = start(&TestDisk::holding(prepared().clone())).unwrap();
    apply(&engine, &put(Table::Tokens, b"a", b"1")).unwrap();
    let snapshot = engine.snapshot().unwrap();
    let before = contents(snapshot.as_ref());
    for number in 0..3_000_u32 {
        apply(&engine, &put(Table::Tokens, b"a", &number.to_be_bytes())).unwrap();
    }
    let views = engine.shared.views.lock().len();
    assert!(views < 2_000, "{views} views");
    assert_eq!(contents(snapshot.as_ref()), before);
}
