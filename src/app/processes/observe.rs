//! The processes in metrics, checks and status.

use crate::app::Processes;
use crate::bounds::PROCESS_UNREADY_AFTER;
use crate::metrics::{Checks, Page, StatusValue};

impl Processes<'_> {
    pub(in crate::app) fn measure(self, page: &mut Page) {
        let live = u64::try_from(self.live()).unwrap_or(u64::MAX);
        page.gauge(
            "strongroom_processes",
            "Live servers that share the store, with this one.",
            live,
        )
        .status("processes", "live");
        page.gauge(
            "strongroom_leader",
            "1 if this process runs the background tasks of the vault.",
            u64::from(self.leads()),
        );
        page.line("processes", "leads", StatusValue::Flag(self.leads()));
        let since = self.vault.store.shared().and_then(|shared| shared.process().since_poll());
        page.known_gauge(
            "strongroom_processes_poll_age_seconds",
            "Time since this process last looked for changes of the others.",
            since,
        );
        // A store that cannot be read is reported as a failed check.
        if let Ok(all) = self.list()
            && !all.is_empty()
        {
            page.line("processes", "all", StatusValue::Processes(all));
        }
    }

    pub(in crate::app) fn check(self, checks: &mut Checks) {
        let Some(shared) = self.vault.store.shared() else { return };
        let since = shared.process().since_poll();
        let is_late = since.is_none_or(|since| since > PROCESS_UNREADY_AFTER);
        checks.set("processes", is_late.then_some("The database has not answered for seconds."));
    }
}
