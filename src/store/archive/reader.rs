//! Reads a piece: all of it is checked before its first frame is used.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use crate::bounds::ARCHIVE_PIECE_BYTES_MAX;
use crate::crypto::{MasterKey, Sha256};
use crate::domain::time::Timestamp;
use crate::store::archive::format::{
    END, HEADER_BYTES, InvalidPiece, LAST_BYTES, PIECE_LABEL, PieceHeader, PieceName, TRAILER_BYTES,
};
use crate::store::engine::local::log::frame::{Frame, FrameHead, padded};

/// A piece in memory, with the right digest and HMAC.
#[derive(Debug)]
pub(in crate::store) struct Piece {
    pub(in crate::store) header: PieceHeader,
    pub(in crate::store) last: u64,
    pub(in crate::store) time: Timestamp,
    bytes: Vec<u8>,
}

impl Piece {
    /// Reads the piece of this name. It must be signed under one of the master keys.
    pub(in crate::store) fn read(
        path: &Path,
        name: &PieceName,
        keys: &[MasterKey],
    ) -> Result<Self, InvalidPiece> {
        Self::parse(read_bounded(path, ARCHIVE_PIECE_BYTES_MAX)?, name, keys)
    }

    /// Checks the bytes of a piece.
    pub(in crate::store) fn parse(
        bytes: Vec<u8>,
        name: &PieceName,
        keys: &[MasterKey],
    ) -> Result<Self, InvalidPiece> {
        let (header, _) = PieceHeader::decode(&bytes)?;
        let start = bytes.len().checked_sub(TRAILER_BYTES).filter(|it| *it >= HEADER_BYTES);
        let (start, trailer) = start
            .and_then(|start| Some((start, bytes.get(start..)?)))
            .ok_or(InvalidPiece::CutShort)?;
        let parts = || {
            let (last, rest) = trailer.split_first_chunk()?;
            let (time, rest) = rest.split_first_chunk()?;
            let (digest, rest) = rest.split_first_chunk::<32>()?;
            let (tag, end) = rest.split_first_chunk::<32>()?;
            Some((u64::from_be_bytes(*last), i64::from_be_bytes(*time), digest, tag, end))
        };
        let (last, micros, digest, tag, end) = parts().ok_or(InvalidPiece::CutShort)?;
        if end != END {
            return Err(InvalidPiece::CutShort);
        }
        let mut found = Sha256::new();
        found.update(bytes.get(..start.saturating_add(LAST_BYTES)).unwrap_or_default());
        if found.finish() != *digest {
            return Err(InvalidPiece::Damaged("its digest is another"));
        }
        check_signature(keys, header.master, &[PIECE_LABEL, digest].concat(), tag)?;
        let PieceName { timeline, first, last: named_last } = *name;
        if header.lineage.timeline != timeline || header.first != first || last != named_last {
            return Err(InvalidPiece::Damaged("it is another piece than its name says"));
        }
        let mut bytes = bytes;
        bytes.truncate(start);
        Ok(Self { header, last, time: Timestamp::from_micros(micros), bytes })
    }

    /// The frames, in order and without a gap from the first number to the last.
    pub(in crate::store) fn frames(&self) -> Frames<'_> {
        let rest = self.bytes.get(HEADER_BYTES..).unwrap_or_default();
        Frames { rest, next: self.header.first, last: (self.last, self.time) }
    }
}

/// Checks the HMAC of a piece or a mark.
pub(in crate::store) fn check_signature(
    keys: &[MasterKey],
    master: [u8; 8],
    signed: &[u8],
    tag: &[u8],
) -> Result<(), InvalidPiece> {
    let key = keys.iter().find(|key| *key.check() == master);
    let key = key.ok_or(InvalidPiece::UnknownKey(master))?.backup_key();
    key.has_signed(signed, tag).then_some(()).ok_or(InvalidPiece::Forged)
}

pub(in crate::store) fn read_bounded(path: &Path, most: u64) -> Result<Vec<u8>, InvalidPiece> {
    // Opening a named pipe would block until another process writes to it.
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > most {
        return Err(InvalidPiece::Damaged("it is not a file of the archive"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The rest of the frames of a piece.
#[derive(Debug)]
pub(in crate::store) struct Frames<'a> {
    rest: &'a [u8],
    next: u64,
    /// The number and the time of the last frame.
    last: (u64, Timestamp),
}

impl Iterator for Frames<'_> {
    type Item = Result<Frame, InvalidPiece>;

    fn next(&mut self) -> Option<Self::Item> {
        let (last, time) = self.last;
        if self.rest.is_empty() && self.next == last.wrapping_add(1) {
            return None;
        }
        let mut frame = || {
            let head = FrameHead::decode(self.rest)?;
            let (bytes, rest) = self.rest.split_at_checked(padded(head.len))?;
            let frame = Frame::decode(bytes.get(..head.len)?)?;
            let is_next = frame.sequence == self.next && frame.sequence <= last;
            let is_next = is_next && (frame.sequence < last || frame.time == time);
            self.rest = rest;
            self.next = self.next.checked_add(1)?;
            is_next.then_some(frame)
        };
        let frame = frame();
        if frame.is_none() {
            // Ends the iteration after the failure.
            self.rest = &[];
            self.next = last.wrapping_add(1);
        }
        Some(frame.ok_or(InvalidPiece::Damaged("its frames are not in order")))
    }
}
