//! Metrics and checks of the archive. A vault without an archive has no samples and no check.

use crate::app::Upkeep;
use crate::app::upkeep::archive::ArchiveCondition;
use crate::app::upkeep::archive_state::ArchiveState;
use crate::metrics::{Checks, Page, StatusValue};

impl Upkeep<'_> {
    pub(super) fn measure_archive(self, page: &mut Page) {
        let observed = self.vault.archive.read();
        let lag = observed.map(|observed| self.archive().lag(&observed));
        page.known_gauge(
            "strongroom_archive_lag_seconds",
            "Age of the oldest change that is not archived, or 0 if all are archived.",
            lag,
        )
        .status("archive", "lag_s");
        page.known_gauge(
            "strongroom_archive_lag_batches",
            "Batches of changes that are not archived.",
            observed.and_then(|observed| self.archive().lag_batches(&observed)),
        )
        .status("archive", "lag_batches");
        page.known_gauge(
            "strongroom_archive_lag_bytes",
            "Length of the log that was not archived after the last try.",
            observed.and_then(|observed| observed.waiting_bytes),
        )
        .status("archive", "lag_bytes");
        let failing = observed.map(|observed| u64::from(observed.state != ArchiveState::Working));
        page.known_gauge(
            "strongroom_archive_failing",
            "1 if the last try to archive failed, else 0.",
            failing,
        );
        page.known_gauge(
            "strongroom_archive_departed",
            "1 if the archive is no longer that of this vault until a new timeline begins, else 0.",
            observed.map(|observed| u64::from(observed.state.is_departed())),
        );
        let needs_backup = observed.and_then(|_| self.archive().needs_backup().ok());
        page.known_gauge(
            "strongroom_archive_gap",
            "1 if no backup is known that the archive continues without a gap, else 0.",
            needs_backup.map(u64::from),
        );
        page.line("archive", "needs_backup", needs_backup.map(StatusValue::Flag));
        let Some(observed) = observed else {
            let ended = self.vault.archive.refusal();
            page.line("archive", "state", ended.map(|state| StatusValue::Name(state.as_str())));
            return;
        };
        page.line("archive", "state", StatusValue::Name(observed.state.as_str()));
        page.line("archive", "archived_up_to", observed.archived.map(StatusValue::Count));
        page.line("archive", "archived_at", observed.archived_at.map(StatusValue::Time));
        page.line("archive", "last_piece_bytes", observed.piece_bytes.map(StatusValue::Count));
    }

    /// Only a warning: a vault that does not archive still answers requests. Once another vault was
    /// promoted, or may have been, this one refuses changes, so it is no longer ready for them.
    pub(super) fn check_archive(self, checks: &mut Checks) {
        let is_refusing = self.vault.archive.refusal().is_some();
        match self.archive().condition() {
            ArchiveCondition::Off => (),
            ArchiveCondition::Right => checks.warn("archive", None),
            ArchiveCondition::Warning(warning) if is_refusing => {
                checks.set_for_writes("archive", Some(warning));
            }
            ArchiveCondition::Warning(warning) => checks.warn("archive", Some(warning)),
        }
    }
}
