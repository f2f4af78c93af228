//! A data file that is opened for reading only stays unchanged, byte for byte.

use std::fs;

use crate::clock::Clock;
use crate::store::tests::{TestDirectory, block_on, has, put};
use crate::store::{Cleanliness, OpenFailure, Store, Verdict};

#[test]
fn a_file_is_read_whole_and_not_written_whether_it_was_closed_or_not() {
    let (live, copy) = (TestDirectory::new(), TestDirectory::new());
    let store = Store::create(live.path(), &Clock::new(), put(1)).unwrap();
    assert_eq!(block_on(store.commit(put(2))), Ok(Verdict::Applied));
    assert!(matches!(
        Store::open_unwritten(live.path(), &Clock::new()),
        Err(OpenFailure::AlreadyOpen)
    ));
    let check = |expected| {
        for name in live.names() {
            fs::copy(live.join(&name), copy.join(&name)).unwrap();
        }
        let before = copy.contents();
        // Two readers do not lock each other out.
        let opened = [(); 2].map(|()| Store::open_unwritten(copy.path(), &Clock::new()).unwrap());
        for (looking, cleanliness) in opened {
            assert_eq!(cleanliness, expected);
            assert!(has(&looking, 1) && has(&looking, 2));
            assert_eq!(block_on(looking.commit(put(3))), Ok(Verdict::Applied));
            assert!(has(&looking, 3), "what is written there is seen there");
            looking.close();
        }
        assert!(copy.contents() == before);
    };
    // A copy of an open file is in the state that a kill leaves.
    check(Cleanliness::NeedsRecovery);
    store.close();
    check(Cleanliness::Clean);
    let store = Store::open(copy.path(), &Clock::new()).unwrap();
    assert!(has(&store, 2) && !has(&store, 3));
    store.close();
    let missing = TestDirectory::new();
    assert!(matches!(
        Store::open_unwritten(missing.path(), &Clock::new()),
        Err(OpenFailure::Missing)
    ));
    fs::write(missing.path().join(Store::FILE), "a letter of some length").unwrap();
    assert!(matches!(
        Store::open_unwritten(missing.path(), &Clock::new()),
        Err(OpenFailure::NotOurs)
    ));
}
