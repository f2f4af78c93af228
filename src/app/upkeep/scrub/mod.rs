//! The scrub: a slow walk over the whole file, again and again, while the server works. Every record
//! must open and have its index entries, and every index entry must lead to a record that has it.
//!
//! A damaged page of the file may hide records without any error when the file was closed cleanly, so
//! nothing but a walk finds that. `strongroom verify` finds more, on a stopped vault; the scrub costs a
//! bounded number of rows a second, and nobody needs to think of it. It only reads.

mod entries;
mod records;
pub(in crate::app) mod watch;

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use uuid::Uuid;

use crate::app::error::{Error, Fault};
use crate::app::upkeep::Upkeep;
use crate::app::upkeep::damage::DamagedRow;
use crate::app::vault::Vault;
use crate::bounds::SCRUB_COST_MAX;
use crate::crypto::TenantKeys;
use crate::domain::id::TenantId;
use crate::store::{Row, Snapshot, Table};

/// Records come before the entries that lead to them.
pub(in crate::app) const TABLES: &[Table] = &[
    Table::Tenants,
    Table::Applications,
    Table::ApplicationKeys,
    Table::ApiKeys,
    Table::Tokens,
    Table::TokenIntents,
    Table::ThreedsSessions,
    Table::TokenNames,
    Table::TokenLists,
    Table::Expiries,
];

/// The progress of a pass. It is kept in memory only: a restart starts a new pass.
#[derive(Debug, Default)]
pub struct ScrubWalk {
    /// The number of tables that are done.
    done: usize,
    from: Vec<u8>,
}

/// The outcome of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scrubbed {
    /// There is more in this pass.
    Some,
    /// The pass is over.
    Everything,
}

/// One step's view of the file.
struct Look<'a> {
    app: &'a Vault,
    snapshot: Snapshot,
    /// `None` for a tenant whose keys do not open.
    keys: HashMap<TenantId, Option<TenantKeys>>,
}

impl Upkeep<'_> {
    /// Looks at the next rows, as many as one second may cost. Only one task may call this, with the
    /// same walk each time. It reads the disk, so it belongs on a thread that may wait.
    pub fn scrub_some(self, walk: &mut ScrubWalk) -> Result<Scrubbed, Error> {
        let mut look =
            Look { app: self.vault, snapshot: self.vault.snapshot()?, keys: HashMap::new() };
        let mut cost: usize = 0;
        while let Some(table) = TABLES.get(walk.done).copied() {
            let mut rest = look.snapshot.range(&table.whole().starting_at(&walk.from))?;
            loop {
                let Some(row) = rest.next().transpose()? else {
                    walk.done = walk.done.saturating_add(1);
                    walk.from.clear();
                    break;
                };
                if cost >= SCRUB_COST_MAX {
                    walk.from = row.0;
                    return Ok(Scrubbed::Some);
                }
                cost = cost.saturating_add(cost_of(table));
                look.check(table, &row)?;
                self.vault.scrubs.rows.fetch_add(1, Ordering::Relaxed);
            }
        }
        *walk = ScrubWalk::default();
        self.vault.damage.end_pass();
        self.vault.scrubs.passes.fetch_add(1, Ordering::Relaxed);
        self.vault.scrubs.passed_at.store(self.vault.now().micros(), Ordering::Relaxed);
        Ok(Scrubbed::Everything)
    }
}

/// In look-ups, roughly.
const fn cost_of(table: Table) -> usize {
    match table {
        Table::Tokens => 16,
        Table::TokenLists | Table::TokenNames | Table::Expiries => 4,
        Table::ApiKeys
        | Table::ApplicationKeys
        | Table::Applications
        | Table::Audit
        | Table::AuditCheckpoints
        | Table::Counts
        | Table::Cvcs
        | Table::Idempotency
        | Table::Keys
        | Table::Meta
        | Table::Tenants
        | Table::ThreedsRanges
        | Table::ThreedsSessions
        | Table::TokenIntents => 2,
    }
}

impl Look<'_> {
    fn check(&mut self, table: Table, row: &Row) -> Result<(), Error> {
        match table {
            Table::ApiKeys => self.api_key(row),
            Table::ApplicationKeys => self.application_key(row),
            Table::Applications => self.application(row),
            Table::Expiries => self.due(row),
            Table::Tenants => self.tenant(row),
            Table::ThreedsSessions => self.session(row),
            Table::TokenIntents => self.intent(row),
            Table::TokenLists => self.listed(row),
            Table::TokenNames => self.name(row),
            Table::Tokens => self.token(row),
            Table::Audit
            | Table::AuditCheckpoints
            | Table::Counts
            | Table::Cvcs
            | Table::Idempotency
            | Table::Keys
            | Table::Meta
            | Table::ThreedsRanges => Ok(()),
        }
    }

    fn find(&self, table: Table, tenant: TenantId, id: Uuid, why: &'static str) {
        self.app.damage.note(DamagedRow { table, tenant: tenant.uuid(), id, why });
    }

    /// A row whose key makes no sense.
    fn misplaced(&self, table: Table) {
        let nil = TenantId::new(Uuid::nil());
        self.find(table, nil, Uuid::nil(), "the key of a row makes no sense");
    }

    /// What was read, unless it is damaged: that is noted, for the record itself.
    fn sound<T>(
        &self,
        table: Table,
        tenant: TenantId,
        id: Uuid,
        read: Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(error) => self.app.damage.pass_over(table, tenant, id, error).map(|()| None),
        }
    }

    fn learn(&mut self, tenant: TenantId) -> Result<(), Error> {
        if self.keys.contains_key(&tenant) {
            return Ok(());
        }
        let keys = match self.app.keys().tenant_keys(&self.snapshot, tenant) {
            Ok(keys) => Some(keys),
            Err(Error::Internal(_)) => {
                self.app.damage.note_fault(Table::Keys, tenant, tenant.uuid(), Fault::DoesNotOpen);
                None
            }
            Err(error) => return Err(error),
        };
        self.keys.insert(tenant, keys);
        Ok(())
    }

    /// `None` when they do not open, which is noted once.
    fn keys(&self, tenant: TenantId) -> Option<&TenantKeys> {
        self.keys.get(&tenant)?.as_ref()
    }
}
