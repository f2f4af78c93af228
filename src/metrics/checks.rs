//! Whether the server is ready, and why not.

use serde_json::{Value, json};

use super::page::{FamilyKind, Label, Page};

/// Each check by its name, with how it came out.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Checks(Vec<(&'static str, CheckOutcome)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckOutcome {
    Right,
    /// Somebody must look at this, but the server answers as well as it can.
    Warning(&'static str),
    /// The server is not ready.
    Wrong(&'static str),
}

impl Checks {
    /// The outcome of one check: right, or what is wrong, as a sentence.
    pub fn set(&mut self, name: &'static str, wrong: Option<&'static str>) {
        self.0.push((name, wrong.map_or(CheckOutcome::Right, CheckOutcome::Wrong)));
    }

    /// The same for what does not make the server unready: taking it out of service would help nobody.
    pub fn warn(&mut self, name: &'static str, warning: Option<&'static str>) {
        self.0.push((name, warning.map_or(CheckOutcome::Right, CheckOutcome::Warning)));
    }

    pub fn are_right(&self) -> bool {
        !self.0.iter().any(|(_, outcome)| matches!(outcome, CheckOutcome::Wrong(_)))
    }

    /// As `/readyz` answers those who run the vault.
    pub fn to_json(&self) -> Value {
        let checks = self.0.iter().map(|(name, outcome)| {
            let told = match outcome {
                CheckOutcome::Right => "ok",
                CheckOutcome::Warning(why) | CheckOutcome::Wrong(why) => why,
            };
            (String::from(*name), Value::from(told))
        });
        json!({ "status": self.status(), "checks": Value::Object(checks.collect()) })
    }

    /// As `/readyz` answers everybody: without reasons.
    pub fn status_to_json(&self) -> Value {
        json!({ "status": self.status() })
    }

    fn status(&self) -> &'static str {
        if self.are_right() { "ready" } else { "not_ready" }
    }

    pub(super) fn measure(&self, page: &mut Page) {
        let mut family = page.family(
            "strongroom_check",
            "Whether a check of readiness is right (1) or not (0).",
            FamilyKind::Gauge,
        );
        for (name, outcome) in &self.0 {
            let is_right = *outcome == CheckOutcome::Right;
            family.sample(&[("check", Label::Name(name))], u64::from(is_right));
        }
        page.gauge(
            "strongroom_ready",
            "Whether every check of readiness is right (1) or not (0).",
            u64::from(self.are_right()),
        );
    }
}
