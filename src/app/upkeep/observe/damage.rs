//! Damaged rows, and how far the scrub has come.

use crate::app::upkeep::Upkeep;
use crate::metrics::{Checks, FamilyKind, Page, Status, StatusValue};

impl Upkeep<'_> {
    pub(super) fn measure_damage(self, page: &mut Page) {
        page.gauge(
            "strongroom_damaged_rows",
            "Rows of the data file that are known to be damaged.",
            self.vault.damage.count(),
        );
        page.counter(
            "strongroom_damaged_rows_met_total",
            "How often a list, a sweep, a rotation or the scrub passed over a damaged row.",
            self.vault.damage.met(),
        );
        page.counter(
            "strongroom_scrubbed_rows_total",
            "Rows that the scrub has looked at.",
            self.vault.scrubs.rows(),
        );
        page.counter(
            "strongroom_scrub_passes_total",
            "How often the scrub has looked at the whole file.",
            self.vault.scrubs.passes(),
        );
        let mut age = page.family(
            "strongroom_scrub_age_seconds",
            "Since the scrub had looked at the whole file.",
            FamilyKind::Gauge,
        );
        if let Some(at) = self.vault.scrubs.passed_at() {
            age.sample(&[], self.vault.now().since(at));
        }
    }

    /// One damaged record is no reason to refuse all others, so this does not make the server unready.
    pub(super) fn check_records(self, checks: &mut Checks) {
        let damaged = self.vault.damage.count() > 0;
        let warning =
            "Some rows of the data file are damaged and are passed over; the log names them.";
        checks.warn("records", damaged.then_some(warning));
    }

    pub(super) fn tell_damage(self, status: &mut Status) {
        status.set("scrub", "damaged_rows", StatusValue::Count(self.vault.damage.count()));
        status.set("scrub", "rows", StatusValue::Count(self.vault.scrubs.rows()));
        status.set("scrub", "passes", StatusValue::Count(self.vault.scrubs.passes()));
        status.set_known(
            "scrub",
            "last_pass_at",
            self.vault.scrubs.passed_at().map(StatusValue::Time),
        );
    }
}
