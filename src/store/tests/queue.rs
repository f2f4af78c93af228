//! The writer's queue: its bound, and the changes of clients that disconnect.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::bounds::{
    BATCH_BYTES_MAX, BATCH_CHANGES_MAX, BATCH_WRITES_MAX, CHANGE_BYTES_MAX, FRAME_BYTES_MAX,
    QUEUE_BYTES_FREE, QUEUE_BYTES_MAX, QUEUE_CHANGES_MAX, WRITE_BYTES,
};
use crate::clock::Clock;
use crate::domain::time::Timestamp;
use crate::metrics::{Checks, Observe as _};
use crate::store::alarm::Alarm;
use crate::store::batch::Batch;
use crate::store::change::SealedEntries;
use crate::store::engine::Engine as _;
use crate::store::engine::local::log::frame;
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

/// A row of this tenant with this number of bytes, as the bounds count them.
fn row(tenant: u8, number: u8, bytes: usize) -> Change {
    let key = [[tenant; 16], [number; 16]].concat();
    let value = vec![number; bytes - WRITE_BYTES - key.len()];
    Change::new().put(Table::Tokens, key, value)
}

fn is_taken(store: &Store, change: Change) -> bool {
    match hand_over(store, change) {
        Poll::Pending => true,
        Poll::Ready(answer) => {
            assert_eq!(answer, Err(CommitFailure::QueueFull));
            false
        }
    }
}

#[test]
fn large_changes_that_queue_together_are_committed_in_several_batches() {
    let disk = TestDisk::new();
    let (store, mut writer) = open_stepped(&disk, &Clock::new(), Change::new).unwrap();
    let large = BATCH_BYTES_MAX / 2;
    for number in 1..=5 {
        assert!(is_taken(&store, row(1, number, large)));
    }
    for number in 6..=99 {
        assert!(is_taken(&store, row(1, number, 1_000)));
    }
    let written = |store: &Store| store.snapshot().unwrap().len(Table::Tokens).unwrap();
    let after_each = std::iter::from_fn(|| writer.step().then(|| written(&store)));
    assert_eq!(after_each.collect::<Vec<_>>(), [2, 4, 99]);
}

#[test]
fn a_change_that_is_too_large_is_refused_and_the_largest_is_read_again() {
    let disk = TestDisk::new();
    let store = open(&disk);
    let refused = block_on(store.commit(row(1, 1, CHANGE_BYTES_MAX + 1)));
    assert_eq!(refused, Err(CommitFailure::TooLarge));
    assert_eq!(block_on(store.commit(row(1, 2, CHANGE_BYTES_MAX))), Ok(Verdict::Applied));
    drop(store);
    let again = open(&TestDisk::holding(disk.durable()));
    assert_eq!(again.snapshot().unwrap().len(Table::Tokens).unwrap(), 1);
}

#[test]
fn queued_bytes_have_shares_by_tenant() {
    let (disk, store) = stuck();
    let part = QUEUE_BYTES_MAX / 8;
    let fill = |tenant| (0..9).take_while(|it| is_taken(&store, row(tenant, *it, part))).count();
    assert_eq!([fill(1), fill(2), fill(3)], [4, 2, 1]);
    assert!(is_taken(&store, row(1, 10, QUEUE_BYTES_FREE)), "small changes take nothing");
    assert!(!is_taken(&store, row(1, 11, QUEUE_BYTES_FREE + 1)));
    let of_vault = row(1, 12, QUEUE_BYTES_FREE + 1).passing_over_closed();
    assert!(is_taken(&store, of_vault), "the vault's own changes are not those of a tenant");
    disk.release();
    assert_eq!(block_on(store.commit(put(1))), Ok(Verdict::Applied));
    assert_eq!(store.snapshot().unwrap().len(Table::Tokens).unwrap(), 2 + 7 + 2);
    store.clone().close();
    assert_eq!(store.0.queued_bytes.taken(), 0);
}

/// Many small writes, for which the bytes beside keys and values matter most.
#[test]
fn a_frame_is_no_longer_than_the_bytes_that_are_counted_for_its_changes() {
    let count = 1_000_u16;
    let all = (0..count).fold(Change::new(), |change, number| {
        let key = number.to_be_bytes().to_vec();
        let (scope, at) = ([1; 16], Timestamp::from_seconds(1));
        let entries = SealedEntries { scope, at, count: 1, sealed: vec![7] };
        let change = change.count(key.clone(), 1).audit(entries);
        change.put(Table::Tokens, key.clone(), vec![7]).delete(Table::Sessions, key)
    });
    let counted = all.bytes();
    let engine = MemoryEngine::default();
    let newest = engine.snapshot().unwrap();
    let mut batch = Batch::new(newest.as_ref(), None);
    assert_eq!(batch.take(all).unwrap(), Verdict::Applied);
    let (rows, mut frame) = (batch.rows().unwrap(), Vec::new());
    frame::encode(1, Timestamp::from_seconds(1), &rows, &mut frame).unwrap();
    assert!(rows.len() > 4_000 && frame.len() <= counted, "{} {counted}", frame.len());
}

#[test]
fn the_log_writes_no_frame_that_readers_refuse() {
    let mut bytes = vec![0; frame::padded(FRAME_BYTES_MAX)];
    assert_eq!(frame::check_length(&bytes), Ok(()));
    bytes.push(0);
    assert_eq!(frame::check_length(&bytes), Err(frame::TooLarge));
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
