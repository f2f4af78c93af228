//! The log: every batch of changes is written here first and is durable then. A merge later moves
//! the rows into the data file.
//!
//! Segments are numbered files. Each is filled with zeros ahead of its frames, and a segment that
//! is no longer needed becomes the spare for the next one. A sync of a frame therefore writes no
//! metadata of the file system. The spare still has its old frames. [`Log::leave_segment`] begins a
//! segment without any; the ones before it are overwritten when they are free, and removed.

pub(super) mod erase;
pub(in crate::store) mod frame;
pub(in crate::store) mod reader;
pub(in crate::store) mod segment;
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
use crate::store::engine::local::log::segment::{FIRST_FRAME, Header, Lineage, SPARE};
use crate::store::failure::StorageFailure;
use crate::store::volume::{Volume, VolumeFile};

/// The place of a frame in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    /// The sequence number of the frame at this place.
    pub sequence: u64,
    /// The number of the segment.
    pub segment: u64,
    pub offset: u64,
}

/// The open log. The newest segment takes frames; the older ones are kept until they are merged.
#[derive(Debug)]
pub(super) struct Log {
    volume: Arc<dyn Volume>,
    lineage: Lineage,
    segment_bytes: u64,
    newest: Segment,
    /// Oldest first.
    older: VecDeque<ClosedSegment>,
    /// The length of the spare segment, if there is one.
    spare_bytes: Option<u64>,
    /// Segments before this number are overwritten when they are free, and never used again.
    forget_before: u64,
    /// Free segments that wait to be overwritten.
    retired: Vec<ClosedSegment>,
    /// The place of the next frame.
    end: Position,
    last_time: Timestamp,
    /// The offset and the head of the frame that this process wrote last to the newest segment.
    last_head: Option<(u64, Vec<u8>)>,
    buffer: Vec<u8>,
    /// A frame was not written, or it is unknown whether it was. No other may take its number.
    has_failed: bool,
}

/// The segment that takes frames.
#[derive(Debug)]
struct Segment {
    file: Arc<dyn VolumeFile>,
    number: u64,
    /// The part of the file that has been written before. Writing it again needs no metadata.
    filled: u64,
    /// No earlier use has left frames in the file.
    is_fresh: bool,
}

#[derive(Debug)]
pub(super) struct ClosedSegment {
    number: u64,
    bytes: u64,
    /// Behind this offset the file has only zeros.
    used: u64,
    /// The sequence number of the first frame behind the segment, if this process wrote it.
    next: Option<u64>,
}

impl Log {
    /// Begins a log with a segment of this number, whose first frame gets `sequence`.
    pub(super) fn begin(
        volume: &Arc<dyn Volume>,
        lineage: Lineage,
        segment_bytes: u64,
        (number, sequence): (u64, u64),
    ) -> Result<Self, StorageFailure> {
        let header = Header { lineage, number, first_sequence: sequence };
        let newest = begin_segment(volume.as_ref(), &header, None)?;
        Ok(Self {
            volume: Arc::clone(volume),
            lineage,
            segment_bytes,
            newest,
            older: VecDeque::new(),
            spare_bytes: None,
            forget_before: 0,
            retired: Vec::new(),
            end: Position { sequence, segment: number, offset: FIRST_FRAME },
            last_time: Timestamp::from_micros(0),
            last_head: None,
            buffer: Vec::new(),
            has_failed: false,
        })
    }

    /// Goes on with the log that a [`reader::Scan`] has read. Names and frames that the last process
    /// wrote and did not sync are durable afterwards: what is shown must not vanish with the power.
    pub(super) fn resume(
        volume: &Arc<dyn Volume>,
        lineage: Lineage,
        segment_bytes: u64,
        scan: reader::Scan,
    ) -> Result<Self, StorageFailure> {
        let reader::Scan { end, newest, older, last_time, last_frame, .. } = scan;
        settle(volume.as_ref(), newest.as_ref(), last_frame).map_err(StorageFailure::from_io)?;
        let filled = newest.len().map_err(StorageFailure::from_io)?;
        let is_fresh = filled == FIRST_FRAME;
        let newest = Segment { file: newest, number: end.segment, filled, is_fresh };
        let older = older.into_iter().map(|(number, bytes)| ClosedSegment {
            number,
            bytes,
            used: bytes,
            next: None,
        });
        let spare_bytes = find_spare(volume.as_ref(), lineage, end.sequence);
        let spare_bytes = spare_bytes.map_err(StorageFailure::from_io)?;
        Ok(Self {
            volume: Arc::clone(volume),
            lineage,
            segment_bytes,
            newest,
            older: older.collect(),
            spare_bytes,
            forget_before: 0,
            retired: Vec::new(),
            end,
            last_time,
            last_head: None,
            buffer: Vec::new(),
            has_failed: false,
        })
    }

