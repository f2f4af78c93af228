//! The disk fails at each operation in turn, from the creation of a vault to its recovery.

use crate::store::change::Change;
use crate::store::engine::Engine as _;
use crate::store::engine::RowChange;
use crate::store::engine::local::LocalEngine;
use crate::store::engine::local::file;
use crate::store::engine::local::tests::{change, contents, forget, of_storage, start};
use crate::store::engine::memory::Model;
use crate::store::failure::StorageFailure;
use crate::store::opening;
use crate::store::tables::Table;
use crate::store::tests::disk::{EIO, ENOSPC, EROFS, Fate, Fault, Operation, TestDisk};
use crate::store::volume::Volume as _;
use crate::waiting::thorough;

#[derive(Debug, Default, Clone)]
struct AnsweredBatch {
    model: Model,
    sequence: u64,
    open: Option<Vec<RowChange>>,
}

/// Starts the engine. A disk without a vault gets one.
fn open(disk: &TestDisk) -> Result<LocalEngine, StorageFailure> {
    if disk.open(file::NAME)?.is_none() {
        opening::create(disk, Change::new()).map_err(of_storage)?;
    }
    start(disk)
}

impl AnsweredBatch {
    fn batch(&mut self, engine: &LocalEngine, len: usize) -> Result<(), StorageFailure> {
        let byte = u8::try_from(self.sequence % 251).unwrap();
        let row = |table, key: Vec<u8>, value| RowChange { table, key, value };
        let rows = vec![
            row(Table::TokenLists, vec![byte % 4; 17], Some(vec![byte; 20])),
            row(Table::TokenNames, vec![byte % 6; 17], Some(vec![byte]).filter(|_| byte % 2 == 0)),
            row(Table::Tokens, vec![byte % 5], Some(vec![byte; len])),
        ];
        self.open = Some(rows.clone());
        engine.apply(&mut |_| Ok(rows.clone()))?;
        change(&mut self.model, &rows);
        self.sequence += 1;
        self.open = None;
        Ok(())
    }

    /// A vault's life: batches, segment changes, merges, a forgotten log, a close, a clean start, a
    /// kill and a recovery.
    fn live(&mut self, disk: &TestDisk) -> Result<(), StorageFailure> {
        let engine = open(disk)?;
        for turn in 0..3 {
            for len in [100, 3_000, 2_500, 4_000] {
                self.batch(&engine, len)?;
            }
            engine.shared.note_end()?;
            engine.merge_turn(turn)?;
        }
        self.batch(&engine, 700)?;
        forget(&engine)?;
        self.batch(&engine, 800)?;
        assert!(engine.health().log_bytes > 0 && engine.shared.log().end().segment > 3);
        self.batch(&engine, 10)?;
        engine.close()?;
        drop(engine);
        let engine = open(disk)?;
        self.batch(&engine, 5_000)?;
        self.batch(&engine, 5_000)?;
        drop(engine);
        let engine = open(disk)?;
        self.batch(&engine, 5_000)?;
        engine.merge_turn(3)
    }

    /// The vault has every answered batch, and the unanswered one completely or not at all. Later
    /// work survives the next power loss.
    #[track_caller]
    fn check(mut self, disk: &TestDisk, case: &str) {
        let engine = open(disk).unwrap_or_else(|failure| panic!("{case}: {failure:?}"));
        let snapshot = engine.snapshot().unwrap();
        let sequence = snapshot.moment().unwrap().sequence;
        if let Some(rows) = self.open.take()
            && sequence == self.sequence + 1
        {
            change(&mut self.model, &rows);
            self.sequence = sequence;
        }
        assert_eq!(sequence, self.sequence, "{case}");
        assert_eq!(contents(snapshot.as_ref()), self.model, "{case}");
        drop(snapshot);
        self.batch(&engine, 100).unwrap();
        disk.lose_power(Fate::Lost);
        drop(engine);
        disk.restart();
        let engine = open(disk).unwrap_or_else(|failure| panic!("{case}, later: {failure:?}"));
        let snapshot = engine.snapshot().unwrap();
        assert_eq!(snapshot.moment().unwrap().sequence, self.sequence, "{case}, later");
        assert_eq!(contents(snapshot.as_ref()), self.model, "{case}, later");
    }
}

/// Injects the fault at every `step`-th operation. Returns the number of operations.
#[track_caller]
fn check(operation: Operation, fault: impl Fn(u64) -> Fault, step: u64) -> u64 {
    let step = step * thorough(5, 1);
    let mut nth = 1;
    loop {
        let disk = TestDisk::new();
        let fault = fault(nth);
        disk.plan(operation, usize::try_from(nth).unwrap(), fault);
        let mut told = AnsweredBatch::default();
        let is_done = told.live(&disk).is_ok();
        let count = u64::try_from(disk.count(operation)).unwrap();
        if is_done && count < nth {
            return count;
        }
        let case = format!("{fault:?} at {operation:?} {nth}");
        // The files after a loss of power, and the files that the next process reads without one.
        told.clone().check(&TestDisk::holding(disk.durable()), &case);
        disk.restart();
        told.check(&disk, &format!("{case}, same disk"));
        nth += step;
    }
}

#[test]
fn power_is_lost_at_each_sync() {
    for fate in [|_| Fate::Lost, |_| Fate::Reached, Fate::Torn, |nth| Fate::Torn(nth + 1_000)] {
        assert!(check(Operation::Sync, |nth| Fault::PowerLoss(fate(nth)), 1) > 40);
    }
}

#[test]
fn power_is_lost_at_each_write() {
    for fate in [|_| Fate::Lost, |_| Fate::Reached, Fate::Torn] {
        assert!(check(Operation::Write, |nth| Fault::PowerLoss(fate(nth)), 1) > 100);
    }
}

#[test]
fn each_sync_fails() {
    for fault in [Fault::Once(EIO), Fault::Always(EIO)] {
        assert!(check(Operation::Sync, |_| fault, 1) > 40);
    }
}

#[test]
fn each_write_fails() {
    assert!(check(Operation::Write, |_| Fault::Once(ENOSPC), 1) > 100);
    // The error kinds differ only in their text, which other tests check.
    let once = [EIO, EROFS].map(Fault::Once);
    let always = [EIO, ENOSPC, EROFS].map(Fault::Always);
    for fault in once.into_iter().chain(always) {
        assert!(check(Operation::Write, |_| fault, 7) > 100);
    }
}
