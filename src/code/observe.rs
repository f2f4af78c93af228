//! Metrics of programs and their workers.

use std::time::Duration;

use crate::app::Error;
use crate::app::programs::{ProgramOutcome, ProgramState, Programs as _, Stop};
use crate::code::ProgramsOnWorkers;
use crate::domain::words::words;
use crate::metrics::{Counter, FamilyKind, Histogram, Label, Observe, Page, Unit};

/// In microseconds.
const WAIT_BOUNDS: &[u64] = &[100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 30_000_000];

words! {
    /// The end of a call.
    pub enum End {
        Returned = "returned";
        Threw = "threw";
        NotAProgram = "not_a_program";
        TimedOut = "timed_out";
        NoMemory = "no_memory";
        OutOfMemory = "out_of_memory";
        ResultTooLarge = "result_too_large";
        Died = "died";
        Busy = "busy";
    }
}

impl End {
    pub(super) const fn of(ended: &Result<ProgramOutcome, Error>) -> Self {
        match ended {
            Ok(ProgramOutcome::Returned(_)) => Self::Returned,
            Ok(ProgramOutcome::Threw(_)) => Self::Threw,
            Ok(ProgramOutcome::NotAProgram(_)) => Self::NotAProgram,
            Ok(ProgramOutcome::Stopped(Stop::TimedOut)) => Self::TimedOut,
            Ok(ProgramOutcome::Stopped(Stop::NoMemory)) => Self::NoMemory,
            Ok(ProgramOutcome::Stopped(Stop::OutOfMemory)) => Self::OutOfMemory,
            Ok(ProgramOutcome::Stopped(Stop::ResultTooLarge)) => Self::ResultTooLarge,
            Ok(ProgramOutcome::Stopped(Stop::Died)) => Self::Died,
            Err(_) => Self::Busy,
        }
    }
}

/// Counts of calls by the way they ended.
#[derive(Debug)]
pub(super) struct Endings {
    counters: [(End, Counter); End::ALL.len()],
    waits: Histogram,
}

impl Default for Endings {
    fn default() -> Self {
        let counters = End::ALL.map(|end| (end, Counter::default()));
        Self { counters, waits: Histogram::new(Unit::Micros, WAIT_BOUNDS) }
    }
}

impl Endings {
    pub(super) fn note(&self, end: End) {
        for (_, counter) in self.counters.iter().filter(|(it, _)| *it == end) {
            counter.add(1);
        }
    }

    pub(super) fn note_wait(&self, waited: Duration) {
        self.waits.observe_duration(waited);
    }
}

impl Observe for ProgramsOnWorkers {
    fn measure(&self, page: &mut Page) {
        let state = self.state();
        if state == ProgramState::Off {
            return;
        }
        page.gauge(
            "strongroom_programs_refused",
            "1 if the settings enable programs and this server cannot run them, else 0.",
            u64::from(matches!(state, ProgramState::Refused(_))),
        )
        .status("programs", "refused");
        let Ok(workers) = &self.workers else { return };
        page.gauge(
            "strongroom_programs_without_sandbox",
            "1 if programs run although the kernel lacks Landlock or seccomp, else 0.",
            u64::from(!workers.walls.are_whole()),
        )
        .status("programs", "without_sandbox");
        let endings = &self.endings;
        let mut family = page.family(
            "strongroom_programs_total",
            "Calls of programs of tenants, by the way they ended.",
            FamilyKind::Counter,
        );
        for (end, counter) in &endings.counters {
            family.sample(&[("end", Label::Name(end.as_str()))], counter.get());
        }
        page.counter(
            "strongroom_code_workers_started_total",
            "Worker processes that were started for programs.",
            workers.pool.started(),
        );
        let running = u64::try_from(workers.places.taken()).unwrap_or(u64::MAX);
        page.gauge("strongroom_code_workers_running", "Workers that run a program.", running)
            .status("programs", "running");
        let warm = u64::try_from(workers.pool.warm()).unwrap_or(u64::MAX);
        page.gauge("strongroom_code_workers_warm", "Workers that wait for a call.", warm)
            .status("programs", "warm_workers");
        page.histogram(
            "strongroom_code_wait_seconds",
            "Time that calls of programs waited for a place.",
            &endings.waits.read(),
        );
    }
}
