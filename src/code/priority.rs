//! The priority of workers: requests to the vault come first.
//!
//! All workers have a low priority. That is not enough for programs that compute long: the kernel lets
//! even the lowest priority finish its slice of milliseconds before a thread of the vault that has
//! work. So the workers of a tenant whose programs have used more processor time than it had saved are
//! in the background (`SCHED_IDLE`): they run when a processor is free, and the kernel interrupts them
//! at once for anything else.
//!
//! Even there each takes a little, and a tenant with many programs would take the processors of a
//! tenant with one. So of those that compute, only some run, in turns; the others are stopped. Workers
//! that wait for an answer are not.
//!
//! While the vault itself is busy, this is not enough either: a processor that runs a worker takes no
//! work from a processor where threads of the vault wait. Short calls go on, a few at a time. Longer
//! ones, and short ones of a tenant that has many of those, run only for the time that their tenant
//! saves, one after the other.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use tokio::time::sleep;

use crate::bounds::{
    CODE_FIRST_REVIEW, CODE_PROCESSOR_PER_SECOND, CODE_PROCESSOR_SAVED, CODE_REVIEW_EVERY,
};
use crate::code::pool::{Rank, Worker};
use crate::domain::id::TenantId;
use crate::lock::Lock;

/// The vault is busy if it uses one part in this many of the processors.
const VAULT_IS_BUSY_AT: u32 = 8;
/// A tenant with this many stopped workers for each processor has no short calls beside a busy vault.
const MANY_STOPPED: usize = 4;

/// The processor time of each tenant's programs.
#[derive(Debug)]
pub struct Priorities {
    tenants: Lock<BTreeMap<TenantId, Usage>>,
    vault: Lock<VaultLoad>,
    processors: usize,
}

/// The processor time of the vault itself.
#[derive(Debug, Clone, Copy)]
struct VaultLoad {
    since: Instant,
    used: Duration,
    is_busy: bool,
}

#[derive(Debug, Clone, Copy)]
struct Usage {
    /// Processor time that is saved, and what was used beyond it.
    saved: Duration,
    owed: Duration,
    since: Instant,
    workers: usize,
    /// Workers by their place.
    foreground: usize,
    computing: usize,
    stopped: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Foreground,
    /// In the background, where it waits for an answer or has not been looked at.
    Background,
    /// In the background, with a turn.
    Computing,
    /// In the background, without one.
    Stopped,
}

/// A call, while its worker runs.
#[derive(Debug)]
pub struct Turn<'a> {
    priorities: &'a Priorities,
    tenant: TenantId,
    worker: &'a Worker,
    place: Place,
    /// It computes beside a busy vault.
    is_beside_work: bool,
    /// Processor time of this worker that is accounted for.
    accounted: Duration,
}

impl Priorities {
    pub fn new() -> Self {
        let processors = available_parallelism().map_or(1, NonZero::get);
        let vault = VaultLoad { since: Instant::now(), used: Duration::MAX, is_busy: false };
        Self { tenants: Lock::default(), vault: Lock::new(vault), processors }
    }

    fn is_vault_busy(&self, now: Instant) -> bool {
        let used =
            clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from);
        self.vault.lock().is_busy_at(now, used, self.processors)
    }

    /// Workers of a tenant that may compute in the background at once.
    fn turns(&self, usage: &Usage, is_vault_busy: bool, is_short: bool) -> usize {
        if !is_vault_busy {
            self.processors.saturating_mul(2)
        } else if is_short && usage.stopped < self.processors.saturating_mul(MANY_STOPPED) {
            self.processors
        } else {
            usize::from(!usage.saved.is_zero())
        }
    }

    pub fn begin<'a>(&'a self, tenant: TenantId, worker: &'a Worker) -> Turn<'a> {
        let now = Instant::now();
        {
            let mut tenants = self.tenants.lock();
            tenants.retain(|_, usage| usage.workers > 0 || !usage.is_new_at(now));
            let usage = tenants.entry(tenant).or_insert_with(|| Usage::new(now));
            usage.workers = usage.workers.saturating_add(1);
            usage.foreground = usage.foreground.saturating_add(1);
        }
        let accounted = Duration::ZERO;
        let place = Place::Foreground;
        let is_beside_work = false;
        let mut turn = Turn { priorities: self, tenant, worker, place, is_beside_work, accounted };
        turn.review();
        turn
    }
}

