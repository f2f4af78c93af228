//! Random work, crashes and restarts against a model.
//!
//! Each seed is one vault: rounds of batches, reads, held snapshots, merges and closes, each ended
//! by a crash. After each restart every answered batch is there, an unanswered one is there
//! completely or not at all, and the sequence numbers continue.
//!
//! A failure names its seed. To repeat that seed alone:
//! `STRONGROOM_MODEL_SEED=17 cargo test --lib engine::local::tests::model`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::store::engine::local::LocalEngine;
use crate::store::engine::local::tests::{SMALL, TABLES, change, contents, prepared, start};
use crate::store::engine::memory::Model;
use crate::store::engine::{Engine as _, Order, Read, RowChange};
use crate::store::failure::StorageFailure;
use crate::store::tables::{KeyRange, Table};
use crate::store::tests::disk::{Dice, EIO, Fate, Fault, Operation, TestDisk};
use crate::waiting::thorough;

const CRASHES_PER_SEED: u64 = 32;
const THREADS: usize = 4;
const ONLY: Option<&str> = option_env!("STRONGROOM_MODEL_SEED");

#[test]
fn nothing_that_was_answered_is_lost_over_many_crashes() {
    if let Some(only) = ONLY {
        Driver::new(only.parse().unwrap()).run();
        return;
    }
    let seeds = thorough(40, 320);
    let (next, crashes, segments) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    let mut driver = Driver::new(seed);
                    if catch_unwind(AssertUnwindSafe(|| driver.run())).is_err() {
                        next.store(seeds, Ordering::Relaxed);
                        panic!("repeat it with STRONGROOM_MODEL_SEED={seed}");
                    }
                    crashes.fetch_add(driver.crashes, Ordering::Relaxed);
                    segments.fetch_add(driver.segment, Ordering::Relaxed);
                }
            });
        }
    });
    let (crashes, segments) = (crashes.into_inner(), segments.into_inner());
    assert!(crashes >= seeds * (CRASHES_PER_SEED - 1), "{crashes} crashes");
    assert!(segments > crashes / 4, "{segments} segments");
}

/// A snapshot, and the rows that it must show as long as it is held.
type Held = (Arc<dyn Read>, Model);

struct Driver {
    dice: Dice,
    disk: TestDisk,
    model: Model,
    sequence: u64,
    /// The unanswered batch, if the crash came during one.
    open: Option<Vec<RowChange>>,
    held: Vec<Held>,
    crashes: u64,
    segment: u64,
    turn: usize,
}

