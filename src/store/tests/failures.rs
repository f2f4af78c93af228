//! Disks that are full, broken or read-only, at every operation in turn.

use crate::store::tests::disk::{EIO, ENOSPC, EROFS, Fate, Fault, Operation, TestDisk};
use crate::store::tests::{block_on, end_of, has, open, open_without_cache, put};
use crate::store::{
    Change, CommitFailure, Fatal, OpenFailure, StorageFailure, Store, Table, Verdict,
};

/// Commits until the disk fails. Returns the number of answered changes.
fn fill(store: &Store) -> u8 {
    for key in 0..8 {
        match block_on(store.commit(put(key))) {
            Ok(verdict) => assert_eq!(verdict, Verdict::Applied),
            Err(failure) => {
                assert_eq!(failure, CommitFailure::Stopped);
                return key;
            }
        }
    }
    8
}

fn kind(fatal: &Fatal) -> (&'static str, &'static str) {
    let Fatal::Storage(failure) = fatal else {
        panic!("{fatal:?}");
    };
    let name = match failure {
        StorageFailure::Damaged(_) => "damaged",
        StorageFailure::Database(..) => "database",
        StorageFailure::Full => "full",
        StorageFailure::Impossible(what) => what,
        StorageFailure::Io(_) => "io",
        StorageFailure::Log(..) => "log",
        StorageFailure::ReadOnly => "read-only",
        StorageFailure::Removed(_) => "removed",
        StorageFailure::Stopped => "stopped",
        StorageFailure::Unavailable(why) => why,
    };
    (name, failure.advice().split(',').next().unwrap())
}

/// Every operation in turn fails with `fault`, and the store reports `expected`. The answered
/// changes are in the files that the next process reads, and in the files after a loss of power.
#[track_caller]
fn check(operation: Operation, fault: Fault, expected: (&str, &str)) {
    let prepared = TestDisk::new();
    open(&prepared).close();
    for nth in 1.. {
        let disk = TestDisk::holding(prepared.durable());
        let store = open(&disk);
        disk.plan(operation, nth, fault);
        let answered = fill(&store);
        if answered == 8 {
            assert!(nth > 8, "{nth}: the disk never failed");
            return;
        }
        assert_eq!(kind(&block_on(end_of(&store))), expected, "{operation:?} {nth}");
        assert_eq!(block_on(store.commit(put(9))), Err(CommitFailure::Stopped));
        store.close();
        for image in [disk.volatile(), disk.durable()] {
            let again = open(&TestDisk::holding(image));
            for key in 0..8 {
                // The failed change may be there, but no later one.
                assert!(has(&again, key) || key >= answered, "{operation:?} {nth}: {key} is lost");
                assert!(
                    !has(&again, key) || key <= answered,
                    "{operation:?} {nth}: {key} is there"
                );
            }
            assert_eq!(block_on(again.commit(put(9))), Ok(Verdict::Applied));
        }
    }
}

#[test]
fn a_disk_that_fails_is_told_as_such_and_loses_nothing() {
    let full = ("full", "free space on the disk");
    let broken = ("io", "check the disk and the system log");
    check(Operation::Write, Fault::Always(ENOSPC), full);
    check(Operation::Write, Fault::Once(ENOSPC), full);
    check(Operation::Write, Fault::Once(EIO), broken);
    check(Operation::Sync, Fault::Once(EIO), broken);
    check(Operation::Write, Fault::Always(EROFS), ("read-only", "mount the file system writable"));
}

#[test]
fn a_quota_that_is_used_up_is_a_full_disk() {
    let failure = StorageFailure::from(std::io::Error::from(std::io::ErrorKind::QuotaExceeded));
    assert!(matches!(failure, StorageFailure::Full));
}

#[test]
fn a_read_that_fails_while_opening_is_a_failure_of_the_disk_and_changes_nothing() {
    let disk = TestDisk::new();
    let store = open(&disk);
    assert_eq!(fill(&store), 8);
    store.close();
    let image = disk.durable();
    for nth in 1.. {
        let disk = TestDisk::holding(image.clone());
        disk.plan(Operation::Read, nth, Fault::Once(EIO));
        match Store::on_disk(&disk, put(100)) {
            Err(OpenFailure::Storage(StorageFailure::Io(_))) => (),
            Err(other) => panic!("{nth}: {other:?}"),
            Ok(_) => {
                assert!(nth > 3, "{nth}: nothing was read");
                return;
            }
        }
        let again = open(&TestDisk::holding(disk.volatile()));
        assert!((0..8).all(|key| has(&again, key)) && !has(&again, 100), "{nth}");
    }
}

