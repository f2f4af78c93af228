//! The floor of free disk space. A vault whose disk is nearly full refuses changes, so that it does
//! not fail in the middle of one. Reads, their audit entries and removals continue down to a hard
//! floor; below it nothing is written. Once space is free again, the vault accepts changes without
//! a restart.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};

use crate::app::Vault;
use crate::app::commit::commit_loop::Priority;
use crate::app::error::Error;
use crate::bounds::{DISK_HARD_FLOOR_PART, DISK_RECOVERY_PART};
use crate::metrics::{Checks, Observe, Page, StatusValue};
use crate::store::{DataDisk, Space};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskState {
    Writable,
    /// Below the floor: only removals and audit entries of reads are written.
    ReadOnly,
    /// Below the hard floor: nothing is written.
    Full,
}

#[derive(Debug, PartialEq, Eq)]
pub enum DiskEvent {
    State(DiskState, Space),
    /// The state stays as it was.
    Unreadable,
}

pub(in crate::app) struct DiskFloor {
    bytes: u64,
    disk: Arc<dyn DataDisk>,
    state: AtomicU8,
    /// -1 while the free space cannot be read.
    free_bytes: AtomicI64,
    data_bytes: AtomicU64,
}

/// The limit for files beside the data file, such as backups. On the disk of the data file they
/// must leave the floor free. Other disks may be filled, since the vault does not write there.
#[derive(Clone)]
pub(in crate::app) struct Allowance {
    floor_bytes: u64,
    disk: Arc<dyn DataDisk>,
    state: DiskState,
}

/// The answer to changes of a vault whose timeline has ended.
const SUPERSEDED: &str = "Another vault was promoted in place of this one: changes are refused here. \
                          Send them to that vault.";
const MARK_UNREADABLE: &str = "Another vault may have been promoted in place of this one: its mark in \
                               the archive cannot be read, so changes are refused.";
const CHANGES_REFUSED: &str =
    "The vault is read-only because its disk is nearly full; what it holds can be read.";
const ALL_REFUSED: &str = "The vault's disk is full: it cannot keep a record of what is read.";

impl DiskFloor {
    fn new(floor_bytes: u64, disk: Arc<dyn DataDisk>) -> Self {
        Self {
            bytes: floor_bytes,
            disk,
            state: AtomicU8::new(DiskState::Writable.number()),
            free_bytes: AtomicI64::new(0),
            data_bytes: AtomicU64::new(0),
        }
    }

    pub(in crate::app) fn allowance(&self) -> Allowance {
        Allowance { floor_bytes: self.bytes, disk: Arc::clone(&self.disk), state: self.state() }
    }

    fn state(&self) -> DiskState {
        DiskState::from_number(self.state.load(Ordering::Relaxed))
    }

    /// The free space, if it can be read, and the floor.
    pub(in crate::app) fn room(&self) -> (Option<u64>, u64) {
        (self.free_bytes(), self.bytes)
    }

    fn free_bytes(&self) -> Option<u64> {
        u64::try_from(self.free_bytes.load(Ordering::Relaxed)).ok()
    }

    pub(in crate::app) fn look(&self) -> Option<DiskEvent> {
        let Ok(space) = self.disk.space() else {
            let before = self.free_bytes.swap(-1, Ordering::Relaxed);
            return (before >= 0).then_some(DiskEvent::Unreadable);
        };
        let free = i64::try_from(space.free_bytes).unwrap_or(i64::MAX);
        self.free_bytes.store(free, Ordering::Relaxed);
        self.data_bytes.store(space.data_bytes, Ordering::Relaxed);
        let (before, after) = (self.state(), self.state().next(space.free_bytes, self.bytes));
        self.state.store(after.number(), Ordering::Relaxed);
        (before != after).then_some(DiskEvent::State(after, space))
    }
}

impl Allowance {
    /// True if this number of bytes and a copy of the data file may be written to the directory.
    /// Queries the disks and may block.
    pub(in crate::app) fn admits(&self, directory: &Path, bytes: u64) -> io::Result<bool> {
        if !self.disk.is_under(directory)? {
            return Ok(true);
        }
        let space = self.disk.space()?;
        let needed = space.data_bytes.saturating_add(bytes).saturating_add(self.floor_bytes);
        Ok(self.state == DiskState::Writable && needed <= space.free_bytes)
    }
}

impl DiskState {
    /// The state changes as soon as the space falls below a floor, but changes back only when the
    /// space exceeds the floor by a margin, so that it does not flap.
    fn next(self, free: u64, floor: u64) -> Self {
        let hard = floor.div_euclid(DISK_HARD_FLOOR_PART);
        let above = |level: u64| level.saturating_add(level.div_euclid(DISK_RECOVERY_PART));
        let (floor, hard) = match self {
            Self::Writable => (floor, hard),
            Self::ReadOnly => (above(floor), hard),
            Self::Full => (above(floor), above(hard)),
        };
        if free < hard {
            Self::Full
        } else if free < floor {
            Self::ReadOnly
        } else {
            Self::Writable
        }
    }