    /// The place of the next frame.
    pub(super) const fn end(&self) -> Position {
        self.end
    }

    pub(super) const fn lineage(&self) -> Lineage {
        self.lineage
    }

    /// The length of all files of the log.
    pub(super) fn bytes(&self) -> u64 {
        let older = self.older.iter().map(|segment| segment.bytes);
        older.chain(self.spare_bytes).fold(self.newest.filled, u64::saturating_add)
    }

    pub(super) fn segments(&self) -> usize {
        self.older.len().saturating_add(1)
    }

    /// Writes a frame and returns when it is durable. The time never goes back.
    pub(super) fn append(
        &mut self,
        time: Timestamp,
        rows: &[RowChange],
    ) -> Result<(), StorageFailure> {
        let time = time.max(self.last_time);
        self.buffer.clear();
        frame::encode(self.end.sequence, time, rows, &mut self.buffer).map_err(
            |frame::TooLarge| StorageFailure::Impossible("a batch is too large for the log"),
        )?;
        if std::mem::replace(&mut self.has_failed, true) {
            return Err(StorageFailure::Stopped);
        }
        let len = u64::try_from(self.buffer.len()).unwrap_or(u64::MAX);
        // A frame that is larger than a segment gets a segment for itself.
        let is_full = self.end.offset.saturating_add(len) > self.segment_bytes;
        if is_full && self.end.offset > FIRST_FRAME {
            self.next_segment()?;
        }
        let end = self.end.offset.saturating_add(len);
        self.fill(end).map_err(StorageFailure::from_io)?;
        let file = &self.newest.file;
        file.write(self.end.offset, &self.buffer).map_err(StorageFailure::from_io)?;
        file.sync().map_err(StorageFailure::from_io)?;
        self.has_failed = false;
        let head = self.buffer.get(..frame::HEAD_BYTES).map(<[u8]>::to_vec);
        self.last_head = head.map(|head| (self.end.offset, head));
        self.end.offset = end;
        self.end.sequence = self.end.sequence.saturating_add(1);
        self.last_time = time;
        // One large batch should not keep its memory for ever.
        self.buffer.shrink_to(LOG_BUFFER_BYTES);
        Ok(())
    }

    /// Writes zeros behind `end`, more of them each time, so that most frames replace old bytes.
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

    fn next_segment(&mut self) -> Result<(), StorageFailure> {
        let number = self.newest.number.saturating_add(1);
        let first_sequence = self.end.sequence;
        let header = Header { lineage: self.lineage, number, first_sequence };
        let next = begin_segment(self.volume.as_ref(), &header, self.spare_bytes.take())?;
        let closed = std::mem::replace(&mut self.newest, next);
        self.last_head = None;
        let used = if closed.is_fresh { self.end.offset } else { closed.filled };
        self.older.push_back(ClosedSegment {
            number: closed.number,
            bytes: closed.filled,
            used,
            next: Some(first_sequence),
        });
        self.end = Position { sequence: first_sequence, segment: number, offset: FIRST_FRAME };
        Ok(())
    }

    /// The first segment that has frames from this place on; the largest number without a place.
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

    /// The first segment to keep of those that hold this place and what follows it, so that the log
    /// has at most `bytes_max`.
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

    /// The number of the oldest segment.
    pub(super) fn first_segment(&self) -> u64 {
        self.older.front().map_or(self.newest.number, |oldest| oldest.number)
    }

    pub(super) const fn volume(&self) -> &Arc<dyn Volume> {
        &self.volume
    }

