//! The log: every batch is written and synced here first. A merge later moves the rows into the
//! data file.
//!
//! Segments are numbered files. Each is filled with zeros ahead of its frames, and a segment that
//! is no longer needed becomes the spare for the next one. A sync therefore writes no file system
//! metadata. The spare still has its old frames. [`Log::leave_segment`] begins a segment without
//! any; the ones before it are overwritten when they are free, and removed.

pub(in crate::store) mod end;
pub(super) mod erase;
pub(in crate::store) mod frame;
mod position;
pub(in crate::store) mod reader;
pub(in crate::store) mod segment;
mod spare;
pub(in crate::store) mod tail;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::bounds::{LOG_FILL_BYTES_MAX, LOG_FILL_BYTES_MIN};
use crate::domain::time::Timestamp;
use crate::store::engine::RowChange;
use crate::store::engine::local::log::frame::SECTOR_BYTES;
pub use crate::store::engine::local::log::position::Position;
use crate::store::engine::local::log::segment::{FIRST_FRAME, Lineage, SPARE};
use crate::store::engine::local::log::spare::{Segment, Spare, begin_segment, find_spare};
use crate::store::failure::StorageFailure;
use crate::store::volume::{Volume, VolumeFile, remove_left};

/// Frames go to the newest segment; older segments are kept until they are merged.
#[derive(Debug)]
pub(super) struct Log {
    volume: Arc<dyn Volume>,
    lineage: Lineage,
    segment_bytes: u64,
    newest: Segment,
    /// Oldest first.
    older: VecDeque<ClosedSegment>,
    spare: Option<Spare>,
    /// A spare that is being overwritten. Its name is free once this file is removed.
    old_spare: Option<Arc<dyn VolumeFile>>,
    /// Segments before this number are overwritten when they are free, and never reused.
    forget_before: u64,
    /// Free segments that wait to be overwritten.
    retired: Vec<ClosedSegment>,
    /// The place of the next frame.
    end: Position,
    /// The offset and the head of the last frame that this process wrote to the newest segment.
    last_head: Option<(u64, [u8; frame::HEAD_BYTES])>,
    buffer: Vec<u8>,
    /// A frame failed, or its outcome is unknown. No other frame may take its number.
    has_failed: bool,
}

/// The file stays open, so that no other file is overwritten and removed in its place.
#[derive(Debug)]
pub(super) struct ClosedSegment {
    file: Arc<dyn VolumeFile>,
    number: u64,
    bytes: u64,
    /// The file has only zeros behind this offset.
    used: u64,
    /// The sequence number of the first frame after the segment, if this process wrote it.
    next: Option<u64>,
}

impl Log {
    /// Begins a log. The first frame goes to this place.
    pub(super) fn begin(
        volume: &Arc<dyn Volume>,
        lineage: Lineage,
        segment_bytes: u64,
        end: Position,
    ) -> Result<Self, StorageFailure> {
        remove_left(volume.as_ref(), SPARE)?;
        let newest = begin_segment(volume.as_ref(), lineage, end, None)?;
        Ok(Self::new(volume, lineage, segment_bytes, (newest, end)))
    }

    fn new(
        volume: &Arc<dyn Volume>,
        lineage: Lineage,
        segment_bytes: u64,
        (newest, end): (Segment, Position),
    ) -> Self {
        Self {
            volume: Arc::clone(volume),
            lineage,
            segment_bytes,
            newest,
            older: VecDeque::new(),
            spare: None,
            old_spare: None,
            forget_before: 0,
            retired: Vec::new(),
            end,
            last_head: None,
            buffer: Vec::new(),
            has_failed: false,
        }
    }

