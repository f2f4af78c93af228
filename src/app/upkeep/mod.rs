//! Upkeep: sweeping, scrubbing, backups, verification, and the state that operators observe.

pub(in crate::app) mod archive;
pub(in crate::app) mod archive_state;
pub(in crate::app) mod backups;
pub(in crate::app) mod check;
pub(in crate::app) mod holdings;
pub(in crate::app) mod observe;
pub(in crate::app) mod proof;
pub(in crate::app) mod scrub;
pub(in crate::app) mod sweep;
pub(in crate::app) mod verify;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::app::Upkeep;
use crate::app::commit::disk::{DiskEvent, DiskFloor, DiskState};
use crate::app::error::Error;
use crate::app::jobs::Jobs;
use crate::domain::time::Timestamp;
use crate::store;

impl<'a> Upkeep<'a> {
    pub const fn jobs(self) -> &'a Arc<Jobs> {
        &self.vault.jobs
    }

    pub async fn damage_found(self) -> crate::app::damage::DamagedRow {
        self.vault.damage.next_found().await
    }

    /// Checks that the data file and the file of CVC keys are still the ones in the data directory.
    /// If one was moved or replaced, everything written since would be lost, so the store fails.
    pub fn look_at_files(self) -> Result<(), Error> {
        let vault = self.vault;
        let looked = vault.store.check_place().and_then(|()| vault.cvc_keys.check_place());
        Ok(looked.map_err(|failure| vault.store.fail(failure))?)
    }

    /// Call it periodically. `None` if nothing has changed.
    pub fn look_at_disk(self) -> Option<DiskEvent> {
        let news = self.vault.floor.as_ref().and_then(DiskFloor::look);
        self.vault.store.set_upkeep(match self.vault.disk_state() {
            DiskState::Writable | DiskState::ReadOnly => store::Upkeep::Allowed,
            DiskState::Full => store::Upkeep::Held,
        });
        news
    }

    /// The free space at the last look, if it could be read, and the floor.
    pub fn disk_room(self) -> Option<(Option<u64>, u64)> {
        self.vault.floor.as_ref().map(DiskFloor::room)
    }

    /// Everything that was due at this time is removed.
    pub(in crate::app) fn swept(self, at: Timestamp) {
        self.vault.swept_at.store(at.micros(), Ordering::Relaxed);
    }

    pub(in crate::app) fn swept_at(self) -> Timestamp {
        Timestamp::from_micros(self.vault.swept_at.load(Ordering::Relaxed))
    }
}
