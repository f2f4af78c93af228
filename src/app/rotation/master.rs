//! Replacing the master key: one change seals every key in the file again under the new one. A
//! master key seals nothing else, so this is fast even in a large vault.

use crate::app::KeyRotation;
use crate::app::commit::commit_loop::Priority;
use crate::app::error::{Error, Fault};
use crate::app::keys::facts;
use crate::app::keys::ring::identity;
use crate::app::rotation::state::SubmittedUses;
use crate::crypto::{KeyTransfer, KeyUse, MasterKey, TransferMessage, version};
use crate::domain::audit::{Act, Actor, Entity, EntityKind};
use crate::domain::hex;
use crate::store::{Change, Snapshot, Table, tables};

#[derive(Debug, PartialEq, Eq)]
pub struct MasterRotation {
    /// Identifies the new key without revealing it.
    pub check: String,
    /// The number of resealed keys; 0 if the file was under this master key already.
    pub keys: usize,
}

impl KeyRotation<'_> {
    /// Begins the transfer of a new master key. Returns the public key to seal it to, which is
    /// valid for the next [`KeyRotation::take_handed`] only.
    pub fn begin_handover(self) -> Result<[u8; 32], Error> {
        let handover = KeyTransfer::new(self.vault.random())?;
        let public = handover.public();
        *self.vault.rotations.handover.lock() = Some(handover);
        Ok(public)
    }

    /// Identifies the master key without revealing it.
    pub fn master_check(self) -> Result<String, Error> {
        Ok(hex::encode(self.vault.masters.of(&self.vault.snapshot()?)?.check()))
    }

    /// `None` before the first rotation.
    pub fn master_before(self) -> Result<Option<String>, Error> {
        let before = facts::master_before(&self.vault.snapshot()?)?;
        Ok(before.map(|check| hex::encode(&check)))
    }

    pub async fn take_handed(
        self,
        public: [u8; 32],
        sealed: Vec<u8>,
    ) -> Result<MasterRotation, Error> {
        let begun = self.vault.rotations.handover.lock().take();
        let refused = Error::Conflict("The new key did not arrive whole; try again.");
        let Some(Ok(text)) = begun.map(|begun| begun.receive(&TransferMessage { public, sealed }))
        else {
            return Err(refused);
        };
        let master = MasterKey::parse(&text).ok().ok_or(refused)?;
        self.rotate_master(master).await
    }

    /// Store the new key safely before this call: afterwards the old one no longer opens the file.
    pub async fn rotate_master(self, new: MasterKey) -> Result<MasterRotation, Error> {
        let _alone = self.vault.rotations.master.lock().await;
        self.vault.processes().require_alone(
            "Other processes share this database and have only the present master key; stop them \
             first, and start them with the new key.",
        )?;
        if self.master_before()? == Some(hex::encode(new.check())) {
            return Err(Error::Conflict("This master key was in use before; take a new one."));
        }
        let new = self.vault.masters.add(new);
        let now = self.vault.now();
        let keys = self
            .vault
            .commit(Priority::Normal, |snapshot| {
                let old = self.vault.masters.of(snapshot)?;
                if old.check() == new.check() {
                    return Ok((Change::new(), 0));
                }
                let (change, keys) = self.reseal_keys(snapshot, &old, &new)?;
                let master = tables::meta::MASTER.to_vec();
                let change = change
                    .expect_value(Table::Meta, master.clone(), old.check().to_vec())
                    .put(Table::Meta, master, new.check().to_vec())
                    .and(facts::put_master_made(now))
                    .and(facts::put_master_before(*old.check(), now))
                    .and(self.vault.audit().server_entry(
                        Actor::Operator,
                        Act::Rotate,
                        Entity::of_server(EntityKind::MasterKey),
                    ));
                Ok((change, keys))
            })
            .await?;
        self.vault.store.advance_epoch();
        self.vault.rotations.begun.notify_one();
        // The log still has the keys as the old master key sealed them.
        self.vault.store.forget().await?;
        Ok(MasterRotation { check: hex::encode(new.check()), keys })
    }

    /// Reseals the keys of every purpose.
    fn reseal_keys(
        self,
        snapshot: &Snapshot,
        old: &MasterKey,
        new: &MasterKey,
    ) -> Result<(Change, usize), Error> {
        let bad = || Error::Internal(Fault::BadRecord);
        let stored = snapshot.first(&Table::Keys.whole(), usize::MAX)?;
        let mut change = Change::new();
        for (key, sealed) in &stored {
            let scope = tables::scope_of_keys_key(key).ok_or_else(bad)?;
            let plain = old.open(&identity(scope, key), sealed)?;
            let again = new.seal(&identity(scope, key), plain.expose(), self.vault.random());
            change = change
                .expect_version(Table::Keys, key.clone(), version(sealed).ok_or_else(bad)?)
                .put(Table::Keys, key.clone(), again);
        }
        let keys: Vec<_> = stored.into_iter().map(|(key, _)| key).collect();
        let count = keys.len();
        // Refused if a key was added meanwhile: it would stay under the old master key.
        Ok((change.expect_keys(Table::Keys.whole(), keys), count))
    }

    /// Wipes the previous master key once no reader needs it. True if this call did so.
    pub(super) async fn forget_old_masters(self) -> Result<bool, Error> {
        if !self.vault.masters.are_several() {
            return Ok(false);
        }
        let Ok(_alone) = self.vault.rotations.master.try_lock() else { return Ok(false) };
        self.vault.callers.forget();
        if !self.vault.store.is_quiescent() {
            return Ok(false);
        }
        // A cancelled request may have left a replacement in the queue. This change is written
        // after it.
        let last = Change::new().expect_present(Table::Meta, tables::meta::MASTER.to_vec());
        self.vault.store.commit(last).await?;
        let current = self.vault.masters.of(&self.vault.snapshot()?)?;
        self.vault.masters.keep_only(*current.check());
        Ok(true)
    }

    /// Adds the uses counted in memory to the file. A killed process loses its unwritten uses.
    pub async fn write_uses(self) -> Result<(), Error> {
        let mut submitted = self.vault.rotations.uses.lock().await;
        let add = |change: Change, used: &KeyUse| {
            let times = i64::try_from(used.times).unwrap_or(i64::MAX);
            change.count(tables::seal_counts(&used.scope, used.number), times)
        };
        let mut written = Ok(());
        for used in self.vault.by_shard(self.vault.uses.take(), |used| used.scope).into_values() {
            let change = used.iter().fold(Change::new(), add).passing_over_closed();
            match self.vault.store.submit(change) {
                Ok(verdict) => submitted.push(SubmittedUses { verdict: Box::pin(verdict), used }),
                Err(failure) => {
                    self.vault.uses.put_back(&used);
                    written = Err(failure.into());
                }
            }
        }
        for mut waiting in std::mem::take(&mut *submitted) {
            let verdict = async { Ok(waiting.verdict.as_mut().await) };
            match self.vault.for_a_while(verdict).await {
                Ok(Ok(_)) => (),
                Ok(Err(failure)) => {
                    self.vault.uses.put_back(&waiting.used);
                    written = Err(failure.into());
                }
                // The verdict comes later.
                Err(late) => {
                    submitted.push(waiting);
                    written = Err(late);
                }
            }
        }
        written
    }
}
