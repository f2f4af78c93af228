//! Metrics: counters, gauges, histograms and checks, and their forms for Prometheus, for probes and
//! for `strongroom status`. This module reads no clock and does no IO.
//!
//! Invariant: no text from outside becomes a metric. Names, labels and reasons are constants of
//! this program; values are numbers, ids and times. So the number of series is bounded.
//!
//! Each observed part of the program implements [`Observe`]; the [`Registry`] holds all of them.
//! Counting costs a few relaxed atomic additions; all other work is done when metrics are read.

mod checks;
mod count;
mod histogram;
mod page;
mod progress;
mod status;

use std::sync::Arc;

pub use checks::{Checks, Readiness};
pub use count::{Counter, Gauge};
#[cfg(test)]
use histogram::LatencyShare;
pub use histogram::{Distribution, Histogram, Unit};
pub use page::{FamilyKind, Label, Page};
pub use progress::Progress;
pub use status::StatusValue;

pub trait Observe: Send + Sync {
    fn measure(&self, _page: &mut Page) {}

    fn check(&self, _checks: &mut Checks) {}
}

#[derive(Default)]
pub struct Registry(Vec<Arc<dyn Observe>>);

impl Registry {
    pub fn new(observed: Vec<Arc<dyn Observe>>) -> Self {
        Self(observed)
    }

    pub fn checks(&self) -> Checks {
        let mut checks = Checks::default();
        for observed in &self.0 {
            observed.check(&mut checks);
        }
        checks
    }

    /// All families in the text format of Prometheus.
    pub fn page(&self) -> String {
        let mut page = self.measure();
        self.checks().measure(&mut page);
        page.into_text()
    }

    /// All status lines and checks as one JSON object.
    pub fn status(&self) -> serde_json::Value {
        self.measure().into_status(&self.checks())
    }

    fn measure(&self) -> Page {
        let mut page = Page::default();
        for observed in &self.0 {
            observed.measure(&mut page);
        }
        page
    }
}

opaque_debug!(Registry);

#[cfg(test)]
mod tests;
