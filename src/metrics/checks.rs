//! Whether the server is ready, and why not.

use serde_json::{Value, json};

use super::page::{Kind, Label, Page};

/// Each check by its name, with the reason why it fails if it does.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Checks(Vec<(&'static str, Option<&'static str>)>);

impl Checks {
    /// The outcome of one check: right, or what is wrong, as a sentence.
    pub fn set(&mut self, name: &'static str, wrong: Option<&'static str>) {
        self.0.push((name, wrong));
    }

    pub fn are_right(&self) -> bool {
        self.0.iter().all(|(_, wrong)| wrong.is_none())
    }

    /// As `/readyz` answers.
    pub fn to_json(&self) -> Value {
        let checks = self
            .0
            .iter()
            .map(|(name, wrong)| (String::from(*name), Value::from(wrong.unwrap_or("ok"))));
        let status = if self.are_right() { "ready" } else { "not_ready" };
        json!({ "status": status, "checks": Value::Object(checks.collect()) })
    }

    pub(super) fn measure(&self, page: &mut Page) {
        let mut family = page.family(
            "strongroom_check",
            "Whether a check of readiness is right (1) or not (0).",
            Kind::Gauge,
        );
        for (name, wrong) in &self.0 {
            family.sample(&[("check", Label::Name(name))], u64::from(wrong.is_none()));
        }
        page.gauge(
            "strongroom_ready",
            "Whether every check of readiness is right (1) or not (0).",
            u64::from(self.are_right()),
        );
    }
}
