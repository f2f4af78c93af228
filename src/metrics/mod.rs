//! Watching the program: counters, gauges, histograms and checks, and their forms for Prometheus, for
//! probes and for people. It reads no clock and does no IO.
//!
//! Invariant: no text from outside gets in. Names, labels and reasons stand in our own source, the
//! rest are numbers, ids and times; so the number of series is bounded by the program itself.
//!
//! Whoever has something to tell is an [`Observe`]; the [`Registry`] holds them all. Counting costs a
//! few relaxed atomic additions; everything else is done when somebody looks.

mod checks;
mod count;
mod histogram;
mod page;
mod status;

use std::fmt;
use std::sync::Arc;

pub use checks::Checks;
pub use count::{Counter, Gauge};
pub use histogram::{Distribution, Histogram, Unit};
pub use page::{Amount, FamilyKind, Label, Page};
pub use status::StatusValue;

/// A part of the program that can be looked at. Each method adds what the part knows, if anything.
pub trait Observe: Send + Sync {
    /// Adds its families and status lines.
    fn measure(&self, _page: &mut Page) {}

    /// Adds its checks of readiness.
    fn check(&self, _checks: &mut Checks) {}
}

/// All instruments of the process.
#[derive(Default)]
pub struct Registry(Vec<Arc<dyn Observe>>);

impl Registry {
    pub fn new(instruments: Vec<Arc<dyn Observe>>) -> Self {
        Self(instruments)
    }

    pub fn checks(&self) -> Checks {
        let mut checks = Checks::default();
        for instrument in &self.0 {
            instrument.check(&mut checks);
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

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registry").field(&self.0.len()).finish()
    }
}

#[cfg(test)]
mod tests;
