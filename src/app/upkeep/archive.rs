//! Archives the log: copies the changes since the last archived one into a new file of the archive
//! directory. A failing directory never stops the vault.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::app::error::Error;
use crate::app::upkeep::archive_state::ArchiveState;
use crate::app::{Upkeep, Vault};
use crate::bounds::LOG_SEGMENT_BYTES;
use crate::crypto::MasterKey;
use crate::domain::time::Timestamp;
use crate::lock::Lock;
use crate::store::archive::{
    ArchiveDirectory, ArchiveFailure, InvalidPiece, PieceSummary, Signer, clear_unfinished,
    end_digest, write_piece,
};
use crate::store::{Departure, LogSource, LogTail, Store, meta};

#[derive(Debug, Clone, Copy)]
pub struct Archive<'a> {
    vault: &'a Vault,
}

impl<'a> Upkeep<'a> {
    pub const fn archive(self) -> Archive<'a> {
        Archive { vault: self.vault }
    }
}

/// Writes the archive files of a vault, one round at a time.
#[derive(Debug)]
pub struct Archiver {
    directory: PathBuf,
    source: LogSource,
    /// The position of the next change to archive. Unknown at first and after a failure.
    tail: Option<LogTail>,
    /// The number of the next change, if it was ever known.
    next: Option<u64>,
    /// The last archived batch, as the directory should show it.
    archived: Option<u64>,
}

/// For probes and reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveCondition {
    /// The vault has no archive.
    Off,
    Right,
    Warning(&'static str),
}

/// For operators.
#[derive(Debug, Default)]
pub(in crate::app) struct ArchiveWatch {
    observed: Lock<Option<Observed>>,
    /// Another vault has ended this vault's timeline, so changes are refused.
    is_superseded: AtomicBool,
    /// A file says that this vault's timeline has ended, but cannot be read. Changes are refused
    /// until it can be read or is gone.
    has_unreadable_mark: AtomicBool,
    directory: OnceLock<PathBuf>,
}

#[derive(Debug, Clone, Copy)]
pub(in crate::app) struct Observed {
    pub(in crate::app) state: ArchiveState,
    /// The number of the last archived batch.
    pub(in crate::app) archived: Option<u64>,
    /// The time of that batch, if this process has archived it.
    pub(in crate::app) archived_at: Option<Timestamp>,
    /// The last time at which everything was archived.
    pub(in crate::app) caught_up_at: Timestamp,
    /// The time of the oldest unarchived batch, after a round that failed.
    pub(in crate::app) waiting_since: Option<Timestamp>,
    /// The archive is complete from this batch on.
    pub(in crate::app) covered_from: Option<u64>,
    /// The length of the file that this process wrote last.
    pub(in crate::app) piece_bytes: Option<u64>,
    /// The unarchived part of the log after the last round.
    pub(in crate::app) waiting_bytes: Option<u64>,
}

impl ArchiveWatch {
    /// Reads the state that an earlier process left in the data file.
    pub(in crate::app) fn of(store: &Store) -> Result<Self, crate::store::StorageFailure> {
        let departed = store.snapshot()?.departed();
        let is_superseded = AtomicBool::new(departed == Some(Departure::Superseded));
        Ok(Self { is_superseded, ..Self::default() })
    }

    pub(in crate::app) fn is_superseded(&self) -> bool {
        self.is_superseded.load(Ordering::Relaxed)
    }

    pub(in crate::app) fn has_unreadable_mark(&self) -> bool {
        self.has_unreadable_mark.load(Ordering::Relaxed)
    }

    /// The state in which changes are refused.
    pub(in crate::app) fn refusal(&self) -> Option<ArchiveState> {
        if self.is_superseded() {
            return Some(ArchiveState::Ended);
        }
        self.has_unreadable_mark().then_some(ArchiveState::MarkUnreadable)
    }

    pub(in crate::app) fn read(&self) -> Option<Observed> {
        *self.observed.lock()
    }

    pub(in crate::app) fn directory(&self) -> Option<PathBuf> {
        self.directory.get().cloned()
    }

    fn update(&self, change: impl FnOnce(&mut Observed)) {
        if let Some(observed) = self.observed.lock().as_mut() {
            change(observed);
        }
    }
}

