//! Files that are taken away from an open store: no batch is answered after that, and the rows that
//! were answered before are not lost with the log.

use std::fs;

use crate::clock::Clock;
use crate::store::tests::{TestDirectory, block_on, end_of, has, put};
use crate::store::{Change, CommitFailure, Fatal, StorageFailure, Store};

fn check(is_taken: impl Fn(&str) -> bool, is_lost: bool) {
    let directory = TestDirectory::new();
    let store = Store::create(directory.path(), &Clock::new(), Change::new()).unwrap();
    block_on(store.commit(put(1))).unwrap();
    let name = directory.names().into_iter().find(|name| is_taken(name)).unwrap();
    fs::remove_file(directory.join(&name)).unwrap();
    let refused = block_on(store.commit(put(2)));
    assert_eq!(refused.err(), Some(CommitFailure::Stopped), "{name}");
    let end = block_on(end_of(&store));
    let Fatal::Storage(StorageFailure::Removed(path)) = end else { panic!("{name}: {end:?}") };
    assert!(path.ends_with(&name), "{}", path.display());
    store.close();
    if !is_lost {
        let again = Store::open(directory.path(), &Clock::new()).unwrap();
        assert!(has(&again, 1), "it was answered");
        assert!(!has(&again, 2), "it was not");
        again.close();
    }
}

#[test]
fn no_batch_is_answered_without_its_data_file() {
    check(|name| name == Store::FILE, true);
}

#[test]
fn no_batch_is_answered_without_its_log_and_the_rows_before_are_saved() {
    check(|name| name.contains(".log.0"), false);
}
