//! Begins a new timeline of a stopped vault whose history has left its archive.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::clock::Clock;
use crate::crypto::{MasterKey, Random};
use crate::store::archive::chain::{ArchiveDirectory, ArchiveProblem};
use crate::store::archive::mark::{TimelineEnd, UNKNOWN_DIGEST};
use crate::store::batch::Batch;
use crate::store::engine::Moment;
use crate::store::engine::departure::Departure;
use crate::store::engine::local::file;
use crate::store::engine::local::log::end::EndFile;
use crate::store::engine::local::log::segment::Lineage;
use crate::store::engine::local::open::fresh;
use crate::store::engine::local::state::{LogState, Origin};
use crate::store::engine::local::view_of_file;
use crate::store::failure::{OpenFailure, StorageFailure};
use crate::store::handle::Store;
use crate::store::meta::{self, Restoration};
use crate::store::opening;
use crate::store::volume::{Directory, Volume};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewTimeline {
    pub timeline: [u8; 16],
    /// The last batch of the previous timeline.
    pub sequence: u64,
    /// The last durable batch, if the log ended before it.
    pub lost: Option<u64>,
    /// Why the vault had left its archive, if it had.
    pub departed: Option<Departure>,
    pub mark: TimelineMark,
    /// The mark at the end of the timeline that the previous one began from.
    pub origin_mark: TimelineMark,
}

/// The mark at the end of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimelineMark {
    /// No archive was named, or the archive needs no such mark.
    None,
    /// Another vault had written one before.
    Other,
    Own,
}

#[derive(Debug)]
pub enum TimelineFailure {
    Archive(ArchiveProblem),
    File(OpenFailure),
    /// The timeline has begun, but its mark could not be written into this directory.
    NotMarked(PathBuf, std::io::Error),
    /// The timeline has not begun: the mark of the timeline that the vault was restored from could
    /// not be written into this directory.
    OriginNotMarked(PathBuf, std::io::Error),
    /// None of the master keys matches the data file's, which has this check value.
    WrongMasterKey(Vec<u8>),
}

/// Begins a timeline that continues everything the vault has. With an archive, marks the end of the
/// previous timeline there, so that other copies of the vault refuse changes. A restored vault that
/// has not archived yet also ends the timeline of the vault that it was restored from.
pub fn begin_timeline(
    directory: &Path,
    archive: Option<&Path>,
    keys: &[MasterKey],
    by: (&Clock, &Restoration),
) -> Result<NewTimeline, TimelineFailure> {
    if let Some(path) = archive {
        let listed = ArchiveDirectory::list(path);
        listed.map_err(|it| ArchiveProblem::Directory(path.to_path_buf(), it))?;
    }
    let volume: Arc<dyn Volume> = Arc::new(Directory::open(directory)?);
    begin_on(&volume, archive, keys, by)
}

/// If this is interrupted, the vault is unchanged, or the timeline has begun. In both cases the vault
/// that it replaces may already be ended.
pub(super) fn begin_on(
    volume: &Arc<dyn Volume>,
    archive: Option<&Path>,
    keys: &[MasterKey],
    (clock, restoration): (&Clock, &Restoration),
) -> Result<NewTimeline, TimelineFailure> {
    let data = opening::open(volume.as_ref())?;
    let snapshot = opening::first_look(&data.database)?;
    let check = meta::master_check(&snapshot)?.unwrap_or_default();
    let key = keys.iter().find(|key| key.check().as_slice() == check);
    let key = key.ok_or(TimelineFailure::WrongMasterKey(check))?;
    let vault = meta::file_id(&snapshot)?.ok_or(OpenFailure::NotOurs)?.into_bytes();
    let noted = match LogState::read(&data.database)? {
        None => None,
        Some(LogState { timeline, .. }) => {
            EndFile::noted(volume.as_ref(), Lineage { vault, timeline })
                .map_err(OpenFailure::from)?
        }
    };
    drop((snapshot, data));
    // Opening and closing the store moves the rows of the log into the data file. A new timeline
    // can continue without batches that are missing at the end of the log. Until it has begun, the
    // noted end still names them.
    Store::accepting_any_end(volume, clock)?.close();
    let data = opening::open(volume.as_ref())?;
    let state = LogState::read(&data.database)?.filter(|state| state.is_closed);
    let state = state.ok_or(StorageFailure::Impossible("the log was not closed"))?;
    let (timeline, digest) = (state.timeline, state.position.digest);
    let sequence = state.position.sequence.saturating_sub(1);
    let next = Random::new().bytes();
    // Before the commit, after which nothing names the origin of the previous timeline.
    let origin_mark = match archive {
        None => TimelineMark::None,
        Some(path) => {
            let Origin { timeline: ended, sequence: last } = state.origin;
            let digest = if last == sequence { digest } else { UNKNOWN_DIGEST };
            let (next, time) = (timeline, restoration.at);
            let end = TimelineEnd { vault, timeline: ended, last, digest, next, time };
            mark_origin(path, end, (key, keys))?
        }
    };
    let last = Moment { timeline, sequence, digest };
    let begun = fresh(next, Origin { timeline, sequence }, last);
    let view = view_of_file(&data.database)?;
    let mut batch = Batch::new(view.as_ref(), None);
    batch.take(meta::put_restored(restoration))?;
    let rows = batch.rows()?;
    file::commit(&data.database, rows, Some(&begun))?;
    // After the commit: before it, the mark would end this vault too.
    let mark = match archive {
        None => TimelineMark::None,
        Some(path) => {
            let time = restoration.at;
            let end = TimelineEnd { vault, timeline, last: sequence, digest, next, time };
            let failed = |error| TimelineFailure::NotMarked(path.to_path_buf(), error);
            let is_own = end.write(path, key).map_err(failed)?;
            if is_own { TimelineMark::Own } else { TimelineMark::Other }
        }
    };
    Ok(NewTimeline {
        timeline: next,
        sequence,
        lost: noted.filter(|noted| *noted > sequence),
        departed: state.departed,
        mark,
        origin_mark,
    })
}

/// Marks the end of the timeline that the vault was restored from. Pieces of the vault's own
/// timeline would name that one, so with them readers see both, and no mark is needed.
fn mark_origin(
    path: &Path,
    end: TimelineEnd,
    (key, keys): (&MasterKey, &[MasterKey]),
) -> Result<TimelineMark, TimelineFailure> {
    let listed = ArchiveDirectory::list(path);
    let listed = listed.map_err(|it| ArchiveProblem::Directory(path.to_path_buf(), it))?;
    if end.timeline == Origin::default().timeline || listed.last_of(&end.next).is_some() {
        return Ok(TimelineMark::None);
    }
    let failed = |error| TimelineFailure::OriginNotMarked(path.to_path_buf(), error);
    let is_written = end.write(path, key).map_err(failed)?;
    // An attempt that was cut off, or the promotion of a standby, may have written it.
    let known = TimelineEnd::read(path, &end.timeline, keys).ok().flatten();
    let is_own = is_written || known.is_some_and(|known| known.next == end.next);
    Ok(if is_own { TimelineMark::Own } else { TimelineMark::Other })
}

from_causes!(TimelineFailure:
    ArchiveProblem => Self::Archive,
    OpenFailure => Self::File,
    StorageFailure => Self::File,
);