    /// Frees the segments before the one with this number. One of them becomes the spare, unless
    /// they are to be overwritten.
    pub(super) fn free_before(&mut self, number: u64) -> Result<(), StorageFailure> {
        let mut has_spare = false;
        while let Some(oldest) = self.older.pop_front_if(|oldest| oldest.number < number) {
            if oldest.number < self.forget_before {
                self.retired.push(oldest);
                continue;
            }
            let name = segment::name(oldest.number);
            if self.spare_bytes.is_none() {
                self.volume.rename(&name, SPARE).map_err(StorageFailure::from_io)?;
                self.spare_bytes = Some(oldest.bytes);
                has_spare = true;
            } else {
                self.volume.remove(&name).map_err(StorageFailure::from_io)?;
            }
        }
        if has_spare {
            // The old name must be gone before the header of the next use is written.
            self.volume.sync().map_err(StorageFailure::from_io)?;
        }
        Ok(())
    }

    /// Checks that the newest segment still has its name.
    pub(super) fn check_newest_place(&self) -> Result<(), StorageFailure> {
        self.newest.file.check_place().map_err(StorageFailure::Removed)
    }

    /// Checks that the last frame is as this process wrote it. A file that cannot be read is reported
    /// when the next frame is written.
    fn check_last_frame(&self) -> Result<(), StorageFailure> {
        let Some((offset, head)) = &self.last_head else { return Ok(()) };
        let mut found = vec![0; head.len()];
        match self.newest.file.read(*offset, &mut found) {
            Ok(()) if found != *head => {
                Err(StorageFailure::Removed(PathBuf::from(segment::name(self.newest.number))))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Checks that all segments are there, and that the newest one is the file that is open.
    pub(super) fn check_place(&self) -> Result<(), StorageFailure> {
        self.check_newest_place()?;
        self.check_last_frame()?;
        if self.older.is_empty() {
            return Ok(());
        }
        let numbers = reader::numbers(self.volume.as_ref())?;
        let missing = self.older.iter().find(|segment| !numbers.contains(&segment.number));
        let path = |it: &ClosedSegment| PathBuf::from(segment::name(it.number));
        missing.map_or(Ok(()), |it| Err(StorageFailure::Removed(path(it))))
    }
}

/// Makes the names and the newest frame durable. The frame is written again, because after a failed
/// sync the system can take it for written although the disk does not have it.
fn settle(
    volume: &dyn Volume,
    newest: &dyn VolumeFile,
    last_frame: Option<(u64, usize)>,
) -> io::Result<()> {
    volume.sync()?;
    if let Some((offset, len)) = last_frame {
        let mut bytes = vec![0; len];
        newest.read(offset, &mut bytes)?;
        newest.write(offset, &bytes)?;
        newest.sync()?;
    }
    Ok(())
}

/// The length of the spare segment. One that is not of this log is removed: its frames could have
/// the numbers of later frames.
fn find_spare(volume: &dyn Volume, lineage: Lineage, sequence: u64) -> io::Result<Option<u64>> {
    let Some(spare) = volume.open(SPARE)? else { return Ok(None) };
    let len = spare.len()?;
    let mut bytes = [0; SECTOR_BYTES];
    if len >= FIRST_FRAME {
        spare.read(0, &mut bytes)?;
    }
    let is_ours = |header: Header| header.lineage == lineage && header.first_sequence <= sequence;
    if Header::decode(&bytes).is_ok_and(is_ours) {
        return Ok(Some(len));
    }
    volume.remove(SPARE)?;
    Ok(None)
}

/// Memory that the log keeps between two frames.
const LOG_BUFFER_BYTES: usize = 1024 * 1024;

/// Makes a segment, from the spare one if its length is given. It gets its name when its header is
/// durable, so a file with the name of a segment always has a header.
fn begin_segment(
    volume: &dyn Volume,
    header: &Header,
    spare_bytes: Option<u64>,
) -> Result<Segment, StorageFailure> {
    let begin = || -> io::Result<Segment> {
        let mut spare = None;
        let is_fresh = spare_bytes.is_none();
        if spare_bytes.is_some() {
            spare = volume.open(SPARE)?;
        }
        let file = if let Some(file) = spare {
            file
        } else {
            volume.remove(SPARE)?;
            volume.create(SPARE)?
        };
        file.write(0, &header.encode())?;
        file.sync()?;
        let name = segment::name(header.number);
        volume.rename(SPARE, &name)?;
        volume.sync()?;
        let file = volume.open(&name)?.ok_or(io::ErrorKind::NotFound)?;
        let filled = file.len()?;
        Ok(Segment { file: Arc::from(file), number: header.number, filled, is_fresh })
    };
    begin().map_err(StorageFailure::from_io)
}
