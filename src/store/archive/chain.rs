//! The files of an archive directory, and the order in which they continue a history.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::crypto::MasterKey;
use crate::domain::hex;
use crate::store::archive::format::{InvalidPiece, PieceName, mark_name, parse_mark_name};
use crate::store::archive::mark::{TimelineEnd, UNKNOWN_DIGEST};
use crate::store::archive::reader::read_header;
use crate::store::archive::replay::Replay;
use crate::store::engine::Moment;
use crate::store::engine::local::log::segment::Lineage;
use crate::store::engine::local::state::Origin;

/// Lists names only; the pieces are read later.
#[derive(Debug)]
pub struct ArchiveDirectory {
    path: PathBuf,
    /// Sorted by timeline and number.
    pieces: Vec<PieceName>,
    /// The timelines that have a mark, sorted.
    ended: Vec<[u8; 16]>,
}

/// The next step of a walk through the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Step {
    Cross(Crossing),
    /// The archive has no later batch.
    End,
    /// Apply the frames of this piece up to this batch.
    Piece(PieceName, u64),
}

/// A point where the history continues on another timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct Crossing {
    /// The timeline that is left, and the last batch taken from it.
    pub(in crate::store) from: Origin,
    /// The digest of the history up to that batch, if a mark names it.
    digest: Option<[u8; 32]>,
    pub(in crate::store) next: [u8; 16],
}

/// A problem that stops a walk through the archive.
#[derive(Debug)]
pub enum ArchiveProblem {
    /// The archive ends with this batch, before the current place. It may belong to another copy of
    /// the vault.
    Behind(PathBuf, u64),
    /// Another timeline began from the current one, and no mark says which of them continues.
    Branched {
        at: u64,
        branch: [u8; 16],
        own: [u8; 16],
        /// A piece of the branch.
        piece: PathBuf,
    },
    /// The mark leads to this timeline, which was left before.
    Circle(PathBuf, [u8; 16]),
    Directory(PathBuf, io::Error),
    /// The piece's changes up to this batch differ from the history so far.
    Diverged(PathBuf, u64),
    /// The mark ends the timeline with this batch. The history so far has later or different ones.
    Forked(PathBuf, u64),
    /// No piece holds these batches; `before` is the next file after them.
    Missing {
        first: u64,
        last: u64,
        before: PathBuf,
    },
    Piece(PathBuf, InvalidPiece),
    /// A promotion of this standby wrote the mark and was cut off.
    Unfinished(PathBuf),
    /// No piece and no mark leads to this timeline.
    UnknownTimeline(PathBuf, [u8; 16]),
}

/// The timelines of one vault, each with its origin and the path of the file that names it.
pub(in crate::store) type Branches = BTreeMap<[u8; 16], (Origin, PathBuf)>;

impl ArchiveDirectory {
    pub fn list(path: &Path) -> io::Result<Self> {
        let (mut pieces, mut ended) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(path)? {
            let name = entry?.file_name();
            pieces.extend(name.to_str().and_then(PieceName::parse));
            ended.extend(name.to_str().and_then(parse_mark_name));
        }
        pieces.sort_unstable();
        ended.sort_unstable();
        Ok(Self { path: path.to_path_buf(), pieces, ended })
    }

    pub fn piece_path(&self, name: &PieceName) -> PathBuf {
        self.path.join(name.to_string())
    }

    pub(in crate::store) fn mark_path(&self, timeline: &[u8; 16]) -> PathBuf {
        self.path.join(mark_name(timeline))
    }

    /// True if a vault has archived on this timeline, or has ended it.
    pub(in crate::store) fn has_begun(&self, timeline: &[u8; 16]) -> bool {
        self.last_of(timeline).is_some() || TimelineEnd::has_name(&self.path, timeline)
    }

    /// The piece with the last archived batch of a timeline.
    pub fn last_of(&self, timeline: &[u8; 16]) -> Option<PieceName> {
        self.of(timeline).max_by_key(|piece| piece.last).copied()
    }

    /// Returns true if two pieces of a timeline share a batch. A vault archives each batch once, so
    /// a copy of the vault has archived too.
    pub fn has_overlap(&self, timeline: &[u8; 16]) -> bool {
        let mut last = None;
        self.of(timeline).any(|piece| {
            let overlaps = last.is_some_and(|last| piece.first <= last);
            last = last.max(Some(piece.last));
            overlaps
        })
    }

    /// The first piece of each timeline.
    pub(in crate::store) fn first_pieces(&self) -> Vec<PieceName> {
        let mut first = self.pieces.clone();
        first.dedup_by_key(|piece| piece.timeline);
        first
    }

