//! Decides when the merger thread works, and on which rows. The work itself is in
//! [`merge`](super::merge) and [`forget`](super::forget).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, PoisonError};
use std::time::{Duration, Instant};

use crate::bounds::{LOG_END_AFTER, MERGE_AFTER};
use crate::lock::Lock;
use crate::store::engine::local::parts::SLICES;
use crate::store::engine::{EngineHealth, Upkeep};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// Merge part 0 and this slice.
    Merge(usize),
    Forget,
    Free,
    /// Note the end of the log.
    Note,
}

/// Rows left in memory after a merge.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    pub(super) has_rows: bool,
    pub(super) is_large: bool,
}

/// Returns true if the turn of a slice also merges this part, with a layer of this age. Part 0 is
/// merged first in every turn.
pub(super) fn is_chosen(turn: usize, part: usize, age: Duration) -> bool {
    part > 0 && (part == turn.saturating_add(1) || age >= MERGE_AFTER)
}

/// The longest wait before a condition is checked again.
const WAIT: Duration = Duration::from_millis(50);
const WAIT_LONG: Duration = Duration::from_mins(1);

/// Holds the schedule and wakes the thread when it changes.
#[derive(Debug)]
pub(super) struct Merger {
    schedule: Lock<Schedule>,
    changed: Condvar,
    merges: AtomicU64,
    last_merge_micros: AtomicU64,
}

impl Merger {
    pub(super) fn new() -> Self {
        Self {
            schedule: Lock::new(Schedule::new()),
            changed: Condvar::new(),
            merges: AtomicU64::new(0),
            last_merge_micros: AtomicU64::new(0),
        }
    }

    pub(super) fn set_upkeep(&self, upkeep: Upkeep) {
        self.schedule.lock().upkeep = upkeep;
        self.changed.notify_all();
    }

    pub(super) fn stop(&self) {
        self.schedule.lock().is_stopping = true;
        self.changed.notify_all();
    }

    pub(super) fn health(&self) -> EngineHealth {
        EngineHealth {
            is_merging: self.schedule.lock().is_merging,
            merges: self.merges.load(Ordering::Relaxed),
            last_merge_micros: self.last_merge_micros.load(Ordering::Relaxed),
            ..EngineHealth::default()
        }
    }

    /// A batch has added rows. They are merged now if they are large, otherwise when they are due.
    pub(super) fn consider(&self, is_large: bool) {
        if self.schedule.lock().grow(Instant::now(), is_large) {
            self.changed.notify_all();
        }
    }

