//! Archives the log: copies the changes since the last archived one into a new file of the archive
//! directory. A directory that fails never stops the vault.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::app::error::Error;
use crate::app::upkeep::Upkeep;
use crate::app::vault::Vault;
use crate::bounds::LOG_SEGMENT_BYTES;
use crate::domain::time::Timestamp;
use crate::store::archive::{
    ArchiveDirectory, ArchiveFailure, PieceSummary, Signer, clear_unfinished, write_piece,
};
use crate::store::{LogSource, LogTail, meta};

/// The archive of an open vault.
#[derive(Debug, Clone, Copy)]
pub struct Archive<'a> {
    vault: &'a Vault,
}

impl<'a> Upkeep<'a> {
    pub const fn archive(self) -> Archive<'a> {
        Archive { vault: self.vault }
    }
}

/// Writes the archive files of a vault. One round at a time.
#[derive(Debug)]
pub struct Archiver {
    directory: PathBuf,
    source: Arc<dyn LogSource>,
    /// The place of the next change to archive. Unknown at first and after a failure.
    tail: Option<LogTail>,
    /// The number of that change, if it was known once.
    next: Option<u64>,
    /// The file that was written last.
    newest: Option<PathBuf>,
}

/// The state of the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveState {
    /// The archive has changes that this vault does not have.
    Ahead,
    /// A promotion has ended this vault's timeline.
    Ended,
    /// The log cannot be read.
    LogFailing,
    /// The directory cannot be used.
    TargetFailing,
    TargetFull,
    TargetMissing,
    TargetReadOnly,
    Working,
}

/// The summary of the archive for probes and reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveCondition {
    /// The vault has no archive.
    Off,
    Right,
    Warning(&'static str),
}

/// The state that operators observe.
#[derive(Debug, Default)]
pub(in crate::app) struct ArchiveWatch {
    observed: Mutex<Option<Observed>>,
    directory: OnceLock<PathBuf>,
}

#[derive(Debug, Clone, Copy)]
pub(in crate::app) struct Observed {
    pub(in crate::app) state: ArchiveState,
    /// The number of the last archived batch.
    pub(in crate::app) archived: Option<u64>,
    /// Its time, if this process has archived it.
    pub(in crate::app) archived_at: Option<Timestamp>,
    /// Everything was archived at this time.
    pub(in crate::app) caught_up_at: Timestamp,
    /// The time of the oldest batch that is not archived, after a round that failed.
    pub(in crate::app) waiting_since: Option<Timestamp>,
    /// The first batch from which on the archive lacks none.
    pub(in crate::app) covered_from: Option<u64>,
    /// The length of the file that this process has written last.
    pub(in crate::app) piece_bytes: Option<u64>,
    /// The part of the log that was not archived after the last round.
    pub(in crate::app) waiting_bytes: Option<u64>,
}

impl ArchiveWatch {
    pub(in crate::app) fn read(&self) -> Option<Observed> {
        *self.lock()
    }

    /// The archive directory, if there is one.
    pub(in crate::app) fn directory(&self) -> Option<PathBuf> {
        self.directory.get().cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Observed>> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, change: impl FnOnce(&mut Observed)) {
        if let Some(observed) = self.lock().as_mut() {
            change(observed);
        }
    }
}

