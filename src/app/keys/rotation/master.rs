//! Another master key: every key in the file is sealed under it, in one change. Nothing else is
//! sealed under a master key, so this takes a moment whatever the vault holds.

use std::sync::PoisonError;

use crate::app::commit::commit_loop::Priority;
use crate::app::error::{Error, Fault};
use crate::app::keys::open::identity;
use crate::app::keys::rotation::KeyRotation;
use crate::app::keys::rotation::facts;
use crate::crypto::{KeyTransfer, KeyUse, MasterKey, TransferMessage, version};
use crate::domain::audit::{Act, Actor, Entity, EntityKind};
use crate::domain::hex;
use crate::store::{Change, Snapshot, Table, tables};

/// What a replacement of the master key did.
#[derive(Debug, PartialEq, Eq)]
pub struct MasterRotation {
    /// Names the new key without telling anything of it.
    pub check: String,
    /// Keys that were sealed anew; none when the file was under this master key already.
    pub keys: usize,
}

impl KeyRotation<'_> {
    /// The first half of handing over a new master key: what it is to be sealed to. Good for the
    /// next [`Vault::take_handed`] only.
    pub fn begin_handover(self) -> Result<[u8; 32], Error> {
        let handover = KeyTransfer::new(self.vault.random())?;
        let public = handover.public();
        *self.vault.rotations.handover.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(handover);
        Ok(public)
    }

    /// Names the master key in use without telling anything of it.
    pub fn master_check(self) -> Result<String, Error> {
        Ok(hex::encode(self.vault.masters.of(&self.vault.snapshot()?)?.check()))
    }

    pub async fn take_handed(
        self,
        public: [u8; 32],
        sealed: Vec<u8>,
    ) -> Result<MasterRotation, Error> {
        let begun =
            self.vault.rotations.handover.lock().unwrap_or_else(PoisonError::into_inner).take();
        let refused = Error::Conflict("The new key did not arrive whole; try again.");
        let Some(Ok(text)) = begun.map(|begun| begun.receive(&TransferMessage { public, sealed }))
        else {
            return Err(refused);
        };
        let master = MasterKey::parse(&text).ok().ok_or(refused)?;
        self.rotate_master(master).await
    }

    /// The file must be able to be opened by the new key before this is called: it is of no use to
    /// anyone else afterwards.
    pub async fn rotate_master(self, new: MasterKey) -> Result<MasterRotation, Error> {
        let _alone = self.vault.rotations.master.lock().await;
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
        Ok(MasterRotation { check: hex::encode(new.check()), keys })
    }

    /// Whatever they are for: a master key knows nothing of that.
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
        // A key that is made in the meantime would be under the old one.
        Ok((change.expect_keys(Table::Keys.whole(), keys), count))
    }

    /// The one before is wiped when nobody needs it to read any more. True when that was now.
    pub(super) async fn forget_old_masters(self) -> Result<bool, Error> {
        if !self.vault.masters.are_several() {
            return Ok(false);
        }
        let Ok(_alone) = self.vault.rotations.master.try_lock() else { return Ok(false) };
        self.vault.callers.forget();
        if !self.vault.store.is_quiescent() {
            return Ok(false);
        }
        // Behind a replacement that is queued though nobody waits for it any more.
        let last = Change::new().expect_present(Table::Meta, tables::meta::MASTER.to_vec());
        self.vault.store.commit(last).await?;
        let current = self.vault.masters.of(&self.vault.snapshot()?)?;
        self.vault.masters.keep_only(*current.check());
        Ok(true)
    }

    /// Adds what was counted in memory to the file. What a killed process had not written yet is
    /// not counted.
    pub async fn write_uses(self) -> Result<(), Error> {
        let _alone = self.vault.rotations.uses.lock().await;
        let used = self.vault.uses.take();
        let add = |change: Change, used: &KeyUse| {
            let times = i64::try_from(used.times).unwrap_or(i64::MAX);
            change.count(tables::seal_counts(&used.scope, used.number), times)
        };
        let written = self.vault.store.commit(used.iter().fold(Change::new(), add)).await;
        if written.is_err() {
            self.vault.uses.put_back(&used);
        }
        Ok(written.map(drop)?)
    }
}
