//! Writes pieces: frames of the log, between a header and a trailer.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use crate::bounds::ARCHIVE_PIECE_BYTES;
use crate::crypto::{BackupKey, Sha256};
use crate::domain::time::Timestamp;
use crate::files::{Directory, Unfinished};
use crate::store::archive::format::{
    ArchiveFailure, END, HEADER_BYTES, PIECE_LABEL, PieceHeader, PieceName,
};
use crate::store::engine::LogSource;
use crate::store::engine::local::log::Position;
use crate::store::engine::local::log::tail::{LogTail, RawFrame, TailFailure};
use crate::store::opening;

#[derive(Debug)]
pub struct Signer<'a> {
    /// The check value of the master key.
    pub master: [u8; 8],
    pub key: &'a BackupKey,
}

/// A complete and durable piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PieceSummary {
    pub name: PieceName,
    /// The time of the last frame.
    pub time: Timestamp,
    pub bytes: u64,
}

/// Writes the frames from the tail's place up to `end`, or fewer if they fill a piece. Returns
/// `None` if there are no frames. The piece appears under its name only when it is durable. After a
/// failure the tail's place is undefined, and the tail must not be used again.
pub fn write_piece(
    directory: &Path,
    source: &LogSource,
    (tail, end): (&mut LogTail, Position),
    signer: &Signer<'_>,
) -> Result<Option<PieceSummary>, ArchiveFailure> {
    let before = tail.at().digest;
    let Some(frame) = next(tail, end)? else { return Ok(None) };
    let header = PieceHeader {
        data_format: opening::FORMAT,
        lineage: source.lineage(),
        origin: source.origin(),
        master: signer.master,
        first: frame.sequence,
        before,
    };
    let timeline = header.lineage.timeline;
    let directory = Directory::open(directory)?;
    let new = Unfinished::create_again(&directory, PieceName::unfinished(&timeline))?;
    let mut out = PieceOutput::new(new.file()?);
    out.put(&header.encode())?;
    let (last, time) = put_frames(&mut out, frame, tail, end)?;
    let bytes = out.finish(last, time, signer.key)?;
    let name = PieceName { timeline, first: header.first, last };
    new.finish(name.to_string()).map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            // Only a copy of this vault could have written a piece with these numbers.
            return ArchiveFailure::Forked;
        }
        ArchiveFailure::Target(error)
    })?;
    Ok(Some(PieceSummary { name, time, bytes }))
}

/// Removes the piece that a killed process of this vault left unfinished.
pub fn clear_unfinished(directory: &Path, timeline: &[u8; 16]) -> io::Result<()> {
    let left = Directory::open(directory)?.pin(PieceName::unfinished(timeline))?;
    left.map_or(Ok(()), |left| left.remove())
}

fn next(tail: &mut LogTail, end: Position) -> Result<Option<RawFrame>, ArchiveFailure> {
    tail.next(end).map_err(|failure| match failure {
        TailFailure::Gone => ArchiveFailure::Gone,
        TailFailure::Storage(failure) => failure.into(),
    })
}

/// Writes frames until the piece is full. Returns the number and the time of the last one.
fn put_frames(
    out: &mut PieceOutput<'_>,
    first: RawFrame,
    tail: &mut LogTail,
    end: Position,
) -> Result<(u64, Timestamp), ArchiveFailure> {
    let mut frame = first;
    loop {
        out.put(&frame.bytes)?;
        if out.bytes >= ARCHIVE_PIECE_BYTES {
            return Ok((frame.sequence, frame.time));
        }
        match next(tail, end)? {
            Some(next) => frame = next,
            None => return Ok((frame.sequence, frame.time)),
        }
    }
}

struct PieceOutput<'a> {
    to: io::BufWriter<&'a File>,
    digest: Sha256,
    bytes: usize,
}

impl<'a> PieceOutput<'a> {
    fn new(to: &'a File) -> Self {
        Self { to: io::BufWriter::new(to), digest: Sha256::new(), bytes: 0 }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.digest.update(bytes);
        self.bytes = self.bytes.saturating_add(bytes.len());
        self.to.write_all(bytes)
    }

    fn finish(mut self, last: u64, time: Timestamp, key: &BackupKey) -> io::Result<u64> {
        self.put(&last.to_be_bytes())?;
        self.put(&time.micros().to_be_bytes())?;
        let digest = std::mem::take(&mut self.digest).finish();
        let tag = key.sign(&[PIECE_LABEL, &digest].concat());
        for part in [digest.as_slice(), tag.as_slice(), END] {
            self.to.write_all(part)?;
        }
        self.to.flush()?;
        let after = digest.len().saturating_add(tag.len()).saturating_add(END.len());
        Ok(u64::try_from(self.bytes.saturating_add(after)).unwrap_or(u64::MAX))
    }
}

const _: () = assert!(HEADER_BYTES < ARCHIVE_PIECE_BYTES);
