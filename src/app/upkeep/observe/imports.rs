//! The progress of imports, for `status`. It is in the data file, so an interrupted import shows
//! until it continues.

use crate::app::Upkeep;
use crate::bounds::{IMPORTS_MAX, TENANTS_MAX};
use crate::metrics::{Page, StatusValue};
use crate::store::record::decode_import;
use crate::store::tables::meta;

impl Upkeep<'_> {
    pub(super) fn measure_imports(self, page: &mut Page) {
        // The checks report a file that cannot be read.
        let Ok(snapshot) = self.vault.snapshot() else { return };
        let most = IMPORTS_MAX.saturating_mul(TENANTS_MAX);
        let Ok(rows) = snapshot.first(&meta::imports(), most) else { return };
        let states = rows.iter().filter_map(|(_, bytes)| decode_import(bytes).ok());
        let open: Vec<_> = states.filter(|state| !state.is_finished).collect();
        let count = u64::try_from(open.len()).unwrap_or(u64::MAX);
        page.gauge("strongroom_imports", "Imports that are not complete.", count)
            .status("imports", "unfinished");
        if let Some(newest) = open.iter().max_by_key(|state| state.changed_at) {
            let age = self.vault.now().since(newest.changed_at).as_secs();
            page.line("imports", "rows_done", StatusValue::Count(newest.rows));
            page.line("imports", "last_rows_ago_s", StatusValue::Count(age));
        }
    }
}
