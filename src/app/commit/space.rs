//! The space on the disk that changes need, and whether there is enough of it.

use std::sync::Arc;

use crate::app::commit::commit_loop::Priority;
use crate::app::commit::disk::{ALL_REFUSED, CHANGES_REFUSED, DiskFloor, DiskState};
use crate::app::error::Error;
use crate::app::upkeep::Upkeep;
use crate::app::vault::Vault;
use crate::store::DataDisk;

impl Vault {
    /// Keeps this much of the disk free from now on. Without a floor there is always room.
    pub fn keep_free(&mut self, floor_bytes: u64, disk: Arc<dyn DataDisk>) {
        self.floor = Some(DiskFloor::new(floor_bytes, disk));
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
}

impl Upkeep<'_> {
    /// The free space at the last look, if it can be read, and the floor.
    pub fn disk_room(self) -> Option<(Option<u64>, u64)> {
        self.vault.floor.as_ref().map(DiskFloor::room)
    }
}
