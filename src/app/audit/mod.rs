//! The audit chain: each act becomes an entry in a sealed row, in the same change as its effect.
//!
//! Reads have no effect, so their entries are queued and written in batches ([`reads`]). An act
//! that cannot be audited is refused: a read is not answered before its entry is queued, and an
//! operation that fails after it opened a value has an entry too ([`opened`]).

mod checkpoint;
pub(in crate::app) mod entry;
mod export;
mod follow;
mod logs;
pub(in crate::app) mod opened;
pub(in crate::app) mod readings;
pub(in crate::app) mod reads;
mod records;
mod refusal_rows;
pub(in crate::app) mod refusals;
pub(in crate::app) mod subject;
pub(in crate::app) mod watch;

use std::borrow::Borrow;

use crate::app::audit::entry::AuditedAct;
use crate::app::audit::reads::{FewEntries, ReadQueue};
use crate::app::audit::subject::Subject;
use crate::app::caller::Caller;
use crate::app::error::{Error, Fault};
use crate::app::program_calls::gathered;
use crate::app::{Audit, Vault, origin};
use crate::bounds::{AUDIT_RETENTION_DAYS, AUDIT_ROW_ENTRIES_MAX};
use crate::crypto::Identity;
use crate::domain::audit::{Act, Actor, AuditEntry, AuditReads, Entity, EntityKind};
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::idempotency::Replay;
use crate::store::chain::AuditRow;
use crate::store::record::{decode_audit, encode_audit};
use crate::store::{Change, SealedEntries, Table};

pub use crate::store::chain::{ChainReport, Receipt, TrustAnchors, decode_receipt, encode_receipt};
pub use checkpoint::AuditStatus;
pub use entry::AuditScope;
pub use export::{ExportCursor, ExportQuery, ExportedEntry, digest_of};
pub use follow::{ChainGap, ChainPosition, FollowStep, FollowedItem};
pub use logs::{LogPage, LogQuery, LogStart};
pub use refusal_rows::{RefusalPace, WrittenRefusals};
pub use refusals::RefusedAttempt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditPolicy {
    pub reads: AuditReads,
    pub retention: std::time::Duration,
}

impl Default for AuditPolicy {
    fn default() -> Self {
        let days = u64::try_from(AUDIT_RETENTION_DAYS).unwrap_or(u64::MAX);
        let retention = std::time::Duration::from_hours(days.saturating_mul(24));
        Self { reads: AuditReads::Batched, retention }
    }
}

impl Vault {
    /// Call it before the vault takes requests: it replaces the queue of reads.
    #[must_use]
    pub fn with_audit(mut self, policy: AuditPolicy) -> Self {
        self.reads = ReadQueue::new(policy.reads, &self.store);
        self.audit_retention = policy.retention;
        self
    }
}

impl Audit<'_> {
    /// For an operator's act without an effect in the data file, such as an export.
    pub async fn write_operator_entry(self, act: Act, entity: Entity) -> Result<(), Error> {
        self.write_server_entry(Actor::Operator, act, entity).await
    }

    /// For the start or the stop of the server.
    pub async fn write_lifecycle_entry(self, act: Act) -> Result<(), Error> {
        self.write_server_entry(Actor::System, act, Entity::of_server(EntityKind::Vault)).await
    }

    pub(super) async fn write_server_entry(
        self,
        actor: Actor,
        act: Act,
        entity: Entity,
    ) -> Result<(), Error> {
        self.vault.require_space_for_audit()?;
        self.vault.store.commit(self.server_entry(actor, act, entity)).await?;
        Ok(())
    }

    /// An entry that belongs to no tenant.
    pub(super) fn server_entry(self, actor: Actor, act: Act, entity: Entity) -> Change {
        let entry = origin::entry(self.vault.now(), actor, act, entity);
        rows(self.vault, AuditScope::Server, &[entry])
    }

    /// Adds the entries of a tenant, and their webhook events.
    pub(super) fn acts<'a>(
        self,
        tenant: TenantId,
        acts: impl IntoIterator<Item: Borrow<AuditedAct<'a>>>,
    ) -> Change {
        let (mut entries, mut events) = (FewEntries::new(), Change::new());
        for act in acts {
            let act = act.borrow();
            entries.push(act.entry());
            events = events.and(self.vault.webhooks().event(tenant, act));
        }
        rows(self.vault, AuditScope::Tenant(tenant), &entries).and(events)
    }

    /// Adds one entry of a tenant, and its event.
    pub(super) fn entry<'s>(
        self,
        tenant: TenantId,
        actor: Actor,
        act: Act,
        subject: impl Into<Subject<'s>>,
        at: Timestamp,
    ) -> Change {
        self.acts(tenant, &[AuditedAct { at, actor, act, subject: subject.into() }])
    }

    /// Adds one entry for an act of this caller, and its event.
    pub(super) fn caller_entry<'s>(
        self,
        caller: &Caller,
        act: Act,
        subject: impl Into<Subject<'s>>,
        at: Timestamp,
    ) -> Change {
        self.entry(caller.tenant.id, caller.actor(), act, subject, at)
    }

    /// Fails if the number of entries differs from the row's count.
    pub(super) fn open_row(self, row: &AuditRow) -> Result<Vec<AuditEntry>, Error> {
        let plain = self.vault.keys().system().open_audit(&place(&row.scope), &row.sealed)?;
        let entries = decode_audit(plain.expose())?;
        if entries.len() == usize::from(row.count) {
            Ok(entries)
        } else {
            Err(Error::Internal(Fault::BadRecord))
        }
    }

    /// A replayed answer shows its tokens, or the text of a key, once more, so they are noted as read
    /// again.
    pub async fn note_replay(self, caller: &Caller, replay: &Replay) -> Result<(), Error> {
        replay.shown.iter().for_each(gathered::note);
        self.note_reads(caller, replay.shown.iter().cloned(), self.vault.now()).await
    }
}

/// The identity that a row is sealed with. The row's position is not part of it: the position is
/// known only when the row is written, and the chain fixes it.
const fn place(scope: &[u8; 16]) -> Identity<'_> {
    Identity { tenant: scope, table: Table::Audit.number(), key: &[] }
}

/// Adds these entries to the chain. Combine it with the change that has their effect. Entries of
/// tenants go through [`Audit::acts`], which adds their events.
pub(in crate::app) fn rows(vault: &Vault, scope: AuditScope, entries: &[AuditEntry]) -> Change {
    let scope = scope.bytes();
    let mut change = Change::new();
    for entries in entries.chunks(AUDIT_ROW_ENTRIES_MAX) {
        change = match sealed_row(vault, scope, entries) {
            Some(row) => change.audit(row),
            None => change.and(Change::impossible("audit entries do not encode")),
        };
    }
    change
}

/// `None` when the entries cannot be encoded.
fn sealed_row(vault: &Vault, scope: [u8; 16], entries: &[AuditEntry]) -> Option<SealedEntries> {
    let at = entries.iter().map(|entry| entry.at).max()?;
    let count = u16::try_from(entries.len()).ok()?;
    let plain = encode_audit(entries).ok()?;
    let system = vault.keys().system();
    let sealed = system.seal_audit(&place(&scope), &plain, vault.random());
    Some(SealedEntries { scope, at, count, sealed })
}
