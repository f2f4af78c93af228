//! Upkeep: sweeping, scrubbing, backups, verification, and the state that operators observe.

pub(in crate::app) mod archive;
pub(in crate::app) mod backups;
pub(in crate::app) mod damage;
pub(in crate::app) mod holdings;
pub(in crate::app) mod observe;
pub(in crate::app) mod scrub;
pub(in crate::app) mod sweep;
pub(in crate::app) mod verify;
mod verify_sealed;

use std::sync::atomic::Ordering;

use crate::app::commit::disk::{DiskEvent, DiskFloor, DiskState};
use crate::app::vault::Vault;
use crate::domain::time::Timestamp;
use crate::store;

/// Removes expired records, looks for damage, and counts records.
#[derive(Debug, Clone, Copy)]
pub struct Upkeep<'a> {
    pub(in crate::app) vault: &'a Vault,
}

impl Vault {
    pub const fn upkeep(&self) -> Upkeep<'_> {
        Upkeep { vault: self }
    }
}

impl Upkeep<'_> {
    /// Waits for the next damaged row that has not been logged.
    pub async fn damage_found(self) -> damage::DamagedRow {
        self.vault.damage.next_found().await
    }

    /// To be called again and again. `None` when nothing has changed.
    pub fn look_at_disk(self) -> Option<DiskEvent> {
        let news = self.vault.floor.as_ref().and_then(DiskFloor::look);
        self.vault.store.set_upkeep(match self.vault.disk_state() {
            DiskState::Writable | DiskState::ReadOnly => store::Upkeep::Allowed,
            DiskState::Full => store::Upkeep::Held,
        });
        news
    }

    /// Everything that was due at this moment is gone.
    pub(in crate::app) fn swept(self, at: Timestamp) {
        self.vault.swept_at.store(at.micros(), Ordering::Relaxed);
    }

    pub(in crate::app) fn swept_at(self) -> Timestamp {
        Timestamp::from_micros(self.vault.swept_at.load(Ordering::Relaxed))
    }
}
