//! Storage that is unreachable for a while: nothing is written, and everything continues later.

use std::sync::Arc;

use crate::store::alarm::Alarm;
use crate::store::engine::Engine as _;
use crate::store::engine::memory::MemoryEngine;
use crate::store::failure::{CommitFailure, StorageFailure};
use crate::store::tables::Table;
use crate::store::tests::block_on;
use crate::store::{Change, Store, Verdict};

fn put(key: u8) -> Change {
    Change::new().put(Table::Tokens, vec![key], vec![key; 24])
}

#[test]
fn a_store_that_cannot_be_reached_refuses_for_now_and_then_goes_on() {
    let (engine, alarm) = (Arc::new(MemoryEngine::default()), Alarm::default());
    let store = Store::open_engine(Arc::<MemoryEngine>::clone(&engine), alarm.clone()).unwrap();
    assert_eq!(block_on(store.commit(put(1))), Ok(Verdict::Applied));
    let held = store.snapshot().unwrap();
    for _ in 0..2 {
        engine.set_unavailable(Some("a test"));
        assert_eq!(block_on(store.commit(put(2))), Err(CommitFailure::Unavailable));
        assert!(matches!(store.snapshot().err(), Some(StorageFailure::Unavailable("a test"))));
        assert!(matches!(store.amend(put(3)), Err(StorageFailure::Unavailable(_))));
        assert!(!alarm.has_sounded(), "the process goes on");
        assert_eq!(held.value(Table::Tokens, &[1]).unwrap(), Some(vec![1; 24]));
        engine.set_unavailable(None);
        assert_eq!(engine.health().sequence, 1, "nothing was written");
    }
    assert_eq!(block_on(store.commit(put(2))), Ok(Verdict::Applied));
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.value(Table::Tokens, &[2]).unwrap(), Some(vec![2; 24]));
    assert_eq!(snapshot.value(Table::Tokens, &[3]).unwrap(), None);
    assert_eq!(snapshot.moment().unwrap().sequence, 2);
}
