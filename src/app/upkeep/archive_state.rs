//! The states of the archive, and their words for operators.

use std::io;

use crate::domain::words::words;
use crate::store::Departure;
use crate::store::archive::ArchiveFailure;

words! {
    /// The state of the archive, with its constant for the log and for status.
    pub enum ArchiveState:
        /// A sentence for the readiness probe; `None` if nothing is wrong.
        warning -> Option<&'static str>
    {
        /// The archive has changes that the vault lacks since it was restored.
        Copy = "copy", Some(
            "This vault was restored from a backup, and the archive has later changes: the vault \
             that it is a copy of may still run. Nothing is archived. Remove [archive] from the \
             settings of a copy; a vault that takes the other's place needs strongroom \
             new-timeline."
        );
        /// Another vault has ended this vault's timeline.
        Ended = "ended", Some(
            "Another vault was promoted in place of this one: changes are refused. Stop it, or \
             begin a new timeline."
        );
        /// The archive has other changes of this timeline than the vault.
        Forked = "forked", Some(
            "The archive has other changes than this vault: an old copy of the data directory \
             was put back. New changes are on this disk alone until a new timeline begins."
        );
        /// The log cannot be read.
        LogFailing = "log_failing", Some("The log cannot be read for the archive.");
        /// The mark at the end of the timeline is not valid.
        MarkInvalid = "mark_invalid", Some(
            "A file of the archive says that this vault has ended, but is not signed under its \
             master key: new changes are on this disk alone."
        );
        /// The mark at the end of the timeline is there, but cannot be read.
        MarkUnreadable = "mark_unreadable", Some(
            "The archive has a file that ends this vault's timeline, but this process cannot read \
             it: changes are refused. Make the file readable for the service's user, or begin a \
             new timeline."
        );
        /// The newest file of the archive is not valid.
        PieceInvalid = "newest_file_invalid", Some(
            "The newest file of the archive is damaged: put an intact copy back or move it away. \
             New changes are on this disk alone."
        );
        TargetDenied = "directory_not_permitted", Some(
            "The service's user may not use the archive directory or a file in it: new changes \
             are on this disk alone."
        );
        /// The directory cannot be used.
        TargetFailing = "directory_failing", Some(
            "The archive directory cannot be used: new changes are on this disk alone."
        );
        TargetFull = "directory_full", Some(
            "The archive directory is full: new changes are on this disk alone."
        );
        TargetMissing = "directory_missing", Some(
            "The archive directory is missing: new changes are on this disk alone."
        );
        TargetReadOnly = "directory_read_only", Some(
            "The archive directory is read-only: new changes are on this disk alone."
        );
        Working = "working", None;
    }
}

impl ArchiveState {
    /// The state of a vault that has not looked into its archive yet.
    pub(super) const fn remembered(departed: Option<Departure>) -> Self {
        match departed {
            None => Self::Working,
            Some(Departure::Forked) => Self::Forked,
            Some(Departure::Superseded) => Self::Ended,
        }
    }

    pub(super) fn after(failure: &ArchiveFailure) -> Self {
        match failure {
            ArchiveFailure::Copy => Self::Copy,
            ArchiveFailure::Ended => Self::Ended,
            ArchiveFailure::Forked => Self::Forked,
            ArchiveFailure::Gone | ArchiveFailure::Log => Self::LogFailing,
            ArchiveFailure::Mark => Self::MarkInvalid,
            ArchiveFailure::MarkUnreadable => Self::MarkUnreadable,
            ArchiveFailure::Piece => Self::PieceInvalid,
            ArchiveFailure::Target(error) => Self::of_target(error),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "operators look at all others alike")]
    fn of_target(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::TargetMissing,
            io::ErrorKind::PermissionDenied => Self::TargetDenied,
            io::ErrorKind::ReadOnlyFilesystem => Self::TargetReadOnly,
            io::ErrorKind::QuotaExceeded | io::ErrorKind::StorageFull => Self::TargetFull,
            _ => Self::TargetFailing,
        }
    }

    /// True if only a new timeline ends the state.
    pub(in crate::app) const fn is_departed(self) -> bool {
        matches!(self, Self::Copy | Self::Ended | Self::Forked)
    }
}
