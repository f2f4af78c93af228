//! One seeded run on one thread: many clients send requests to a vault on a simulated disk and
//! clock, while processes die, power fails, writes are torn, the disk is full, clocks jump and
//! clients leave. After each round of requests the vault is compared with a model of its interface.
//!
//! A failing run prints its seed and its last steps, and the command that repeats it:
//!
//! ```sh
//! STRONGROOM_SIM_SEEDS=17 STRONGROOM_SIM_STEPS=1500 cargo test --lib simulation -- --nocapture
//! ```
//!
//! The steps of a run are chosen in [`asks`] and ordered in [`round`]; [`clients`] calls the
//! operations. [`model`] has the rules, [`effects`] applies them to one request, and [`search`]
//! looks for an order of the requests of a round that explains all answers.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "most rules concern a few of the many pairs of a request and an outcome"
)]

mod asks;
mod clients;
mod effects;
mod faults;
mod invariants;
mod lists;
mod model;
mod readers;
mod round;
mod search;
mod seen;
mod trace;
mod world;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use crate::app::tests::simulation::trace::{Counts, Trace};
use crate::app::tests::simulation::world::World;
use crate::waiting::thorough;

const SEEDS: Range<u64> = 0..20;
const STEPS: usize = 1_500;

/// The counts and the hash of the trace.
fn run(seed: u64, steps: usize) -> (Counts, u64) {
    let trace = Arc::new(Mutex::new(Trace::default()));
    let done = catch_unwind(AssertUnwindSafe(|| {
        let mut world = World::new(seed, Arc::clone(&trace));
        let runtime = world.runtime();
        let _entered = runtime.enter();
        while trace.lock().unwrap().counts.steps < steps {
            world.round();
        }
        world.verify();
        world.check_audit();
    }));
    let trace = trace.lock().unwrap_or_else(PoisonError::into_inner);
    if done.is_err() {
        let at = trace.counts.steps;
        panic!(
            "the simulation with seed {seed} failed at step {at}; its last steps:\n{}repeat it with \
             STRONGROOM_SIM_SEEDS={seed} STRONGROOM_SIM_STEPS={steps} cargo test --lib simulation",
            trace.last_steps()
        );
    }
    (trace.counts.clone(), trace.hash())
}

#[expect(clippy::disallowed_methods, reason = "the settings of a test, not of the server")]
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// `17` or `0..1000`; without the variable, the usual seeds.
pub(super) fn seeds_or(usual: Range<u64>) -> Range<u64> {
    let Some(text) = setting("STRONGROOM_SIM_SEEDS") else { return usual };
    let (from, to) = text.split_once("..").unwrap_or((&text, ""));
    let from = from.parse().unwrap();
    from..to.parse().unwrap_or(from + 1)
}

#[test]
fn every_promise_holds_through_crashes_and_faults() {
    let steps = setting("STRONGROOM_SIM_STEPS").map_or(STEPS, |text| text.parse().unwrap());
    let (seeds, mut all) = (seeds_or(thorough(0..5, SEEDS)), Counts::default());
    for seed in seeds.clone() {
        all.add(&run(seed, steps).0);
    }
    println!("simulation: seeds {}..{}, {all}", seeds.start, seeds.end);
    if seeds == SEEDS && steps == STEPS {
        all.check_that_all_happened();
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let runs = [1, 2, 3].map(|seed| {
        let first = run(seed, 500);
        assert_eq!(first, run(seed, 500), "seed {seed}");
        first.1
    });
    assert_ne!(runs[0], runs[1]);
}
