//! Rotation of the audit chain's keys: one key seals new entries, and one signs the chain.
//!
//! Existing entries stay under the key that sealed them, since the chain links their sealed bytes.
//! That key can be destroyed when their retention is over. The old signing key signs the end of the
//! chain and the new public key, and is destroyed in the same change.

use uuid::Uuid;

use crate::app::KeyRotation;
use crate::app::audit::watch::AuditFinding;
use crate::app::commit::commit_loop::Priority;
use crate::app::error::{Error, Fault};
use crate::app::keys::facts::KeyFacts;
use crate::app::rotation::newest_number;
use crate::bounds::AUDIT_SIGNERS_MAX;
use crate::crypto::{KeyPurpose, SealingKey, SigningKey, SystemKeys};
use crate::domain::audit::{Act, Actor, Entity, EntityKind};
use crate::store::chain::{AuditRow, Checkpoint, Handover, Heads};
use crate::store::{Change, Snapshot, Table, tables};

const PURPOSES: [KeyPurpose; 2] = [KeyPurpose::Audit, KeyPurpose::Sign];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewSigner {
    pub number: u32,
    pub public_key: [u8; 32],
}

impl KeyRotation<'_> {
    pub async fn rotate_audit(self) -> Result<NewSigner, Error> {
        self.vault.audit().flush_reads().await?;
        let _turn = self.vault.audit().checkpoints_turn().await?;
        if !self.vault.audit().may_sign()? {
            return Err(Error::Conflict(AuditFinding::BrokenTail.told()));
        }
        let signer =
            self.vault.commit(Priority::Normal, |snapshot| self.plan_signer(snapshot)).await?;
        self.vault.keys().reload_system()?;
        // Requests of the old epoch may hold unwritten entries that are sealed under the old key.
        // Destroying the key waits for that epoch to end.
        self.vault.store.advance_epoch();
        // The log still has the old signing key.
        self.vault.store.forget().await?;
        Ok(signer)
    }

    fn plan_signer(self, snapshot: &Snapshot) -> Result<(Change, NewSigner), Error> {
        let (system, now) = (self.vault.keys().system(), self.vault.now());
        let signers = self.vault.audit().own_signers(snapshot)?;
        let signers = signers.ok_or(Error::Conflict(AuditFinding::ForgedCheckpoint.told()))?;
        if signers.handovers().len() >= AUDIT_SIGNERS_MAX {
            return Err(Error::Conflict("The audit chain has had too many signing keys."));
        }
        let old = system.signer();
        let number =
            newest_number(snapshot, &SystemKeys::SCOPE, &PURPOSES)?.max(old).saturating_add(1);
        let (keys, made) =
            self.vault.keys().make_keys(snapshot, &SystemKeys::SCOPE, &PURPOSES, number)?;
        let made = made.iter().find(|key| key.purpose == KeyPurpose::Sign);
        let new = made.and_then(|key| SigningKey::from_seed(&key.bytes));
        let new = new.ok_or(Error::Internal(Fault::Dangling))?;
        let head = Heads::read(snapshot)?.position();
        // The old key signs the entries that are not signed yet.
        let signed = self.vault.audit().plan_checkpoint(snapshot, |_| true)?.unwrap_or_default();
        let handover =
            Handover::sign(&signers.file, number, system.signing(), &new, head, now).keep();
        let start = Checkpoint::start_with_heads(snapshot)?.map(|(start, heads)| {
            self.vault
                .audit()
                .start_of(snapshot, start.head(), (number, &new))
                .map(|it| it.keep_as_start(&heads))
        });
        let place = tables::keys(&SystemKeys::SCOPE, KeyPurpose::Sign.code(), old);
        let made_at = KeyFacts::of(snapshot, &place)?.made_at;
        let destroyed = KeyFacts { made_at, destroyed_at: Some(now) }.put(&place);
        let chain = chain_key(number);
        let change = keys
            .and(signed)
            .and(handover)
            .and(start.transpose()?.unwrap_or_default())
            .expect_present(Table::Keys, place.clone())
            .and(destroyed)
            .delete(Table::Keys, place)
            .and(self.vault.audit().server_entry(Actor::Operator, Act::Rotate, chain));
        Ok((change, NewSigner { number, public_key: new.public() }))
    }

    /// Fails while the chain has entries that this key sealed.
    pub async fn destroy_audit_key(self, number: u32) -> Result<(), Error> {
        let newest =
            newest_number(&self.vault.snapshot()?, &SystemKeys::SCOPE, &[KeyPurpose::Audit])?;
        if number >= newest {
            return Err(Error::Conflict("This is the current key, or none at all."));
        }
        if !self.vault.store.is_quiescent() {
            self.vault.callers.forget();
            if !self.vault.store.is_quiescent() {
                return Err(Error::Busy);
            }
        }
        // The changes that were queued before may have entries under the old key.
        self.vault.store.reach_writer().await?;
        if !self.vault.processes().all_follow_keys()? {
            return Err(Error::Busy);
        }
        let snapshot = self.vault.snapshot()?;
        let counted = self.vault.operator_walks.run(|| count_entries(&snapshot)).await??;
        if counted.iter().any(|(key, count)| *key == number && *count > 0) {
            return Err(Error::Conflict(
                "There are still entries of the audit chain under this key; see key list.",
            ));
        }
        let now = self.vault.now();
        self.vault
            .commit(Priority::Normal, |snapshot| {
                let place = tables::keys(&SystemKeys::SCOPE, KeyPurpose::Audit.code(), number);
                if snapshot.value(Table::Keys, &place)?.is_none() {
                    return Err(Error::NotFound("key"));
                }
                let made_at = KeyFacts::of(snapshot, &place)?.made_at;
                let facts = KeyFacts { made_at, destroyed_at: Some(now) };
                let chain = chain_key(number);
                let change = Change::new()
                    .expect_present(Table::Keys, place.clone())
                    .and(facts.put(&place))
                    .delete(Table::Keys, place)
                    .and(self.vault.audit().server_entry(Actor::Operator, Act::Delete, chain));
                Ok((change, ()))
            })
            .await?;
        self.vault.keys().reload_system()?;
        // The log still has the key.
        Ok(self.vault.store.forget().await?)
    }
}

fn chain_key(number: u32) -> Entity {
    Entity::numbered_key(EntityKind::AuditChain, Uuid::nil(), "audit", number)
}

/// Counts the rows of the chain by the number of the key that sealed them.
pub(super) fn count_entries(snapshot: &Snapshot) -> Result<Vec<(u32, u64)>, Error> {
    let mut counted: std::collections::BTreeMap<u32, u64> = std::collections::BTreeMap::new();
    let rows = snapshot.range(&Table::Audit.whole())?;
    for entry in rows {
        let (key, value) = entry?;
        let row = AuditRow::decode(&key, &value);
        let number = row.and_then(|row| SealingKey::number_of(&row.sealed)).unwrap_or(0);
        let count = counted.entry(number).or_default();
        *count = count.saturating_add(1);
    }
    Ok(counted.into_iter().collect())
}
