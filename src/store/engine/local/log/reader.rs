//! Reads the log at a start: the frames from a position on, and the place of the next one.
//!
//! Only the newest frame can be torn, because each is synced before the next is written. It was not
//! answered, so it is left out. A bad frame before a good one is damage, and so is a place behind
//! the newest frame with neither zeros nor the start of the next one. In a reused file, a loss of
//! power may have kept those zeros from the disk.

use std::ops::Range;
use std::sync::Arc;

use crate::bounds::{ARCHIVE_PIECE_BYTES_MAX, LOG_SEGMENT_BYTES};
use crate::domain::hex;
use crate::store::engine::local::log::Position;
use crate::store::engine::local::log::end::OTHER_DATA_FILE;
use crate::store::engine::local::log::frame::{
    Frame, FrameHead, HEAD_BYTES, SECTOR_BYTES, is_intact, padded,
};
use crate::store::engine::local::log::segment::{self, BadHeader, FIRST_FRAME, Header, Lineage};
use crate::store::failure::StorageFailure;
use crate::store::volume::{Volume, VolumeFile};

#[derive(Debug)]
pub(in crate::store) struct Scan {
    /// The place of the next frame.
    pub(super) end: Position,
    pub(super) newest: Arc<dyn VolumeFile>,
    /// Oldest first.
    pub(super) older: Vec<OpenSegment>,
    /// Offset and length of the last frame, if it is in the newest segment.
    pub(super) last_frame: Option<(u64, usize)>,
    /// A part of the next frame is there.
    pub(in crate::store) is_cut_off: bool,
    /// The part of the newest segment that has bytes of the next, incomplete frame.
    pub(super) torn: Range<u64>,
}

impl Scan {
    pub(in crate::store) const fn end(&self) -> Position {
        self.end
    }
}

#[derive(Debug)]
pub(super) struct OpenSegment {
    pub(super) number: u64,
    pub(super) file: Box<dyn VolumeFile>,
    pub(super) len: u64,
}

/// Takes a frame and the digest of the history up to it.
pub(in crate::store) type FoundFrame<'a> =
    dyn FnMut(Frame, [u8; 32]) -> Result<(), StorageFailure> + 'a;

/// Passes the frames from `from` on to `found`. Fails if the segment of `from` is missing.
pub(in crate::store) fn scan(
    volume: &dyn Volume,
    lineage: Lineage,
    from: Position,
    found: &mut FoundFrame<'_>,
) -> Result<Option<Scan>, StorageFailure> {
    let numbers = numbers(volume)?;
    if !numbers.contains(&from.segment) {
        return Err(missing(from.segment));
    }
    let Some(last) = numbers.last().copied() else { return Ok(None) };
    let mut at = from;
    let mut older = Vec::new();
    for number in numbers.iter().copied().filter(|number| *number < from.segment) {
        let segment = open(volume, number)?;
        // These are overwritten and removed, so they must not belong to another log.
        own_header(&segment, lineage, NOT_NEEDED)?;
        older.push(segment);
    }
    let mut before: Option<Position> = None;
    loop {
        let segment = open(volume, at.segment)?;
        let header = check_header(&segment, lineage, at, before)?;
        let mut last_frame = None;
        while let Some((frame, bytes)) = segment.frame(at.offset, at.sequence)? {
            if frame.sequence != at.sequence {
                break;
            }
            last_frame = Some((at.offset, bytes.len()));
            at.pass(&bytes);
            found(frame, at.digest)?;
        }
        if segment.has_later_frame(at)? {
            return Err(damaged(at.segment, at.offset));
        }
        if at.segment == last {
            let (torn, is_cut_off) = segment.torn(at, header.used_from, last_frame.is_some())?;
            let newest = Arc::from(segment.file);
            let scan = Scan { end: at, newest, older, last_frame, is_cut_off, torn };
            return Ok(Some(scan));
        }
        before = Some(at);
        older.push(segment);
        let next = at.segment.saturating_add(1);
        if !numbers.contains(&next) {
            return Err(missing(next));
        }
        at = Position::first(next, at.sequence, at.digest);
    }
}

