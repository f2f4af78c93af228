//! The writer's queue: its bound, and the changes of clients that disconnect.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::bounds::{BATCH_CHANGES_MAX, BATCH_WRITES_MAX, QUEUE_CHANGES_MAX};
use crate::clock::Clock;
use crate::metrics::{Checks, Observe as _};
use crate::store::alarm::Alarm;
use crate::store::engine::Engine as _;
use crate::store::engine::memory::MemoryEngine;
use crate::store::tests::disk::{EIO, Fault, Operation, TestDisk};
use crate::store::tests::stepped::open_stepped;
use crate::store::tests::{block_on, end_of, has, open, put};
use crate::store::{Change, CommitFailure, Store, Table, Verdict};

/// Submits a change without waiting for its answer, as a client that then disconnects.
fn hand_over(store: &Store, change: Change) -> Poll<Result<Verdict, CommitFailure>> {
    let commit = pin!(store.commit(change));
    commit.poll(&mut Context::from_waker(Waker::noop()))
}

/// A store whose writer is stuck in a commit until the disk is released.
fn stuck() -> (TestDisk, Store) {
    let disk = TestDisk::new();
    let store = open(&disk);
    disk.plan(Operation::Sync, 1, Fault::Block);
    let begun = disk.count(Operation::Sync);
    assert!(hand_over(&store, put(0)).is_pending());
    disk.wait_for(Operation::Sync, begun + 1);
    (disk, store)
}

#[test]
fn a_full_queue_refuses_at_once_and_loses_nothing_of_what_it_took() {
    let (disk, store) = stuck();
    let count = |by| Change::new().count(b"n".to_vec(), by);
    for _ in 0..QUEUE_CHANGES_MAX {
        assert!(hand_over(&store, count(1)).is_pending());
    }
    assert_eq!(hand_over(&store, count(1_000_000)), Poll::Ready(Err(CommitFailure::QueueFull)));
    disk.release();
    let mut behind = std::iter::repeat_with(|| block_on(store.commit(count(0))));
    let taken = |answer: &Result<Verdict, CommitFailure>| *answer != Err(CommitFailure::QueueFull);
    assert_eq!(behind.find(taken), Some(Ok(Verdict::Applied)));
    let counted = store.snapshot().unwrap().count(b"n").unwrap();
    assert_eq!(counted, i64::try_from(QUEUE_CHANGES_MAX).unwrap());
    assert!(has(&store, 0));
}

#[test]
fn a_commit_whose_waiter_left_is_made_all_the_same() {
    let (disk, store) = stuck();
    assert!(hand_over(&store, put(1)).is_pending());
    disk.release();
    assert_eq!(block_on(store.commit(put(2))), Ok(Verdict::Applied));
    assert!(has(&store, 0) && has(&store, 1) && has(&store, 2));
}

#[test]
fn what_queues_behind_a_commit_is_committed_together() {
    let (disk, store) = stuck();
    for key in 1..100 {
        assert!(hand_over(&store, put(key)).is_pending());
    }
    let before = disk.count(Operation::Sync);
    disk.release();
    assert_eq!(block_on(store.commit(put(100))), Ok(Verdict::Applied));
    let syncs = disk.count(Operation::Sync) - before;
    assert!(100 < BATCH_CHANGES_MAX && syncs <= 6, "{syncs} syncs for 100 changes");
    assert!((0..=100).all(|key| has(&store, key)));
}

#[test]
fn a_batch_of_a_shared_store_has_a_bounded_number_of_writes() {
    let engine = Arc::new(MemoryEngine::shared());
    let store = Store::open_engine(Arc::<MemoryEngine>::clone(&engine), Alarm::default()).unwrap();
    let large = || {
        let writes = (0..BATCH_WRITES_MAX / 2).map(|_| Change::new().count(b"n".to_vec(), 1));
        writes.fold(Change::new(), Change::and)
    };
    let changes = 40;
    let before = engine.health().sequence;
    for _ in 1..changes {
        // The writer may be as fast as this loop.
        let written = hand_over(&store, large());
        assert!(matches!(written, Poll::Pending | Poll::Ready(Ok(Verdict::Applied))));
    }
    assert_eq!(block_on(store.commit(large())), Ok(Verdict::Applied));
    let batches = engine.health().sequence - before;
    assert!(batches >= changes / 2, "{batches} batches");
    let counted = store.snapshot().unwrap().count(b"n").unwrap();
    assert_eq!(counted, i64::try_from(BATCH_WRITES_MAX / 2).unwrap() * 40);
}

