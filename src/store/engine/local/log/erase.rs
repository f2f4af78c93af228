//! Overwrites frames that the log no longer needs, so that its files hold no rows that were deleted
//! or changed since.
//!
//! A segment is overwritten only when its rows are durable in the data file and the archive does
//! not need it. It keeps its header until it is removed: if the process is killed meanwhile, the
//! next one takes the file for an old segment or for the spare.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::store::engine::local::log::segment::FIRST_FRAME;
use crate::store::engine::local::log::spare::Spare;
use crate::store::engine::local::log::{ClosedSegment, Log};
use crate::store::failure::StorageFailure;
use crate::store::volume::{Volume, VolumeFile};

impl Log {
    pub(in crate::store::engine::local) fn is_blank(&self) -> bool {
        self.newest.is_fresh
            && self.end.offset == FIRST_FRAME
            && self.spare.is_none()
            && self.older.is_empty()
            && self.retired.is_empty()
    }

    /// Takes the spare from the log. The log then creates a file for its next segment.
    pub(in crate::store::engine::local) fn take_spare(&mut self) -> Option<Spare> {
        let spare = self.spare.take()?;
        self.old_spare = Some(Arc::clone(&spare.file));
        Some(spare)
    }

    /// Continues in a segment without frames, also from an earlier use of its file. The spare must
    /// have been taken before.
    pub(in crate::store::engine::local) fn leave_segment(&mut self) -> Result<(), StorageFailure> {
        if std::mem::replace(&mut self.has_failed, true) {
            return Err(StorageFailure::Stopped);
        }
        self.free_spare_name()?;
        if self.end.offset > FIRST_FRAME || !self.newest.is_fresh {
            self.next_segment()?;
        }
        self.has_failed = false;
        Ok(())
    }

    /// Marks the segments before this one to be overwritten when they are free. The data file has
    /// all their rows.
    pub(in crate::store::engine::local) fn forget_before(&mut self, number: u64) {
        self.forget_before = self.forget_before.max(number);
    }

    /// The first segment to keep; `None` if no segment is due to be overwritten.
    pub(in crate::store::engine::local) fn forgettable(&self) -> Option<u64> {
        let oldest = self.older.front()?.number;
        (oldest < self.forget_before).then_some(self.forget_before)
    }

    /// The free segments, which the caller overwrites without the log's lock.
    pub(in crate::store::engine::local) fn take_retired(&mut self) -> Vec<ClosedSegment> {
        std::mem::take(&mut self.retired)
    }

    pub(in crate::store::engine::local) fn overwrite(
        volume: &dyn Volume,
        retired: &[ClosedSegment],
    ) -> io::Result<()> {
        for segment in retired {
            overwrite(volume, segment.file.as_ref(), segment.used)?;
            segment.file.remove()?;
        }
        if retired.is_empty() { Ok(()) } else { volume.sync() }
    }
}

impl Spare {
    pub(in crate::store::engine::local) fn overwrite(self, volume: &dyn Volume) -> io::Result<()> {
        overwrite(volume, self.file.as_ref(), self.bytes)
    }
}

fn overwrite(volume: &dyn Volume, file: &dyn VolumeFile, until: u64) -> io::Result<()> {
    if !volume.is_kept() {
        return Ok(());
    }
    write_zeros(file, FIRST_FRAME..until.min(file.len()?))
}

pub(super) fn write_zeros(file: &dyn VolumeFile, part: Range<u64>) -> io::Result<()> {
    let mut offset = part.start;
    while offset < part.end {
        let len = part.end.saturating_sub(offset).min(CHUNK_BYTES);
        file.write(offset, &vec![0; usize::try_from(len).unwrap_or(0)])?;
        offset = offset.saturating_add(len);
    }
    file.sync()
}

/// Makes the names and the newest frame durable, and replaces a torn frame behind it by zeros. The
/// frame is written again: after a failed sync the kernel may treat it as written although the disk
/// does not have it.
pub(super) fn settle(
    volume: &dyn Volume,
    newest: &dyn VolumeFile,
    (last_frame, torn): (Option<(u64, usize)>, Range<u64>),
) -> io::Result<()> {
    volume.sync()?;
    if !torn.is_empty() {
        write_zeros(newest, torn)?;
    }
    if let Some((offset, len)) = last_frame {
        let mut bytes = vec![0; len];
        newest.read(offset, &mut bytes)?;
        newest.write(offset, &bytes)?;
        newest.sync()?;
    }
    Ok(())
}

/// Zeros per write.
const CHUNK_BYTES: u64 = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::engine::local::log::segment::{self, SPARE};
    use crate::store::engine::local::log::tests::{append, begin};
    use crate::store::tests::disk::{Image, TestDisk};

    fn content(file: &dyn VolumeFile) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
        file.read(0, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn zeros_replace_everything_between_the_header_and_the_end_that_was_used() {
        let len = 2 * usize::try_from(CHUNK_BYTES).unwrap() + 700;
        for used in [512, 513, 1_024, len - 100, len] {
            let disk = TestDisk::holding(Image::from([(String::from("a"), vec![7; len])]));
            let file = disk.volume().open("a").unwrap().unwrap();
            overwrite(disk.volume().as_ref(), file.as_ref(), u64::try_from(used).unwrap()).unwrap();
            let durable = disk.durable().remove("a").unwrap();
            assert!(durable[..512].iter().all(|byte| *byte == 7), "the header stays: {used}");
            assert!(durable[512..used].iter().all(|byte| *byte == 0), "{used}");
            assert!(durable[used..].iter().all(|byte| *byte == 7), "{used}");
        }
    }

    /// The file's name is removed too, so the test reads through an earlier handle.
    #[test]
    fn a_forgotten_segment_and_an_old_spare_have_no_frame_left_on_the_disk() {
        let disk = TestDisk::new();
        let (volume, mut log) = (disk.volume(), begin(&disk));
        append(&mut log, 9);
        log.free_before(2).unwrap();
        log.forget_before(3);
        let [spare, closed] =
            [SPARE, &segment::name(2)].map(|name| volume.open(name).unwrap().unwrap());
        assert!(
            [&spare, &closed].into_iter().all(|file| content(file.as_ref())[512..].contains(&7))
        );
        log.take_spare().unwrap().overwrite(volume.as_ref()).unwrap();
        log.leave_segment().unwrap();
        log.free_before(3).unwrap();
        Log::overwrite(volume.as_ref(), &log.take_retired()).unwrap();
        for file in [spare, closed] {
            assert!(content(file.as_ref())[512..].iter().all(|byte| *byte == 0));
        }
        assert!(!disk.volatile().contains_key(&segment::name(2)));
    }
}