pub(in crate::store) fn numbers(volume: &dyn Volume) -> Result<Vec<u64>, StorageFailure> {
    let names = volume.names()?;
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| segment::number_of(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

fn open(volume: &dyn Volume, number: u64) -> Result<OpenSegment, StorageFailure> {
    let file = volume.open(&segment::name(number))?;
    let file = file.ok_or_else(|| missing(number))?;
    let len = file.len()?;
    Ok(OpenSegment { number, file, len })
}

/// Checks that the header belongs to this log and has the number of the file's name.
fn own_header(
    segment: &OpenSegment,
    lineage: Lineage,
    advice: &'static str,
) -> Result<Header, StorageFailure> {
    let number = segment.number;
    let damaged_header =
        |what: &str| StorageFailure::Damaged(format!("{} {what}", segment::name(number)));
    let bytes = segment.read(0, SECTOR_BYTES)?.ok_or_else(|| damaged_header("has no header"))?;
    let header = Header::decode(&bytes).map_err(|bad| match bad {
        BadHeader::Damaged => damaged_header("has a damaged header"),
        BadHeader::Newer => newer(segment.number),
    })?;
    check_vault(header, lineage, number, advice)?;
    if header.lineage.timeline != lineage.timeline {
        return Err(wrong(number, "belongs to another timeline of this vault", advice));
    }
    if header.number != number {
        return Err(wrong(number, NOT_NEXT, advice));
    }
    Ok(header)
}

fn check_vault(
    header: Header,
    lineage: Lineage,
    number: u64,
    advice: &'static str,
) -> Result<(), StorageFailure> {
    let [other, own] = [header.lineage.vault, lineage.vault];
    if other == own {
        return Ok(());
    }
    let [other, own] = [other, own].map(|vault| hex::encode(&vault));
    let what = format!("belongs to another vault: its vault is {other}, this one is {own}");
    Err(wrong(number, &what, advice))
}

/// Checks that the segment belongs to this log and continues the frames before it, which end at
/// `before` in the previous segment.
fn check_header(
    segment: &OpenSegment,
    lineage: Lineage,
    at: Position,
    before: Option<Position>,
) -> Result<Header, StorageFailure> {
    let header = own_header(segment, lineage, PUT_BACK)?;
    if let Some(before) = before.filter(|_| header.first_sequence > at.sequence) {
        return Err(damaged(before.segment, before.offset));
    }
    let is_first = header.first_sequence == at.sequence && header.before == at.digest;
    let is_next = at.offset > FIRST_FRAME || is_first;
    if !is_next {
        return Err(wrong(segment.number, NOT_NEXT, PUT_BACK));
    }
    Ok(header)
}

impl OpenSegment {
    /// Returns `None` if the file ends before that.
    pub(super) fn read(&self, offset: u64, len: usize) -> Result<Option<Vec<u8>>, StorageFailure> {
        let end = u64::try_from(len).ok().and_then(|len| offset.checked_add(len));
        if end.is_none_or(|end| end > self.len) {
            return Ok(None);
        }
        let mut bytes = vec![0; len];
        self.file.read(offset, &mut bytes)?;
        Ok(Some(bytes))
    }

    /// The frame at this offset and its bytes with padding; `None` if there is no complete frame. A
    /// complete frame from `sequence` on that does not decode is refused, because it may have been
    /// answered; one with a smaller number is from the file's earlier use.
    fn frame(
        &self,
        offset: u64,
        sequence: u64,
    ) -> Result<Option<(Frame, Vec<u8>)>, StorageFailure> {
        let Some(head) = self.read(offset, HEAD_BYTES)? else { return Ok(None) };
        let Some(head) = FrameHead::decode(&head) else { return Ok(None) };
        let Some(bytes) = self.read(offset, head.len)? else { return Ok(None) };
        match Frame::decode(&bytes) {
            Some(frame) => {
                let mut bytes = bytes;
                bytes.resize(padded(head.len), 0);
                Ok(Some((frame, bytes)))
            }
            None if head.sequence >= sequence && is_intact(&bytes) => Err(newer(self.number)),
            None => Ok(None),
        }
    }

    /// The part of the file behind the newest frame that has bytes of a torn frame, and whether
    /// there certainly is a torn frame. The first sector there has zeros or the frame's head;
    /// behind the frame, a file that was not used before has only zeros. Anything else was not
    /// written by the log. There is one exception: if this start has read the frame before, the
    /// zeros behind it may not have reached the disk, and a reused file shows old bytes there.
    fn torn(
        &self,
        at: Position,
        used_from: u64,
        has_frame: bool,
    ) -> Result<(Range<u64>, bool), StorageFailure> {
        let first = self.read(at.offset, SECTOR_BYTES)?.unwrap_or_default();
        let is_blank = is_zero(&first);
        let head = FrameHead::decode(&first).filter(|head| head.sequence == at.sequence);
        let len = head.and_then(|head| u64::try_from(padded(head.len)).ok());
        if !is_blank && len.is_none() {
            if used_from > 0 && has_frame && self.has_old_bytes(at, used_from)? {
                return Ok((at.offset..at.offset.saturating_add(FIRST_FRAME).min(self.len), true));
            }
            return Err(damaged_end(at));
        }
        let end = at.offset.saturating_add(len.unwrap_or(0));
        // The sector with the frame's head may not have reached the disk.
        let used = match (used_from, is_blank) {
            (0, _) => self.used_until(if is_blank { at.offset } else { end.min(self.len) })?,
            // The rest must be erased: with the zeros behind it, it would look like lost frames of
            // this use to a later start.
            (_, true) => self.before_frames(at, 0)?.0,
            (_, false) => end,
        };
        let torn = at.offset..used.max(end).min(self.len);
        let is_cut_off = !torn.is_empty() && (used_from == 0 || !is_blank);
        // Only a frame at the start of a segment may exceed the segment's size.
        let end_max =
            if at.offset > FIRST_FRAME { LOG_SEGMENT_BYTES } else { ARCHIVE_PIECE_BYTES_MAX };
        if is_cut_off && ((used_from == 0 && !is_blank && used > end) || torn.end > end_max) {
            return Err(damaged_end(at));
        }
        Ok((torn, is_cut_off))
    }

    /// Returns true if the bytes from this place on can be from the file's earlier use. Its frames
    /// have no zeros between them, and zeros follow the last one. Zeros before such a frame are the
    /// sector behind the newest frame, so the bytes before those zeros were frames of this use.
    fn has_old_bytes(&self, at: Position, used_from: u64) -> Result<bool, StorageFailure> {
        let (_, has_zeros, is_followed) = self.before_frames(at, used_from)?;
        Ok(has_zeros != is_followed)
    }

    /// Scans from this place to the next complete frame of an earlier use, with a number in
    /// `from..at.sequence`. Returns the end of the last sector that is not zero, whether there are
    /// zero sectors, and whether such a frame was found.
    fn before_frames(&self, at: Position, from: u64) -> Result<(u64, bool, bool), StorageFailure> {
        let (mut offset, mut used, mut has_zeros) = (at.offset, at.offset, false);
        while let Some(bytes) = self.read(offset, self.chunk(offset))?.filter(|it| !it.is_empty()) {
            for sector in bytes.chunks(SECTOR_BYTES) {
                let head = FrameHead::decode(sector);
                let is_old = head.is_some_and(|it| (from..at.sequence).contains(&it.sequence));
                if is_old && self.frame(offset, at.sequence)?.is_some() {
                    return Ok((used, has_zeros, true));
                }
                offset = offset.saturating_add(u64::try_from(sector.len()).unwrap_or(u64::MAX));
                if is_zero(sector) {
                    has_zeros = true;
                } else {
                    used = offset;
                }
            }
        }
        Ok((used, has_zeros, false))
    }

    /// The end of the last non-zero sector from this offset on.
    fn used_until(&self, from: u64) -> Result<u64, StorageFailure> {
        let (mut offset, mut used) = (from, from);
        while let Some(bytes) = self.read(offset, self.chunk(offset))?.filter(|it| !it.is_empty()) {
            for sector in bytes.chunks(SECTOR_BYTES) {
                let len = u64::try_from(sector.len()).unwrap_or(u64::MAX);
                offset = offset.saturating_add(len);
                if !is_zero(sector) {
                    used = offset;
                }
            }
        }
        Ok(used)
    }

    /// Returns true if the segment with the first frame `first` has frames that a data file lacks
    /// whose next frame is `next`. A first start that was interrupted leaves a segment without
    /// frames, which the data file does not name yet.
    fn is_newer(&self, first: u64, next: u64) -> Result<bool, StorageFailure> {
        if first != next {
            return Ok(first > next);
        }
        let at = Position::first(self.number, first, [0; 32]);
        Ok(self.frame(FIRST_FRAME, first)?.is_some() || self.has_later_frame(at)?)
    }

    /// Returns true if the segment has a complete frame behind `at` with a later number.
    fn has_later_frame(&self, at: Position) -> Result<bool, StorageFailure> {
        let mut offset = at.offset;
        while let Some(bytes) = self.read(offset, self.chunk(offset))?.filter(|it| !it.is_empty()) {
            let sectors = bytes.chunks(SECTOR_BYTES).zip(0_u64..);
            for (sector, number) in sectors {
                let offset = offset.saturating_add(number.saturating_mul(FIRST_FRAME));
                // Frames of an earlier use have smaller numbers; a number too large for this file
                // is no frame.
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

    fn chunk(&self, offset: u64) -> usize {
        let left = self.len.saturating_sub(offset).min(CHUNK_BYTES);
        usize::try_from(left).unwrap_or(0)
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// A multiple of a sector.
const CHUNK_BYTES: u64 = 1024 * 1024;
/// The most frames a segment can hold, with one sector each.
const FRAMES_MAX: u64 = LOG_SEGMENT_BYTES.div_ceil(FIRST_FRAME);

const PUT_BACK: &str =
    "put back the log that belongs to this data file, or restore the newest backup";
const NOT_NEEDED: &str = "the data file does not need this segment: if it came from elsewhere, move it \
                          back there; if it took the place of a segment of this vault, put back that one";
const NEEDS_NO_LOG: &str = "the data file was closed or restored and needs no log: move the files \
                            strongroom.log.* of the other vault elsewhere, and start again";
const NOT_NEXT: &str = "does not follow the segment before it";
const MOVE_BACK: &str = "if the file was moved, move it back; otherwise restore the newest backup";

fn wrong(number: u64, what: &str, advice: &'static str) -> StorageFailure {
    StorageFailure::Log(format!("{} {what}", segment::name(number)), advice)
}

fn missing(number: u64) -> StorageFailure {
    StorageFailure::Log(format!("{} is missing", segment::name(number)), MOVE_BACK)
}

fn newer(number: u64) -> StorageFailure {
    let what = format!("{} was written by a newer strongroom", segment::name(number));
    StorageFailure::Log(what, "use the newer program; nothing was changed")
}

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

/// Refuses a data file that names no log although this vault has one. A log without frames is left
/// by a first start that was interrupted.
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
                OTHER_DATA_FILE,
            ));
        }
    }
    Ok(())
}

/// Refuses a data file that was put back although its log went on without it, and segments of
/// another vault: the caller removes the segments.
pub(in crate::store) fn check_not_newer(
    volume: &dyn Volume,
    lineage: Lineage,
    sequence: u64,
) -> Result<(), StorageFailure> {
    for number in numbers(volume)? {
        let file = open(volume, number)?;
        let header = file.read(0, SECTOR_BYTES)?.and_then(|bytes| Header::decode(&bytes).ok());
        let Some(header) = header else { continue };
        check_vault(header, lineage, number, NEEDS_NO_LOG)?;
        if header.lineage == lineage && file.is_newer(header.first_sequence, sequence)? {
            return Err(StorageFailure::Log(
                format!("{} is newer than the data file", segment::name(number)),
                "put back the data file that belongs to this log, or move the log elsewhere to \
                 lose what it has",
            ));
        }
    }
    Ok(())
}

fn damaged_end(at: Position) -> StorageFailure {
    let (name, offset) = (segment::name(at.segment), at.offset);
    StorageFailure::Damaged(format!(
        "the log segment {name} is damaged at byte {offset}: no entry is there, and the place is not \
         free either"
    ))
}

fn damaged(number: u64, offset: u64) -> StorageFailure {
    let name = segment::name(number);
    StorageFailure::Damaged(format!(
        "the log segment {name} is damaged at byte {offset}: good entries follow a bad one"
    ))
}
