//! Applies the frames of an archive to a data file that no engine uses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::bounds::{APPLY_BATCH_BYTES, ARCHIVE_LOOKS_MAX};
use crate::crypto::MasterKey;
use crate::domain::time::Timestamp;
use crate::store::archive::chain::{ArchiveDirectory, ArchiveProblem, Branches, Crossing, Step};
use crate::store::archive::format::{InvalidPiece, PieceName};
use crate::store::archive::reader::{Piece, read_header};
use crate::store::engine::local::state::Origin;
use crate::store::engine::{Moment, RowChange};
use crate::store::failure::StorageFailure;
use crate::store::tables::Table;

#[derive(Debug, Clone, Copy)]
pub struct Replay<'a> {
    pub directory: &'a Path,
    /// The master keys that pieces may be signed under.
    pub keys: &'a [MasterKey],
    /// The replay ends with the last frame that is not after this time. Frames before it are applied
    /// with any time, since a clock may have been ahead.
    pub until: Option<Timestamp>,
    /// The timeline to end with, if the archive has several.
    pub timeline: Option<[u8; 16]>,
}

/// The place that a replay has reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    pub moment: Moment,
    /// The time of the last frame; `None` if no frame was applied.
    pub time: Option<Timestamp>,
    /// The latest time of all applied frames.
    pub latest: Option<Timestamp>,
    pub batches: u64,
    /// Pieces with batches after the end of their timeline, which were not applied.
    pub refused: BTreeSet<PathBuf>,
    /// The archive has frames that `until` left out.
    pub has_later: bool,
}

/// A walk through the archive.
#[derive(Debug)]
pub(in crate::store) struct Walk {
    pub(in crate::store) vault: [u8; 16],
    pub(in crate::store) data_format: u32,
    pub(in crate::store) reached: Reached,
    start: Moment,
    /// The origin that the timeline's pieces must name; `None` before the first crossing.
    origin: Option<Origin>,
    /// The number of the last frame that is not after `until`.
    last_in_time: Option<u64>,
    /// The timelines that the walk has left.
    left: BTreeSet<[u8; 16]>,
    /// The timeline that a promotion of this standby has chosen and may not have begun.
    chosen: Option<[u8; 16]>,
    /// The last batch of the reached timeline in the pieces that the last run listed: those that
    /// arrived since then were neither applied nor left out by a choice.
    pub(in crate::store) seen: Option<u64>,
}