    /// Continues the log that a [`reader::Scan`] has read. Makes names and frames durable that the
    /// last process did not sync: rows that readers have seen must survive a loss of power.
    pub(super) fn resume(
        volume: &Arc<dyn Volume>,
        lineage: Lineage,
        segment_bytes: u64,
        scan: reader::Scan,
    ) -> Result<Self, StorageFailure> {
        let reader::Scan { end, newest, older, last_frame, torn, .. } = scan;
        erase::settle(volume.as_ref(), newest.as_ref(), (last_frame, torn))?;
        let filled = newest.len()?;
        let is_fresh = filled == FIRST_FRAME;
        let newest = Segment { file: newest, number: end.segment, filled, is_fresh };
        let older = older.into_iter().map(|segment| ClosedSegment {
            file: Arc::from(segment.file),
            number: segment.number,
            bytes: segment.len,
            used: segment.len,
            next: None,
        });
        let spare = find_spare(volume.as_ref(), lineage, end.sequence);
        let spare = spare?;
        let log = Self::new(volume, lineage, segment_bytes, (newest, end));
        Ok(Self { older: older.collect(), spare, ..log })
    }

    pub(super) const fn end(&self) -> Position {
        self.end
    }

    pub(super) const fn lineage(&self) -> Lineage {
        self.lineage
    }

    pub(super) fn bytes(&self) -> u64 {
        let older = self.older.iter().map(|segment| segment.bytes);
        older
            .chain(self.spare.as_ref().map(|spare| spare.bytes))
            .fold(self.newest.filled, u64::saturating_add)
    }

    pub(super) fn segments(&self) -> usize {
        self.older.len().saturating_add(1)
    }

    /// Writes a frame and returns when it is durable. Times go back when the clock is set back: the
    /// sequence number is the order, and a restore until a time expects this.
    pub(super) fn append(
        &mut self,
        time: Timestamp,
        rows: &[RowChange],
    ) -> Result<(), StorageFailure> {
        self.buffer.clear();
        frame::encode(self.end.sequence, time, rows, &mut self.buffer)
            .and_then(|()| frame::check_length(&self.buffer))
            .map_err(|frame::TooLarge| {
                StorageFailure::Impossible("a batch is too large for the log")
            })?;
        if std::mem::replace(&mut self.has_failed, true) {
            return Err(StorageFailure::Stopped);
        }
        let frame_bytes = self.buffer.len();
        // The sector behind the frame must not show bytes of the file's earlier use.
        self.buffer.resize(frame_bytes.saturating_add(SECTOR_BYTES), 0);
        let len = u64::try_from(self.buffer.len()).unwrap_or(u64::MAX);
        // A frame larger than a segment gets a segment for itself.
        let is_full = self.end.offset.saturating_add(len) > self.segment_bytes;
        if is_full && self.end.offset > FIRST_FRAME {
            self.next_segment()?;
        }
        self.fill(self.end.offset.saturating_add(len))?;
        let file = &self.newest.file;
        file.write(self.end.offset, &self.buffer)?;
        file.sync()?;
        self.has_failed = false;
        self.last_head = self.buffer.first_chunk().map(|head| (self.end.offset, *head));
        self.end.pass(self.buffer.get(..frame_bytes).unwrap_or_default());
        // Releases the memory of an exceptionally large batch.
        self.buffer.shrink_to(LOG_BUFFER_BYTES);
        Ok(())
    }

    /// Writes zeros behind `end`, more each time, so that most frames overwrite existing bytes.
    fn fill(&mut self, end: u64) -> io::Result<()> {
        let filled = self.newest.filled;
        if end <= filled {
            return Ok(());
        }
        let more = filled.clamp(LOG_FILL_BYTES_MIN, LOG_FILL_BYTES_MAX);
        let until = filled.saturating_add(more).min(self.segment_bytes).max(end);
        let zeros = usize::try_from(until.saturating_sub(filled)).unwrap_or(usize::MAX);
        self.newest.file.write(filled, &vec![0; zeros])?;
        self.newest.filled = until;
        Ok(())
    }

    /// Removes a spare that is being overwritten, so that another file can take its name.
    fn free_spare_name(&mut self) -> io::Result<()> {
        let Some(old) = self.old_spare.take() else { return Ok(()) };
        // Without the sync, a loss of power could give the next segment's name to the old file.
        old.remove().and_then(|()| self.volume.sync())
    }