    /// Waits until the layers have room for another batch. Returns true if it had to wait. After a
    /// failure no merge comes: the batch then fails, or the process ends.
    pub(super) fn wait_for_room(
        &self,
        is_full: impl Fn() -> bool,
        has_failed: impl Fn() -> bool,
    ) -> bool {
        if !is_full() {
            return false;
        }
        let mut schedule = self.schedule.lock();
        while is_full() && !schedule.is_stopping && !has_failed() {
            schedule.is_asked = true;
            self.changed.notify_all();
            let waited = self.changed.wait_timeout(schedule, WAIT);
            schedule = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Returns true if the log can be forgotten now. Otherwise the merger does it later.
    pub(super) fn may_forget(&self) -> bool {
        let mut schedule = self.schedule.lock();
        let is_allowed = schedule.upkeep == Upkeep::Allowed;
        schedule.is_forgetting |= !is_allowed;
        is_allowed
    }

    /// Lets the merger forget the log when upkeep is allowed.
    pub(super) fn forget_later(&self) {
        self.schedule.lock().is_forgetting = true;
    }

    /// Lets the merger overwrite free segments that are to be forgotten.
    pub(super) fn free(&self) {
        self.schedule.lock().is_freeing = true;
        self.changed.notify_all();
    }

    /// Schedules another note of the log's end, after the usual time.
    pub(super) fn note_later(&self) {
        self.schedule.lock().note_later(Instant::now());
    }

    /// Waits for the next work; `None` when the merger stops.
    pub(super) fn next(&self) -> Option<Work> {
        let mut schedule = self.schedule.lock();
        loop {
            match schedule.next(Instant::now()) {
                Step::End => return None,
                Step::Work(work) => return Some(work),
                Step::Wait(time) => {
                    let waited = self.changed.wait_timeout(schedule, time);
                    schedule = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }

    pub(super) fn done(&self, begun: Instant, ended: Instant, left: Left) {
        let micros = ended.saturating_duration_since(begun).as_micros();
        self.last_merge_micros.store(u64::try_from(micros).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.merges.fetch_add(1, Ordering::Relaxed);
        self.schedule.lock().end_merge(ended, left);
        self.changed.notify_all();
    }

    #[cfg(test)]
    pub(super) fn has_note_due(&self) -> bool {
        self.schedule.lock().note_due.is_some()
    }

    /// The work that the thread would begin now, for a test without the thread. Notes are left out.
    #[cfg(test)]
    pub(super) fn due_work(&self, now: Instant) -> Option<Work> {
        let mut schedule = self.schedule.lock();
        schedule.note_due = None;
        match schedule.next(now) {
            Step::Work(work) => Some(work),
            Step::End | Step::Wait(_) => None,
        }
    }
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a request or a state of its own")]
struct Schedule {
    /// The time by which the rows in memory are merged; `None` without rows.
    due: Option<Instant>,
    /// The time by which the end of the log is noted; `None` without new batches.
    note_due: Option<Instant>,
    /// A merge is requested now.
    is_asked: bool,
    /// The log is to be forgotten when upkeep is allowed.
    is_forgetting: bool,
    /// The archive has released segments that are to be forgotten.
    is_freeing: bool,
    is_merging: bool,
    is_stopping: bool,
    upkeep: Upkeep,
    /// The next slice to merge.
    turn: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Work(Work),
    /// Wait for a change, at most this long.
    Wait(Duration),
    End,
}

impl Schedule {
    const fn new() -> Self {
        Self {
            due: None,
            note_due: None,
            is_asked: false,
            is_forgetting: false,
            is_freeing: false,
            is_merging: false,
            is_stopping: false,
            upkeep: Upkeep::Held,
            turn: 0,
        }
    }

    /// Rows were added. Returns true if the thread must check the schedule again.
    fn grow(&mut self, now: Instant, is_large: bool) -> bool {
        let is_new = self.due.is_none() || self.note_due.is_none();
        self.due = self.due.or_else(|| now.checked_add(MERGE_AFTER));
        self.note_later(now);
        let asks = is_large && !self.is_asked;
        self.is_asked |= is_large;
        asks || is_new
    }

    fn note_later(&mut self, now: Instant) {
        self.note_due = self.note_due.or_else(|| now.checked_add(LOG_END_AFTER));
    }

    /// The next step. Returned work is no longer scheduled.
    fn next(&mut self, now: Instant) -> Step {
        if self.is_stopping {
            return Step::End;
        }
        if std::mem::take(&mut self.is_freeing) {
            return Step::Work(Work::Free);
        }
        let is_allowed = self.upkeep == Upkeep::Allowed;
        if is_allowed && std::mem::take(&mut self.is_forgetting) {
            return Step::Work(Work::Forget);
        }
        let left =
            |due: Option<Instant>| due.map_or(WAIT_LONG, |due| due.saturating_duration_since(now));
        // A note overwrites existing bytes. It takes no space on most file systems, so it is never
        // held.
        let until_note = left(self.note_due);
        if until_note.is_zero() {
            self.note_due = None;
            return Step::Work(Work::Note);
        }
        let until_merge = left(self.due.filter(|_| is_allowed));
        if !self.is_asked && !until_merge.is_zero() {
            return Step::Wait(until_merge.min(until_note));
        }
        self.is_asked = false;
        self.due = None;
        self.is_merging = true;
        let turn = self.turn;
        self.turn = turn.saturating_add(1).rem_euclid(SLICES);
        Step::Work(Work::Merge(turn))
    }

    /// A merge has ended. Rows that came meanwhile keep their due time.
    fn end_merge(&mut self, now: Instant, left: Left) {
        self.is_merging = false;
        self.is_asked |= left.is_large;
        if left.has_rows && self.due.is_none() {
            self.due = now.checked_add(MERGE_AFTER);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const MERGE: Step = Step::Work(Work::Merge(0));
    const NONE_LEFT: Left = Left { has_rows: false, is_large: false };

    fn allowed() -> Schedule {
        Schedule { upkeep: Upkeep::Allowed, ..Schedule::new() }
    }

    #[test]
    fn rows_are_merged_at_once_if_they_are_large_and_otherwise_after_their_time() {
        let now = Instant::now();
        let mut schedule = allowed();
        assert_eq!(schedule.next(now), Step::Wait(WAIT_LONG), "no rows");
        assert!(schedule.grow(now, false), "the thread has to learn the time");
        let second = now + SECOND;
        assert!(!schedule.grow(second, false), "later rows do not move it");
        assert_eq!(schedule.next(second), Step::Wait(LOG_END_AFTER.saturating_sub(SECOND)));
        assert_eq!(schedule.next(now + LOG_END_AFTER), Step::Work(Work::Note));
        let left = MERGE_AFTER.saturating_sub(LOG_END_AFTER);
        assert_eq!(schedule.next(now + LOG_END_AFTER), Step::Wait(left), "it is noted once");
        assert_eq!(schedule.next(now + MERGE_AFTER), MERGE);
        assert!(schedule.is_merging);
        assert_eq!(schedule.next(now + MERGE_AFTER), Step::Wait(WAIT_LONG), "only once");
        let mut schedule = allowed();
        assert!(schedule.grow(now, false) && schedule.grow(now, true), "now they are large");
        assert!(!schedule.grow(now, true) && !schedule.grow(now, false), "it was asked for");
        assert_eq!(schedule.next(now), MERGE);
        assert!(schedule.grow(now, true));
    }

    #[test]
    fn while_upkeep_is_held_only_notes_merges_that_are_needed_now_and_the_freeing_begin() {
        let now = Instant::now();
        let mut schedule = Schedule { is_forgetting: true, ..Schedule::new() };
        schedule.grow(now, false);
        assert_eq!(schedule.next(now), Step::Wait(LOG_END_AFTER));
        assert_eq!(schedule.next(now + LOG_END_AFTER), Step::Work(Work::Note));
        assert_eq!(schedule.next(now + MERGE_AFTER), Step::Wait(WAIT_LONG));
        schedule.is_freeing = true;
        schedule.grow(now, true);
        assert_eq!(schedule.next(now), Step::Work(Work::Free));
        assert_eq!(schedule.next(now), MERGE);
        assert_eq!(schedule.next(now), Step::Wait(LOG_END_AFTER));
        schedule.upkeep = Upkeep::Allowed;
        assert_eq!(schedule.next(now), Step::Work(Work::Forget));
        assert_eq!(schedule.next(now), Step::Wait(LOG_END_AFTER), "all is done once");
        schedule.grow(now, true);
        schedule.is_stopping = true;
        assert_eq!(schedule.next(now), Step::End, "a stop comes before all work");
    }

    #[test]
    fn rows_that_a_merge_leaves_are_merged_after_their_time_or_at_once_if_they_are_large() {
        let before = Instant::now();
        let now = before + SECOND;
        let rows = Left { has_rows: true, is_large: false };
        let waits = Step::Wait(MERGE_AFTER);
        let later = Step::Wait(LOG_END_AFTER.saturating_sub(SECOND));
        let large = Left { has_rows: true, is_large: true };
        // With or without rows that came during the merge, a second ago.
        for (meanwhile, left, next) in [
            (false, NONE_LEFT, Step::Wait(WAIT_LONG)),
            (false, rows, waits),
            (true, rows, later),
            (false, large, MERGE),
        ] {
            let mut schedule = Schedule { is_merging: true, ..allowed() };
            if meanwhile {
                schedule.grow(before, false);
            }
            schedule.end_merge(now, left);
            assert!(!schedule.is_merging);
            assert_eq!(schedule.next(now), next, "{meanwhile} {left:?}");
        }
        // A merge that was requested meanwhile still comes.
        let mut schedule = Schedule { is_asked: true, ..allowed() };
        schedule.end_merge(now, rows);
        assert_eq!(schedule.next(now), MERGE);
    }

    #[test]
    fn the_slices_take_turns_and_an_old_layer_does_not_wait_for_its_turn() {
        let mut schedule = allowed();
        for turn in [0, 1, 2, 3, 0] {
            schedule.is_asked = true;
            assert_eq!(schedule.next(Instant::now()), Step::Work(Work::Merge(turn)));
        }
        let young = MERGE_AFTER.saturating_sub(Duration::from_millis(1));
        let chosen = |turn, age| (0..=SLICES).filter(move |part| is_chosen(turn, *part, age));
        for turn in 0..SLICES {
            assert!(chosen(turn, young).eq([turn + 1]), "{turn}");
            assert!(chosen(turn, MERGE_AFTER).eq([1, 2, 3, 4]), "{turn}");
        }
    }

    #[test]
    fn the_health_tells_of_the_merge_that_is_running_and_of_the_last_one() {
        let merger = Merger::new();
        let begun = Instant::now();
        assert_eq!(merger.health(), EngineHealth::default());
        merger.consider(true);
        assert_eq!(merger.next(), Some(Work::Merge(0)));
        assert!(merger.health().is_merging);
        merger.done(begun, begun + Duration::from_millis(7), NONE_LEFT);
        let health =
            EngineHealth { merges: 1, last_merge_micros: 7_000, ..EngineHealth::default() };
        assert_eq!(merger.health(), health);
        merger.stop();
        assert_eq!(merger.next(), None);
    }

    #[test]
    fn the_log_is_forgotten_later_if_upkeep_is_held() {
        let merger = Merger::new();
        let now = Instant::now();
        assert!(!merger.may_forget());
        assert_eq!(merger.due_work(now), None);
        merger.set_upkeep(Upkeep::Allowed);
        assert_eq!(merger.due_work(now), Some(Work::Forget));
        assert!(merger.may_forget(), "the caller does it");
        assert_eq!(merger.due_work(now), None, "so the merger does not");
        merger.forget_later();
        assert!(merger.may_forget());
        assert_eq!(merger.due_work(now), Some(Work::Forget), "an older request stays");
        merger.free();
        assert_eq!(merger.due_work(now), Some(Work::Free));
    }

    #[test]
    fn a_batch_without_room_asks_for_a_merge_and_waits_until_there_is_room_or_no_hope_of_it() {
        let merger = Merger::new();
        assert!(!merger.wait_for_room(|| false, || false), "it did not have to wait");
        assert_eq!(merger.due_work(Instant::now()), None);
        // Full at the first checks, then no longer.
        let looks = AtomicU32::new(0);
        let is_full = || {
            let look = looks.fetch_add(1, Ordering::Relaxed);
            assert!(look < 4, "it waits although there is room");
            look < 3
        };
        assert!(merger.wait_for_room(is_full, || false));
        assert_eq!(merger.due_work(Instant::now()), Some(Work::Merge(0)));
        // No further merge comes.
        assert!(merger.wait_for_room(|| true, || true));
        assert_eq!(merger.due_work(Instant::now()), None);
        merger.stop();
        assert!(merger.wait_for_room(|| true, || false));
    }
}
