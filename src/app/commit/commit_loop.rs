//! The optimistic commit loop: decide on a snapshot, commit, and decide again if a concurrent
//! change has invalidated the decision.

use std::collections::{BTreeMap, BTreeSet};

use crate::app::Vault;
use crate::app::commit::idempotency::Guard;
use crate::app::error::Error;
use crate::bounds::{DECISIONS_MAX, SHARD_SWEEP_MAX};
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::idempotency::{AnswerStatus, RememberedAnswer};
use crate::store::{Authority, Change, Shard, Snapshot, Verdict};

/// Decides which changes are accepted when the disk is nearly full, or when another vault was
/// promoted in place of this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum Priority {
    /// Refused only below the hard floor, and accepted by a superseded vault. For audit entries of
    /// reads, and for signatures of the audit chain.
    Audit,
    /// Refused as soon as free space is below the floor.
    Normal,
    /// Refused only below the hard floor. For removing records, revoking access, and finishing work
    /// that began when there was space.
    Upkeep,
}

/// The guard of the caller's idempotency key, if any, and the function that renders the answer.
/// With a guard the answer is part of the change, so it is rendered before the commit, and the same
/// bytes are then sent.
#[derive(Clone, Copy)]
pub struct Write<'a, T> {
    pub guard: Option<&'a Guard>,
    pub render: &'a (dyn Fn(&T) -> RememberedAnswer + Sync),
}

#[derive(Debug)]
pub struct CommitOutcome<T> {
    pub outcome: T,
    pub answer: RememberedAnswer,
}

impl<T> Write<'_, T> {
    /// For a write without an idempotency key whose answer is rendered elsewhere.
    pub const fn plain() -> Self {
        Self { guard: None, render: &|_| RememberedAnswer::empty(AnswerStatus::Ok) }
    }
}

impl<T> std::fmt::Debug for Write<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Write").field("guard", &self.guard).finish_non_exhaustive()
    }
}

impl Vault {
    /// `decide` makes the change from a fresh snapshot.
    pub(in crate::app) async fn commit<T: Send>(
        &self,
        priority: Priority,
        mut decide: impl FnMut(&Snapshot) -> Result<(Change, T), Error> + Send,
    ) -> Result<T, Error> {
        let mut last = Err(Error::Busy);
        let mut decide = |attempt: &mut Attempt<'_>| {
            let (change, outcome) = decide(attempt.snapshot)?;
            last = Ok(outcome);
            Ok(change)
        };
        commit_loop(self, priority, None, &mut decide).await?;
        last
    }

    /// As `commit`, but also renders the answer. With a guard, the same change stores the answer.
    pub(in crate::app) async fn commit_write<T: Send>(
        &self,
        priority: Priority,
        write: &Write<'_, T>,
        mut decide: impl FnMut(&Snapshot) -> Result<(Change, T), Error> + Send,
    ) -> Result<CommitOutcome<T>, Error> {
        let mut last = Err(Error::Busy);
        let mut decide = |attempt: &mut Attempt<'_>| {
            let (change, outcome) = decide(attempt.snapshot)?;
            let answer = (write.render)(&outcome);
            let change = attempt.remember(change, &answer)?;
            last = Ok(CommitOutcome { outcome, answer });
            Ok(change)
        };
        commit_loop(self, priority, write.guard, &mut decide).await?;
        last
    }
}

/// The shards that upkeep leaves out because their turns cannot be taken now.
pub(in crate::app) type HeldShards = BTreeSet<Shard>;

impl Vault {
    /// Work on one shard that must not hold up other shards: a process that hangs may have its turn.
    /// After [`SHARD_SWEEP_MAX`] this fails, though the change may still be written.
    pub(in crate::app) async fn for_a_while<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        if !self.processes().may_be_several() {
            return work.await;
        }
        tokio::time::timeout(SHARD_SWEEP_MAX, work).await.unwrap_or(Err(Error::Busy))
    }

    pub(in crate::app) fn shard_of(&self, tenant: TenantId) -> Shard {
        self.store.shards().of_scope(tenant.bytes())
    }

    /// Groups rows by the shards of their scopes.
    pub(in crate::app) fn by_shard<T>(
        &self,
        rows: impl IntoIterator<Item = T>,
        scope: impl Fn(&T) -> [u8; 16],
    ) -> BTreeMap<Shard, Vec<T>> {
        let shards = self.store.shards();
        let mut found: BTreeMap<Shard, Vec<T>> = BTreeMap::new();
        for row in rows {
            found.entry(shards.of_scope(&scope(&row))).or_default().push(row);
        }
        found
    }
}

impl Authority {
    /// As [`Vault::commit`], for work that only these processes may do.
    pub(in crate::app) async fn commit<T: Send>(
        self,
        vault: &Vault,
        priority: Priority,
        mut decide: impl FnMut(&Snapshot) -> Result<(Change, T), Error> + Send,
    ) -> Result<T, Error> {
        let decide = |snapshot: &Snapshot| {
            decide(snapshot).map(|(change, outcome)| (change.by(self), outcome))
        };
        vault.commit(priority, decide).await
    }
}

/// One decision of the loop.
struct Attempt<'a> {
    vault: &'a Vault,
    snapshot: &'a Snapshot,
    now: Timestamp,
    /// The guard, and the expectations under which the request is the first of its key.
    first: Option<(&'a Guard, Change)>,
}

impl Attempt<'_> {
    /// Adds the answer to the change, if the request has an idempotency key.
    fn remember(&mut self, change: Change, answer: &RememberedAnswer) -> Result<Change, Error> {
        let Some((guard, expected)) = self.first.take() else { return Ok(change) };
        let Self { vault, snapshot, now, .. } = *self;
        let place = guard.answer_place();
        let remembered = vault.idempotency().remember(snapshot, &place, answer, now)?;
        Ok(change.and(expected).and(remembered))
    }
}

/// Not generic, so that it is compiled once for all its callers.
async fn commit_loop(
    vault: &Vault,
    priority: Priority,
    guard: Option<&Guard>,
    decide: &mut (dyn FnMut(&mut Attempt<'_>) -> Result<Change, Error> + Send),
) -> Result<(), Error> {
    vault.require_space(priority)?;
    let (mut refused, mut closed): (usize, bool) = (0, false);
    while refused < DECISIONS_MAX {
        let snapshot = vault.snapshot()?;
        let now = vault.now();
        let first = match guard {
            Some(guard) => Some((guard, vault.idempotency().expect_first(&snapshot, guard, now)?)),
            None => None,
        };
        let decided = decide(&mut Attempt { vault, snapshot: &snapshot, now, first });
        let decided = decided.map(|change| vault.webhooks().write_events(&snapshot, change));
        // The epoch makes a rotation of keys wait until the change is queued. The snapshot is not
        // needed that long.
        let _epoch = snapshot.epoch();
        drop(snapshot);
        let (change, effects) = match decided {
            Err(Error::NeedsCvcKey(name)) => {
                vault.cvcs().make_key(name).await?;
                continue;
            }
            decided => decided?,
        };
        match vault.store.commit(change).await? {
            Verdict::Applied => {
                vault.webhooks().after_commit(effects);
                return Ok(());
            }
            Verdict::Refused => refused = refused.saturating_add(1),
            // The tenant was deleted after its request was authenticated. Work for many tenants
            // decides again without it.
            Verdict::Closed if closed => return Err(Error::Unauthenticated),
            Verdict::Closed => closed = true,
        }
    }
    Err(Error::Busy)
}
