//! Metrics of programs and their workers.

use std::time::Duration;

use crate::app::Error;
use crate::app::programs::{ProgramOutcome, Stop};
use crate::code::ProgramsOnWorkers;
use crate::metrics::{Counter, FamilyKind, Histogram, Label, Observe, Page, Unit};

/// In microseconds.
const WAIT_BOUNDS: &[u64] = &[100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 30_000_000];

/// Counts of calls by the way they ended.
#[derive(Debug)]
pub(super) struct Endings {
    returned: Counter,
    threw: Counter,
    not_a_program: Counter,
    timed_out: Counter,
    no_memory: Counter,
    out_of_memory: Counter,
    result_too_large: Counter,
    died: Counter,
    busy: Counter,
    waits: Histogram,
}

impl Default for Endings {
    fn default() -> Self {
        Self {
            returned: Counter::default(),
            threw: Counter::default(),
            not_a_program: Counter::default(),
            timed_out: Counter::default(),
            no_memory: Counter::default(),
            out_of_memory: Counter::default(),
            result_too_large: Counter::default(),
            died: Counter::default(),
            busy: Counter::default(),
            waits: Histogram::new(Unit::Micros, WAIT_BOUNDS),
        }
    }
}

impl Endings {
    pub(super) fn note(&self, ended: &Result<ProgramOutcome, Error>) {
        let counter = match ended {
            Ok(ProgramOutcome::Returned(_)) => &self.returned,
            Ok(ProgramOutcome::Threw(_)) => &self.threw,
            Ok(ProgramOutcome::NotAProgram(_)) => &self.not_a_program,
            Ok(ProgramOutcome::Stopped(Stop::TimedOut)) => &self.timed_out,
            Ok(ProgramOutcome::Stopped(Stop::NoMemory)) => &self.no_memory,
            Ok(ProgramOutcome::Stopped(Stop::OutOfMemory)) => &self.out_of_memory,
            Ok(ProgramOutcome::Stopped(Stop::ResultTooLarge)) => &self.result_too_large,
            Ok(ProgramOutcome::Stopped(Stop::Died)) => &self.died,
            Err(_) => &self.busy,
        };
        counter.add(1);
    }

    pub(super) fn note_busy(&self) {
        self.busy.add(1);
    }

    pub(super) fn note_wait(&self, waited: Duration) {
        self.waits.observe_duration(waited);
    }
}

impl Observe for ProgramsOnWorkers {
    fn measure(&self, page: &mut Page) {
        let Ok(workers) = &self.workers else { return };
        let endings = &self.endings;
        let mut family = page.family(
            "strongroom_programs_total",
            "Calls of programs of tenants, by the way they ended.",
            FamilyKind::Counter,
        );
        for (name, counter) in [
            ("returned", &endings.returned),
            ("threw", &endings.threw),
            ("not_a_program", &endings.not_a_program),
            ("timed_out", &endings.timed_out),
            ("no_memory", &endings.no_memory),
            ("out_of_memory", &endings.out_of_memory),
            ("result_too_large", &endings.result_too_large),
            ("died", &endings.died),
            ("busy", &endings.busy),
        ] {
            family.sample(&[("end", Label::Name(name))], counter.get());
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
