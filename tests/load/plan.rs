//! The order of the run: which vault is started and filled when, and which parts it gets. It leaves judging to `figures`.

use crate::Outcome;
use crate::archive;
use crate::bulk;
use crate::counts;
use crate::drive::Pace;
use crate::hosts;
use crate::merge;
use crate::overwrite::Overwrite;
use crate::postgres;
use crate::proc::{self, Scratch};
use crate::programs;
use crate::proxy;
use crate::recovery;
use crate::report::{self, Results};
use crate::stage::Stage;
use crate::yardsticks::Yardsticks;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Archive,
    Bulk,
    Counts,
    Create,
    Get,
    List,
    Merge,
    Mix,
    Plain,
    Hosts,
    Postgres,
    Programs,
    Proxy,
    Rotate,
    Start,
}

impl Part {
    /// Parts that need neither the empty vault nor the filled one.
    fn has_own_vault(self) -> bool {
        matches!(self, Self::Counts | Self::Hosts | Self::Postgres | Self::Programs | Self::Proxy)
    }
}

/// In the order of the run.
pub(crate) const PARTS: [(&str, Part); 15] = [
    ("get", Part::Get),
    ("list", Part::List),
    ("create", Part::Create),
    ("plain", Part::Plain),
    ("mix", Part::Mix),
    ("merge", Part::Merge),
    ("bulk", Part::Bulk),
    ("start", Part::Start),
    ("archive", Part::Archive),
    ("rotate", Part::Rotate),
    ("counts", Part::Counts),
    ("proxy", Part::Proxy),
    ("programs", Part::Programs),
    ("postgres", Part::Postgres),
    ("hosts", Part::Hosts),
];

pub(crate) struct Plan {
    pub(crate) binary: PathBuf,
    /// The number of cards in the second vault; with 0 there is no second vault.
    pub(crate) tokens: u64,
    pub(crate) connections: Vec<usize>,
    pub(crate) parts: Vec<Part>,
    pub(crate) pace: Pace,
    pub(crate) starts: u32,
    /// The number of kills, idle and under load each.
    pub(crate) kills: u32,
    /// The time limit of the search for the last page of a list.
    pub(crate) walk_max: Duration,
    /// The time limit of the search for merges.
    pub(crate) merge_max: Duration,
    /// The length of the load beside the archive.
    pub(crate) archive_window: Duration,
}

impl Plan {
    pub(crate) fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }
}

pub(crate) fn run(plan: &Plan, scratch: &Scratch) -> Outcome<Results> {
    let mut results = Results::new(plan, scratch)?;
    let yardsticks = Yardsticks::start(plan, scratch)?;
    report::print_opening(plan, &yardsticks.model);
    if plan.parts.iter().any(|part| !part.has_own_vault()) {
        on_stages(plan, &yardsticks, scratch, &mut results)?;
    }
    if plan.has(Part::Counts) {
        counts::measure(&plan.binary, &yardsticks.model, scratch, &mut results)?;
    }
    if plan.has(Part::Proxy) {
        proxy::measure(plan, &yardsticks, scratch, &mut results)?;
    }
    if plan.has(Part::Programs) {
        programs::measure(plan, scratch, &mut results)?;
    }
    if plan.has(Part::Postgres) {
        postgres::measure(plan, &yardsticks, scratch, &mut results)?;
    }
    if plan.has(Part::Hosts) {
        hosts::measure(plan, scratch)?;
    }
    Ok(results)
}

/// The parts on the empty vault and the filled one.
fn on_stages(
    plan: &Plan,
    yardsticks: &Yardsticks,
    scratch: &Scratch,
    results: &mut Results,
) -> Outcome<()> {
    let mut overwrite = Overwrite::new(&scratch.path("overwrite"))?;
    let mut stage = Stage::empty(plan, yardsticks, scratch)?;
    stage.measure(&mut overwrite, results)?;
    if plan.tokens > 0 {
        stage.finish()?;
        stage = Stage::filled(plan, yardsticks, scratch, results)?;
        stage.measure(&mut overwrite, results)?;
    }
    if plan.has(Part::Merge) {
        merge::measure(&stage, results)?;
    }
    if plan.tokens > 0 && plan.has(Part::Create) {
        results.resident_loaded_bytes = proc::resident_bytes(stage.vault.target.pid);
    }
    if plan.has(Part::Bulk) {
        bulk::back_up_and_restore(&stage.place, scratch, results)?;
    }
    if plan.has(Part::Start) {
        recovery::measure(&mut stage, results)?;
    }
    if plan.has(Part::Archive) {
        archive::measure(&mut stage, scratch, results)?;
    }
    if plan.has(Part::Rotate) {
        bulk::rotate(&stage, results)?;
    }
    stage.finish()
}