    /// The pieces of a timeline that have this batch.
    pub(in crate::store) fn covering(&self, timeline: &[u8; 16], sequence: u64) -> Vec<PieceName> {
        let has = |piece: &&PieceName| (piece.first..=piece.last).contains(&sequence);
        self.of(timeline).filter(has).copied().collect()
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

    pub fn is_ended(
        path: &Path,
        lineage: Lineage,
        keys: &[MasterKey],
    ) -> Result<bool, InvalidPiece> {
        TimelineEnd::is_there(path, lineage, keys)
    }

    /// True if a file has the name of the mark of this timeline, also one that cannot be read.
    pub fn has_mark(path: &Path, lineage: Lineage) -> bool {
        TimelineEnd::has_name(path, &lineage.timeline)
    }

    /// The timelines that have a piece, or that a mark names as the one that goes on.
    pub(in crate::store) fn branches(&self, vault: &[u8; 16], keys: &[MasterKey]) -> Branches {
        let mut branches = Branches::new();
        for piece in &self.pieces {
            if branches.contains_key(&piece.timeline) {
                continue;
            }
            let path = self.piece_path(piece);
            // `Walk::check_timelines` reports unreadable pieces.
            if let Ok(header) = read_header(&path)
                && header.lineage.vault == *vault
            {
                branches.insert(piece.timeline, (header.origin, path));
            }
        }
        for timeline in &self.ended {
            // The walk reports an unreadable mark of a timeline that it comes to.
            if let Ok(Some(end)) = TimelineEnd::read(&self.path, timeline, keys)
                && end.vault == *vault
            {
                let origin = Origin { timeline: end.timeline, sequence: end.last };
                branches.entry(end.next).or_insert((origin, self.mark_path(timeline)));
            }
        }
        branches
    }

    fn of(&self, timeline: &[u8; 16]) -> impl Iterator<Item = &PieceName> {
        self.pieces.iter().filter(move |piece| piece.timeline == *timeline)
    }

    pub(in crate::store) fn step(
        &self,
        place: Moment,
        branches: &Branches,
        replay: Replay<'_>,
    ) -> Result<Step, ArchiveProblem> {
        let mark = self.mark_path(&place.timeline);
        let crossing = match replay.timeline {
            Some(target) if target == place.timeline => None,
            Some(target) => {
                Some(self.crossing_to(target, place.timeline, branches, replay.keys)?)
            }
            None => self.marked_crossing(&place.timeline, replay.keys)?,
        };
        let limit = match crossing {
            Some(crossing) if place.sequence > crossing.from.sequence => {
                return Err(ArchiveProblem::Forked(mark, crossing.from.sequence));
            }
            Some(crossing) if place.sequence == crossing.from.sequence => {
                if crossing.digest.is_some_and(|digest| digest != place.digest) {
                    return Err(ArchiveProblem::Forked(mark, place.sequence));
                }
                Self::check_branches(place, Some(crossing.next), branches, replay)?;
                return Ok(Step::Cross(crossing));
            }
            Some(crossing) => crossing.from.sequence,
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
            // The next timeline continues from the limit, so this timeline must have all batches up
            // to it.
            None if limit < u64::MAX => {
                Err(ArchiveProblem::Missing { first: next, last: limit, before: mark })
            }
            None => {
                Self::check_branches(place, None, branches, replay)?;
                Ok(Step::End)
            }
        }
    }

    /// Refuses a second timeline that began from the current one. A named target timeline settles
    /// the choice.
    fn check_branches(
        place: Moment,
        next: Option<[u8; 16]>,
        branches: &Branches,
        replay: Replay<'_>,
    ) -> Result<(), ArchiveProblem> {
        let other = branches.iter().find(|(branch, (origin, _))| {
            origin.timeline == place.timeline && Some(**branch) != next
        });
        match other.filter(|_| replay.timeline.is_none()) {
            Some((branch, (origin, piece))) => Err(ArchiveProblem::Branched {
                at: origin.sequence,
                branch: *branch,
                own: next.unwrap_or(place.timeline),
                piece: piece.clone(),
            }),
            None => Ok(()),
        }
    }

    /// The crossing that the timeline's mark names.
    fn marked_crossing(
        &self,
        timeline: &[u8; 16],
        keys: &[MasterKey],
    ) -> Result<Option<Crossing>, ArchiveProblem> {
        let end = TimelineEnd::read(&self.path, timeline, keys)
            .map_err(|invalid| ArchiveProblem::Piece(self.mark_path(timeline), invalid))?;
        Ok(end.map(|end| Crossing {
            from: Origin { timeline: end.timeline, sequence: end.last },
            digest: (end.digest != UNKNOWN_DIGEST).then_some(end.digest),
            next: end.next,
        }))
    }

    /// The crossing from a timeline towards one of its descendants.
    fn crossing_to(
        &self,
        target: [u8; 16],
        from: [u8; 16],
        branches: &Branches,
        keys: &[MasterKey],
    ) -> Result<Crossing, ArchiveProblem> {
        let marked = self.marked_crossing(&from, keys)?;
        let mut next = target;
        // The bound ends the loop if the origins form a cycle.
        for _ in 0..=branches.len() {
            if let Some(marked) = marked.filter(|marked| marked.next == next) {
                return Ok(marked);
            }
            let Some((origin, _)) = branches.get(&next) else { break };
            if origin.timeline == from {
                return Ok(Crossing { from: *origin, digest: None, next });
            }
            next = origin.timeline;
        }
        Err(ArchiveProblem::UnknownTimeline(self.path.clone(), target))
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
            Self::Behind(path, _)
            | Self::Branched { piece: path, .. }
            | Self::Circle(path, _)
            | Self::Directory(path, _)
            | Self::Diverged(path, _)
            | Self::Forked(path, _)
            | Self::Missing { before: path, .. }
            | Self::Piece(path, _)
            | Self::Unfinished(path)
            | Self::UnknownTimeline(path, _) => path,
        }
    }

