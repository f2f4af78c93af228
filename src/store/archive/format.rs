//! Constants of the archive's format, names of its files, and failures of writing and reading them.

use std::fmt;
use std::io;

use crate::domain::hex;
use crate::store::engine::local::log::segment::Lineage;
use crate::store::engine::local::state::Origin;
use crate::store::failure::StorageFailure;

pub(in crate::store) const MAGIC: &[u8; 18] = b"strongroom archive";
pub(in crate::store) const FORMAT: u16 = 1;
pub(in crate::store) const END: &[u8; 8] = b"srarcend";
pub(in crate::store) const HEADER_BYTES: usize = 18 + 2 + 4 + 16 + 16 + 16 + 8 + 8 + 8 + 32;
/// The trailer without its SHA-256, its HMAC and its last word.
pub(in crate::store) const LAST_BYTES: usize = 8 + 8;
pub(in crate::store) const TRAILER_BYTES: usize = LAST_BYTES + 32 + 32 + 8;
/// Separates a piece's HMAC from a manifest's: both use the same key.
pub(in crate::store) const PIECE_LABEL: &[u8] = b"strongroom archive piece 1";
pub(in crate::store) const MARK_LABEL: &[u8] = b"strongroom archive end 1";

/// The suffix of a file's name until the file is complete and durable.
pub(in crate::store) const UNFINISHED: &str = ".unfinished";
const PREFIX: &str = "strongroom-archive-";
const PIECE: &str = ".piece";
const ENDED: &str = ".ended";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PieceName {
    pub timeline: [u8; 16],
    pub first: u64,
    pub last: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct PieceHeader {
    /// The format of the data file.
    pub(in crate::store) data_format: u32,
    pub(in crate::store) lineage: Lineage,
    pub(in crate::store) origin: Origin,
    /// The check value of the master key.
    pub(in crate::store) master: [u8; 8],
    pub(in crate::store) first: u64,
    /// The digest of the history before the first frame.
    pub(in crate::store) before: [u8; 32],
}

#[derive(Debug)]
pub enum InvalidPiece {
    CutShort,
    Damaged(&'static str),
    /// It belongs to another vault, or to another history of this vault.
    Foreign,
    /// The master key that it names is at hand, but its HMAC does not match.
    Forged,
    Io(io::Error),
    /// The data file's format differs from the backup's.
    OtherFormat,
    Newer,
    /// It is signed under the master key with this check value, which is not at hand.
    UnknownKey([u8; 8]),
}

/// Changes could not be archived. The vault keeps running.
#[derive(Debug)]
pub enum ArchiveFailure {
    /// The archive has batches of the timeline that this vault was restored from, which the vault
    /// lacks: it may be a copy of a vault that still runs.
    Copy,
    /// Another vault has ended this vault's timeline.
    Ended,
    /// The archive has other batches of this timeline than the vault.
    Forked,
    /// The log no longer has the next change.
    Gone,
    /// The timeline's mark is not valid.
    Mark,
    /// The timeline has a mark that cannot be read.
    MarkUnreadable,
    /// The newest piece is not valid.
    Piece,
    /// The directory or a file in it cannot be used.
    Target(io::Error),
    Log,
}

impl PieceName {
    pub fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix(PREFIX)?.strip_suffix(PIECE)?.split('-');
        let timeline = hex::decode(parts.next()?)?;
        let mut number = || {
            let digits = parts.next()?;
            let is_number = digits.len() == 20 && digits.bytes().all(|it| it.is_ascii_digit());
            is_number.then(|| digits.parse().ok()).flatten()
        };
        let (first, last) = (number()?, number()?);
        let found = Self { timeline, first, last };
        // A name in capitals would not be found again: files are opened by the canonical name.
        (first <= last && found.to_string() == name).then_some(found)
    }

    /// The name until the last batch is known and the file is durable.
    pub(in crate::store) fn unfinished(timeline: &[u8; 16]) -> String {
        format!("{PREFIX}{}{PIECE}{UNFINISHED}", hex::encode(timeline))
    }
}

impl fmt::Display for PieceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timeline = hex::encode(&self.timeline);
        write!(f, "{PREFIX}{timeline}-{:020}-{:020}{PIECE}", self.first, self.last)
    }
}

pub(in crate::store) fn mark_name(timeline: &[u8; 16]) -> String {
    format!("{PREFIX}{}{ENDED}", hex::encode(timeline))
}

/// The timeline whose mark has this name.
pub(in crate::store) fn parse_mark_name(name: &str) -> Option<[u8; 16]> {
    let timeline = hex::decode(name.strip_prefix(PREFIX)?.strip_suffix(ENDED)?)?;
    (mark_name(&timeline) == name).then_some(timeline)
}

