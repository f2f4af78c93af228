//! Checks of readiness.

use serde_json::{Value, json};

use super::page::{FamilyKind, Label, Page};

/// Each check by its name, with its outcome.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Checks(Vec<(&'static str, CheckOutcome)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckOutcome {
    Right,
    /// An operator must look at this, but the server is ready.
    Warning(&'static str),
    /// The server is not ready.
    Wrong(&'static str),
}

impl Checks {
    /// Adds the outcome of one check: right, or a sentence that says what is wrong.
    pub fn set(&mut self, name: &'static str, wrong: Option<&'static str>) {
        self.0.push((name, wrong.map_or(CheckOutcome::Right, CheckOutcome::Wrong)));
    }

    /// Adds a check that leaves the server ready: taking it out of service would not help.
    pub fn warn(&mut self, name: &'static str, warning: Option<&'static str>) {
        self.0.push((name, warning.map_or(CheckOutcome::Right, CheckOutcome::Warning)));
    }

    pub fn are_right(&self) -> bool {
        !self.0.iter().any(|(_, outcome)| matches!(outcome, CheckOutcome::Wrong(_)))
    }

    /// The answer of `/readyz` to operators.
    pub fn to_json(&self) -> Value {
        let checks = self.0.iter().map(|(name, outcome)| {
            let text = match outcome {
                CheckOutcome::Right => "ok",
                CheckOutcome::Warning(why) | CheckOutcome::Wrong(why) => why,
            };
            (String::from(*name), Value::from(text))
        });
        let mut checks = Value::Object(checks.collect());
        checks.sort_all_objects();
        json!({ "status": self.status(), "checks": checks })
    }

    /// The answer of `/readyz` without a key: no reasons.
    pub fn status_to_json(&self) -> Value {
        json!({ "status": self.status() })
    }

    fn status(&self) -> &'static str {
        if self.are_right() { "ready" } else { "not_ready" }
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
            "strongroom_ready",
            "1 if every check of readiness is right, else 0.",
            u64::from(self.are_right()),
        );
    }
}
