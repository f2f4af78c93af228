//! Rotation of keys while the vault is in use. A new key is announced, a background task reseals
//! all records under it, and the old key can be destroyed when nothing is left under it.
//!
//! [`Phase`] defines which key is used in each phase. One background task calls
//! [`KeyRotation::rotate_step`] repeatedly, which moves a rotation from phase to phase. The phase
//! is in the file, and each sealed value names its key in clear, so a restarted server continues
//! the rotation.

mod audit;
mod destroy;
mod inventory;
mod master;
mod progress;
pub(in crate::app) mod state;
#[cfg(test)]
mod tests;
mod walk;

use std::sync::atomic::Ordering;

use uuid::Uuid;

use crate::app::KeyRotation;
use crate::app::commit::commit_loop::Priority;
use crate::app::error::{Error, Fault};
use crate::app::keys::facts::Rotation;
use crate::app::rotation::state::Meter;
use crate::crypto::{KeyPurpose, Phase, SystemKeys};
use crate::domain::audit::{Act, Actor, Entity, EntityKind};
use crate::domain::id::TenantId;
use crate::store::{Change, CommitFailure, Snapshot, Table, Verdict, tables};

pub use audit::NewSigner;
pub use inventory::{KeyInventory, KeyState, ListedKey, ListedRotation};
pub use master::MasterRotation;
pub use progress::RotationProgress;
pub use walk::Walk;

#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// No rotation is under way.
    Idle,
    /// Requests that began before the phase are still running.
    Waiting,
    /// A batch of rows was examined, and some of them were written.
    Walked { looked_at: usize, written: usize },
    /// The rotation of this scope has entered this phase.
    Entered([u8; 16], Phase),
    /// The master key was replaced, and the previous one is wiped.
    MasterReplaced,
    /// The rotation of this scope is over. This number of records did not open; they are unchanged.
    Finished([u8; 16], u64),
}