impl Archive<'_> {
    /// Keeps the log from now on for the archive in this directory. `None` if the vault's engine
    /// has no log.
    pub fn begin(self, directory: &Path) -> Result<Option<Archiver>, Error> {
        let Some(source) = self.vault.store.log_source() else { return Ok(None) };
        match source.tail(None)? {
            // The next process must not free these batches before it has archived them.
            Some(oldest) => source.hold_durably(oldest.at())?,
            None => source.hold(None),
        }
        *self.vault.archive.observed.lock() = Some(Observed {
            state: ArchiveState::remembered(self.vault.snapshot()?.departed()),
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
        Ok(Some(Archiver { directory, source, tail: None, next: None, archived: None }))
    }

    /// Releases log segments held for an archive that is no longer configured.
    pub fn forgo(self) {
        if let Some(source) = self.vault.store.log_source() {
            source.hold(None);
        }
    }

    /// Looks for the mark of a vault that was promoted in place of this one, for a command on a
    /// stopped vault: its server may not have seen the mark. A directory that cannot be read says
    /// nothing.
    pub fn notice_end(self, directory: &Path) {
        let (Some(source), Ok(master)) = (self.vault.store.log_source(), master(self.vault)) else {
            return;
        };
        let keys = [MasterKey::clone(&master)];
        match read_mark(directory, &source, &keys) {
            Ok(false) => (),
            Ok(true) => {
                self.vault.archive.is_superseded.store(true, Ordering::Relaxed);
                // If this cannot be remembered, the next start or command looks again.
                source.depart(Departure::Superseded).ok();
            }
            Err(failure) => {
                let is_unreadable = matches!(failure, ArchiveFailure::MarkUnreadable);
                self.vault.archive.has_unreadable_mark.store(is_unreadable, Ordering::Relaxed);
            }
        }
    }

    /// Compares the archive with the log. Blocks. Returns the state if something is wrong.
    pub fn look(self, archiver: &mut Archiver) -> Option<ArchiveState> {
        let outcome = archiver.look(self.vault);
        self.note(archiver, outcome);
        let state = self.vault.archive.read().map(|observed| observed.state);
        state.filter(|state| *state != ArchiveState::Working)
    }

    /// The first look takes too long: the vault serves without it, and reports it until the look or
    /// a round has ended.
    pub fn note_slow(self) {
        self.vault.archive.update(|observed| observed.state = ArchiveState::TargetFailing);
    }

    /// Archives all changes so far. Blocks. Returns the new state if it has changed.
    pub fn round(self, archiver: &mut Archiver) -> Option<ArchiveState> {
        let outcome = archiver.round(self.vault);
        self.note(archiver, outcome)
    }

    fn note(
        self,
        archiver: &Archiver,
        outcome: Result<(), ArchiveFailure>,
    ) -> Option<ArchiveState> {
        let state = outcome.as_ref().err().map_or(ArchiveState::Working, ArchiveState::after);
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

    /// Zero if all changes are archived.
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

    pub(in crate::app) fn lag_batches(self, observed: &Observed) -> Option<u64> {
        let newest = self.vault.store.health().sequence;
        observed.archived.map(|archived| newest.saturating_sub(archived))
    }

    pub fn condition(self) -> ArchiveCondition {
        let ended = self.vault.archive.refusal().and_then(ArchiveState::warning);
        let Some(observed) = self.vault.archive.read() else {
            return ended.map_or(ArchiveCondition::Off, ArchiveCondition::Warning);
        };
        let has_gap = self.needs_backup().unwrap_or(false);
        let gap = has_gap.then_some(
            "The archive began after the newest backup, or has a gap: take a backup now.",
        );
        let warning = ended.or(observed.state.warning()).or(gap);
        warning.map_or(ArchiveCondition::Right, ArchiveCondition::Warning)
    }

    /// True if the archive continues no known backup: it began after the newest backup, or has a
    /// gap after it.
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

fn master(vault: &Vault) -> Result<Arc<MasterKey>, ArchiveFailure> {
    let master = vault.snapshot().and_then(|snapshot| vault.masters.of(&snapshot));
    master.map_err(|_error| ArchiveFailure::Log)
}

/// True if another vault has ended the timeline. An unreadable mark is an error: a promoted vault may
/// have written it, and then two vaults would write to the archive.
fn read_mark(
    directory: &Path,
    source: &LogSource,
    keys: &[MasterKey],
) -> Result<bool, ArchiveFailure> {
    let lineage = source.lineage();
    ArchiveDirectory::is_ended(directory, lineage, keys).map_err(|invalid| match invalid {
        InvalidPiece::Io(error) if !ArchiveDirectory::has_mark(directory, lineage) => error.into(),
        InvalidPiece::CutShort
        | InvalidPiece::Damaged(_)
        | InvalidPiece::Io(_)
        | InvalidPiece::Newer => ArchiveFailure::MarkUnreadable,
        InvalidPiece::Foreign
        | InvalidPiece::Forged
        | InvalidPiece::OtherFormat
        | InvalidPiece::UnknownKey(_) => ArchiveFailure::Mark,
    })
}

impl Archiver {
    fn round(&mut self, vault: &Vault) -> Result<(), ArchiveFailure> {
        self.look(vault)?;
        let written = self.write_rest(vault);
        if written.is_err() {
            self.tail = None;
        }
        match written {
            // The log was cut at its bound before it was archived: the archive continues behind the
            // gap.
            Err(ArchiveFailure::Gone) => self.write_rest(vault),
            Err(ArchiveFailure::Forked) => Err(self.depart(vault, Departure::Forked)),
            written => written,
        }
        .inspect_err(|_| self.tail = None)
    }

    /// Checks that the archive has what this vault has archived, and nothing else of its timeline.
    fn look(&mut self, vault: &Vault) -> Result<(), ArchiveFailure> {
        let (lineage, master) = (self.source.lineage(), master(vault)?);
        match read_mark(&self.directory, &self.source, &[MasterKey::clone(&master)]) {
            Ok(false) => (),
            Ok(true) => return Err(self.depart(vault, Departure::Superseded)),
            Err(failure) => {
                if matches!(failure, ArchiveFailure::MarkUnreadable) {
                    vault.archive.has_unreadable_mark.store(true, Ordering::Relaxed);
                }
                return Err(failure);
            }
        }
        let departed = vault.snapshot().map_err(|_error| ArchiveFailure::Log)?.departed();
        if let Some(departure) = departed {
            return Err(self.depart(vault, departure));
        }
        let directory = ArchiveDirectory::list(&self.directory)?;
        if directory.has_overlap(&lineage.timeline) {
            return Err(self.depart(vault, Departure::Forked));
        }
        let last = directory.last_of(&lineage.timeline).map(|piece| piece.last);
        if last.is_none() {
            self.refuse_copy(vault, &directory)?;
        }
        // A copy of this vault may have archived, or another file system may be mounted there now.
        if self.tail.is_none() || last != self.archived {
            self.tail = None;
            self.tail = Some(self.seek(vault, &directory)?);
        }
        // Only a look that saw the whole directory shows that the mark is gone.
        vault.archive.has_unreadable_mark.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Before the first piece of a restored vault: the vault that it was restored from may still
    /// run, and this one must not write into its archive. A restore with the archive has noted
    /// which batches it left out, and a mark says that the old timeline has ended.
    fn refuse_copy(
        &self,
        vault: &Vault,
        directory: &ArchiveDirectory,
    ) -> Result<(), ArchiveFailure> {
        let origin = self.source.origin();
        let Some(newest) = directory.last_of(&origin.timeline) else { return Ok(()) };
        let snapshot = vault.snapshot().map_err(|_error| ArchiveFailure::Log)?;
        let seen = meta::archive_seen(&snapshot).map_err(|_failure| ArchiveFailure::Log)?;
        let seen = seen.filter(|seen| seen.timeline == origin.timeline);
        let known = seen.map_or(origin.sequence, |seen| seen.sequence.max(origin.sequence));
        let mut old = self.source.lineage();
        old.timeline = origin.timeline;
        if newest.last <= known || ArchiveDirectory::has_mark(&self.directory, old) {
            return Ok(());
        }
        Err(ArchiveFailure::Copy)
    }

    /// Records that the archive continues another history.
    fn depart(&mut self, vault: &Vault, departure: Departure) -> ArchiveFailure {
        self.tail = None;
        // This history will not be archived, so its log need not be kept.
        self.source.hold(None);
        let failure = match departure {
            Departure::Forked => ArchiveFailure::Forked,
            Departure::Superseded => {
                vault.archive.is_superseded.store(true, Ordering::Relaxed);
                ArchiveFailure::Ended
            }
        };
        self.source.depart(departure).map_or(ArchiveFailure::Log, |()| failure)
    }

    fn write_rest(&mut self, vault: &Vault) -> Result<(), ArchiveFailure> {
        let mut tail = match self.tail.take() {
            Some(tail) => tail,
            None => self.seek(vault, &ArchiveDirectory::list(&self.directory)?)?,
        };
        loop {
            let begun = vault.now();
            let end = self.source.end();
            // Read the key after the end: a piece with the replacement of the master key needs the
            // new key.
            let master = master(vault)?;
            let signer = Signer { master: *master.check(), key: master.backup_key() };
            let written = write_piece(&self.directory, &self.source, (&mut tail, end), &signer)?;
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
        self.archived = Some(piece.name.last);
        vault.archive.update(|observed| {
            observed.archived = Some(piece.name.last);
            observed.archived_at = Some(piece.time);
            observed.piece_bytes = Some(piece.bytes);
        });
    }

    /// Finds the position behind the last archived change.
    fn seek(
        &mut self,
        vault: &Vault,
        directory: &ArchiveDirectory,
    ) -> Result<LogTail, ArchiveFailure> {
        let timeline = self.source.lineage().timeline;
        clear_unfinished(&self.directory, &timeline)?;
        let end = self.source.end().sequence;
        let last = directory.last_of(&timeline);
        let next = match last {
            Some(piece) if piece.last >= end => {
                return Err(self.depart(vault, Departure::Forked));
            }
            Some(piece) => self.source.tail(Some(piece.last.saturating_add(1)))?,
            None => None,
        };
        if let (Some(piece), Some(tail)) = (last, &next) {
            let digest = end_digest(&directory.piece_path(&piece), &piece);
            let digest = digest.map_err(|invalid| {
                let InvalidPiece::Io(error) = invalid else { return ArchiveFailure::Piece };
                error.into()
            })?;
            if digest != tail.at().digest {
                return Err(self.depart(vault, Departure::Forked));
            }
        }
        let last = last.map(|piece| piece.last);
        self.archived = last;
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

    /// The time of the oldest change that the log holds for the archive.
    fn waiting_since(&self) -> Option<Timestamp> {
        let mut tail = self.source.tail(Some(self.next?)).ok()??;
        tail.peek(self.source.end()).ok()?.map(|frame| frame.time)
    }

    /// The length of the log from the next change to archive on. Closed segments count as full, so
    /// the length is a little too large if there are several.
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