impl Archive<'_> {
    /// Keeps the log from now on for the archive in this directory. `None` if the vault's engine
    /// has no log.
    pub fn begin(self, directory: &Path) -> Result<Option<Archiver>, Error> {
        let Some(source) = self.vault.store.log_source() else { return Ok(None) };
        let oldest = source.tail(None)?.map(|tail| tail.at());
        source.hold(oldest);
        *self.vault.archive.lock() = Some(Observed {
            state: ArchiveState::Working,
            archived: None,
            archived_at: None,
            caught_up_at: self.vault.now(),
            waiting_since: None,
            covered_from: None,
            piece_bytes: None,
            waiting_bytes: None,
        });
        let directory = directory.to_path_buf();
        self.vault.archive.directory.get_or_init(|| directory.clone());
        Ok(Some(Archiver { directory, source, tail: None, next: None, newest: None }))
    }

    /// Lets the log go that an earlier process has kept for its archive.
    pub fn forgo(self) {
        if let Some(source) = self.vault.store.log_source() {
            source.hold(None);
        }
    }

    /// Archives all changes so far. Blocks. Returns the new state if it is another one than before.
    pub fn round(self, archiver: &mut Archiver) -> Option<ArchiveState> {
        let outcome = archiver.round(self.vault);
        let state = match &outcome {
            Ok(()) => ArchiveState::Working,
            Err(ArchiveFailure::Ahead) => ArchiveState::Ahead,
            Err(ArchiveFailure::Ended) => ArchiveState::Ended,
            Err(ArchiveFailure::Gone | ArchiveFailure::Log) => ArchiveState::LogFailing,
            Err(ArchiveFailure::Target(error)) => ArchiveState::of_target(error),
        };
        let waiting_since = outcome.err().and_then(|_| archiver.waiting_since());
        let waiting_bytes = archiver.waiting_bytes();
        let mut is_new = false;
        self.vault.archive.update(|observed| {
            is_new = observed.state != state;
            observed.state = state;
            observed.waiting_since = waiting_since.or(observed.waiting_since);
            observed.waiting_bytes = waiting_bytes;
        });
        is_new.then_some(state)
    }

    /// The age of the oldest change that is not archived; zero if all changes are archived.
    pub(in crate::app) fn lag(self, observed: &Observed) -> Duration {
        let now = self.vault.now();
        let newest = self.vault.store.health().sequence;
        let is_behind = observed.archived.is_none_or(|sequence| sequence < newest);
        match observed.waiting_since {
            Some(since) => now.since(since),
            // Changes since the last round are younger than the round.
            None if is_behind => now.since(observed.caught_up_at),
            None => Duration::ZERO,
        }
    }

    /// The number of batches that are not archived.
    pub(in crate::app) fn lag_batches(self, observed: &Observed) -> Option<u64> {
        let newest = self.vault.store.health().sequence;
        observed.archived.map(|archived| newest.saturating_sub(archived))
    }

    pub fn condition(self) -> ArchiveCondition {
        let Some(observed) = self.vault.archive.read() else { return ArchiveCondition::Off };
        let has_gap = self.needs_backup().unwrap_or(false);
        let gap = has_gap.then_some(
            "The archive began after the newest backup, or has a gap: take a backup now.",
        );
        let warning = observed.state.warning().or(gap);
        warning.map_or(ArchiveCondition::Right, ArchiveCondition::Warning)
    }

    /// Returns true if no backup is known that the archive continues: it began after the newest
    /// backup, or has a gap after it.
    pub fn needs_backup(self) -> Result<bool, Error> {
        let covered_from = self.vault.archive.read().and_then(|observed| observed.covered_from);
        let Some(covered_from) = covered_from else { return Ok(false) };
        let snapshot = self.vault.snapshot()?;
        let backup = meta::backup_moment(&snapshot)?;
        let moment = snapshot.moment()?;
        let is_continued = backup.is_some_and(|backup| {
            backup.timeline == moment.timeline && backup.sequence.saturating_add(1) >= covered_from
        });
        Ok(!is_continued)
    }
}

impl Archiver {
    fn round(&mut self, vault: &Vault) -> Result<(), ArchiveFailure> {
        let timeline = self.source.lineage().timeline;
        if ArchiveDirectory::is_ended(&self.directory, &timeline)? {
            self.source.hold(None);
            return Err(ArchiveFailure::Ended);
        }
        // Another file system may be mounted there now.
        if self.newest.as_ref().is_some_and(|newest| !newest.exists()) {
            self.tail = None;
        }
        let written = self.write_rest(vault);
        if written.is_err() {
            self.tail = None;
        }
        match written {
            // The bound on the log has let it go: the archive goes on behind the gap.
            Err(ArchiveFailure::Gone) => self.write_rest(vault),
            written => written,
        }
        .inspect_err(|_| self.tail = None)
    }

    fn write_rest(&mut self, vault: &Vault) -> Result<(), ArchiveFailure> {
        let mut tail = match self.tail.take() {
            Some(tail) => tail,
            None => self.seek(vault)?,
        };
        loop {
            let begun = vault.now();
            let end = self.source.end();
            // After the end: a piece with the replacement of the master key needs the new key.
            let master = vault.snapshot().and_then(|snapshot| vault.masters.of(&snapshot));
            let master = master.map_err(|_error| ArchiveFailure::Log)?;
            let signer = Signer { master: *master.check(), key: master.backup_key() };
            let source = self.source.as_ref();
            let written = write_piece(&self.directory, source, (&mut tail, end), &signer)?;
            let Some(piece) = written else {
                self.tail = Some(tail);
                vault.archive.update(|observed| {
                    observed.caught_up_at = begun;
                    observed.waiting_since = None;
                });
                return Ok(());
            };
            self.source.hold(Some(tail.at()));
            self.note(vault, &piece);
        }
    }

