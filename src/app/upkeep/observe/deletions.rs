//! Deletions of tenants under way, for `status`.

use crate::app::Upkeep;
use crate::bounds::TENANTS_MAX;
use crate::metrics::Page;
use crate::store::tables::meta;

impl Upkeep<'_> {
    pub(super) fn measure_deletions(self, page: &mut Page) {
        // The checks report a file that cannot be read.
        let Ok(snapshot) = self.vault.snapshot() else { return };
        let Ok(rows) = snapshot.first(&meta::deletions(), TENANTS_MAX) else { return };
        let count = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        page.gauge("strongroom_tenant_deletions", "Deletions of tenants under way.", count)
            .status("deletions", "tenants");
    }
}
