//! The space on the disk that changes need, and whether there is enough of it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::app::commit::commit_loop::Priority;
use crate::app::commit::disk::{
    ALL_REFUSED, Allowance, CHANGES_REFUSED, DiskFloor, DiskNews, DiskState,
};
use crate::app::error::Error;
use crate::app::vault::Vault;
use crate::domain::time::Timestamp;
use crate::store::{DataDisk, IdleCommits};

impl Vault {
    /// Keeps this much of the disk free from now on. Without a floor there is always room.
    pub fn keep_free(&mut self, floor_bytes: u64, disk: Arc<dyn DataDisk>) {
        self.floor = Some(DiskFloor::new(floor_bytes, disk));
    }

    /// To be called again and again. `None` when nothing has changed.
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

    /// `None` without a floor.
    pub(in crate::app) fn allowance(&self) -> Option<Allowance> {
        self.floor.as_ref().map(DiskFloor::allowance)
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

    /// Everything that was due at this moment is gone.
    pub(in crate::app) fn swept(&self, at: Timestamp) {
        self.swept_at.store(at.micros(), Ordering::Relaxed);
    }

    pub(in crate::app) fn swept_at(&self) -> Timestamp {
        Timestamp::from_micros(self.swept_at.load(Ordering::Relaxed))
    }
}
