//! The priority of workers: requests to the vault come first.
//!
//! All workers have a low priority. That is not enough for programs that compute long: the kernel lets
//! even the lowest priority finish its slice of milliseconds before a thread of the vault that has
//! work. So a tenant whose programs have used more processor time than it had saved keeps one worker
//! with the low priority, and its other workers are in the background (`SCHED_IDLE`): they run when a
//! processor is free, and the kernel stops them at once for anything else.
//!
//! The one that stays lets long computations end on a busy machine, and keeps a tenant with many
//! programs from taking the processors of a tenant with one.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::bounds::{CODE_PROCESSOR_PER_SECOND, CODE_PROCESSOR_SAVED, CODE_REVIEW_EVERY};
use crate::code::pool::Worker;
use crate::domain::id::TenantId;
use crate::lock::Lock;

/// What the programs of each tenant have used.
#[derive(Debug, Default)]
pub struct Priorities {
    tenants: Lock<BTreeMap<TenantId, Usage>>,
}

#[derive(Debug)]
struct Usage {
    /// Processor time that is saved, and what was used beyond it.
    saved: Duration,
    owed: Duration,
    since: Instant,
    workers: usize,
    /// Workers that are not in the background.
    foreground: usize,
}

/// A call, while its worker runs.
#[derive(Debug)]
pub struct Turn<'a> {
    priorities: &'a Priorities,
    tenant: TenantId,
    worker: &'a Worker,
    in_background: bool,
    /// Processor time of this worker that is accounted for.
    accounted: Duration,
}

impl Priorities {
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
        let mut turn = Turn { priorities: self, tenant, worker, in_background: false, accounted };
        turn.review();
        turn
    }
}

impl Turn<'_> {
    /// Changes the priority as the tenant's use changes.
    pub async fn keep(mut self) -> Infallible {
        loop {
            sleep(CODE_REVIEW_EVERY).await;
            self.review();
        }
    }

    /// The time that this worker has used since the last look.
    fn used(&mut self) -> Duration {
        let Some(all) = self.worker.processor_time() else { return Duration::ZERO };
        let used = all.saturating_sub(self.accounted);
        self.accounted = all;
        // What is used in the background, nobody else wanted.
        if self.in_background { Duration::ZERO } else { used }
    }

    fn review(&mut self) {
        let used = self.used();
        let mut tenants = self.priorities.tenants.lock();
        let Some(usage) = tenants.get_mut(&self.tenant) else { return };
        usage.account(used, Instant::now());
        let to_background = usage.is_for_background(self.in_background);
        // If the system refuses the change, the worker goes on as it is.
        if to_background != self.in_background && self.worker.put_in_background(to_background) {
            self.in_background = to_background;
            usage.foreground = if to_background {
                usage.foreground.saturating_sub(1)
            } else {
                usage.foreground.saturating_add(1)
            };
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let used = self.used();
        let mut tenants = self.priorities.tenants.lock();
        let Some(usage) = tenants.get_mut(&self.tenant) else { return };
        usage.account(used, Instant::now());
        usage.workers = usage.workers.saturating_sub(1);
        if !self.in_background {
            usage.foreground = usage.foreground.saturating_sub(1);
        }
    }
}

impl Usage {
    fn new(now: Instant) -> Self {
        let (saved, owed) = (CODE_PROCESSOR_SAVED, Duration::ZERO);
        Self { saved, owed, since: now, workers: 0, foreground: 0 }
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

    /// Whether a worker of this tenant belongs in the background, where it may be already.
    const fn is_for_background(&self, is_there: bool) -> bool {
        let others = self.foreground.saturating_sub(if is_there { 0 } else { 1 });
        self.saved.is_zero() && others > 0
    }

    /// Whether nothing distinguishes this tenant from one that has used nothing.
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
    fn a_tenant_that_has_used_its_saved_time_keeps_one_worker_out_of_the_background() {
        let start = Instant::now();
        let mut usage = Usage { workers: 3, foreground: 3, ..Usage::new(start) };
        usage.account(CODE_PROCESSOR_SAVED - Duration::from_millis(1), start);
        assert!(!usage.is_for_background(false));
        usage.account(Duration::from_millis(2), start);
        assert!(usage.is_for_background(false));
        usage.foreground = 1;
        assert!(!usage.is_for_background(false), "the last one stays");
        assert!(usage.is_for_background(true), "the others stay where they are");
        usage.foreground = 0;
        assert!(!usage.is_for_background(true), "another one takes the place of one that ended");
    }

    #[test]
    fn time_is_saved_again_up_to_its_bound() {
        let start = Instant::now();
        let mut usage = Usage::new(start);
        assert!(usage.is_new_at(start));
        usage.account(Duration::from_secs(3_000), start);
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
