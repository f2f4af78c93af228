//! The check that the disk has space for a change.

use std::sync::Arc;

use crate::app::commit::commit_loop::Priority;
use crate::app::commit::disk::{ALL_REFUSED, CHANGES_REFUSED, DiskFloor, DiskState};
use crate::app::error::Error;
use crate::app::vault::Vault;
use crate::store::DataDisk;

impl Vault {
    /// Keeps this number of bytes free on the disk from now on. Without a floor, no change is
    /// refused for lack of space.
    pub fn keep_free(&mut self, floor_bytes: u64, disk: Arc<dyn DataDisk>) {
        self.floor = Some(DiskFloor::new(floor_bytes, disk));
    }

    /// Reads the free space and updates the state; call it periodically. `None` when nothing has
    /// changed.
    pub fn look_at_disk(&self) -> Option<DiskNews> {
        let news = self.floor.as_ref().and_then(DiskFloor::look);
        self.store.set_idle_commits(match self.disk_state() {
            DiskState::Writable | DiskState::ReadOnly => IdleCommits::Allowed,
            DiskState::Full => IdleCommits::Held,
        });
        news
    }

    pub fn disk_state(&self) -> DiskState {
        self.floor.as_ref().map_or(DiskState::Writable, DiskFloor::state)
    }

    /// Refuses a change of this priority when the disk lacks space for it.
    pub(in crate::app) fn require_space(&self, priority: Priority) -> Result<(), Error> {
        match (self.disk_state(), priority) {
            (DiskState::Writable, _) | (DiskState::ReadOnly, Priority::Upkeep) => Ok(()),
            (DiskState::ReadOnly, Priority::Normal) => Err(Error::ReadOnly(CHANGES_REFUSED)),
            (DiskState::Full, _) => Err(Error::ReadOnly(ALL_REFUSED)),
        }
    }

    /// Refuses a read when the disk lacks space for its audit entry.
    pub fn require_space_for_audit(&self) -> Result<(), Error> {
        self.require_space(Priority::Upkeep)
    }

    /// Notes that everything that was due at this time has been removed.
    pub(in crate::app) fn swept(&self, at: Timestamp) {
        self.swept_at.store(at.micros(), Ordering::Relaxed);
    }

    pub(in crate::app) fn swept_at(&self) -> Timestamp {
        Timestamp::from_micros(self.swept_at.load(Ordering::Relaxed))
    }
}