impl Driver {
    fn new(seed: u64) -> Self {
        Self {
            // Mixes the seed, so that neighbouring seeds do not give the same sequence.
            dice: Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d)),
            disk: TestDisk::holding(prepared().clone()),
            model: Model::new(),
            sequence: 0,
            open: None,
            held: Vec::new(),
            crashes: 0,
            segment: 0,
            turn: 0,
        }
    }

    fn run(&mut self) {
        while self.crashes < CRASHES_PER_SEED {
            let engine = self.restart();
            self.check_restarted(&engine);
            self.plan(40);
            let ended = self.work(&engine);
            if let Err(failure) = ended {
                assert!(is_of_disk(&failure), "{failure:?}");
            }
            self.crash(engine);
        }
        let engine = self.restart();
        self.check_restarted(&engine);
    }

    /// A fault at one of the next operations, mostly a power loss.
    fn plan(&mut self, operations: u64) {
        let nth = usize::try_from(self.dice.roll(operations)).unwrap() + 1;
        let (write, sync) = (Operation::Write, Operation::Sync);
        let (operation, fault) = match self.dice.roll(16) {
            0 => (sync, Fault::Once(EIO)),
            1 => (write, Fault::Once(EIO)),
            2 => (write, Fault::Kill),
            3 => (sync, Fault::Kill),
            4..=8 => (write, Fault::PowerLoss(self.fate())),
            _ => (sync, Fault::PowerLoss(self.fate())),
        };
        self.disk.plan(operation, nth, fault);
    }

    fn fate(&mut self) -> Fate {
        match self.dice.roll(4) {
            0 => Fate::Lost,
            1 => Fate::Reached,
            _ => Fate::Torn(self.dice.roll(u64::MAX)),
        }
    }

    fn lose_power(&mut self) {
        let fate = self.fate();
        self.disk.lose_power(fate);
    }

    /// Kills the process, if the disk has not. The power may fail too.
    fn crash(&mut self, engine: LocalEngine) {
        self.held.clear();
        self.disk.kill();
        drop(engine);
        self.end_crash();
    }

    fn end_crash(&mut self) {
        self.crashes += 1;
        if self.dice.roll(2) == 0 {
            self.lose_power();
        }
        self.disk.restart();
    }

    /// Starts the engine, in some rounds after crashes during recovery.
    fn restart(&mut self) -> LocalEngine {
        for _ in 0..self.dice.roll(3) {
            self.plan(8);
            match start(&self.disk) {
                Ok(engine) => {
                    // The recovery has succeeded; this crash tests the durability of its writes.
                    self.observe(&engine);
                    self.crash(engine);
                }
                Err(failure) => {
                    assert!(is_of_disk(&failure), "{failure:?}");
                    self.end_crash();
                }
            }
        }
        start(&self.disk).unwrap_or_else(|failure| panic!("{failure:?}"))
    }

    /// Rows that a started engine has shown stay unchanged, also after another crash.
    fn observe(&mut self, engine: &LocalEngine) {
        let sequence = engine.snapshot().unwrap().moment().unwrap().sequence;
        let open = self.open.take();
        if sequence == self.sequence + 1
            && let Some(rows) = open
        {
            change(&mut self.model, &rows);
            self.sequence = sequence;
        }
        assert_eq!(sequence, self.sequence);
    }

    fn check_restarted(&mut self, engine: &LocalEngine) {
        self.observe(engine);
        assert!(contents(engine.snapshot().unwrap().as_ref()) == self.model, "rows are wrong");
    }

    fn work(&mut self, engine: &LocalEngine) -> Result<(), StorageFailure> {
        for _ in 0..self.dice.roll(30) {
            match self.dice.roll(24) {
                0..=11 => self.batch(engine)?,
                12..=14 => {
                    self.turn = usize::try_from(self.dice.roll(4)).unwrap();
                    engine.merge_turn(self.turn)?;
                }
                15 if self.dice.roll(4) == 0 => {
                    self.held.clear();
                    engine.close()?;
                }
                16..=18 => self.held.push((engine.snapshot()?, self.model.clone())),
                19 => drop(self.held.pop()),
                20 => self.held.clear(),
                _ => self.read(engine)?,
            }
            self.segment = self.segment.max(engine.shared.log().end().segment);
        }
        for (view, model) in &self.held {
            assert!(contents(view.as_ref()) == *model, "a snapshot has moved");
        }
        Ok(())
    }

    fn batch(&mut self, engine: &LocalEngine) -> Result<(), StorageFailure> {
        let rows: Vec<_> = (0..=self.dice.roll(5)).map(|_| self.row()).collect();
        self.open = Some(rows.clone());
        let before = self.sequence;
        engine.apply(&mut |newest| {
            assert_eq!(newest.moment().unwrap().sequence, before);
            Ok(rows.clone())
        })?;
        self.open = None;
        change(&mut self.model, &rows);
        self.sequence += 1;
        Ok(())
    }

    fn row(&mut self) -> RowChange {
        let (table, key) = self.key();
        let len = match self.dice.roll(40) {
            0 => SMALL.segment_bytes * 3 / 2,
            1..=3 => 2_000,
            _ => self.dice.roll(200),
        };
        let byte = u8::try_from(self.dice.roll(256)).unwrap();
        let value = vec![byte; usize::try_from(len).unwrap()];
        RowChange { table, key, value: Some(value).filter(|_| self.dice.roll(4) > 0) }
    }

    fn key(&mut self) -> (Table, Vec<u8>) {
        let at = usize::try_from(self.dice.roll(4)).unwrap();
        let byte = u8::try_from(self.dice.roll(12)).unwrap();
        // This byte selects the slice.
        (TABLES[at], [vec![7; [0, 16, 16, 24][at]], vec![byte]].concat())
    }

    /// Reads the newest rows and those of a held snapshot.
    fn read(&mut self, engine: &LocalEngine) -> Result<(), StorageFailure> {
        let newest = (engine.snapshot()?, self.model.clone());
        let at = usize::try_from(self.dice.roll(8)).unwrap();
        for at in [None, Some(at)] {
            let (table, key) = self.key();
            let order = if self.dice.roll(2) == 0 { Order::Ascending } else { Order::Descending };
            let count_max = usize::try_from(self.dice.roll(8)).unwrap() + 1;
            let (view, model) = at.and_then(|at| self.held.get(at)).unwrap_or(&newest);
            assert_eq!(view.get(table, &key)?.as_ref(), model.get(&(table, key.clone())));
            let range = table.whole().starting_at(&key);
            let page = view.page(&range, order, count_max)?;
            let mut expected = rows_of(model, &range);
            if order == Order::Descending {
                expected.reverse();
            }
            assert!(!page.is_last || page.rows.len() == expected.len());
            assert!(page.is_last || page.rows.len() == count_max);
            expected.truncate(count_max);
            assert!(page.rows == expected, "{range:?} {order:?}");
        }
        Ok(())
    }
}

const fn is_of_disk(failure: &StorageFailure) -> bool {
    matches!(failure, StorageFailure::Io(_) | StorageFailure::Stopped)
}

fn rows_of(model: &Model, range: &KeyRange) -> Vec<(Vec<u8>, Vec<u8>)> {
    let rows = model.iter().filter(|((of, key), _)| *of == range.table() && range.contains(key));
    rows.map(|((_, key), value)| (key.clone(), value.clone())).collect()
}
