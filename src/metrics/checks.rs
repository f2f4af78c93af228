//! Checks of readiness.

use serde_json::{Value, json};

use super::page::{FamilyKind, Label, Page};

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Checks(Vec<(&'static str, CheckOutcome)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckOutcome {
    Right,
    /// An operator must look at this, but the server is ready.
    Warning(&'static str),
    /// The server is not ready for writes. Reads go on.
    WrongForWrites(&'static str),
    Wrong(&'static str),
}

/// The requests that a server can be ready for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    Reads,
    /// Reads and writes.
    Writes,
}

impl Checks {
    /// Adds the outcome of one check: right, or a sentence about the fault.
    pub fn set(&mut self, name: &'static str, wrong: Option<&'static str>) {
        self.0.push((name, wrong.map_or(CheckOutcome::Right, CheckOutcome::Wrong)));
    }

    /// Adds the outcome of a check that concerns writes only.
    pub fn set_for_writes(&mut self, name: &'static str, wrong: Option<&'static str>) {
        self.0.push((name, wrong.map_or(CheckOutcome::Right, CheckOutcome::WrongForWrites)));
    }

    /// Adds a check that leaves the server ready: taking it out of service would not help.
    pub fn warn(&mut self, name: &'static str, warning: Option<&'static str>) {
        self.0.push((name, warning.map_or(CheckOutcome::Right, CheckOutcome::Warning)));
    }

    pub fn are_right(&self) -> bool {
        self.are_right_for(Readiness::Writes)
    }

    pub fn are_right_for(&self, readiness: Readiness) -> bool {
        self.0.iter().all(|(_, outcome)| match outcome {
            CheckOutcome::Right | CheckOutcome::Warning(_) => true,
            CheckOutcome::WrongForWrites(_) => readiness == Readiness::Reads,
            CheckOutcome::Wrong(_) => false,
        })
    }

    /// The answer of `/readyz` to operators.
    pub fn to_json(&self, readiness: Readiness) -> Value {
        let checks = self.0.iter().map(|(name, outcome)| {
            let text = match outcome {
                CheckOutcome::Right => "ok",
                CheckOutcome::Warning(why)
                | CheckOutcome::WrongForWrites(why)
                | CheckOutcome::Wrong(why) => why,
            };
            (String::from(*name), Value::from(text))
        });
        let mut checks = Value::Object(checks.collect());
        checks.sort_all_objects();
        json!({ "status": self.status(readiness), "checks": checks })
    }

    /// The answer of `/readyz` without a key: no reasons.
    pub fn status_to_json(&self, readiness: Readiness) -> Value {
        json!({ "status": self.status(readiness) })
    }

    fn status(&self, readiness: Readiness) -> &'static str {
        if self.are_right_for(readiness) { "ready" } else { "not_ready" }
    }

    pub(super) fn measure(&self, page: &mut Page) {
        let mut family = page.family(
            "strongroom_check",
            "1 if the check of readiness is right, else 0.",
            FamilyKind::Gauge,
        );
        for (name, outcome) in &self.0 {
            let is_right = *outcome == CheckOutcome::Right;
            family.sample(&[("check", Label::Name(name))], u64::from(is_right));
        }
        page.gauge(
            "strongroom_ready_for_reads",
            "1 if every check that reads depend on is right, else 0.",
            u64::from(self.are_right_for(Readiness::Reads)),
        );
        page.gauge(
            "strongroom_ready",
            "1 if every check of readiness is right, else 0.",
            u64::from(self.are_right()),
        );
    }
}
