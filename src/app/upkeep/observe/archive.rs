//! Metrics and checks of the archive. A vault without an archive has none of them.

use crate::app::upkeep::Upkeep;
use crate::app::upkeep::archive::{ArchiveCondition, ArchiveState};
use crate::metrics::{Checks, Page, StatusValue};

impl Upkeep<'_> {
    pub(super) fn measure_archive(self, page: &mut Page) {
        let Some(observed) = self.vault.archive.read() else { return };
        page.gauge(
            "strongroom_archive_lag_seconds",
            "Age of the oldest change that is not archived, or 0 if all are archived.",
            self.archive().lag(&observed),
        )
        .status("archive", "lag_s");
        page.gauge(
            "strongroom_archive_failing",
            "1 if the last try to archive failed, else 0.",
            u64::from(observed.state != ArchiveState::Working),
        );
        page.line("archive", "state", StatusValue::Name(observed.state.name()));
        if let Some((sequence, time)) = observed.archived {
            page.line("archive", "archived_up_to", StatusValue::Count(sequence));
            page.line("archive", "archived_at", StatusValue::Time(time));
        }
        if let Ok(needs_backup) = self.archive().needs_backup() {
            page.gauge(
                "strongroom_archive_gap",
                "1 if no backup is known that the archive continues without a gap, else 0.",
                u64::from(needs_backup),
            );
            page.line("archive", "needs_backup", StatusValue::Flag(needs_backup));
        }
    }

    /// A warning only: a vault that does not archive still answers requests.
    pub(super) fn check_archive(self, checks: &mut Checks) {
        match self.archive().condition() {
            ArchiveCondition::Off => (),
            ArchiveCondition::Right => checks.warn("archive", None),
            ArchiveCondition::Warning(warning) => checks.warn("archive", Some(warning)),
        }
    }
}
