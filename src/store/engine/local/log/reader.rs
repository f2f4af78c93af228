//! Reads the log after a start: the frames from a position on, and where the next one goes.
//!
//! Only the newest frame can be cut off, because each is synced before the next is written. It was
//! not answered, so it is left out. A bad frame with a good one behind it is damage.

use std::sync::Arc;

use crate::bounds::LOG_SEGMENT_BYTES;
use crate::domain::time::Timestamp;
use crate::store::engine::local::log::Position;
use crate::store::engine::local::log::frame::{
    Frame, FrameHead, HEAD_BYTES, SECTOR_BYTES, is_intact, padded,
};
use crate::store::engine::local::log::segment::{self, BadHeader, FIRST_FRAME, Header, Lineage};
use crate::store::failure::StorageFailure;
use crate::store::volume::{Volume, VolumeFile};

/// The end of a log that was read.
#[derive(Debug)]
pub(in crate::store) struct Scan {
    /// The place of the next frame.
    pub(super) end: Position,
    pub(super) newest: Arc<dyn VolumeFile>,
    /// Number and length of the segments before the newest one, oldest first.
    pub(super) older: Vec<(u64, u64)>,
    pub(super) last_time: Timestamp,
    /// Offset and length of the last frame, if it is in the newest segment.
    pub(super) last_frame: Option<(u64, usize)>,
    /// A part of the next frame is there.
    pub(in crate::store) is_cut_off: bool,
}

impl Scan {
    /// The place of the next frame.
    pub(in crate::store) const fn end(&self) -> Position {
        self.end
    }
}

/// One file of the log, opened.
#[derive(Debug)]
pub(super) struct OpenSegment {
    pub(super) number: u64,
    pub(super) file: Box<dyn VolumeFile>,
    pub(super) len: u64,
}

/// Reads the frames from `from` on and gives each to `found`. Returns `None` if the log has no
/// segment at all.
pub(in crate::store) fn scan(
    volume: &dyn Volume,
    lineage: Lineage,
    from: Position,
    found: &mut dyn FnMut(Frame) -> Result<(), StorageFailure>,
) -> Result<Option<Scan>, StorageFailure> {
    let numbers = numbers(volume)?;
    if !numbers.contains(&from.segment) {
        return Err(missing(from.segment));
    }
    let Some(last) = numbers.last().copied() else { return Ok(None) };
    let (mut at, mut last_time) = (from, Timestamp::from_micros(0));
    let mut older: Vec<(u64, u64)> = Vec::new();
    for number in numbers.iter().copied().filter(|number| *number < from.segment) {
        older.push((number, open(volume, number)?.len));
    }
    let mut before: Option<Position> = None;
    loop {
        let segment = open(volume, at.segment)?;
        check_header(&segment, lineage, at, before)?;
        let mut last_frame = None;
        while let Some((frame, len)) = segment.frame(at.offset, at.sequence)? {
            if frame.sequence != at.sequence {
                break;
            }
            last_frame = usize::try_from(len).ok().map(|len| (at.offset, len));
            last_time = last_time.max(frame.time);
            found(frame)?;
            at.offset = at.offset.saturating_add(len);
            at.sequence = at.sequence.saturating_add(1);
        }
        if segment.has_later_frame(at)? {
            return Err(damaged(at.segment, at.offset));
        }
        if at.segment == last {
            let is_cut_off = segment.has_part_of(at)?;
            let newest = Arc::from(segment.file);
            return Ok(Some(Scan { end: at, newest, older, last_time, last_frame, is_cut_off }));
        }
        before = Some(at);
        older.push((at.segment, segment.len));
        let next = at.segment.saturating_add(1);
        if !numbers.contains(&next) {
            return Err(missing(next));
        }
        at = Position { sequence: at.sequence, segment: next, offset: FIRST_FRAME };
    }
}

