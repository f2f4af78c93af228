//! Reads a log in use, frame by frame, for the archive.
//!
//! The reader stops at the end that the log reports, so it sees only durable frames. A freed
//! segment may be in use again under another name: its frames then have other numbers, and the
//! reader reports that the frame is gone.

use std::sync::Arc;

use crate::domain::time::Timestamp;
use crate::store::engine::local::log::Position;
use crate::store::engine::local::log::frame::{
    FrameHead, HEAD_BYTES, SECTOR_BYTES, checked_head, padded,
};
use crate::store::engine::local::log::reader::OpenSegment;
use crate::store::engine::local::log::segment::{self, FIRST_FRAME, Header, Lineage};
use crate::store::failure::StorageFailure;
use crate::store::volume::Volume;

#[derive(Debug)]
pub struct LogTail {
    volume: Arc<dyn Volume>,
    lineage: Lineage,
    at: Position,
    segment: Option<OpenSegment>,
}

/// A frame as it is in the log, with its padding. Its checksum is correct.
#[derive(Debug)]
pub struct RawFrame {
    pub bytes: Vec<u8>,
    pub sequence: u64,
    pub time: Timestamp,
}

#[derive(Debug)]
pub enum TailFailure {
    /// The log no longer has the frame.
    Gone,
    Storage(StorageFailure),
}

impl LogTail {
    /// Starts at the oldest frame of the segments `first..=end.segment`.
    pub(in crate::store) fn oldest(
        volume: &Arc<dyn Volume>,
        lineage: Lineage,
        first: u64,
    ) -> Result<Option<Self>, StorageFailure> {
        let Some((segment, header)) = open(volume.as_ref(), lineage, first)? else {
            return Ok(None);
        };
        let at = Position::first(first, header.first_sequence, header.before);
        Ok(Some(Self { volume: Arc::clone(volume), lineage, at, segment: Some(segment) }))
    }

    /// Starts at the frame with this number; `None` if none of the segments `first..=end.segment`
    /// has it.
    pub(in crate::store) fn seek(
        volume: &Arc<dyn Volume>,
        lineage: Lineage,
        (first, end): (u64, Position),
        sequence: u64,
    ) -> Result<Option<Self>, StorageFailure> {
        for number in (first..=end.segment).rev() {
            let Some(mut tail) = Self::oldest(volume, lineage, number)? else { return Ok(None) };
            if tail.at.sequence > sequence {
                continue;
            }
            while tail.at.sequence < sequence {
                match tail.next(end) {
                    Ok(Some(_)) => (),
                    Ok(None) | Err(TailFailure::Gone) => return Ok(None),
                    Err(TailFailure::Storage(failure)) => return Err(failure),
                }
            }
            return Ok(Some(tail));
        }
        Ok(None)
    }

    pub const fn at(&self) -> Position {
        self.at
    }

    /// The next frame before `end`, which the log reported; `None` if there are no more.
    pub fn next(&mut self, end: Position) -> Result<Option<RawFrame>, TailFailure> {
        let frame = self.peek(end)?;
        if let Some(frame) = &frame {
            self.at.pass(&frame.bytes);
        }
        Ok(frame)
    }

    /// Like [`LogTail::next`], but does not move past the frame.
    pub fn peek(&mut self, end: Position) -> Result<Option<RawFrame>, TailFailure> {
        while self.at.sequence < end.sequence {
            if let Some(frame) = self.frame()? {
                return Ok(Some(frame));
            }
            // A segment ends where the next number is missing.
            if self.at.segment >= end.segment {
                return Err(TailFailure::Gone);
            }
            self.segment = None;
            self.at.segment = self.at.segment.saturating_add(1);
            self.at.offset = FIRST_FRAME;
        }
        Ok(None)
    }

    /// The frame at the current place; `None` if the segment has no such frame there.
    fn frame(&mut self) -> Result<Option<RawFrame>, TailFailure> {
        let segment = match &mut self.segment {
            Some(segment) => segment,
            none => {
                let opened = open(self.volume.as_ref(), self.lineage, self.at.segment)?;
                let (segment, header) = opened.ok_or(TailFailure::Gone)?;
                // A segment is opened only to read its first frame.
                let is_next = header.first_sequence == self.at.sequence;
                if !is_next || header.before != self.at.digest {
                    return Err(TailFailure::Gone);
                }
                none.insert(segment)
            }
        };
        // The log extends its newest segment.
        segment.len = segment.file.len()?;
        let Some(head) = segment.read(self.at.offset, HEAD_BYTES)? else { return Ok(None) };
        let Some(head) = FrameHead::decode(&head) else { return Ok(None) };
        if head.sequence != self.at.sequence {
            return Ok(None);
        }
        let Some(bytes) = segment.read(self.at.offset, padded(head.len))? else { return Ok(None) };
        let checked = bytes.get(..head.len).and_then(checked_head);
        Ok(checked.map(|(sequence, time)| RawFrame { bytes, sequence, time }))
    }
}

/// Returns `None` if the segment is gone.
fn open(
    volume: &dyn Volume,
    lineage: Lineage,
    number: u64,
) -> Result<Option<(OpenSegment, Header)>, StorageFailure> {
    let file = volume.open(&segment::name(number))?;
    let Some(file) = file else { return Ok(None) };
    let len = file.len()?;
    let segment = OpenSegment { number, file, len };
    let header = segment.read(0, SECTOR_BYTES)?.and_then(|bytes| Header::decode(&bytes).ok());
    let header = header.filter(|it| it.lineage == lineage && it.number == number);
    Ok(header.map(|header| (segment, header)))
}

from_causes!(TailFailure: StorageFailure => Self::Storage, std::io::Error => Self::Storage);
