//! A standby: a data file that follows the archive of another vault.
//!
//! It has no log and no engine. The rows of several frames, and the place in the history after
//! them, are written in one transaction, so that a killed standby continues where it stopped. Only
//! a promotion makes it a vault.

use std::path::{Path, PathBuf};

use crate::bounds::CACHE_BYTES;
use crate::crypto::{MasterKey, Random};
use crate::domain::time::Timestamp;
use crate::store::archive::chain::ArchiveProblem;
use crate::store::archive::format::mark_name;
use crate::store::archive::mark::TimelineEnd;
use crate::store::archive::replay::{Reached, Replay, Walk, WalkFailure, list};
use crate::store::backup::reader::Reader;
use crate::store::batch::Batch;
use crate::store::engine::Moment;
use crate::store::engine::local::file::{self, DataFile};
use crate::store::engine::local::open::fresh;
use crate::store::engine::local::standby::StandbyMark;
use crate::store::engine::local::state::{LogState, Origin};
use crate::store::engine::local::view_of_file;
use crate::store::failure::{OpenFailure, StorageFailure};
use crate::store::meta::{self, Restoration};
use crate::store::opening;
use crate::store::restore::{RestoreFailure, load};
use crate::store::volume::Directory;

/// An open standby. Its data file is locked against other processes.
pub struct Standby {
    data: DataFile,
    vault: [u8; 16],
    moment: Moment,
    mark: StandbyMark,
}

#[derive(Debug)]
pub struct Promoted {
    /// The new timeline, and the last batch of the old one.
    pub moment: Moment,
    pub time: Timestamp,
}

/// The standby cannot continue.
#[derive(Debug)]
pub enum StandbyFailure {
    Archive(ArchiveProblem),
    /// Another standby was promoted and wrote this mark.
    OtherPromoted(PathBuf),
    Storage(StorageFailure),
    /// None of the master keys matches the data file's, which has this check value.
    WrongMasterKey(Vec<u8>),
}

impl Standby {
    /// Creates a standby from a backup, in an existing directory.
    pub fn begin(directory: &Path, mut backup: Reader) -> Result<Self, RestoreFailure> {
        let manifest = backup.manifest().clone();
        let (moment, time) = match (manifest.moment(), manifest.settled_at()) {
            (Some(moment), Some(time)) if manifest.file_format == opening::FORMAT => (moment, time),
            _ => return Err(RestoreFailure::NoMoment),
        };
        if manifest.departed.is_some() {
            return Err(RestoreFailure::Departed);
        }
        let volume = Directory::open(directory)?;
        DataFile::create(&volume, |database| {
            load(database, &mut backup)?;
            let state = fresh(moment.timeline, Origin::default(), moment);
            let mark = StandbyMark { time, next: None };
            file::commit_with(database, |transaction| {
                state.write(transaction)?;
                mark.write(transaction)
            })?;
            Ok::<(), RestoreFailure>(())
        })?;
        Self::open(directory).map_err(RestoreFailure::File)
    }

    pub fn open(directory: &Path) -> Result<Self, OpenFailure> {
        let volume = Directory::open(directory)?;
        let data = DataFile::open(&volume, CACHE_BYTES)?;
        let mark = StandbyMark::read(&data.database)?;
        let mark = mark.ok_or(OpenFailure::NotStandby)?;
        opening::check_format(&data.database)?;
        let state = LogState::read(&data.database)?;
        let state = state.ok_or(OpenFailure::NotStandby)?;
        let id = opening::first_look(&data.database).and_then(|it| meta::file_id(&it));
        let id = id?.ok_or(OpenFailure::NotOurs)?;
        let sequence = state.position.sequence.saturating_sub(1);
        let digest = state.position.digest;
        let moment = Moment { timeline: state.timeline, sequence, digest };
        Ok(Self { data, vault: id.into_bytes(), moment, mark })
    }

    /// The place in the history, and its time.
    pub const fn place(&self) -> (Moment, Timestamp) {
        (self.moment, self.mark.time)
    }

    /// Checks that one of the master keys is the data file's.
    pub fn check_keys(&self, keys: &[MasterKey]) -> Result<(), StandbyFailure> {
        self.own_key(keys).map(drop)
    }

