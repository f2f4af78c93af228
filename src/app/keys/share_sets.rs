//! Recovery shares of the master key. The vault records each set with a hash of each share, so that
//! a wrong share can be identified.

use crate::app::KeyRing;
use crate::app::commit::commit_loop::Priority;
use crate::app::error::{Error, Fault};
use crate::bounds::SHARE_SETS_MAX;
use crate::crypto::SystemKeys;
use crate::domain::audit::{Act, Actor, Entity, EntityKind};
use crate::domain::share_set::ShareSet;
use crate::store::chain::AuditRow;
use crate::store::{Change, Table, meta, tables};

/// Compares a share set in the data file with the audit chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainWord {
    /// The chain has an entry of this set with other hashes.
    Differs,
    /// The chain has no entry of this set. Entries older than the retention are removed.
    Silent,
    Same,
}

/// The newest recovery shares, compared with the master key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareState {
    /// No shares were made with this program.
    Absent,
    /// There is a set of the current master key.
    Current,
    /// All sets are of master keys that were replaced.
    Replaced,
}

impl KeyRing<'_> {
    /// Call this before any share is handed out.
    pub async fn note_shares(self, set: &ShareSet) -> Result<(), Error> {
        self.vault
            .commit(Priority::Normal, |snapshot| {
                if *self.vault.masters.of(snapshot)?.check() != set.master {
                    return Err(Error::Conflict(
                        "This is another master key than this vault's, perhaps the one before a \
                         rotation.",
                    ));
                }
                let mut known = meta::share_sets(snapshot)?;
                known.sort_by_key(|known| known.made_at);
                let surplus = (known.len().saturating_add(1)).saturating_sub(SHARE_SETS_MAX);
                let forgotten = known.iter().take(surplus);
                let change = forgotten.fold(Change::new(), |change, set| {
                    change.delete(Table::Meta, tables::meta::share_set(set.set))
                });
                let mut entity = Entity::of_server(EntityKind::MasterKey);
                entity.name = Some(set.told().into_boxed_str());
                let entry = self.vault.audit().server_entry(Actor::Operator, Act::Export, entity);
                Ok((meta::put_share_set(change, set)?.and(entry), ()))
            })
            .await
    }

    /// Oldest first.
    pub fn share_sets(self) -> Result<Vec<ShareSet>, Error> {
        let mut sets = meta::share_sets(&self.vault.snapshot()?)?;
        sets.sort_by_key(|set| set.made_at);
        Ok(sets)
    }

    pub fn share_state(self) -> Result<ShareState, Error> {
        let snapshot = self.vault.snapshot()?;
        let (master, sets) = (self.vault.masters.of(&snapshot)?, meta::share_sets(&snapshot)?);
        Ok(match sets.as_slice() {
            [] => ShareState::Absent,
            sets if sets.iter().any(|set| set.master == *master.check()) => ShareState::Current,
            _ => ShareState::Replaced,
        })
    }

    /// With its comparison with the audit chain. `None` if the file has no set of this name.
    pub fn share_set(self, set: [u8; 4]) -> Result<Option<(ShareSet, ChainWord)>, Error> {
        let snapshot = self.vault.snapshot()?;
        let Some(known) = meta::share_set(&snapshot, set)? else { return Ok(None) };
        let told = known.told();
        let name = told.split(' ').next().unwrap_or_default();
        let mut word = ChainWord::Silent;
        // The newest entry of the set decides.
        for entry in snapshot.range(&tables::audit_of(&SystemKeys::SCOPE))? {
            let (key, value) = entry?;
            let row = AuditRow::decode(&key, &value).ok_or(Error::Internal(Fault::BadRecord))?;
            for entry in self.vault.audit().open_row(&row)? {
                let said = entry.entity.name.as_deref().unwrap_or_default();
                if entry.entity.kind == EntityKind::MasterKey
                    && said.split(' ').next() == Some(name)
                {
                    word = if said == told { ChainWord::Same } else { ChainWord::Differs };
                }
            }
        }
        Ok(Some((known, word)))
    }
}