impl Turn<'_> {
    /// Changes the priority as the tenant's use changes.
    pub async fn keep(mut self) -> Infallible {
        let mut pause = CODE_FIRST_REVIEW;
        loop {
            sleep(pause).await;
            self.review();
            pause = pause.saturating_mul(2).min(CODE_REVIEW_EVERY);
            if self.is_beside_work {
                pause = CODE_FIRST_REVIEW;
            }
        }
    }

    /// The time that this worker has used since the last look.
    fn used(&mut self) -> Duration {
        let Some(all) = self.worker.processor_time() else { return Duration::ZERO };
        let used = all.saturating_sub(self.accounted);
        self.accounted = all;
        // In the background a worker takes only time that is free, unless the vault is busy.
        let counts = self.place == Place::Foreground || self.is_beside_work;
        if counts { used } else { Duration::ZERO }
    }

    fn review(&mut self) {
        let used = self.used();
        let now = Instant::now();
        let is_vault_busy = self.priorities.is_vault_busy(now);
        let is_short = self.accounted < CODE_FIRST_REVIEW;
        // Read before the lock is taken.
        let is_computing = matches!(self.place, Place::Background | Place::Computing)
            && (is_vault_busy || !is_short)
            && self.worker.is_computing();
        let mut tenants = self.priorities.tenants.lock();
        let Some(usage) = tenants.get_mut(&self.tenant) else { return };
        usage.account(used, now);
        let turns = self.priorities.turns(usage, is_vault_busy, is_short);
        let place = usage.place_for(self.place, is_computing, turns);
        let place = self.worker.put(self.place, place);
        self.is_beside_work = is_vault_busy && place == Place::Computing;
        usage.count(self.place, place);
        self.place = place;
    }
}

impl Place {
    const fn rank(self) -> Rank {
        match self {
            Self::Foreground => Rank::Low,
            Self::Background | Self::Computing | Self::Stopped => Rank::Idle,
        }
    }
}

impl VaultLoad {
    fn is_busy_at(&mut self, now: Instant, used: Duration, processors: usize) -> bool {
        let passed = now.saturating_duration_since(self.since);
        if passed >= CODE_REVIEW_EVERY {
            let share = used.saturating_sub(self.used).saturating_mul(VAULT_IS_BUSY_AT);
            let processors = u32::try_from(processors).unwrap_or(u32::MAX);
            let is_busy = share >= passed.saturating_mul(processors);
            *self = Self { since: now, used, is_busy };
        }
        self.is_busy
    }
}

impl Worker {
    /// Returns the place that it got: the system may refuse a change of the priority.
    fn put(&self, from: Place, to: Place) -> Place {
        let has_rank = from.rank() == to.rank() || self.set_rank(to.rank());
        if from == Place::Stopped && to != from {
            self.go_on(true);
        }
        if !has_rank {
            return if from == Place::Stopped { Place::Background } else { from };
        }
        if to == Place::Stopped && to != from {
            self.go_on(false);
        }
        to
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let used = self.used();
        let mut tenants = self.priorities.tenants.lock();
        let Some(usage) = tenants.get_mut(&self.tenant) else { return };
        usage.account(used, Instant::now());
        usage.workers = usage.workers.saturating_sub(1);
        usage.count(self.place, Place::Background);
    }
}

impl Usage {
    fn new(now: Instant) -> Self {
        let (saved, owed) = (CODE_PROCESSOR_SAVED, Duration::ZERO);
        Self { saved, owed, since: now, workers: 0, foreground: 0, computing: 0, stopped: 0 }
    }

    fn account(&mut self, used: Duration, now: Instant) {
        let seconds = now.saturating_duration_since(self.since).as_secs_f64();
        self.since = now;
        let earned = CODE_PROCESSOR_PER_SECOND.mul_f64(seconds.min(3_600.0));
        let saved = self.saved.saturating_add(earned);
        let spent = self.owed.saturating_add(used);
        self.saved = saved.saturating_sub(spent).min(CODE_PROCESSOR_SAVED);
        self.owed = spent.saturating_sub(saved).min(CODE_PROCESSOR_SAVED);
    }

    /// The place of a worker that is at this one.
    fn place_for(&self, now: Place, is_computing: bool, turns: usize) -> Place {
        // They get their priority back for a while, not for a moment.
        let is_in_debt = self.workers > self.foreground;
        let enough = if is_in_debt { CODE_PROCESSOR_SAVED / 2 } else { Duration::ZERO };
        if self.saved > enough {
            return Place::Foreground;
        }
        match now {
            Place::Foreground => Place::Background,
            Place::Background | Place::Computing if !is_computing => Place::Background,
            // It has had its turn.
            Place::Computing if self.stopped > 0 || turns == 0 => Place::Stopped,
            Place::Computing => Place::Computing,
            Place::Background | Place::Stopped if self.computing < turns => Place::Computing,
            Place::Background | Place::Stopped => Place::Stopped,
        }
    }

    const fn count(&mut self, from: Place, to: Place) {
        if let Some(left) = self.counter(from) {
            *left = left.saturating_sub(1);
        }
        if let Some(entered) = self.counter(to) {
            *entered = entered.saturating_add(1);
        }
    }

    const fn counter(&mut self, place: Place) -> Option<&mut usize> {
        match place {
            Place::Foreground => Some(&mut self.foreground),
            Place::Background => None,
            Place::Computing => Some(&mut self.computing),
            Place::Stopped => Some(&mut self.stopped),
        }
    }