    fn next_segment(&mut self) -> io::Result<()> {
        let number = self.newest.number.saturating_add(1);
        if self.spare.is_none() {
            self.free_spare_name()?;
        }
        let end = Position::first(number, self.end.sequence, self.end.digest);
        let next = begin_segment(self.volume.as_ref(), self.lineage, end, self.spare.take())?;
        let closed = std::mem::replace(&mut self.newest, next);
        self.last_head = None;
        let used = if closed.is_fresh { self.end.offset } else { closed.filled };
        self.older.push_back(ClosedSegment {
            file: closed.file,
            number: closed.number,
            bytes: closed.filled,
            used,
            next: Some(end.sequence),
        });
        self.end = end;
        Ok(())
    }

    /// The first segment with frames from this place on; the largest number if there is no place.
    pub(super) fn first_held(&self, held: Option<Position>) -> u64 {
        let Some(held) = held else { return u64::MAX };
        let mut first = held.segment;
        for segment in &self.older {
            // The place may be behind the last frame of its segment.
            if segment.number == first && segment.next.is_some_and(|next| next <= held.sequence) {
                first = first.saturating_add(1);
            }
        }
        first
    }

    /// Like [`Log::first_held`], but the segments from the returned one on have at most
    /// `bytes_max`.
    pub(super) fn bounded_hold(&self, held: Option<Position>, bytes_max: u64) -> u64 {
        let held = self.first_held(held);
        let mut bytes = self.newest.filled;
        let mut first = self.newest.number;
        for segment in self.older.iter().rev().take_while(|segment| segment.number >= held) {
            bytes = bytes.saturating_add(segment.bytes);
            if bytes > bytes_max {
                break;
            }
            first = segment.number;
        }
        first.max(held)
    }

    pub(super) fn first_segment(&self) -> u64 {
        self.older.front().map_or(self.newest.number, |oldest| oldest.number)
    }

    pub(super) const fn volume(&self) -> &Arc<dyn Volume> {
        &self.volume
    }

    /// Frees the segments before this number. One of them becomes the spare, unless they are to be
    /// overwritten.
    pub(super) fn free_before(&mut self, number: u64) -> Result<(), StorageFailure> {
        let mut has_spare = false;
        while let Some(oldest) = self.older.pop_front_if(|oldest| oldest.number < number) {
            if oldest.number < self.forget_before {
                self.retired.push(oldest);
                continue;
            }
            if self.spare.is_none() {
                self.free_spare_name()?;
                oldest.file.check_place().map_err(StorageFailure::Removed)?;
                oldest.file.rename(SPARE)?;
                self.spare = Some(Spare { file: oldest.file, bytes: oldest.bytes });
                has_spare = true;
            } else {
                oldest.file.remove()?;
            }
        }
        if has_spare {
            // The old name must be gone before the header of the next use is written.
            self.volume.sync()?;
        }
        Ok(())
    }

    pub(super) fn check_newest_place(&self) -> Result<(), StorageFailure> {
        self.newest.file.check_place().map_err(StorageFailure::Removed)
    }

    /// Checks that the last frame is as this process wrote it. A read error is left for the next
    /// append to report.
    fn check_last_frame(&self) -> Result<(), StorageFailure> {
        let Some((offset, head)) = &self.last_head else { return Ok(()) };
        let mut found = [0; frame::HEAD_BYTES];
        match self.newest.file.read(*offset, &mut found) {
            Ok(()) if found != *head => {
                Err(StorageFailure::Removed(PathBuf::from(segment::name(self.newest.number))))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Checks that the names of all segments still refer to the open files.
    pub(super) fn check_place(&self) -> Result<(), StorageFailure> {
        self.check_newest_place()?;
        self.check_last_frame()?;
        let mut older = self.older.iter().map(|segment| segment.file.check_place());
        older.try_for_each(|checked| checked.map_err(StorageFailure::Removed))
    }
}

/// Memory that the log keeps between frames.
const LOG_BUFFER_BYTES: usize = 1024 * 1024;
