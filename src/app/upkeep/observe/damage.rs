//! Metrics of damaged rows and of the scrub's progress.

use crate::app::Upkeep;
use crate::metrics::{Checks, Page, StatusValue};

impl Upkeep<'_> {
    pub(super) fn measure_damage(self, page: &mut Page) {
        page.gauge(
            "strongroom_damaged_rows",
            "Rows of the data file that are known to be damaged.",
            self.vault.damage.count(),
        )
        .status("scrub", "damaged_rows");
        page.counter(
            "strongroom_damaged_rows_met_total",
            "Times that a list, a sweep, a rotation or the scrub skipped a damaged row.",
            self.vault.damage.met(),
        );
        page.counter(
            "strongroom_scrubbed_rows_total",
            "Rows that the scrub has checked.",
            self.vault.scrubs.rows(),
        )
        .status("scrub", "rows");
        page.counter(
            "strongroom_scrub_passes_total",
            "Passes of the scrub over the whole file.",
            self.vault.scrubs.passes(),
        )
        .status("scrub", "passes");
        let passed_at = self.vault.scrubs.passed_at();
        page.known_gauge(
            "strongroom_scrub_age_seconds",
            "Seconds since the last whole pass of the scrub.",
            passed_at.map(|at| self.vault.now().since(at)),
        );
        page.line("scrub", "last_pass_at", passed_at.map(StatusValue::Time));
    }

    /// Only a warning: a damaged record is no reason to refuse requests for the intact ones.
    pub(super) fn check_records(self, checks: &mut Checks) {
        let damaged = self.vault.damage.count() > 0;
        let warning = "Some rows of the data file are damaged and are skipped; the log names them.";
        checks.warn("records", damaged.then_some(warning));
    }
}