    pub fn advice(&self) -> String {
        match self {
            Self::Behind(..) => String::from(
                "if the vault runs, wait until it has archived; if it is lost, go on without the \
                 archive, or restore an earlier backup with it to compare",
            ),
            Self::Branched { branch, own, .. } => format!(
                "begin with a backup of the vault whose changes you want, or name the timeline to end \
                 with: --timeline {} or --timeline {}; if the other vault was a trial, move its files \
                 out of the archive directory",
                hex::encode(branch),
                hex::encode(own)
            ),
            Self::Circle(_, next) => format!(
                "name the timeline to end with: --timeline {} for strongroom restore or promote",
                hex::encode(next)
            ),
            Self::Diverged(..) => String::from(
                "begin with a backup of the vault whose changes you want, from after an old copy of \
                 its data directory was put back, or restore with --until a time before that",
            ),
            Self::Directory(..) => {
                String::from("name the archive directory, and check that it can be read")
            }
            Self::Forked(..) => String::from(
                "another vault went on from there: begin with a backup from before that moment, or \
                 with one of that vault",
            ),
            Self::Missing { .. } => String::from(
                "put the missing files back, use a newer backup, or restore with --until a time \
                 before the gap",
            ),
            Self::Piece(_, invalid) => piece_advice(invalid),
            Self::Unfinished(_) => {
                String::from("run strongroom promote again: it finishes the promotion")
            }
            Self::UnknownTimeline(..) => String::from(
                "name a timeline of the archive: the names of its files contain the timelines",
            ),
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
            Self::Behind(_, last) => write!(
                f,
                "the archive ends with batch {last}, before the backup: it may have changes of \
                 another copy of the vault, which would be missing"
            ),
            Self::Branched { at, branch, .. } => write!(
                f,
                "the archive has another timeline, {}, which began after batch {at} of this one; its \
                 changes would be missing",
                hex::encode(branch)
            ),
            Self::Circle(_, next) => write!(
                f,
                "the mark leads back to the timeline {}, which was left before",
                hex::encode(next)
            ),
            Self::Diverged(_, last) => write!(
                f,
                "up to batch {last}, the file has other changes than the ones before it: two copies \
                 of the vault went on from the same batch, and the changes of one would be missing"
            ),
            Self::Directory(_, error) => write!(f, "the archive directory cannot be read: {error}"),
            Self::Forked(_, last) => write!(
                f,
                "the timeline ended with batch {last} when a standby was promoted or a new timeline \
                 began; later changes of the old vault, and others, are refused"
            ),
            Self::Missing { first, last, .. } => {
                write!(f, "the archive lacks the batches {first} to {last}, which come before it")
            }
            Self::Piece(_, invalid) => invalid.fmt(f),
            Self::Unfinished(_) => write!(
                f,
                "a promotion of this standby wrote the mark and was cut off; the timeline that it \
                 chose has not begun"
            ),
            Self::UnknownTimeline(_, timeline) => {
                write!(f, "nothing in the archive leads to the timeline {}", hex::encode(timeline))
            }
        }
    }
}