impl PieceHeader {
    pub(in crate::store) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(FORMAT.to_be_bytes());
        bytes.extend(self.data_format.to_be_bytes());
        bytes.extend(self.lineage.vault);
        bytes.extend(self.lineage.timeline);
        bytes.extend(self.origin.timeline);
        bytes.extend(self.origin.sequence.to_be_bytes());
        bytes.extend(self.master);
        bytes.extend(self.first.to_be_bytes());
        bytes.extend(self.before);
        bytes
    }

    /// Decodes the header and returns it with the remaining bytes.
    pub(in crate::store) fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), InvalidPiece> {
        let rest = check_start(bytes)?;
        let parts = || {
            let (data_format, rest) = rest.split_first_chunk()?;
            let (vault, rest) = rest.split_first_chunk()?;
            let (timeline, rest) = rest.split_first_chunk()?;
            let (parent, rest) = rest.split_first_chunk()?;
            let (forked_at, rest) = rest.split_first_chunk()?;
            let (master, rest) = rest.split_first_chunk()?;
            let (first, rest) = rest.split_first_chunk()?;
            let (before, rest) = rest.split_first_chunk()?;
            let header = Self {
                data_format: u32::from_be_bytes(*data_format),
                lineage: Lineage { vault: *vault, timeline: *timeline },
                origin: Origin { timeline: *parent, sequence: u64::from_be_bytes(*forked_at) },
                master: *master,
                first: u64::from_be_bytes(*first),
                before: *before,
            };
            Some((header, rest))
        };
        parts().ok_or(InvalidPiece::CutShort)
    }
}

/// Checks the magic and the format, and returns the remaining bytes.
pub(in crate::store) fn check_start(bytes: &[u8]) -> Result<&[u8], InvalidPiece> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(InvalidPiece::Damaged("its start is wrong"))?;
    let (format, rest) = rest.split_first_chunk().ok_or(InvalidPiece::CutShort)?;
    match u16::from_be_bytes(*format) {
        FORMAT => Ok(rest),
        newer if newer > FORMAT => Err(InvalidPiece::Newer),
        _ => Err(InvalidPiece::Damaged("its format is wrong")),
    }
}

from_causes!(ArchiveFailure: io::Error => Self::Target);

impl From<StorageFailure> for ArchiveFailure {
    /// The writer reports failures of the vault's own disk.
    fn from(_failure: StorageFailure) -> Self {
        Self::Log
    }
}

impl From<io::Error> for InvalidPiece {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return Self::CutShort;
        }
        Self::Io(error)
    }
}

impl fmt::Display for InvalidPiece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CutShort => f.write_str("the file is cut short"),
            Self::Damaged(what) => write!(f, "the file is damaged: {what}"),
            Self::Foreign => {
                f.write_str("the file belongs to another vault or to another timeline")
            }
            Self::Forged => f.write_str("the file was not written under this master key"),
            Self::Io(error) => write!(f, "the file cannot be read: {error}"),
            Self::OtherFormat => f.write_str(
                "the file was written after an upgrade that changed the format of the data",
            ),
            Self::Newer => f.write_str("the file was written by a newer strongroom"),
            Self::UnknownKey(check) => write!(
                f,
                "the file is signed under the master key {}, which was not given",
                hex::encode(check)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_timeline_and_number_and_only_such_names_are_known() {
        let name = PieceName { timeline: [0x1a; 16], first: 7, last: 12 };
        let text = "strongroom-archive-1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a-00000000000000000007-\
                    00000000000000000012.piece";
        assert_eq!(name.to_string(), text);
        assert_eq!(PieceName::parse(text), Some(name));
        let later = PieceName { first: 100, last: 100, ..name };
        let other = PieceName { timeline: [0x1b; 16], first: 1, last: 2 };
        assert!(name.to_string() < later.to_string() && later.to_string() < other.to_string());
        assert!(name < later && later < other);
        for wrong in [
            "",
            "x",
            &text.replace("0012.piece", "0006.piece"),
            &text.replace(".piece", ".piece.unfinished"),
            &text.replace("-0", "-"),
            &text.replace("1a1a1a1a-", "1a1a1a1-"),
            &text.replace("1a1a1a1a-", "1a1a1a1A-"),
            &mark_name(&[0x1a; 16]),
            &PieceName::unfinished(&[0x1a; 16]),
        ] {
            assert_eq!(PieceName::parse(wrong), None, "{wrong}");
        }
    }
}
