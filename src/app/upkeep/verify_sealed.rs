//! The part of `strongroom verify` for proxies, sessions, webhooks and the keys of clients: every
//! row opens, and every row that finds another one has it.

use crate::app::error::Error;
use crate::app::upkeep::verify::{Report, Verification, unless_damaged};
use crate::crypto::TenantKeys;
use crate::domain::id::TenantId;
use crate::store::tables::{self, CountKind};
use crate::store::{Snapshot, Table};

const SEALED: &[Table] = &[
    Table::ClientKeys,
    Table::Proxies,
    Table::Sessions,
    Table::WebhookDeliveries,
    Table::Webhooks,
];

/// Pairs of tables with the same number of rows: a row of the first finds one of the second.
const PAIRS: &[(Table, Table)] = &[
    (Table::ProxyKeys, Table::Proxies),
    (Table::SessionKeys, Table::Sessions),
    (Table::WebhookSchedule, Table::WebhookDeliveries),
];

impl Verification<'_> {
    pub(super) fn verify_sealed(
        self,
        snapshot: &Snapshot,
        tenant: TenantId,
        keys: &TenantKeys,
        report: &mut Report,
    ) -> Result<(), Error> {
        for table in SEALED {
            let mut rows: i64 = 0;
            for entry in snapshot.range(&table.rows_of(tenant.bytes()))? {
                let (key, sealed) = entry?;
                rows = rows.saturating_add(1);
                let opened = keys.open(table.number(), &key, &sealed).map_err(Error::from);
                if unless_damaged(opened)?.is_none() {
                    let (name, id) = (table.name(), table.id_of_key(&key));
                    report.find(format!("tenant {tenant}: {id} of {name} does not open"));
                }
            }
            let counted = snapshot.count(&tables::counts(tenant, CountKind::Sessions))?;
            if *table == Table::Sessions && rows != counted {
                report.find(format!("tenant {tenant}: {rows} sessions, but {counted} are counted"));
            }
        }
        Ok(())
    }
}

pub(super) fn verify_pairs(snapshot: &Snapshot, report: &mut Report) -> Result<(), Error> {
    for (finder, found) in PAIRS {
        let (finders, rows) = (snapshot.len(*finder)?, snapshot.len(*found)?);
        if finders != rows {
            let (finder, found) = (finder.name(), found.name());
            report.find(format!("{finders} rows of {finder}, but {rows} of {found}"));
        }
    }
    Ok(())
}
