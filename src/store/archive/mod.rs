//! The archive: the log in files of another directory, seconds after it was written. A backup and
//! the pieces after it give the vault as it was at any moment since the backup.
//!
//! A piece holds the frames of some batches as they are in the log. Its name has the timeline, and
//! the numbers of the first and the last batch, as
//! `strongroom-archive-TIMELINE-FIRST-LAST.piece`: 32 hexadecimal digits and twice 20 digits. Names
//! therefore sort by timeline and number, and a missing piece shows in the names alone.
//!
//! The format of a piece, byte for byte; numbers are big-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 18 | `strongroom archive` |
//! | 2 | the piece's format, 1 |
//! | 4 | format of the data file whose rows these are |
//! | 16 | id of the vault |
//! | 16 | id of the timeline |
//! | 16 | id of the timeline that this one began from, or zeros |
//! | 8 | sequence number of the last batch that both have |
//! | 8 | check value of the master key that the piece is signed under |
//! | 8 | sequence number of the first frame |
//! | 32 | digest of the history before it, as `engine::local::log::frame` describes it |
//! | ... | the frames as in the log, each with its padding, without gaps in their numbers |
//! | 8 | sequence number of the last frame |
//! | 8 | time of the last frame, in microseconds since 1970 |
//! | 32 | SHA-256 of all bytes before |
//! | 32 | HMAC-SHA-256 of `strongroom archive piece 1` and that SHA-256 |
//! | 8 | `srarcend` |
//!
//! The HMAC's key is that of the manifests of backups, as `crypto::master` describes it. A piece is
//! signed under the master key that the vault has when the piece is written: pieces after the
//! replacement of the master key need the new key.
//!
//! The pieces of a timeline are a chain: each names the digest of the history that it continues. The
//! writer compares the newest piece with its own log before it goes on, and a reader compares each
//! piece with the history that it has. A vault whose data directory was put back, or a second copy of
//! it, therefore never continues the pieces of the other one, although the numbers would fit. The
//! vault remembers in its data file that it has left the archive
//! (`engine::local::state::Departure`), until an operator begins a new timeline.
//!
//! The promotion of a standby ends the timeline that the standby has followed, and a new timeline ends
//! the one before it. Both write a mark into the archive directory,
//! `strongroom-archive-TIMELINE.ended`:
//!
//! | bytes | what |
//! |---|---|
//! | 18 | `strongroom archive` |
//! | 2 | the mark's format, 1 |
//! | 16 | id of the vault |
//! | 16 | id of the timeline that has ended |
//! | 8 | sequence number of its last batch that the next timeline has |
//! | 32 | digest of the history up to that batch |
//! | 16 | id of the timeline that goes on |
//! | 8 | time of the mark, in microseconds since 1970 |
//! | 8 | check value of the master key that the mark is signed under |
//! | 32 | HMAC-SHA-256 of `strongroom archive end 1` and all bytes before |
//!
//! A restored vault begins a timeline without a mark: a trial of a backup must not end the vault that
//! serves. Its pieces name the timeline and the batch that it began from. A reader that comes to such
//! a place stops there, unless it was given the timeline to end with.
//!
//! Values are sealed in a piece as in the data file. A piece contains nothing of `cvc.keys`.

pub(in crate::store) mod chain;
pub(in crate::store) mod format;
pub(in crate::store) mod mark;
pub(in crate::store) mod reader;
pub(in crate::store) mod replay;
mod writer;

pub use chain::{ArchiveDirectory, ArchiveProblem};
pub use format::{ArchiveFailure, InvalidPiece};
pub use reader::end_digest;
pub use replay::{Reached, Replay};
pub use writer::{PieceSummary, Signer, clear_unfinished, write_piece};