    fn note(&mut self, vault: &Vault, piece: &PieceSummary) {
        self.next = Some(piece.name.last.saturating_add(1));
        self.newest = Some(self.directory.join(piece.name.to_string()));
        vault.archive.update(|observed| {
            observed.archived = Some(piece.name.last);
            observed.archived_at = Some(piece.time);
            observed.piece_bytes = Some(piece.bytes);
        });
    }

    /// Finds the place behind the last archived change.
    fn seek(&mut self, vault: &Vault) -> Result<LogTail, ArchiveFailure> {
        let timeline = self.source.lineage().timeline;
        let directory = ArchiveDirectory::list(&self.directory)?;
        clear_unfinished(&self.directory, &timeline)?;
        let end = self.source.end().sequence;
        let last = directory.last_of(&timeline);
        if last.is_some_and(|last| last >= end) {
            return Err(ArchiveFailure::Ahead);
        }
        let next = match last {
            Some(last) => self.source.tail(Some(last.saturating_add(1)))?,
            None => None,
        };
        let is_continued = next.is_some();
        let tail = match next {
            Some(tail) => tail,
            None => self.source.tail(None)?.ok_or(ArchiveFailure::Gone)?,
        };
        let first = tail.at().sequence;
        let covered = if is_continued { directory.covered_from(&timeline) } else { None };
        self.next = Some(first);
        self.source.hold(Some(tail.at()));
        vault.archive.update(|observed| {
            observed.covered_from = Some(covered.unwrap_or(first));
            observed.archived = last;
        });
        Ok(tail)
    }

    /// The time of the oldest change that the log has for the archive.
    fn waiting_since(&self) -> Option<Timestamp> {
        let mut tail = self.source.tail(Some(self.next?)).ok()??;
        tail.peek(self.source.end()).ok()?.map(|frame| frame.time)
    }

    /// The length of the log from the next change to archive on. Closed segments count as full, so
    /// that the length is a little too large if there are several.
    fn waiting_bytes(&self) -> Option<u64> {
        let at = match &self.tail {
            Some(tail) => tail.at(),
            None => self.source.tail(Some(self.next?)).ok()??.at(),
        };
        let end = self.source.end();
        if at.sequence == end.sequence {
            return Some(0);
        }
        let segments = end.segment.saturating_sub(at.segment);
        let full = segments.saturating_mul(LOG_SEGMENT_BYTES);
        Some(full.saturating_add(end.offset).saturating_sub(at.offset))
    }
}

impl ArchiveState {
    #[expect(clippy::wildcard_enum_match_arm, reason = "operators look at all others alike")]
    fn of_target(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::TargetMissing,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::TargetReadOnly
            }
            io::ErrorKind::QuotaExceeded | io::ErrorKind::StorageFull => Self::TargetFull,
            _ => Self::TargetFailing,
        }
    }

    /// A constant for the log and for status.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ahead => "ahead",
            Self::Ended => "ended",
            Self::LogFailing => "log_failing",
            Self::TargetFailing => "directory_failing",
            Self::TargetFull => "directory_full",
            Self::TargetMissing => "directory_missing",
            Self::TargetReadOnly => "directory_read_only",
            Self::Working => "working",
        }
    }

    /// A sentence for the readiness probe; `None` if nothing is wrong.
    pub(in crate::app) const fn warning(self) -> Option<&'static str> {
        match self {
            Self::Ahead => Some(
                "The archive has changes that this vault lacks: the data directory is an old copy.",
            ),
            Self::Ended => Some(
                "A standby was promoted in place of this vault: stop it, its new writes are lost.",
            ),
            Self::LogFailing => Some("The log cannot be read for the archive."),
            Self::TargetFailing => {
                Some("The archive directory cannot be used: new changes are on this disk alone.")
            }
            Self::TargetFull => {
                Some("The archive directory is full: new changes are on this disk alone.")
            }
            Self::TargetMissing => {
                Some("The archive directory is missing: new changes are on this disk alone.")
            }
            Self::TargetReadOnly => {
                Some("The archive directory is read-only: new changes are on this disk alone.")
            }
            Self::Working => None,
        }
    }
}