/// An entry of the audit chain under a key that is to be destroyed may be in that batch.
#[test]
fn the_writer_is_reached_when_the_batch_before_is_written() {
    let disk = TestDisk::new();
    let (store, mut writer) = open_stepped(&disk, &Clock::new(), Change::new).unwrap();
    assert!(hand_over(&store, put(1)).is_pending());
    let mut reached = pin!(store.reach_writer());
    assert!(reached.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    disk.plan(Operation::Sync, 1, Fault::Always(EIO));
    assert!(writer.step());
    drop(writer);
    assert_eq!(block_on(reached), Err(CommitFailure::Stopped), "that batch was not written");
}

#[test]
fn closing_writes_what_has_queued() {
    let (disk, store) = stuck();
    assert!(hand_over(&store, put(1)).is_pending());
    std::thread::scope(|scope| {
        scope.spawn(|| store.clone().close());
        disk.release();
    });
    assert_eq!(hand_over(&store, put(2)), Poll::Ready(Err(CommitFailure::Stopped)));
    let again = open(&TestDisk::holding(disk.durable()));
    assert!(has(&again, 0) && has(&again, 1) && !has(&again, 2));
}

#[test]
fn a_change_of_access_is_counted_before_it_is_answered() {
    let store = open(&TestDisk::new());
    let before = store.access_generation();
    block_on(store.commit(put(1))).unwrap();
    assert_eq!(store.access_generation(), before, "a token concerns nobody's access");
    let key = || vec![1; 16];
    for (at, table) in (1..).zip([Table::ApiKeys, Table::Applications, Table::Tenants]) {
        block_on(store.commit(Change::new().put(table, key(), vec![1; 40]))).unwrap();
        assert_eq!(store.access_generation(), before + at);
    }
    let refused = Change::new().expect_absent(Table::Tenants, key()).delete(Table::Tenants, key());
    assert_eq!(block_on(store.commit(refused)), Ok(Verdict::Refused));
    assert_eq!(store.access_generation(), before + 3, "what was refused changed nothing");
}

#[test]
fn a_file_that_failed_is_told_by_the_checks() {
    let is_right = |store: &Store| {
        let mut checks = Checks::default();
        store.check(&mut checks);
        checks.are_right()
    };
    let disk = TestDisk::new();
    let store = open(&disk);
    block_on(store.commit(put(1))).unwrap();
    assert!(is_right(&store));
    disk.plan(Operation::Write, 1, Fault::Always(EIO));
    assert_eq!(block_on(store.commit(put(2))), Err(CommitFailure::Stopped));
    block_on(end_of(&store));
    assert!(!is_right(&store));
}

/// A request looks for a row, and decides that there is none, while the row is being written.
#[test]
fn a_row_that_came_after_the_look_is_found_in_memory_and_after_a_merge_on_the_disk() {
    let store = open(&TestDisk::new());
    let base = store.snapshot().unwrap().base();
    let new = |key| put(key).expect_new(Table::Tokens, vec![key], base);
    assert_eq!(block_on(store.commit(new(1))), Ok(Verdict::Applied));
    assert_eq!(block_on(store.commit(new(1))), Ok(Verdict::Refused), "it is in memory");
    store.merge_now(0).unwrap();
    assert_ne!(store.snapshot().unwrap().base(), base);
    assert_eq!(block_on(store.commit(new(1))), Ok(Verdict::Refused), "it is on the disk");
    assert_eq!(block_on(store.commit(new(2))), Ok(Verdict::Applied));
}
