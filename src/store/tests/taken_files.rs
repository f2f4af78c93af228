//! Files that are removed from an open store: no batch is answered after that, and rows that were
//! answered before are not lost with the log.

use std::fs;

use rustix::fs::Mode;

use crate::clock::Clock;
use crate::crypto::MasterKey;
use crate::secret::Secret;
use crate::store::meta::{self, Restoration};
use crate::store::tests::disk::{Fault, Operation, TestDisk};
use crate::store::tests::{TestDirectory, block_on, end_of, has, put};
use crate::store::timeline::begin_on;
use crate::store::{
    Change, CommitFailure, CvcKeys, Fatal, OpenFailure, StorageFailure, Store, begin_timeline,
};

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

/// Opening a named pipe waits for a process at its other end.
#[test]
fn a_named_pipe_in_place_of_a_file_is_refused_without_waiting() {
    let directory = TestDirectory::new();
    let store = Store::create(directory.path(), &Clock::new(), put(1)).unwrap();
    block_on(store.commit(put(2))).unwrap();
    drop(CvcKeys::open(directory.path()).unwrap());
    store.close();
    let names = directory.names();
    assert!(names.len() >= 4, "{names:?}");
    for name in names {
        let (path, away) = (directory.join(&name), directory.join("away"));
        fs::rename(&path, &away).unwrap();
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
        let is_keys = name == CvcKeys::FILE;
        let open = Store::open(directory.path(), &Clock::new()).map(Store::close).is_err();
        let unwritten = Store::open_unwritten(directory.path(), &Clock::new());
        let unwritten = unwritten.map(|it| it.0.close()).is_err();
        assert_eq!((open, unwritten), (!is_keys, !is_keys), "{name}");
        assert_eq!(CvcKeys::open(directory.path()).is_err(), is_keys);
        assert_eq!(CvcKeys::open_unwritten(directory.path()).is_err(), is_keys);
        fs::rename(&away, &path).unwrap();
    }
    assert!(has(&Store::open(directory.path(), &Clock::new()).unwrap(), 2));
}

/// Closing the log notes its end. A new timeline continues without the missing batches.
#[test]
fn batches_that_are_gone_from_the_end_of_the_log_are_missed_until_a_new_timeline_begins() {
    let [live, copy] = [(); 2].map(|()| TestDirectory::new());
    let master = MasterKey::parse(&Secret::new(b"42".repeat(32))).unwrap();
    let first = meta::put_master_check(put(1), master.check());
    let store = Store::create(live.path(), &Clock::new(), first).unwrap();
    block_on(store.commit(put(2))).unwrap();
    for name in live.names() {
        fs::copy(live.join(&name), copy.join(&name)).unwrap();
    }
    block_on(store.commit(put(3))).unwrap();
    store.close();
    let end = "strongroom.log.end";
    fs::copy(live.join(end), copy.join(end)).unwrap();
    let before = copy.contents();
    let refused = Store::open_unwritten(copy.path(), &Clock::new()).err();
    let Some(OpenFailure::Storage(StorageFailure::Log(what, advice))) = refused else {
        panic!("{refused:?}")
    };
    assert!(what.contains("batch 1, but batch 2 was durable"), "{what}");
    assert!(advice.contains("new-timeline"), "{advice}");
    assert!(copy.contents() == before);
    assert!(Store::open(copy.path(), &Clock::new()).is_err());
    let clock = Clock::new();
    let by = Restoration { at: clock.now(), by: None };
    let begin_with = |keys: &[MasterKey]| begin_timeline(copy.path(), None, keys, (&clock, &by));
    assert!(begin_with(&[]).is_err(), "it needs the master key");
    assert!(Store::open(copy.path(), &Clock::new()).is_err(), "and nothing is accepted without it");
    let begun = begin_with(&[master]).unwrap();
    assert_eq!((begun.sequence, begun.lost), (1, Some(2)));
    let store = Store::open(copy.path(), &Clock::new()).unwrap();
    assert!(has(&store, 2) && !has(&store, 3));
    store.close();
}

/// After a new timeline is interrupted at any write, it has begun, or the batches are still missed.
#[test]
fn batches_that_are_gone_are_missed_after_a_new_timeline_was_cut_off() {
    let master = MasterKey::parse(&Secret::new(b"42".repeat(32))).unwrap();
    let live = TestDisk::new();
    let store = Store::on_disk(&live, meta::put_master_check(put(1), master.check())).unwrap();
    block_on(store.commit(put(2))).unwrap();
    let mut image = live.durable();
    block_on(store.commit(put(3))).unwrap();
    store.close();
    let end = "strongroom.log.end";
    image.insert(String::from(end), live.durable().remove(end).unwrap());
    let (clock, keys) = (Clock::new(), [master]);
    let by = Restoration { at: clock.now(), by: None };
    let start_timeline = |disk: &TestDisk| begin_on(&disk.volume(), None, &keys, (&clock, &by));
    let foreign = TestDisk::new();
    Store::on_disk(&foreign, put(1)).unwrap().close();
    let mut other = image.clone();
    other.insert(String::from(end), foreign.durable().remove(end).unwrap());
    let disk = TestDisk::holding(other.clone());
    assert!(
        start_timeline(&disk).is_err() && disk.volatile()[end] == other[end],
        "of another vault"
    );
    let (mut nth, mut refused, mut is_cut_off) = (1, 0, true);
    while is_cut_off {
        let disk = TestDisk::holding(image.clone());
        disk.plan(Operation::Write, nth, Fault::Kill);
        let begun = start_timeline(&disk);
        is_cut_off = disk.is_off();
        disk.restart();
        match Store::on_disk(&disk, Change::new()) {
            Ok(store) => {
                let restored = meta::restoration(&store.snapshot().unwrap()).unwrap();
                assert!(restored.is_some(), "{nth}: {begun:?}, and the batches are not missed");
                assert!(has(&store, 2) && !has(&store, 3), "{nth}");
            }
            Err(OpenFailure::Storage(StorageFailure::Log(what, _))) => {
                assert!(begun.is_err() && what.contains("but batch 2 was durable"), "{what}");
                assert_eq!(start_timeline(&disk).unwrap().lost, Some(2), "{nth}");
                refused += 1;
            }
            Err(failure) => panic!("{nth}: {failure:?}"),
        }
        nth += 1 + nth / 8;
    }
    assert!(refused > 2, "{refused} of {nth}");
}