/// The numbers of all segments, in order.
pub(in crate::store) fn numbers(volume: &dyn Volume) -> Result<Vec<u64>, StorageFailure> {
    let names = volume.names().map_err(StorageFailure::from_io)?;
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| segment::number_of(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

fn open(volume: &dyn Volume, number: u64) -> Result<OpenSegment, StorageFailure> {
    let file = volume.open(&segment::name(number)).map_err(StorageFailure::from_io)?;
    let file = file.ok_or_else(|| missing(number))?;
    let len = file.len().map_err(StorageFailure::from_io)?;
    Ok(OpenSegment { number, file, len })
}

/// Checks that the segment is the one that its name says and that it follows the frames before it,
/// which end at `before` in the segment before.
fn check_header(
    segment: &OpenSegment,
    lineage: Lineage,
    at: Position,
    before: Option<Position>,
) -> Result<(), StorageFailure> {
    let name = || segment::name(segment.number);
    let damaged_header = |what: &str| StorageFailure::Damaged(format!("{} {what}", name()));
    let wrong = |what: &str| StorageFailure::Log(format!("{} {what}", name()), PUT_BACK);
    let bytes = segment.read(0, SECTOR_BYTES)?.ok_or_else(|| damaged_header("has no header"))?;
    let header = Header::decode(&bytes).map_err(|bad| match bad {
        BadHeader::Damaged => damaged_header("has a damaged header"),
        BadHeader::Newer => newer(segment.number),
    })?;
    if header.lineage.vault != lineage.vault {
        return Err(wrong("belongs to another vault"));
    }
    if header.lineage.timeline != lineage.timeline {
        return Err(wrong("belongs to another timeline of this vault"));
    }
    if let Some(before) = before.filter(|_| header.first_sequence > at.sequence) {
        return Err(damaged(before.segment, before.offset));
    }
    let is_next = at.offset > FIRST_FRAME || header.first_sequence == at.sequence;
    if header.number != segment.number || !is_next {
        return Err(wrong("does not follow the segment before it"));
    }
    Ok(())
}

impl OpenSegment {
    /// `None` if the file ends before that.
    pub(super) fn read(&self, offset: u64, len: usize) -> Result<Option<Vec<u8>>, StorageFailure> {
        let end = u64::try_from(len).ok().and_then(|len| offset.checked_add(len));
        if end.is_none_or(|end| end > self.len) {
            return Ok(None);
        }
        let mut bytes = vec![0; len];
        self.file.read(offset, &mut bytes).map_err(StorageFailure::from_io)?;
        Ok(Some(bytes))
    }

    /// The frame at this offset and its length with padding; `None` if no whole frame is there. A
    /// whole frame from `sequence` on that cannot be decoded is refused, because it may have been
    /// answered; one before it is of an earlier use of the file.
    fn frame(&self, offset: u64, sequence: u64) -> Result<Option<(Frame, u64)>, StorageFailure> {
        let Some(head) = self.read(offset, HEAD_BYTES)? else { return Ok(None) };
        let Some(head) = FrameHead::decode(&head) else { return Ok(None) };
        let Some(bytes) = self.read(offset, head.len)? else { return Ok(None) };
        let len = u64::try_from(padded(head.len)).unwrap_or(u64::MAX);
        match Frame::decode(&bytes) {
            Some(frame) => Ok(Some((frame, len))),
            None if head.sequence >= sequence && is_intact(&bytes) => Err(newer(self.number)),
            None => Ok(None),
        }
    }

    /// Returns true if the start of the frame of this place is there, which is not whole.
    fn has_part_of(&self, at: Position) -> Result<bool, StorageFailure> {
        let head = self.read(at.offset, HEAD_BYTES)?;
        let head = head.and_then(|head| FrameHead::decode(&head));
        Ok(head.is_some_and(|head| head.sequence == at.sequence))
    }

    /// Returns true if a whole frame that comes after `at` is behind it in this segment.
    fn has_later_frame(&self, at: Position) -> Result<bool, StorageFailure> {
        let mut offset = at.offset;
        while let Some(bytes) = self.read(offset, self.chunk(offset))?.filter(|it| !it.is_empty()) {
            let sectors = bytes.chunks(SECTOR_BYTES).zip(0_u64..);
            for (sector, number) in sectors {
                let offset = offset.saturating_add(number.saturating_mul(FIRST_FRAME));
                // Frames of an earlier use of the file have smaller numbers; a larger one than this
                // file can hold is no frame.
                let is_later = FrameHead::decode(sector).is_some_and(|head| {
                    let ahead = head.sequence.checked_sub(at.sequence);
                    ahead.is_some_and(|ahead| ahead > 0 && ahead <= FRAMES_MAX)
                });
                if is_later && self.frame(offset, at.sequence)?.is_some() {
                    return Ok(true);
                }
            }
            offset = offset.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        }
        Ok(false)
    }

    /// The number of bytes to read at this offset.
    fn chunk(&self, offset: u64) -> usize {
        let left = self.len.saturating_sub(offset).min(CHUNK_BYTES);
        usize::try_from(left).unwrap_or(0)
    }
}

/// A multiple of a sector.
const CHUNK_BYTES: u64 = 1024 * 1024;
/// The frames that a segment can hold, each of one sector.
const FRAMES_MAX: u64 = LOG_SEGMENT_BYTES.div_ceil(FIRST_FRAME);

const PUT_BACK: &str =
    "put back the log that belongs to this data file, or restore the newest backup";
const MOVE_BACK: &str = "if the file was moved, move it back; otherwise restore the newest backup";

fn missing(number: u64) -> StorageFailure {
    StorageFailure::Log(format!("{} is missing", segment::name(number)), MOVE_BACK)
}

fn newer(number: u64) -> StorageFailure {
    let what = format!("{} was written by a newer strongroom", segment::name(number));
    StorageFailure::Log(what, "use the newer program; nothing was changed")
}

/// The log lacks batches that the data file has.
pub(in crate::store) fn too_short(end: Position) -> StorageFailure {
    let next = segment::name(end.segment.saturating_add(1));
    let (name, offset) = (segment::name(end.segment), end.offset);
    StorageFailure::Log(
        format!(
            "{name} ends at byte {offset}, before the newest batch of the data file: the rest \
                 of it or {next} is missing"
        ),
        MOVE_BACK,
    )
}

/// Refuses a data file that names no log although there is one of this vault. A log without frames is
/// left by a first start that was cut off.
pub(in crate::store) fn check_no_frames(
    volume: &dyn Volume,
    vault: [u8; 16],
) -> Result<(), StorageFailure> {
    for number in numbers(volume)? {
        let file = open(volume, number)?;
        let header = file.read(0, SECTOR_BYTES)?.and_then(|bytes| Header::decode(&bytes).ok());
        let Some(header) = header.filter(|header| header.lineage.vault == vault) else { continue };
        if file.frame(FIRST_FRAME, header.first_sequence)?.is_some() {
            return Err(StorageFailure::Log(
                format!(
                    "{} belongs to this vault, but the data file names no log",
                    segment::name(number)
                ),
                PUT_BACK,
            ));
        }
    }
    Ok(())
}

/// Refuses a data file that was put back although its log went on without it.
pub(in crate::store) fn check_not_newer(
    volume: &dyn Volume,
    lineage: Lineage,
    sequence: u64,
) -> Result<(), StorageFailure> {
    for number in numbers(volume)? {
        let header = open(volume, number)?.read(0, SECTOR_BYTES)?;
        let header = header.and_then(|bytes| Header::decode(&bytes).ok());
        if header.is_some_and(|it| it.lineage == lineage && it.first_sequence >= sequence) {
            return Err(StorageFailure::Log(
                format!("{} is newer than the data file", segment::name(number)),
                "put back the data file that belongs to this log, or move the log elsewhere to \
                 lose what it has",
            ));
        }
    }
    Ok(())
}

fn damaged(number: u64, offset: u64) -> StorageFailure {
    let name = segment::name(number);
    StorageFailure::Damaged(format!(
        "the log segment {name} is damaged at byte {offset}: good entries follow a bad one"
    ))
}