#[test]
fn a_read_that_fails_while_running_ends_the_store_with_its_own_failure() {
    let disk = TestDisk::new();
    let store = open(&disk);
    let fill = |change: Change, key: u8| change.put(Table::Tokens, vec![key], vec![key; 3_000]);
    block_on(store.commit((0..200).fold(Change::new(), fill))).unwrap();
    store.close();
    let image = disk.durable();
    for nth in 1..20 {
        let disk = TestDisk::holding(image.clone());
        let store = open_without_cache(&disk);
        disk.plan(Operation::Read, nth, Fault::Once(EIO));
        let read = store.snapshot().and_then(|it| it.first(&Table::Tokens.whole(), 200));
        assert!(matches!(read, Err(StorageFailure::Io(_))), "{nth}");
        assert_eq!(kind(&block_on(end_of(&store))).0, "io");
        // The follow-up failure does not hide the first one.
        assert_eq!(block_on(store.commit(put(1))), Err(CommitFailure::Stopped));
        assert_eq!(kind(&block_on(end_of(&store))).0, "io");
    }
}

#[test]
fn a_panic_of_the_writer_ends_the_store_and_loses_nothing() {
    for operation in [Operation::Sync, Operation::Write] {
        let disk = TestDisk::new();
        let store = open(&disk);
        assert_eq!(block_on(store.commit(put(1))), Ok(Verdict::Applied));
        disk.plan(operation, 1, Fault::Panic);
        assert_eq!(block_on(store.commit(put(2))), Err(CommitFailure::Stopped));
        assert!(matches!(block_on(end_of(&store)), Fatal::WriterPanicked));
        assert_eq!(block_on(store.commit(put(3))), Err(CommitFailure::Stopped));
        store.close();
        let again = open(&TestDisk::holding(disk.volatile()));
        assert!(has(&again, 1) && !has(&again, 3));
    }
}

#[test]
fn a_power_loss_while_the_file_is_made_leaves_none_or_a_whole_one() {
    for nth in 1.. {
        for fate in [Fate::Lost, Fate::Reached, Fate::Torn(1), Fate::Torn(2), Fate::Torn(3)] {
            let disk = TestDisk::new();
            disk.plan(Operation::Sync, nth, Fault::PowerLoss(fate));
            match Store::on_disk(&disk, put(1)) {
                Err(OpenFailure::Storage(StorageFailure::Io(_))) => (),
                Err(other) => panic!("{nth} {fate:?}: {other:?}"),
                Ok(store) => {
                    assert!(nth > 2, "nothing was synced");
                    return store.close();
                }
            }
            // An unfinished file is refused or made again, or it was complete.
            if let Ok(again) = Store::on_disk(&TestDisk::holding(disk.durable()), put(1)) {
                assert!(has(&again, 1), "{nth} {fate:?}");
            }
        }
    }
}

#[test]
fn a_disk_that_is_none_of_ours_is_left_alone() {
    let strange = || TestDisk::with_data_file(b"a text of somebody else".repeat(1_000));
    let disk = strange();
    let refused = Store::on_disk(&disk, put(1));
    assert!(matches!(refused, Err(OpenFailure::NotOurs)), "{refused:?}");
    assert_eq!(disk.volatile(), strange().volatile());
}

#[test]
fn a_damaged_counter_fails_the_batch_and_is_not_written_back() {
    let (disk, key) = (TestDisk::new(), vec![1; 17]);
    let first = Change::new().put(Table::Counts, key.clone(), vec![1, 2, 3]);
    let store = Store::on_disk(&disk, first).unwrap();
    assert!(matches!(store.snapshot().unwrap().count(&key), Err(StorageFailure::Damaged(_))));
    let committed = block_on(store.commit(put(1).count(key.clone(), 1)));
    assert_eq!(committed, Err(CommitFailure::Stopped));
    assert!(matches!(block_on(end_of(&store)), Fatal::Storage(StorageFailure::Damaged(_))));
    store.close();
    let again = open(&disk);
    assert!(!has(&again, 1));
    let kept = again.snapshot().unwrap().value(Table::Counts, &key).unwrap();
    assert_eq!(kept, Some(vec![1, 2, 3]));
}

#[test]
fn an_impossible_change_is_refused_with_all_that_it_became_a_part_of() {
    let store = open(&TestDisk::new());
    let change = put(1).and(Change::impossible("a test")).and(put(2));
    assert_eq!(block_on(store.commit(change)), Err(CommitFailure::Impossible("a test")));
    let alone = block_on(store.commit(Change::impossible("alone")));
    assert_eq!(alone, Err(CommitFailure::Impossible("alone")));
    assert!(!has(&store, 1) && !has(&store, 2));
    assert_eq!(block_on(store.commit(put(3))), Ok(Verdict::Applied), "the store goes on");
}