    /// True if the tenant is as one that has used nothing.
    fn is_new_at(&self, now: Instant) -> bool {
        let seconds = now.saturating_duration_since(self.since).as_secs_f64();
        let earned = CODE_PROCESSOR_PER_SECOND.mul_f64(seconds.min(3_600.0));
        self.saved.saturating_add(earned) >= CODE_PROCESSOR_SAVED.saturating_add(self.owed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_of_a_tenant_that_has_used_its_saved_time_are_in_the_background() {
        let start = Instant::now();
        let mut usage = Usage { workers: 3, foreground: 3, ..Usage::new(start) };
        usage.account(CODE_PROCESSOR_SAVED / 2, start);
        let place = |usage: &Usage, now| usage.place_for(now, true, 0);
        assert_eq!(place(&usage, Place::Foreground), Place::Foreground);
        usage.account(CODE_PROCESSOR_SAVED, start);
        assert_eq!(place(&usage, Place::Foreground), Place::Background);
        usage.foreground = 0;
        for saved in [Duration::from_millis(1), CODE_PROCESSOR_SAVED / 2] {
            usage.saved = saved;
            assert_eq!(place(&usage, Place::Stopped), Place::Stopped, "not for a moment");
        }
        usage.saved = CODE_PROCESSOR_SAVED;
        assert_eq!(place(&usage, Place::Stopped), Place::Foreground);
    }

    #[test]
    fn workers_that_compute_in_the_background_take_turns() {
        let owes = Usage { saved: Duration::ZERO, foreground: 1, ..Usage::new(Instant::now()) };
        for ((computing, stopped), now, is_computing, expected) in [
            ((0, 0), Place::Background, true, Place::Computing),
            ((0, 0), Place::Background, false, Place::Background),
            ((2, 0), Place::Background, true, Place::Stopped),
            ((2, 0), Place::Background, false, Place::Background),
            ((2, 0), Place::Computing, true, Place::Computing),
            ((2, 1), Place::Computing, true, Place::Stopped),
            ((2, 1), Place::Computing, false, Place::Background),
            ((2, 1), Place::Stopped, false, Place::Stopped),
            ((1, 1), Place::Stopped, false, Place::Computing),
        ] {
            let usage = Usage { computing, stopped, ..owes };
            let found = usage.place_for(now, is_computing, 2);
            assert_eq!(found, expected, "{now:?} {computing} {stopped} {is_computing}");
        }
        let found = owes.place_for(Place::Computing, true, 0);
        assert_eq!(found, Place::Stopped, "no turn is left");
        let mut usage = owes;
        usage.count(Place::Foreground, Place::Stopped);
        usage.count(Place::Background, Place::Computing);
        assert_eq!((usage.foreground, usage.computing, usage.stopped), (0, 1, 1));
    }

    #[test]
    fn beside_a_busy_vault_a_few_short_calls_compute_and_others_for_the_time_that_is_saved() {
        let priorities = Priorities { processors: 2, ..Priorities::new() };
        let owes = Usage { saved: Duration::ZERO, ..Usage::new(Instant::now()) };
        let saves = Usage { saved: Duration::from_millis(1), ..owes };
        let many = |usage| Usage { stopped: 8, ..usage };
        for (usage, is_vault_busy, is_short, expected) in [
            (owes, false, true, 4),
            (many(owes), false, false, 4),
            (owes, true, true, 2),
            (owes, true, false, 0),
            (saves, true, false, 1),
            (many(owes), true, true, 0),
            (many(saves), true, true, 1),
        ] {
            let found = priorities.turns(&usage, is_vault_busy, is_short);
            assert_eq!(found, expected, "{usage:?} {is_vault_busy} {is_short}");
        }
    }

    #[test]
    fn the_vault_is_busy_from_an_eighth_of_the_processors() {
        let start = Instant::now();
        let at = |passed: u64| start + Duration::from_millis(passed);
        let used = Duration::from_millis;
        let mut load = VaultLoad { since: start, used: used(70), is_busy: false };
        assert!(!load.is_busy_at(at(50), used(900), 2), "not looked at so soon");
        assert!(!load.is_busy_at(at(100), used(94), 2));
        assert!(load.is_busy_at(at(200), used(119), 2));
        assert!(load.is_busy_at(at(250), used(119), 2));
        assert!(!load.is_busy_at(at(1_200), used(119), 2));
    }

    #[test]
    fn time_is_saved_again_up_to_its_bound() {
        let start = Instant::now();
        let mut usage = Usage::new(start);
        assert!(usage.is_new_at(start));
        usage.account(Duration::from_mins(50), start);
        assert_eq!((usage.saved, usage.owed), (Duration::ZERO, CODE_PROCESSOR_SAVED));
        assert!(!usage.is_new_at(start));
        let half = CODE_PROCESSOR_SAVED.div_duration_f64(CODE_PROCESSOR_PER_SECOND);
        let after = |times: f64| start + Duration::from_secs_f64(half * times + 1.0);
        usage.account(Duration::ZERO, after(1.0));
        assert!(usage.owed.is_zero() && usage.saved < 2 * CODE_PROCESSOR_PER_SECOND);
        assert!(usage.is_new_at(after(2.0)));
        usage.account(Duration::ZERO, after(9.0));
        assert_eq!(usage.saved, CODE_PROCESSOR_SAVED);
    }
}