    fn own_key<'a>(&self, keys: &'a [MasterKey]) -> Result<&'a MasterKey, StandbyFailure> {
        let snapshot = opening::first_look(&self.data.database)?;
        let check = meta::master_check(&snapshot)?.unwrap_or_default();
        let own = keys.iter().find(|key| key.check().as_slice() == check);
        own.ok_or(StandbyFailure::WrongMasterKey(check))
    }

    /// Applies the archive's batches after the current place. All batches before a problem are
    /// applied and durable.
    pub fn catch_up(
        &mut self,
        replay: Replay<'_>,
        is_stopping: &dyn Fn() -> bool,
    ) -> Result<Reached, StandbyFailure> {
        let walk = Walk::new(self.vault, opening::FORMAT, self.moment);
        let mut walk = walk.with_chosen(self.mark.next);
        let Self { data, moment, mark, .. } = self;
        let walked = walk.run(replay, is_stopping, &mut |rows, reached| {
            let state = fresh(reached.moment.timeline, Origin::default(), reached.moment);
            // The timeline of a promotion continues the one that the standby followed then.
            let next = mark.next.filter(|_| reached.moment.timeline == moment.timeline);
            let at = StandbyMark { time: reached.time.unwrap_or(mark.time), next };
            file::commit_with(&data.database, |transaction| {
                file::write(transaction, rows)?;
                state.write(transaction)?;
                at.write(transaction)
            })?;
            (*moment, *mark) = (reached.moment, at);
            Ok(())
        });
        walked?;
        Ok(walk.reached)
    }

    /// Makes the standby a vault with its own timeline. With an archive, applies the rest of it and
    /// marks the end of the old timeline there. An interrupted promotion can be repeated.
    pub fn promote(
        mut self,
        archive: Option<Replay<'_>>,
        keys: &[MasterKey],
        restoration: &Restoration,
    ) -> Result<Promoted, StandbyFailure> {
        if let Some(replay) = archive {
            let timeline = self.moment.timeline;
            let path = replay.directory.join(mark_name(&timeline));
            let listed = list(replay).map_err(StandbyFailure::Archive)?;
            match read_end(replay.directory, &timeline, keys)? {
                // With pieces of that timeline, a copy of this standby was promoted.
                Some(end) if Some(end.next) == self.mark.next && !listed.has_begun(&end.next) => (),
                Some(_) => return Err(StandbyFailure::OtherPromoted(path)),
                None => {
                    self.catch_up(replay, &|| false)?;
                    let walk = Walk::new(self.vault, opening::FORMAT, self.moment);
                    walk.compare(replay)?;
                    walk.check_timelines(replay)?;
                }
            }
        }
        let (key, time) = (self.own_key(keys)?, self.mark.time);
        let archive = archive.map(|replay| replay.directory);
        let Self { data, vault, moment, mark } = self;
        let next = mark.next.unwrap_or_else(|| Random::new().bytes());
        let chosen = StandbyMark { next: Some(next), ..mark };
        file::commit_with(&data.database, |transaction| chosen.write(transaction))?;
        if let Some(directory) = archive {
            let Moment { timeline, sequence: last, digest } = moment;
            let end = TimelineEnd { vault, timeline, last, digest, next, time: restoration.at };
            let failed = |error| {
                let path = directory.to_path_buf();
                StandbyFailure::Archive(ArchiveProblem::Directory(path, error))
            };
            let is_written = end.write(directory, key).map_err(failed)?;
            let known = read_end(directory, &timeline, keys)?;
            // The mark of this standby's earlier attempt names the timeline that it chose.
            let is_own = known.is_some_and(|it| TimelineEnd { time: it.time, ..end } == it);
            if !is_written && !is_own {
                let path = directory.join(mark_name(&timeline));
                return Err(StandbyFailure::OtherPromoted(path));
            }
        }
        let origin = Origin { timeline: moment.timeline, sequence: moment.sequence };
        let state = fresh(next, origin, moment);
        let view = view_of_file(&data.database)?;
        let mut batch = Batch::new(view.as_ref(), None);
        batch.take(meta::put_restored(restoration))?;
        let rows = batch.rows()?;
        file::commit_with(&data.database, |transaction| {
            file::write(transaction, rows)?;
            state.write(transaction)?;
            StandbyMark::remove(transaction)
        })?;
        Ok(Promoted { moment: Moment { timeline: next, ..moment }, time })
    }
}

fn read_end(
    directory: &Path,
    timeline: &[u8; 16],
    keys: &[MasterKey],
) -> Result<Option<TimelineEnd>, StandbyFailure> {
    TimelineEnd::read(directory, timeline, keys).map_err(|invalid| {
        let path = directory.join(mark_name(timeline));
        StandbyFailure::Archive(ArchiveProblem::Piece(path, invalid))
    })
}

impl std::fmt::Debug for Standby {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Standby").field("moment", &self.moment).finish_non_exhaustive()
    }
}

impl From<WalkFailure> for StandbyFailure {
    fn from(failure: WalkFailure) -> Self {
        match failure {
            WalkFailure::Archive(problem) => Self::Archive(problem),
            WalkFailure::Storage(failure) => Self::Storage(failure),
        }
    }
}

from_causes!(StandbyFailure: StorageFailure => Self::Storage);