/// The end of a walk.
#[derive(Debug, Clone, Copy)]
enum Bound {
    /// Behind the frame with this number.
    Batch(u64),
    End,
    /// Before the first frame after `until`.
    Time,
}

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
        let refused = BTreeSet::new();
        let (time, latest) = (None, None);
        let reached = Reached { moment: from, time, latest, batches: 0, refused, has_later: false };
        let left = BTreeSet::new();
        let (origin, last_in_time, chosen, seen) = (None, None, None, None);
        let start = from;
        Self { vault, data_format, reached, start, origin, last_in_time, left, chosen, seen }
    }

    /// Does not enter this timeline unless the archive shows that it has begun.
    pub(in crate::store) fn with_chosen(self, chosen: Option<[u8; 16]>) -> Self {
        Self { chosen, ..self }
    }

    /// Checks that the archive has the same history at the current place. An archive that ends
    /// before that place cannot be compared, and is refused.
    pub(in crate::store) fn compare(&self, replay: Replay<'_>) -> Result<(), WalkFailure> {
        let Moment { timeline, sequence, digest } = self.reached.moment;
        let directory = list(replay)?;
        let last = directory.last_of(&timeline).map(|piece| piece.last);
        if let Some(last) = last.filter(|last| *last < sequence) {
            return Err(ArchiveProblem::Behind(replay.directory.to_path_buf(), last).into());
        }
        for name in directory.covering(&timeline, sequence) {
            let path = directory.piece_path(&name);
            let damaged = |invalid| ArchiveProblem::Piece(path.clone(), invalid);
            let piece = self.piece(&path, &name, replay.keys).map_err(damaged)?;
            let mut frames = piece.frames();
            while let Some(frame) = frames.next() {
                if frame.map_err(damaged)?.sequence == sequence && frames.digest != digest {
                    return Err(ArchiveProblem::Diverged(path, sequence).into());
                }
            }
        }
        Ok(())
    }

    /// Refuses an archive with a timeline whose first piece is not valid: the timeline may continue
    /// this history, and its changes would be missing. A named target timeline settles the choice.
    pub(in crate::store) fn check_timelines(&self, replay: Replay<'_>) -> Result<(), WalkFailure> {
        if replay.timeline.is_some() || self.reached.has_later {
            return Ok(());
        }
        let directory = list(replay)?;
        for name in directory.first_pieces() {
            // The walk has read the pieces of this timeline that matter.
            if name.timeline == self.start.timeline {
                continue;
            }
            let path = directory.piece_path(&name);
            match Piece::read(&path, &name, replay.keys) {
                Ok(_) => (),
                Err(InvalidPiece::UnknownKey(_)) if self.is_apart(&directory, &name)? => (),
                Err(invalid) => return Err(ArchiveProblem::Piece(path, invalid).into()),
            }
        }
        Ok(())
    }

    /// Returns true if the piece belongs to another vault, or if its timeline has nothing after the
    /// start. Its key is not needed then.
    fn is_apart(
        &self,
        directory: &ArchiveDirectory,
        name: &PieceName,
    ) -> Result<bool, ArchiveProblem> {
        let path = directory.piece_path(name);
        let header = read_header(&path).map_err(|it| ArchiveProblem::Piece(path, it))?;
        let last = directory.last_of(&name.timeline).map(|piece| piece.last);
        Ok(header.lineage.vault != self.vault || last <= Some(self.start.sequence))
    }

    /// Applies the batches after the current place. All batches before a problem are applied.
    /// `is_stopping` is checked between pieces.
    pub(in crate::store) fn run(
        &mut self,
        replay: Replay<'_>,
        is_stopping: &dyn Fn() -> bool,
        sink: &mut Sink<'_>,
    ) -> Result<(), WalkFailure> {
        let directory = list(replay)?;
        let mut rows = PendingRows::default();
        let branches = directory.branches(&self.vault, replay.keys);
        let archive = (&directory, &branches);
        let bound = if replay.until.is_some() { Bound::Time } else { Bound::End };
        let mut walked = self.steps(archive, (replay, bound), is_stopping, (&mut rows, sink));
        if walked.is_ok()
            && self.reached.has_later
            && let Some(last) = self.last_in_time(archive, replay, is_stopping)
        {
            let bound = Bound::Batch(last);
            walked = self.steps(archive, (replay, bound), is_stopping, (&mut rows, sink));
        }
        rows.flush(&self.reached, sink)?;
        self.seen = directory.last_of(&self.reached.moment.timeline).map(|piece| piece.last);
        walked
    }

    /// Looks behind the first frame after `until` for the last one that is not, which a clock that
    /// was set back has written. A problem ends the search: what is behind it cannot be applied, and
    /// a restore until a time before it must not need it.
    fn last_in_time(
        &mut self,
        archive: (&ArchiveDirectory, &Branches),
        replay: Replay<'_>,
        is_stopping: &dyn Fn() -> bool,
    ) -> Option<u64> {
        let mut ahead = Self::new(self.vault, self.data_format, self.reached.moment);
        ahead.origin = self.origin;
        let (mut rows, mut drop_rows) =
            (PendingRows::default(), |_: Vec<RowChange>, _: &Reached| Ok(()));
        let out: (_, &mut Sink<'_>) = (&mut rows, &mut drop_rows);
        let walked = ahead.steps(archive, (replay, Bound::End), is_stopping, out);
        let last = ahead.last_in_time?;
        self.reached.has_later = walked.is_err() || last < ahead.reached.moment.sequence;
        Some(last)
    }

    /// Runs again until the archive has nothing new: a vault may write into it meanwhile. A vault
    /// that writes faster than this applies does not hold it up for ever.
    pub(in crate::store) fn run_to_end(
        &mut self,
        replay: Replay<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), WalkFailure> {
        for _ in 0..ARCHIVE_LOOKS_MAX {
            let before = self.reached.moment;
            self.run(replay, &|| false, sink)?;
            if self.reached.has_later || self.reached.moment == before {
                break;
            }
        }
        Ok(())
    }

    fn steps(
        &mut self,
        (directory, branches): (&ArchiveDirectory, &Branches),
        (replay, bound): (Replay<'_>, Bound),
        is_stopping: &dyn Fn() -> bool,
        (rows, sink): (&mut PendingRows, &mut Sink<'_>),
    ) -> Result<(), WalkFailure> {
        while !is_stopping() {
            match directory.step(self.reached.moment, branches, replay)? {
                Step::Cross(Crossing { from, next, .. }) => {
                    self.check_crossing(directory, from.timeline, next)?;
                    let beyond = directory.beyond(&from.timeline, from.sequence);
                    self.reached.refused.extend(beyond);
                    self.origin = Some(from);
                    self.reached.moment.timeline = next;
                    rows.is_moved = true;
                }
                Step::End => return Ok(()),
                Step::Piece(name, limit) => {
                    let path = directory.piece_path(&name);
                    let piece = self.piece(&path, &name, replay.keys);
                    let piece = piece.map_err(|it| ArchiveProblem::Piece(path.clone(), it))?;
                    let until = (replay.until, bound);
                    let is_done = self.apply(&piece, &path, (until, limit), (rows, sink))?;
                    if is_done {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Refuses the way into a timeline that was left before, which would never end, and into one
    /// that only an unfinished promotion of this standby has named.
    fn check_crossing(
        &mut self,
        directory: &ArchiveDirectory,
        from: [u8; 16],
        next: [u8; 16],
    ) -> Result<(), ArchiveProblem> {
        self.left.insert(from);
        if self.left.contains(&next) {
            return Err(ArchiveProblem::Circle(directory.mark_path(&from), next));
        }
        if self.chosen == Some(next) && !directory.has_begun(&next) {
            return Err(ArchiveProblem::Unfinished(directory.mark_path(&from)));
        }
        Ok(())
    }

    /// Reads a piece and checks that it belongs to this history.
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

    /// Returns true at the bound.
    fn apply(
        &mut self,
        piece: &Piece,
        path: &Path,
        ((until, bound), limit): ((Option<Timestamp>, Bound), u64),
        (rows, sink): (&mut PendingRows, &mut Sink<'_>),
    ) -> Result<bool, WalkFailure> {
        let diverged = |last| ArchiveProblem::Diverged(path.to_path_buf(), last);
        let Moment { sequence: from, digest: before, .. } = self.reached.moment;
        if piece.header.first == from.saturating_add(1) && piece.header.before != before {
            return Err(diverged(from).into());
        }
        let mut frames = piece.frames();
        while let Some(frame) = frames.next() {
            let frame = frame.map_err(|it| ArchiveProblem::Piece(path.to_path_buf(), it))?;
            if frame.sequence < from {
                continue;
            }
            if frame.sequence == from {
                if frames.digest != before {
                    return Err(diverged(from).into());
                }
                continue;
            }
            if frame.sequence > limit {
                break;
            }
            let is_in_time = until.is_none_or(|until| frame.time <= until);
            if matches!(bound, Bound::Time) && !is_in_time {
                self.reached.has_later = true;
                return Ok(true);
            }
            if is_in_time {
                self.last_in_time = Some(frame.sequence);
            }
            self.reached.moment.sequence = frame.sequence;
            self.reached.moment.digest = frames.digest;
            self.reached.time = Some(frame.time);
            self.reached.latest = self.reached.latest.max(Some(frame.time));
            self.reached.batches = self.reached.batches.saturating_add(1);
            rows.take(frame.rows);
            if rows.bytes >= APPLY_BATCH_BYTES {
                rows.flush(&self.reached, sink)?;
            }
            if matches!(bound, Bound::Batch(last) if frame.sequence == last) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

pub(in crate::store) fn list(replay: Replay<'_>) -> Result<ArchiveDirectory, ArchiveProblem> {
    ArchiveDirectory::list(replay.directory)
        .map_err(|error| ArchiveProblem::Directory(replay.directory.to_path_buf(), error))
}

#[derive(Default)]
struct PendingRows {
    values: BTreeMap<(Table, Vec<u8>), Option<Vec<u8>>>,
    bytes: usize,
    /// The place has moved since the last flush.
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

from_causes!(WalkFailure: ArchiveProblem => Self::Archive, StorageFailure => Self::Storage);