    const fn number(self) -> u8 {
        match self {
            Self::Writable => 0,
            Self::ReadOnly => 1,
            Self::Full => 2,
        }
    }

    const fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Writable,
            1 => Self::ReadOnly,
            _ => Self::Full,
        }
    }
}

impl Vault {
    /// Without a floor there is always room.
    pub fn keep_free(&mut self, floor_bytes: u64, disk: Arc<dyn DataDisk>) {
        self.floor = Some(DiskFloor::new(floor_bytes, disk));
    }

    pub fn disk_state(&self) -> DiskState {
        self.floor.as_ref().map_or(DiskState::Writable, DiskFloor::state)
    }

    /// Fails if the disk lacks space for a change of this priority, or if another vault was
    /// promoted. Reads need their audit entries, so these are still written.
    pub(in crate::app) fn require_space(&self, priority: Priority) -> Result<(), Error> {
        if priority != Priority::Audit {
            if self.archive.is_superseded() {
                return Err(Error::ReadOnly(SUPERSEDED));
            }
            if self.archive.has_unreadable_mark() {
                return Err(Error::ReadOnly(MARK_UNREADABLE));
            }
        }
        match (self.disk_state(), priority) {
            (DiskState::Writable, _)
            | (DiskState::ReadOnly, Priority::Audit | Priority::Upkeep) => Ok(()),
            (DiskState::ReadOnly, Priority::Normal) => Err(Error::ReadOnly(CHANGES_REFUSED)),
            (DiskState::Full, _) => Err(Error::ReadOnly(ALL_REFUSED)),
        }
    }

    pub fn require_space_for_audit(&self) -> Result<(), Error> {
        self.require_space(Priority::Audit)
    }
}

impl Observe for DiskFloor {
    fn measure(&self, page: &mut Page) {
        let free = self.free_bytes();
        page.known_gauge("strongroom_disk_free_bytes", "Free space of the disk.", free)
            .status("disk", "free_bytes");
        page.gauge(
            "strongroom_disk_floor_bytes",
            "Free space below which no changes are taken.",
            self.bytes,
        )
        .status("disk", "floor_bytes");
        page.gauge(
            "strongroom_data_file_bytes",
            "Length of the data file and of the log beside it.",
            self.data_bytes.load(Ordering::Relaxed),
        )
        .status("disk", "data_file_bytes");
        page.gauge(
            "strongroom_read_only",
            "0: writable; 1: disk nearly full, reads only; 2: disk full, no reads either.",
            u64::from(self.state().number()),
        );
        page.line("disk", "read_only", StatusValue::Flag(self.state() != DiskState::Writable));
    }

    fn check(&self, checks: &mut Checks) {
        let wrong = match (self.state(), self.free_bytes()) {
            (DiskState::ReadOnly, _) => Some("The disk is nearly full: changes are refused."),
            (DiskState::Full, _) => Some("The disk is full: changes and reads are refused."),
            (DiskState::Writable, None) => Some("The free space of the disk cannot be read."),
            (DiskState::Writable, Some(_)) => None,
        };
        // Below the hard floor a read cannot be audited, so it is refused too.
        match self.state() {
            DiskState::Full => checks.set("disk", wrong),
            DiskState::ReadOnly | DiskState::Writable => checks.set_for_writes("disk", wrong),
        }
    }
}

impl fmt::Debug for DiskFloor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskFloor").field("state", &self.state()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(before: DiskState, free: u64, after: DiskState) {
        assert_eq!(before.next(free, 800), after, "{before:?} {free}");
    }

    #[test]
    fn falling_counts_at_once_and_rising_by_a_margin() {
        use DiskState::{Full, ReadOnly, Writable};
        check(Writable, 800, Writable);
        check(Writable, 799, ReadOnly);
        check(ReadOnly, 800, ReadOnly);
        check(ReadOnly, 899, ReadOnly);
        check(ReadOnly, 900, Writable);
        check(Writable, 99, Full);
        check(ReadOnly, 100, ReadOnly);
        check(ReadOnly, 99, Full);
        check(Full, 100, Full);
        check(Full, 111, Full);
        check(Full, 112, ReadOnly);
        check(Full, 899, ReadOnly);
        check(Full, 900, Writable);
    }

    proptest! {
        #[test]
        fn below_a_floor_there_is_never_room_and_far_above_it_always(
            free: u64, floor in 8_u64..1 << 60, before in 0_u8..3,
        ) {
            let after = DiskState::from_number(before).next(free, floor);
            if free < floor {
                prop_assert_ne!(after, DiskState::Writable);
            }
            if free < floor / 8 {
                prop_assert_eq!(after, DiskState::Full);
            }
            if free >= floor + floor / 8 {
                prop_assert_eq!(after, DiskState::Writable);
            }
            prop_assert_eq!(after.next(free, floor), after, "a second look changes nothing");
        }
    }
}
