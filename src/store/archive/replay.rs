//! Applies the frames of an archive to a data file that no engine uses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::bounds::APPLY_BATCH_BYTES;
use crate::crypto::MasterKey;
use crate::domain::time::Timestamp;
use crate::store::archive::chain::{ArchiveDirectory, ArchiveProblem, Step};
use crate::store::archive::format::{InvalidPiece, PieceName};
use crate::store::archive::reader::Piece;
use crate::store::engine::local::state::Origin;
use crate::store::engine::{Moment, RowChange};
use crate::store::failure::StorageFailure;
use crate::store::tables::Table;

/// The archive to read, and how far.
#[derive(Debug, Clone, Copy)]
pub struct Replay<'a> {
    pub directory: &'a Path,
    /// The master keys that pieces may be signed under.
    pub keys: &'a [MasterKey],
    /// Frames after this time are left out.
    pub until: Option<Timestamp>,
}

/// The place in the history that was reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    pub moment: Moment,
    /// The time of the last frame; `None` if no frame was applied.
    pub time: Option<Timestamp>,
    /// The number of frames that were applied.
    pub batches: u64,
    /// Pieces with changes from after the end of their timeline, which were not applied.
    pub refused: BTreeSet<PathBuf>,
}

/// The way through the archive.
#[derive(Debug)]
pub(in crate::store) struct Walk {
    pub(in crate::store) vault: [u8; 16],
    /// The format of the rows.
    pub(in crate::store) data_format: u32,
    pub(in crate::store) reached: Reached,
    /// The origin that the pieces of the timeline must name, if the way came from there.
    origin: Option<Origin>,
}

/// The reason why a walk ended early.
#[derive(Debug)]
pub(in crate::store) enum WalkFailure {
    Archive(ArchiveProblem),
    Storage(StorageFailure),
}

/// Writes sorted rows together with the place that they lead to.
pub(in crate::store) type Sink<'a> =
    dyn FnMut(Vec<RowChange>, &Reached) -> Result<(), StorageFailure> + 'a;

impl Walk {
    pub(in crate::store) fn new(vault: [u8; 16], data_format: u32, from: Moment) -> Self {
        let reached = Reached { moment: from, time: None, batches: 0, refused: BTreeSet::new() };
        Self { vault, data_format, reached, origin: None }
    }

    /// Applies what the archive has behind the current place. Everything before a problem is
    /// applied. `is_stopping` is looked at between two pieces.
    pub(in crate::store) fn run(
        &mut self,
        replay: Replay<'_>,
        is_stopping: &dyn Fn() -> bool,
        sink: &mut Sink<'_>,
    ) -> Result<(), WalkFailure> {
        let directory = ArchiveDirectory::list(replay.directory)
            .map_err(|error| ArchiveProblem::Directory(replay.directory.to_path_buf(), error))?;
        let mut rows = PendingRows::default();
        let walked = self.steps(&directory, replay, is_stopping, (&mut rows, sink));
        rows.flush(&self.reached, sink)?;
        walked
    }

    fn steps(
        &mut self,
        directory: &ArchiveDirectory,
        replay: Replay<'_>,
        is_stopping: &dyn Fn() -> bool,
        (rows, sink): (&mut PendingRows, &mut Sink<'_>),
    ) -> Result<(), WalkFailure> {
        while !is_stopping() {
            match directory.step(self.reached.moment, replay.keys)? {
                Step::Cross(end) => {
                    if end.vault != self.vault {
                        let path = replay.directory.to_path_buf();
                        return Err(ArchiveProblem::Piece(path, InvalidPiece::Foreign).into());
                    }
                    self.reached.refused.extend(directory.beyond(&end.timeline, end.last));
                    self.origin = Some(Origin { timeline: end.timeline, sequence: end.last });
                    self.reached.moment.timeline = end.next;
                    rows.is_moved = true;
                }
                Step::End => return Ok(()),
                Step::Piece(name, limit) => {
                    let path = directory.piece_path(&name);
                    let piece = self.piece(&path, &name, replay.keys);
                    let piece = piece.map_err(|it| ArchiveProblem::Piece(path.clone(), it))?;
                    let is_done = self.apply(&piece, &path, (replay, limit), (rows, sink))?;
                    if is_done {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads a piece and checks that it continues this history.
    fn piece(
        &self,
        path: &Path,
        name: &PieceName,
        keys: &[MasterKey],
    ) -> Result<Piece, InvalidPiece> {
        let piece = Piece::read(path, name, keys)?;
        let header = &piece.header;
        let is_other_origin = self.origin.is_some_and(|origin| origin != header.origin);
        if header.lineage.vault != self.vault || is_other_origin {
            return Err(InvalidPiece::Foreign);
        }
        if header.data_format != self.data_format {
            return Err(InvalidPiece::OtherFormat);
        }
        Ok(piece)
    }

    /// Applies the frames of a piece. Returns true if the next frame is beyond the time.
    fn apply(
        &mut self,
        piece: &Piece,
        path: &Path,
        (replay, limit): (Replay<'_>, u64),
        (rows, sink): (&mut PendingRows, &mut Sink<'_>),
    ) -> Result<bool, WalkFailure> {
        for frame in piece.frames() {
            let frame = frame.map_err(|it| ArchiveProblem::Piece(path.to_path_buf(), it))?;
            if frame.sequence <= self.reached.moment.sequence {
                continue;
            }
            if frame.sequence > limit {
                break;
            }
            if replay.until.is_some_and(|until| frame.time > until) {
                return Ok(true);
            }
            self.reached.moment.sequence = frame.sequence;
            self.reached.time = Some(frame.time);
            self.reached.batches = self.reached.batches.saturating_add(1);
            rows.take(frame.rows);
            if rows.bytes >= APPLY_BATCH_BYTES {
                rows.flush(&self.reached, sink)?;
            }
        }
        Ok(false)
    }
}

/// The newest value of each row of several frames.
#[derive(Default)]
struct PendingRows {
    values: BTreeMap<(Table, Vec<u8>), Option<Vec<u8>>>,
    bytes: usize,
    /// The place has changed since the last flush.
    is_moved: bool,
}

impl PendingRows {
    fn take(&mut self, rows: Vec<RowChange>) {
        self.is_moved = true;
        for RowChange { table, key, value } in rows {
            let bytes = key.len().saturating_add(value.as_ref().map_or(0, Vec::len));
            self.bytes = self.bytes.saturating_add(bytes);
            self.values.insert((table, key), value);
        }
    }

    fn flush(&mut self, reached: &Reached, sink: &mut Sink<'_>) -> Result<(), StorageFailure> {
        if !std::mem::take(&mut self.is_moved) {
            return Ok(());
        }
        self.bytes = 0;
        let rows = std::mem::take(&mut self.values).into_iter();
        let rows = rows.map(|((table, key), value)| RowChange { table, key, value });
        sink(rows.collect(), reached)
    }
}

impl From<ArchiveProblem> for WalkFailure {
    fn from(problem: ArchiveProblem) -> Self {
        Self::Archive(problem)
    }
}

impl From<StorageFailure> for WalkFailure {
    fn from(failure: StorageFailure) -> Self {
        Self::Storage(failure)
    }
}
