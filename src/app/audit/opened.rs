//! The values that one operation opened. Each gets its entry before the operation returns, also if
//! the operation fails: a failure depends on the value, so it discloses something about it.

use smallvec::SmallVec;

use crate::app::audit::reads::FewEntries;
use crate::app::caller::Caller;
use crate::app::error::Error;
use crate::app::program_calls::gathered;
use crate::app::{Vault, origin};
use crate::domain::audit::{Act, Actor, Entity};
use crate::domain::id::TenantId;
use crate::lock::Lock;

/// Functions that open a value require this. Dropping it before [`Opened::settle`] writes the
/// entries of a failure: the client has disconnected, and has learned that there was no answer in
/// this time.
#[must_use]
#[derive(Debug)]
pub(in crate::app) struct Opened<'a> {
    vault: &'a Vault,
    tenant: TenantId,
    actor: Actor,
    values: Lock<SmallVec<[OpenedValue; 1]>>,
}

#[derive(Debug)]
struct OpenedValue {
    act: Act,
    entity: Entity,
    success: SuccessEntry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SuccessEntry {
    Queued,
    /// The operation's change has the entry.
    InChange,
}

impl<'a> Opened<'a> {
    pub(in crate::app) fn new(vault: &'a Vault, tenant: TenantId, actor: Actor) -> Self {
        Self { vault, tenant, actor, values: Lock::new(SmallVec::new()) }
    }

    pub(in crate::app) fn by(vault: &'a Vault, caller: &Caller) -> Self {
        Self::new(vault, caller.tenant.id, caller.actor())
    }

    /// Call this before anything depends on the value.
    pub(in crate::app) fn add(&self, act: Act, entity: Entity) {
        self.push(OpenedValue { act, entity, success: SuccessEntry::Queued });
    }

    /// As `add`, for an act whose success has its entry in the change.
    pub(in crate::app) fn add_written(&self, act: Act, entity: Entity) {
        self.push(OpenedValue { act, entity, success: SuccessEntry::InChange });
    }

    /// Queues the entries, with the outcome. If they cannot be queued, the error replaces the
    /// outcome.
    #[expect(
        clippy::manual_async_fn,
        reason = "the future of an `async fn` would hold the outcome twice"
    )]
    pub(in crate::app) fn settle<T: Send, E: From<Error> + Send>(
        self,
        outcome: Result<T, E>,
    ) -> impl Future<Output = Result<T, E>> + Send {
        async move {
            let entries = self.entries(outcome.is_ok());
            self.vault.audit().note_acts(self.tenant, entries).await?;
            outcome
        }
    }

    fn push(&self, value: OpenedValue) {
        gathered::note(&value.entity);
        self.values.lock().push(value);
    }

    /// Takes the values and makes one entry per entity. The call through a proxy comes first.
    fn entries(&self, has_succeeded: bool) -> FewEntries {
        let mut values = {
            let mut values = self.values.lock();
            std::mem::take(&mut *values)
        };
        if has_succeeded {
            values.retain(|value| value.success == SuccessEntry::Queued);
        }
        values.sort_by_key(|value| (value.act != Act::Invoke, value.entity.id));
        values.dedup_by(|next, value| next.entity.id == value.entity.id);
        let at = self.vault.now();
        let entry = |OpenedValue { act, entity, .. }| {
            let act = if has_succeeded { act } else { act.failed() };
            origin::entry(at, self.actor, act, entity)
        };
        values.into_iter().map(entry).collect()
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        let entries = self.entries(false);
        if !entries.is_empty() {
            self.vault.audit().note_abandoned(self.tenant, entries);
        }
    }
}
