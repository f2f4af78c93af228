//! The files of an archive directory, and the order in which they continue a history.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::crypto::MasterKey;
use crate::domain::hex;
use crate::store::archive::format::{InvalidPiece, PieceName, mark_name};
use crate::store::archive::mark::{self, TimelineEnd};
use crate::store::engine::Moment;

/// The names of the pieces in a directory.
#[derive(Debug)]
pub struct ArchiveDirectory {
    path: PathBuf,
    /// Sorted by timeline and number.
    pieces: Vec<PieceName>,
}

/// The next thing to do with the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Step {
    /// The timeline was ended by a promotion; the history goes on with another one.
    Cross(TimelineEnd),
    /// There is no more.
    End,
    /// Apply the frames of this piece up to this number.
    Piece(PieceName, u64),
}

/// The reason why the archive cannot be used, or not further.
#[derive(Debug)]
pub enum ArchiveProblem {
    Directory(PathBuf, io::Error),
    /// The mark at the end of a timeline, and the last batch by it. The history at hand has later
    /// ones.
    Forked(PathBuf, u64),
    /// Batches that no piece holds, and the piece behind them.
    Missing {
        first: u64,
        last: u64,
        before: PathBuf,
    },
    Piece(PathBuf, InvalidPiece),
}

impl ArchiveDirectory {
    pub fn list(path: &Path) -> io::Result<Self> {
        let mut pieces = Vec::new();
        for entry in fs::read_dir(path)? {
            pieces.extend(entry?.file_name().to_str().and_then(PieceName::parse));
        }
        pieces.sort_unstable();
        Ok(Self { path: path.to_path_buf(), pieces })
    }

    pub fn piece_path(&self, name: &PieceName) -> PathBuf {
        self.path.join(name.to_string())
    }

    /// The last archived batch of a timeline.
    pub fn last_of(&self, timeline: &[u8; 16]) -> Option<u64> {
        self.of(timeline).map(|piece| piece.last).max()
    }

    /// The first batch of a timeline from which on no batch is missing.
    pub fn covered_from(&self, timeline: &[u8; 16]) -> Option<u64> {
        let mut covered: Option<(u64, u64)> = None;
        for piece in self.of(timeline) {
            covered = Some(match covered {
                Some((first, last)) if piece.first <= last.saturating_add(1) => {
                    (first, last.max(piece.last))
                }
                Some(_) | None => (piece.first, piece.last),
            });
        }
        covered.map(|(first, _)| first)
    }

    /// Returns true if a promotion has ended this timeline.
    pub fn is_ended(path: &Path, timeline: &[u8; 16]) -> io::Result<bool> {
        mark::is_marked(path, timeline)
    }

    fn of(&self, timeline: &[u8; 16]) -> impl Iterator<Item = &PieceName> {
        self.pieces.iter().filter(move |piece| piece.timeline == *timeline)
    }

    /// The step after this place in the history.
    pub(in crate::store) fn step(
        &self,
        place: Moment,
        keys: &[MasterKey],
    ) -> Result<Step, ArchiveProblem> {
        let mark = self.path.join(mark_name(&place.timeline));
        let end = TimelineEnd::read(&self.path, &place.timeline, keys)
            .map_err(|invalid| ArchiveProblem::Piece(mark.clone(), invalid))?;
        let limit = match end {
            Some(end) if place.sequence > end.last => {
                return Err(ArchiveProblem::Forked(mark, end.last));
            }
            Some(end) if place.sequence == end.last => return Ok(Step::Cross(end)),
            Some(end) => end.last,
            None => u64::MAX,
        };
        let next = place.sequence.saturating_add(1);
        let mut later = self.of(&place.timeline).filter(|piece| piece.last >= next).peekable();
        match later.peek() {
            Some(piece) if piece.first <= next => Ok(Step::Piece(**piece, limit)),
            Some(piece) => Err(ArchiveProblem::Missing {
                first: next,
                last: piece.first.saturating_sub(1),
                before: self.piece_path(piece),
            }),
            // The promoted vault had all batches up to the limit, so the archive had them too.
            None if limit < u64::MAX => {
                Err(ArchiveProblem::Missing { first: next, last: limit, before: mark })
            }
            None => Ok(Step::End),
        }
    }

    /// The pieces of a timeline with batches after this one.
    pub(in crate::store) fn beyond(&self, timeline: &[u8; 16], last: u64) -> Vec<PathBuf> {
        let beyond = self.of(timeline).filter(|piece| piece.last > last);
        beyond.map(|piece| self.piece_path(piece)).collect()
    }
}

impl ArchiveProblem {
    /// The file or the directory that the problem is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Directory(path, _)
            | Self::Forked(path, _)
            | Self::Missing { before: path, .. }
            | Self::Piece(path, _) => path,
        }
    }

    /// Advice for the operator.
    pub fn advice(&self) -> String {
        match self {
            Self::Directory(..) => {
                String::from("name the archive directory, and check that it can be read")
            }
            Self::Forked(..) => String::from(
                "a standby was promoted before these changes: begin with a backup from before that \
                 moment, or with one of the promoted vault",
            ),
            Self::Missing { .. } => String::from(
                "put the missing files back, use a newer backup, or restore with --until a time \
                 before the gap",
            ),
            Self::Piece(_, invalid) => piece_advice(invalid),
        }
    }
}

fn piece_advice(invalid: &InvalidPiece) -> String {
    match invalid {
        InvalidPiece::CutShort | InvalidPiece::Damaged(_) => String::from(
            "put an intact copy of the file back, use a newer backup, or restore with --until a \
             time before it",
        ),
        InvalidPiece::Foreign => String::from("move the file out of the archive directory"),
        InvalidPiece::Forged => {
            String::from("do not trust the file; use a newer backup or an intact copy of the file")
        }
        InvalidPiece::Io(_) => String::from("check that the file can be read"),
        InvalidPiece::OtherFormat => {
            String::from("use a backup that was taken after the upgrade, or --until a time before")
        }
        InvalidPiece::Newer => String::from("use the newer program"),
        InvalidPiece::UnknownKey(check) => format!(
            "the master key was replaced: give the file of the key {}, too, with --key FILE (key \
             rotate --master leaves a replaced key beside the new one, as master.key.old-ID)",
            hex::encode(check)
        ),
    }
}

impl fmt::Display for ArchiveProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(_, error) => write!(f, "the archive directory cannot be read: {error}"),
            Self::Forked(_, last) => write!(
                f,
                "the timeline ended with batch {last} when a standby was promoted; later changes of \
                 the old primary are refused"
            ),
            Self::Missing { first, last, .. } => {
                write!(f, "the archive lacks the batches {first} to {last}, which come before it")
            }
            Self::Piece(_, invalid) => invalid.fmt(f),
        }
    }
}
