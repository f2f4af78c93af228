//! The scrub: a slow walk over the whole file, repeated while the server runs, which checks every
//! row ([`Check`]).
//!
//! In a file that was closed cleanly, a damaged page may hide records without any error, so only a
//! walk finds the damage. `strongroom verify` also compares counts and digests, but needs a stopped
//! vault. The scrub runs without an operator, costs a bounded number of look-ups per second, and
//! only reads.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::app::error::Error;
use crate::app::upkeep::Upkeep;
use crate::app::upkeep::check::{Check, checked_tables};
use crate::bounds::SCRUB_COST_MAX;
use crate::domain::time::Timestamp;
use crate::store::Table;

/// The progress of a pass, in memory only: after a restart, a new pass begins.
#[derive(Debug, Default)]
pub struct ScrubWalk {
    /// The number of completed tables.
    done: usize,
    from: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScrubProgress {
    /// The pass continues.
    Some,
    /// The pass is complete.
    Everything,
}

/// For metrics and `status`.
#[derive(Debug, Default)]
pub(in crate::app) struct ScrubWatch {
    rows: AtomicU64,
    passes: AtomicU64,
    /// The end of the last pass in microseconds; 0 before the first one.
    passed_at: AtomicI64,
}

impl ScrubWatch {
    pub(in crate::app) fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    pub(in crate::app) fn passes(&self) -> u64 {
        self.passes.load(Ordering::Relaxed)
    }

    pub(in crate::app) fn passed_at(&self) -> Option<Timestamp> {
        let micros = self.passed_at.load(Ordering::Relaxed);
        (micros != 0).then(|| Timestamp::from_micros(micros))
    }
}

impl Upkeep<'_> {
    /// Checks the next rows, at the cost allowed for one second. Only one task may call this, with
    /// the same walk each time. It reads the disk, so it must run on a thread that may block.
    pub fn scrub_some(self, walk: &mut ScrubWalk) -> Result<ScrubProgress, Error> {
        let snapshot = self.vault.snapshot()?;
        let mut check = Check::new(self.vault, snapshot.clone());
        let mut cost: usize = 0;
        while let Some(table) = checked_tables().nth(walk.done) {
            for row in snapshot.range(&table.whole().starting_at(&walk.from))? {
                let row = row?;
                if cost >= SCRUB_COST_MAX {
                    walk.from = row.0;
                    return Ok(ScrubProgress::Some);
                }
                cost = cost.saturating_add(cost_of(table));
                for damage in check.row(table, &row)? {
                    self.vault.damage.note(damage);
                }
                self.vault.scrubs.rows.fetch_add(1, Ordering::Relaxed);
            }
            walk.done = walk.done.saturating_add(1);
            walk.from.clear();
        }
        *walk = ScrubWalk::default();
        if let Some(damage) = check.code_keys() {
            self.vault.damage.note(damage);
        }
        self.vault.damage.end_pass();
        self.vault.scrubs.passes.fetch_add(1, Ordering::Relaxed);
        self.vault.scrubs.passed_at.store(self.vault.now().micros(), Ordering::Relaxed);
        Ok(ScrubProgress::Everything)
    }
}

/// The approximate number of look-ups for one row.
const fn cost_of(table: Table) -> usize {
    let is_entry =
        matches!(table, Table::Cvcs | Table::Expiries | Table::TokenLists | Table::TokenNames);
    if matches!(table, Table::Tokens) {
        16
    } else if is_entry {
        4
    } else {
        2
    }
}
