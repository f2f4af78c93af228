//! Reads a piece. All of it is checked before its first frame is used.

use std::io::{self, Read as _};
use std::path::Path;

use crate::bounds::ARCHIVE_PIECE_BYTES_MAX;
use crate::crypto::{MasterKey, Sha256};
use crate::domain::time::Timestamp;
use crate::files::{open_regular, read_regular};
use crate::store::archive::format::{
    END, HEADER_BYTES, InvalidPiece, LAST_BYTES, PIECE_LABEL, PieceHeader, PieceName, TRAILER_BYTES,
};
use crate::store::engine::local::log::frame::{Frame, FrameHead, chained, padded};

/// A piece in memory. Its digest and HMAC are verified.
#[derive(Debug)]
pub(in crate::store) struct Piece {
    pub(in crate::store) header: PieceHeader,
    pub(in crate::store) last: u64,
    pub(in crate::store) time: Timestamp,
    bytes: Vec<u8>,
}

impl Piece {
    /// The piece must be signed under one of the master keys.
    pub(in crate::store) fn read(
        path: &Path,
        name: &PieceName,
        keys: &[MasterKey],
    ) -> Result<Self, InvalidPiece> {
        Self::parse(read_bounded(path, ARCHIVE_PIECE_BYTES_MAX)?, name, keys)
    }

    pub(in crate::store) fn parse(
        bytes: Vec<u8>,
        name: &PieceName,
        keys: &[MasterKey],
    ) -> Result<Self, InvalidPiece> {
        let (piece, digest, tag) = Self::decode(bytes)?;
        check_signature(keys, piece.header.master, &[PIECE_LABEL, &digest].concat(), &tag)?;
        piece.check_name(name)?;
        Ok(piece)
    }

    fn check_name(&self, name: &PieceName) -> Result<(), InvalidPiece> {
        let PieceHeader { lineage, first, .. } = self.header;
        let own = PieceName { timeline: lineage.timeline, first, last: self.last };
        let other = InvalidPiece::Damaged("it is another piece than its name says");
        (own == *name).then_some(()).ok_or(other)
    }

    /// Checks the digest of a piece. Returns the piece with its digest and its HMAC.
    fn decode(bytes: Vec<u8>) -> Result<(Self, [u8; 32], [u8; 32]), InvalidPiece> {
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
        let (digest, tag) = (*digest, *tag);
        if end != END {
            return Err(InvalidPiece::CutShort);
        }
        let mut found = Sha256::new();
        found.update(bytes.get(..start.saturating_add(LAST_BYTES)).unwrap_or_default());
        if found.finish() != digest {
            return Err(InvalidPiece::Damaged("its digest is another"));
        }
        let mut bytes = bytes;
        bytes.truncate(start);
        let time = Timestamp::from_micros(micros);
        Ok((Self { header, last, time, bytes }, digest, tag))
    }

    /// The frames, in order and without gaps.
    pub(in crate::store) fn frames(&self) -> Frames<'_> {
        let rest = self.bytes.get(HEADER_BYTES..).unwrap_or_default();
        let digest = self.header.before;
        Frames { rest, next: self.header.first, last: (self.last, self.time), digest }
    }
}

/// The digest of the history up to the piece's last frame. The signature is not checked: the
/// writer, which compares the digest with its own log, may no longer have the master key.
pub fn end_digest(path: &Path, name: &PieceName) -> Result<[u8; 32], InvalidPiece> {
    let (piece, ..) = Piece::decode(read_bounded(path, ARCHIVE_PIECE_BYTES_MAX)?)?;
    piece.check_name(name)?;
    let mut frames = piece.frames();
    for frame in frames.by_ref() {
        frame?;
    }
    Ok(frames.digest)
}

/// Reads the header of a piece and checks nothing else.
pub(in crate::store) fn read_header(path: &Path) -> Result<PieceHeader, InvalidPiece> {
    let mut bytes = Vec::new();
    let most = u64::try_from(HEADER_BYTES).unwrap_or(u64::MAX);
    open_regular(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(PieceHeader::decode(&bytes)?.0)
}

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
    read_regular(path, most).map_err(|error| {
        if matches!(error.kind(), io::ErrorKind::FileTooLarge | io::ErrorKind::InvalidInput) {
            return InvalidPiece::Damaged("it is not a file of the archive");
        }
        error.into()
    })
}

/// The frames of a piece that are not read yet.
#[derive(Debug)]
pub(in crate::store) struct Frames<'a> {
    rest: &'a [u8],
    next: u64,
    /// The number and the time of the last frame.
    last: (u64, Timestamp),
    /// The digest of the history up to the last frame that was read.
    pub(in crate::store) digest: [u8; 32],
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
            self.digest = chained(&self.digest, bytes);
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