impl KeyRotation<'_> {
    pub async fn rotation_begun(self) {
        self.vault.rotations.begun.notified().await;
    }

    /// Wakes the background task after another process has changed keys.
    pub(in crate::app) fn go_on(self) {
        self.vault.rotations.begun.notify_one();
    }

    /// Returns the number of the new keys.
    pub async fn rotate_tenant(self, tenant: TenantId) -> Result<u32, Error> {
        let purposes = [KeyPurpose::Seal, KeyPurpose::Index];
        self.begin_rotation(tenant.bytes(), &purposes, |snapshot| {
            let found = snapshot.value(Table::Tenants, &tables::tenants(tenant))?;
            found.map(drop).ok_or(Error::NotFound("tenant"))
        })
        .await
    }

    /// For the records that the server seals and the index of API keys. Returns the number of the
    /// new keys.
    pub async fn rotate_server(self) -> Result<u32, Error> {
        self.begin_rotation(&SystemKeys::SCOPE, &[KeyPurpose::Seal, KeyPurpose::Index], |_| Ok(()))
            .await
    }

    async fn begin_rotation(
        self,
        scope: &[u8; 16],
        purposes: &[KeyPurpose],
        check: impl Fn(&Snapshot) -> Result<(), Error> + Sync,
    ) -> Result<u32, Error> {
        let number = self
            .vault
            .commit(Priority::Normal, |snapshot| {
                check(snapshot)?;
                if Rotation::of(snapshot, scope)?.is_some() {
                    return Err(Error::Conflict(
                        "These keys are being rotated already; wait until key list says 0 under \
                         the old ones.",
                    ));
                }
                let number = newest_number(snapshot, scope, purposes)?.saturating_add(1);
                let (phase, started_at) = (Phase::Announced, self.vault.now());
                let rotation = Rotation { scope: *scope, phase, started_at };
                let (keys, _) = self.vault.keys().make_keys(snapshot, scope, purposes, number)?;
                let change = keys
                    .expect_absent(Table::Meta, Rotation::place(scope))
                    .put(Table::Meta, Rotation::place(scope), rotation.value())
                    .and(self.vault.audit().server_entry(
                        Actor::Operator,
                        Act::Rotate,
                        keys_of(scope, number),
                    ));
                Ok((change, number))
            })
            .await?;
        self.vault.rotations.begun.notify_one();
        Ok(number)
    }

    /// Takes one small step of the rotation that began first. Only one task may call this, with the
    /// same `walk` each time.
    pub async fn rotate_step(self, walk: &mut Walk) -> Result<Step, Error> {
        self.vault.require_space(Priority::Normal)?;
        let Some(rotation) = self.current(walk)? else {
            let is_forgotten = self.forget_old_masters().await?;
            return Ok(if is_forgotten { Step::MasterReplaced } else { Step::Idle });
        };
        if walk.is_new_to(&rotation) {
            // Reload the keys before the epoch advances: every reader of the new epoch then has
            // them.
            if rotation.scope == SystemKeys::SCOPE {
                self.vault.keys().reload_system()?;
            }
            self.vault.store.advance_epoch();
            self.count_work(&rotation).await?;
            walk.enter(&rotation);
            return Ok(Step::Entered(rotation.scope, rotation.phase));
        }
        if !self.everyone_knows().await? {
            return Ok(Step::Waiting);
        }
        match rotation.phase {
            Phase::Announced => self.enter(&rotation, Phase::Both).await,
            Phase::Both => match self.reseal_some(&rotation, walk).await? {
                Some(step) => Ok(self.note(step)),
                None if rotation.scope == SystemKeys::SCOPE => self.finish(&rotation, walk).await,
                None => self.enter(&rotation, Phase::Flipped).await,
            },
            Phase::Flipped => self.enter(&rotation, Phase::Clearing).await,
            Phase::Clearing => match self.clear_some(&rotation, walk).await? {
                Some(step) => Ok(self.note(step)),
                None => self.finish(&rotation, walk).await,
            },
            Phase::Settled => self.finish(&rotation, walk).await,
        }
    }

    /// The rotation that the walk works on, or the next one. The first is read by its key, without a
    /// search through the rotations of all tenants.
    fn current(self, walk: &Walk) -> Result<Option<Rotation>, Error> {
        let snapshot = self.vault.snapshot()?;
        if let Some(scope) = walk.scope()
            && let Some(rotation) = Rotation::of(&snapshot, &scope)?
        {
            return Ok(Some(rotation));
        }
        Ok(Rotation::first(&snapshot)?)
    }

    /// Counts the records that the rotation will examine, for the status. It opens no sealed value,
    /// so it costs a small part of the walk.
    async fn count_work(self, rotation: &Rotation) -> Result<(), Error> {
        let snapshot = self.vault.snapshot()?;
        let scope = rotation.scope;
        let counted = self.vault.operator_walks.run(|| walk::count(&snapshot, &scope)).await??;
        let rotations = &self.vault.rotations;
        rotations.looked_at.store(0, Ordering::Relaxed);
        *rotations.meter.lock() = Meter::begin(self.vault.now());
        rotations.records.store(counted.records, Ordering::Relaxed);
        rotations.tokens.store(counted.tokens, Ordering::Relaxed);
        Ok(())
    }

    /// Counts the records of a step, for the status.
    fn note(self, step: Step) -> Step {
        if let Step::Walked { looked_at, .. } = step {
            let looked_at = u64::try_from(looked_at).unwrap_or(u64::MAX);
            let before = self.vault.rotations.looked_at.fetch_add(looked_at, Ordering::Relaxed);
            let done = before.saturating_add(looked_at);
            self.vault.rotations.meter.lock().note(self.vault.now(), done);
        }
        step
    }

    /// True if no task of any process uses data that it read before the phase began. Queued changes
    /// of cancelled tasks are written by then too.
    async fn everyone_knows(self) -> Result<bool, Error> {
        if !self.vault.store.is_quiescent() {
            // Cached callers hold epochs even without requests under way.
            self.vault.callers.forget();
            if !self.vault.store.is_quiescent() {
                return Ok(false);
            }
        }
        match self.vault.store.reach_writer().await {
            Ok(()) => self.vault.processes().all_follow_keys(),
            // A lane that is held up may hold a change of the phase before.
            Err(CommitFailure::QueueFull | CommitFailure::Unavailable) => Ok(false),
            Err(failure) => Err(failure.into()),
        }
    }

    async fn enter(self, rotation: &Rotation, phase: Phase) -> Result<Step, Error> {
        let next = Rotation { phase, ..*rotation };
        let place = Rotation::place(&rotation.scope);
        let change = Change::new().expect_value(Table::Meta, place.clone(), rotation.value()).put(
            Table::Meta,
            place,
            next.value(),
        );
        match self.vault.store.commit(change.by(self.by)).await? {
            Verdict::Applied => Ok(Step::Walked { looked_at: 0, written: 0 }),
            Verdict::Closed | Verdict::Refused => Err(Error::Busy),
        }
    }

    async fn finish(self, rotation: &Rotation, walk: &mut Walk) -> Result<Step, Error> {
        let place = Rotation::place(&rotation.scope);
        let change = Change::new()
            .expect_value(Table::Meta, place.clone(), rotation.value())
            .delete(Table::Meta, place);
        match self.vault.store.commit(change.by(self.by)).await? {
            Verdict::Applied => {
                if rotation.scope == SystemKeys::SCOPE {
                    self.vault.keys().reload_system()?;
                }
                let unopened = walk.unopened();
                *walk = Walk::default();
                Ok(Step::Finished(rotation.scope, unopened))
            }
            Verdict::Closed | Verdict::Refused => Err(Error::Busy),
        }
    }
}

fn newest_number(
    snapshot: &Snapshot,
    scope: &[u8; 16],
    purposes: &[KeyPurpose],
) -> Result<u32, Error> {
    let stored = snapshot.first(&tables::keys_of(scope), usize::MAX)?;
    let numbers = stored.iter().filter_map(|(key, _)| tables::key_parts(key));
    let of_purposes =
        numbers.filter(|(code, _)| purposes.iter().any(|purpose| purpose.code() == *code));
    of_purposes.map(|(_, number)| number).max().ok_or(Error::Internal(Fault::Dangling))
}

/// The audit entity for the keys of this number, of a tenant or of the server.
fn keys_of(scope: &[u8; 16], number: u32) -> Entity {
    let id = Uuid::from_bytes(*scope);
    let tenant = id.to_string();
    let owner = if *scope == SystemKeys::SCOPE { "server" } else { tenant.as_str() };
    Entity::numbered_key(EntityKind::EncryptionKey, id, owner, number)
}
