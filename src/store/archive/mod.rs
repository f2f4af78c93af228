//! The archive: the log's frames, copied to another directory seconds after they were written. A
//! backup and the pieces after it restore the vault to any moment since the backup.
//!
//! A piece holds the frames of some batches as they are in the log. Its name has the timeline (32
//! hexadecimal digits) and the first and last batch (20 digits each), as
//! `strongroom-archive-TIMELINE-FIRST-LAST.piece`. Names therefore sort by timeline and number, and
//! a missing piece shows in the names alone.
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
//! The HMAC's key is the key of backup manifests (see `crypto::master`). A piece is signed under
//! the master key that the vault has when it writes the piece: pieces after a replacement of the
//! master key need the new key.
//!
//! The pieces of a timeline are a chain: each names the digest of the history that it continues.
//! The writer compares the newest piece with its own log before it continues, and a reader compares
//! each piece with the history that it has. A data directory that was put back, or a second copy of
//! it, therefore never continues the pieces of the other one, although the numbers would fit. The
//! data file records that the vault has left the archive (`engine::local::state::Departure`), until
//! an operator begins a new timeline.
//!
//! The promotion of a standby ends the timeline that the standby followed, and a new timeline ends
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
//! | 32 | digest of the history up to that batch, or zeros |
//! | 16 | id of the timeline that goes on |
//! | 8 | time of the mark, in microseconds since 1970 |
//! | 8 | check value of the master key that the mark is signed under |
//! | 32 | HMAC-SHA-256 of `strongroom archive end 1` and all bytes before |
//!
//! A restored vault begins a timeline without a mark: a trial restore must not end the vault in
//! service. Its pieces name the timeline and the batch that it began from. A reader stops at such a
//! branch, unless the operator named the timeline to end with.
//!
//! If a new timeline begins before a restored vault has archived, no piece names what the vault was
//! restored from. The new timeline then also ends that timeline, whose vault it replaces. The vault
//! does not know the digest at that batch any more if it has written since, so this mark may have
//! zeros: the next mark or the next piece of the restored vault has a digest of the same history.
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
