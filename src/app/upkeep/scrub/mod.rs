//! The scrub: a slow walk over the whole file, repeated while the server runs. Every record must
//! open and have its index entries, and every index entry must refer to a record that has it.
//!
//! In a file that was closed cleanly, a damaged page may hide records without any error, so only a
//! walk finds the damage. `strongroom verify` checks more, but needs a stopped vault. The scrub
//! runs without an operator, costs a bounded number of look-ups a second, and only reads.

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

/// The tables in the order of the walk: records before the index entries that refer to them.
pub(in crate::app) const TABLES: &[Table] = &[
    Table::Tenants,
    Table::Applications,
    Table::ApplicationKeys,
    Table::ApiKeys,
    Table::KeyUses,
    Table::Tokens,
    Table::TokenIntents,
    Table::ThreedsSessions,
    Table::ClientKeys,
    Table::Proxies,
    Table::Sessions,
    Table::Webhooks,
    Table::WebhookDeliveries,
    Table::TokenNames,
    Table::TokenLists,
    Table::Expiries,
    Table::Cvcs,
    Table::IdempotencyAnswers,
    Table::Idempotency,
];

/// The progress of a pass. It is in memory only: after a restart, a new pass begins.
#[derive(Debug, Default)]
pub struct ScrubWalk {
    /// The number of completed tables.
    done: usize,
    from: Vec<u8>,
}

/// The result of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScrubProgress {
    /// The pass is not complete.
    Some,
    /// The pass is complete.
    Everything,
}

/// The snapshot and the tenants' keys of one step.
struct Look<'a> {
    app: &'a Vault,
    snapshot: Snapshot,
    /// `None` for a tenant whose keys do not open.
    keys: HashMap<TenantId, Option<TenantKeys>>,
}

impl Upkeep<'_> {
    /// Checks the next rows, at the cost allowed for one second. Only one task may call this, with
    /// the same walk each time. It reads the disk, so it must run on a thread that may block.
    pub fn scrub_some(self, walk: &mut ScrubWalk) -> Result<ScrubProgress, Error> {
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
                    return Ok(ScrubProgress::Some);
                }
                cost = cost.saturating_add(cost_of(table));
                look.check(table, &row)?;
                self.vault.scrubs.rows.fetch_add(1, Ordering::Relaxed);
            }
        }
        *walk = ScrubWalk::default();
        if self.vault.cvcs().damaged_keys() > 0 {
            let why = "a key of card verification codes is damaged";
            look.find(Table::Cvcs, TenantId::new(Uuid::nil()), Uuid::nil(), why);
        }
        self.vault.damage.end_pass();
        self.vault.scrubs.passes.fetch_add(1, Ordering::Relaxed);
        self.vault.scrubs.passed_at.store(self.vault.now().micros(), Ordering::Relaxed);
        Ok(ScrubProgress::Everything)
    }
}

/// The approximate number of look-ups for one row.
const fn cost_of(table: Table) -> usize {
    match table {
        Table::Tokens => 16,
        Table::Cvcs | Table::Expiries | Table::TokenLists | Table::TokenNames => 4,
        Table::ApiKeys
        | Table::ApplicationKeys
        | Table::Applications
        | Table::Audit
        | Table::AuditCheckpoints
        | Table::ClientKeys
        | Table::Counts
        | Table::Idempotency
        | Table::IdempotencyAnswers
        | Table::KeyUses
        | Table::Keys
        | Table::Meta
        | Table::Processes
        | Table::Proxies
        | Table::ProxyKeys
        | Table::SessionKeys
        | Table::Sessions
        | Table::Tenants
        | Table::ThreedsRanges
        | Table::ThreedsSessions
        | Table::TokenIntents
        | Table::WebhookDeliveries
        | Table::WebhookSchedule
        | Table::Webhooks => 2,
    }
}

impl Look<'_> {
    fn check(&mut self, table: Table, row: &Row) -> Result<(), Error> {
        match table {
            Table::ApiKeys => self.api_key(row),
            Table::ApplicationKeys => self.application_key(row),
            Table::Applications => self.application(row),
            Table::Cvcs => self.code(row),
            Table::Expiries => self.due(row),
            Table::Idempotency => self.finder(row),
            Table::IdempotencyAnswers => self.answer(row),
            Table::KeyUses => self.key_use(row),
            Table::Tenants => self.tenant(row),
            Table::ThreedsSessions => self.session(row),
            Table::TokenIntents => self.intent(row),
            Table::TokenLists => self.listed(row),
            Table::TokenNames => self.name(row),
            Table::Tokens => self.token(row),
            Table::ClientKeys
            | Table::Proxies
            | Table::Sessions
            | Table::WebhookDeliveries
            | Table::Webhooks => self.sealed(table, row),
            Table::Audit
            | Table::AuditCheckpoints
            | Table::Counts
            | Table::Keys
            | Table::Meta
            | Table::Processes
            | Table::ProxyKeys
            | Table::SessionKeys
            | Table::ThreedsRanges
            | Table::WebhookSchedule => Ok(()),
        }
    }

    fn find(&self, table: Table, tenant: TenantId, id: Uuid, why: &'static str) {
        self.app.damage.note(DamagedRow { table, tenant: tenant.uuid(), id, why });
    }

    /// Notes a row whose key cannot be parsed.
    fn misplaced(&self, table: Table) {
        let nil = TenantId::new(Uuid::nil());
        self.find(table, nil, Uuid::nil(), "the key of a row makes no sense");
    }

    /// The value that was read, or `None` if it is damaged. The damage is noted under the given id.
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
            // The tenant is being deleted.
            Err(Error::Unauthenticated) => None,
            Err(error) => return Err(error),
        };
        self.keys.insert(tenant, keys);
        Ok(())
    }

    /// `None` when the keys do not open; `learn` has noted that.
    fn keys(&self, tenant: TenantId) -> Option<&TenantKeys> {
        self.keys.get(&tenant)?.as_ref()
    }
}
