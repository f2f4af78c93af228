//! The floor: a vault whose disk is nearly full takes no changes, instead of failing in the middle of
//! one. Reads go on, and so does what they leave behind and what removes things, down to a hard floor;
//! below that nothing is written at all. When there is space again, it goes on by itself.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};

use crate::bounds::{DISK_HARD_FLOOR_PART, DISK_RECOVERY_PART};
use crate::metrics::{Checks, Observe, Page, StatusValue};
use crate::store::{DataDisk, Space};

/// What the disk has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    Changes,
    /// Below the floor: what reads leave behind, and removing what is due.
    Traces,
    /// Below the hard floor.
    Nothing,
}

/// What a look at the disk found that the last one had not.
#[derive(Debug, PartialEq, Eq)]
pub enum DiskNews {
    Room(Room, Space),
    /// The free space cannot be read, so what was known stays true.
    Unreadable,
}

pub(in crate::app) struct Floor {
    bytes: u64,
    disk: Arc<dyn DataDisk>,
    room: AtomicU8,
    /// -1 while it cannot be read.
    free_bytes: AtomicI64,
    data_bytes: AtomicU64,
}

/// What may be written beside the data file: on its own disk only what leaves the floor alone. Any
/// other disk may be filled, which costs nobody but the one who writes to it.
#[derive(Clone)]
pub(in crate::app) struct Allowance {
    floor_bytes: u64,
    disk: Arc<dyn DataDisk>,
    room: Room,
}

pub(super) const CHANGES_REFUSED: &str =
    "The vault is read-only because its disk is nearly full; what it holds can be read.";
pub(super) const ALL_REFUSED: &str =
    "The vault's disk is full: it cannot keep a record of what is read.";

impl Floor {
    pub(super) fn new(floor_bytes: u64, disk: Arc<dyn DataDisk>) -> Self {
        Self {
            bytes: floor_bytes,
            disk,
            room: AtomicU8::new(Room::Changes.number()),
            free_bytes: AtomicI64::new(0),
            data_bytes: AtomicU64::new(0),
        }
    }

    pub(super) fn allowance(&self) -> Allowance {
        Allowance { floor_bytes: self.bytes, disk: Arc::clone(&self.disk), room: self.room() }
    }

    pub(super) fn room(&self) -> Room {
        Room::from_number(self.room.load(Ordering::Relaxed))
    }

    fn free_bytes(&self) -> Option<u64> {
        u64::try_from(self.free_bytes.load(Ordering::Relaxed)).ok()
    }

    pub(super) fn look(&self) -> Option<DiskNews> {
        let Ok(space) = self.disk.space() else {
            let before = self.free_bytes.swap(-1, Ordering::Relaxed);
            return (before >= 0).then_some(DiskNews::Unreadable);
        };
        let free = i64::try_from(space.free_bytes).unwrap_or(i64::MAX);
        self.free_bytes.store(free, Ordering::Relaxed);
        self.data_bytes.store(space.data_bytes, Ordering::Relaxed);
        let (before, after) = (self.room(), self.room().next(space.free_bytes, self.bytes));
        self.room.store(after.number(), Ordering::Relaxed);
        (before != after).then_some(DiskNews::Room(after, space))
    }
}

impl Allowance {
    /// Whether as much as the data file and this many bytes may be written to a directory. It asks
    /// the disks, which may take its time.
    pub(in crate::app) fn admits(&self, directory: &Path, bytes: u64) -> io::Result<bool> {
        if !self.disk.is_under(directory)? {
            return Ok(true);
        }
        let space = self.disk.space()?;
        let needed = space.data_bytes.saturating_add(bytes).saturating_add(self.floor_bytes);
        Ok(self.room == Room::Changes && needed <= space.free_bytes)
    }
}

impl Room {
    /// Falling below a floor counts at once, rising above it only by a margin.
    fn next(self, free: u64, floor: u64) -> Self {
        let hard = floor.div_euclid(DISK_HARD_FLOOR_PART);
        let above = |level: u64| level.saturating_add(level.div_euclid(DISK_RECOVERY_PART));
        let (floor, hard) = match self {
            Self::Changes => (floor, hard),
            Self::Traces => (above(floor), hard),
            Self::Nothing => (above(floor), above(hard)),
        };
        if free < hard {
            Self::Nothing
        } else if free < floor {
            Self::Traces
        } else {
            Self::Changes
        }
    }

    const fn number(self) -> u8 {
        match self {
            Self::Changes => 0,
            Self::Traces => 1,
            Self::Nothing => 2,
        }
    }

    const fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Changes,
            1 => Self::Traces,
            _ => Self::Nothing,
        }
    }
}

impl Observe for Floor {
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
            "Length of the data file.",
            self.data_bytes.load(Ordering::Relaxed),
        )
        .status("disk", "data_file_bytes");
        page.gauge(
            "strongroom_read_only",
            "0: writable; 1: disk nearly full, reads only; 2: disk full, no reads either.",
            u64::from(self.room().number()),
        );
        page.line("disk", "read_only", StatusValue::Flag(self.room() != Room::Changes));
    }

    fn check(&self, checks: &mut Checks) {
        let wrong = match (self.room(), self.free_bytes()) {
            (Room::Traces, _) => Some("The disk is nearly full: changes are refused."),
            (Room::Nothing, _) => Some("The disk is full: changes and reads are refused."),
            (Room::Changes, None) => Some("The free space of the disk cannot be read."),
            (Room::Changes, Some(_)) => None,
        };
        checks.set("disk", wrong);
    }
}

impl fmt::Debug for Floor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Floor").field("room", &self.room()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(before: Room, free: u64, after: Room) {
        assert_eq!(before.next(free, 800), after, "{before:?} {free}");
    }

    #[test]
    fn falling_counts_at_once_and_rising_by_a_margin() {
        use Room::{Changes, Nothing, Traces};
        check(Changes, 800, Changes);
        check(Changes, 799, Traces);
        check(Traces, 800, Traces);
        check(Traces, 899, Traces);
        check(Traces, 900, Changes);
        check(Changes, 99, Nothing);
        check(Traces, 100, Traces);
        check(Traces, 99, Nothing);
        check(Nothing, 100, Nothing);
        check(Nothing, 111, Nothing);
        check(Nothing, 112, Traces);
        check(Nothing, 899, Traces);
        check(Nothing, 900, Changes);
    }

    proptest! {
        #[test]
        fn below_a_floor_there_is_never_room_and_far_above_it_always(
            free: u64, floor in 8_u64..1 << 60, before in 0_u8..3,
        ) {
            let after = Room::from_number(before).next(free, floor);
            if free < floor {
                prop_assert_ne!(after, Room::Changes);
            }
            if free < floor / 8 {
                prop_assert_eq!(after, Room::Nothing);
            }
            if free >= floor + floor / 8 {
                prop_assert_eq!(after, Room::Changes);
            }
            prop_assert_eq!(after.next(free, floor), after, "a second look changes nothing");
        }
    }
}
