//! Restores a data file from a backup and, optionally, from the log's archive after it.

use std::path::Path;
use std::sync::mpsc;
use std::thread;

use crate::bounds::{BACKUP_CHUNKS_AHEAD, DATABASE_LOAD_BYTES};
use crate::domain::time::Timestamp;
use crate::store::alarm::Alarm;
use crate::store::archive::chain::ArchiveProblem;
use crate::store::archive::replay::{Reached, Replay, Walk, WalkFailure};
use crate::store::backup::format::InvalidBackup;
use crate::store::backup::manifest::Manifest;
use crate::store::backup::reader::{Chunk, Reader};
use crate::store::backup::writer::audit_head;
use crate::store::batch::Batch;
use crate::store::change::Change;
use crate::store::engine::local::database::GuardedDatabase;
use crate::store::engine::local::file::{self, DataFile};
use crate::store::engine::local::load_into;
use crate::store::engine::local::open::begin_timeline;
use crate::store::engine::local::state::Origin;
use crate::store::engine::postgres::{Access, Database, PostgresEngine};
use crate::store::engine::{Engine, Moment, RowChange, SortedRows};
use crate::store::epochs::Epochs;
use crate::store::failure::{OpenFailure, StorageFailure};
use crate::store::handle::Store;
use crate::store::meta;
use crate::store::opening;
use crate::store::shards::Shards;
use crate::store::snapshot::Snapshot;
use crate::store::tables::{self, CountKind, Table, meta as keys};
use crate::store::volume::Directory;

/// No data file was made. The partial file was removed.
#[derive(Debug)]
pub enum RestoreFailure {
    Archive(ArchiveProblem),
    Backup(InvalidBackup),
    /// The backup's history had left the archive, so the archive does not continue it.
    Departed,
    File(OpenFailure),
    /// The backup shows this moment, which is later than the requested one.
    Later(Timestamp),
    /// The backup does not name its place in the history, so the archive cannot continue it.
    NoMoment,
}

#[derive(Debug)]
pub struct Restored {
    pub manifest: Manifest,
    /// The place that the archive led to; `None` without an archive.
    pub reached: Option<Reached>,
    pub contents: RestoredContents,
}

/// The contents of a restored store, read from it after the last change.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RestoredContents {
    /// The check value of the master key that opens the rows.
    pub master_check: Vec<u8>,
    pub tenants: u64,
    pub applications: u64,
    pub tokens: u64,
    /// The length and the last link of the audit chain.
    pub audit_head: Option<String>,
}

impl RestoredContents {
    fn read(snapshot: &Snapshot) -> Result<Self, StorageFailure> {
        let tenants = snapshot.first(&Table::Tenants.whole(), usize::MAX)?;
        let mut tokens = 0_u64;
        for tenant in tenants.iter().filter_map(|(key, _)| tables::tenant_of_key(key)) {
            let count = snapshot.count(&tables::counts(tenant, CountKind::Tokens))?;
            tokens = tokens.saturating_add(u64::try_from(count).unwrap_or(0));
        }
        Ok(Self {
            master_check: meta::master_check(snapshot)?.unwrap_or_default(),
            tenants: u64::try_from(tenants.len()).unwrap_or(u64::MAX),
            applications: snapshot.len(Table::Applications)?,
            tokens,
            audit_head: audit_head(snapshot)?,
        })
    }
}

impl Store {
    /// Creates the data file in an existing directory. It gets its name only when every row was
    /// read, checked and made durable. It keeps the backup's file format, adds the rows of `mark`
    /// and, with an archive, the changes after the backup, and begins a new timeline.
    pub fn restore(
        directory: &Path,
        mut backup: Reader,
        archive: Option<Replay<'_>>,
        mark: Change,
    ) -> Result<Restored, RestoreFailure> {
        let volume = Directory::open(directory)?;
        let (mut reached, mut contents) = (None, RestoredContents::default());
        let moment = backup.manifest().moment();
        DataFile::create(&volume, |database| {
            if let Some(archive) = archive {
                if backup.manifest().departed.is_some() {
                    return Err(RestoreFailure::Departed);
                }
                check_time(backup.manifest(), archive.until)?;
            }
            load(database, &mut backup)?;
            let (mut last, mut mark) = (moment, mark);
            if let Some(archive) = archive {
                let walk = replay(database, backup.manifest(), archive)?;
                last = Some(walk.reached.moment);
                mark = mark.and(seen(&walk));
                reached = Some(walk.reached);
            }
            opening::write(database, mark)?;
            if let Some(last) = last {
                begin_timeline(database, last)?;
            }
            let snapshot = opening::first_look(database)?;
            contents = RestoredContents::read(&snapshot)?;
            Ok::<(), RestoreFailure>(())
        })?;
        Ok(Restored { manifest: backup.manifest().clone(), reached, contents })
    }
}

/// Notes the end of the archive that the walk saw. All later changes count as unknown: another
/// vault may have archived them since.
fn seen(walk: &Walk) -> Change {
    let timeline = &walk.reached.moment.timeline;
    walk.seen.map(|last| meta::put_archive_seen(timeline, last)).unwrap_or_default()
}

impl Database {
    /// Creates a store in a database without one. It cannot be opened until every row was read,
    /// checked and made durable. It begins a new timeline.
    pub fn restore_store(
        &self,
        mut backup: Reader,
        archive: Option<Replay<'_>>,
        mark: &Change,
    ) -> Result<Restored, RestoreFailure> {
        if archive.is_some() {
            return Err(StorageFailure::Database(
                String::from("an archive cannot be replayed into it"),
                "restore with the archive into a directory, back that vault up, and restore the \
                 backup into the database",
            )
            .into());
        }
        let Moment { timeline, sequence, .. } = backup.manifest().moment().unwrap_or_default();
        self.create(Origin { timeline, sequence }, &[], None)?;
        let filled = fill(self, &mut backup, mark);
        let done = filled.and_then(|(contents, shards)| Ok((contents, self.complete(shards)?)));
        match done {
            Ok((contents, ())) => {
                Ok(Restored { manifest: backup.manifest().clone(), reached: None, contents })
            }
            Err(failure) => {
                // The first failure is reported. Leftover tables cannot be opened.
                self.remove_incomplete().ok();
                Err(failure)
            }
        }
    }
}

/// Writes the rows of the backup, then the rows of `mark`. A vault without shards gets shards. Its
/// audit entries so far stay in the vault's own chain.
fn fill(
    database: &Database,
    backup: &mut Reader,
    mark: &Change,
) -> Result<(RestoredContents, Shards), RestoreFailure> {
    let engine = PostgresEngine::start(database, Access::Loading)?;
    with_rows(backup, |rows| load_over(&engine, rows))?;
    let snapshot = || -> Result<Snapshot, StorageFailure> {
        Ok(Snapshot::new(engine.snapshot()?, Alarm::default(), Epochs::new().current()))
    };
    let mut mark = mark.clone();
    if snapshot()?.shards()? == Shards::default() {
        let shards = database.new_shards().encode();
        mark = mark.put(Table::Meta, keys::SHARDS.to_vec(), shards);
    }
    engine.apply(&mut |newest| {
        let mut batch = Batch::new(newest, None);
        batch.take(mark.clone())?;
        batch.rows()
    })?;
    let snapshot = snapshot()?;
    let (contents, shards) = (RestoredContents::read(&snapshot)?, snapshot.shards()?);
    drop(snapshot);
    engine.close()?;
    Ok((contents, shards))
}

fn load_over(engine: &dyn Engine, rows: &mut SortedRows<'_>) -> Result<(), StorageFailure> {
    let mut rows = rows.fuse().peekable();
    while rows.peek().is_some() {
        let (mut chunk, mut bytes) = (Vec::new(), 0_usize);
        while bytes < DATABASE_LOAD_BYTES
            && let Some((table, (key, value))) = rows.next()
        {
            bytes = bytes.saturating_add(key.len()).saturating_add(value.len());
            chunk.push(RowChange { table, key, value: Some(value) });
        }
        engine.apply(&mut |_| Ok(chunk.clone()))?;
    }
    Ok(())
}

/// Refuses a backup that is later than the requested moment.
fn check_time(manifest: &Manifest, until: Option<Timestamp>) -> Result<(), RestoreFailure> {
    let settled = manifest.settled_at().ok_or(RestoreFailure::NoMoment)?;
    match until {
        Some(until) if until < settled => Err(RestoreFailure::Later(settled)),
        Some(_) | None => Ok(()),
    }
}

/// Applies the archive's batches after the backup.
fn replay(
    database: &GuardedDatabase,
    manifest: &Manifest,
    archive: Replay<'_>,
) -> Result<Walk, RestoreFailure> {
    let mut walk = begin_walk(database, manifest)?;
    let walked = walk.compare(archive).and_then(|()| {
        walk.run_to_end(archive, &mut |rows, _| file::commit(database, rows, None))?;
        walk.check_timelines(archive)
    });
    match walked {
        Ok(()) => Ok(walk),
        Err(WalkFailure::Archive(problem)) => Err(RestoreFailure::Archive(problem)),
        Err(WalkFailure::Storage(failure)) => Err(failure.into()),
    }
}

/// Begins a walk through the archive at the backup's moment.
pub(in crate::store) fn begin_walk(
    database: &GuardedDatabase,
    manifest: &Manifest,
) -> Result<Walk, RestoreFailure> {
    let moment: Moment = manifest.moment().ok_or(RestoreFailure::NoMoment)?;
    let id = meta::file_id(&opening::first_look(database)?)?.ok_or(RestoreFailure::NoMoment)?;
    Ok(Walk::new(id.into_bytes(), manifest.file_format, moment))
}

/// Inserts the rows in key order, which is the cheapest order for a B-tree.
pub(in crate::store) fn load(
    database: &GuardedDatabase,
    backup: &mut Reader,
) -> Result<(), RestoreFailure> {
    with_rows(backup, |rows| load_into(database, rows))
}

/// Passes the rows of the backup to `use_rows`, in order. Another thread reads and checks the next
/// chunks meanwhile. At damage the rows end early, and the failure is returned, so what `use_rows`
/// did must be undone.
fn with_rows(
    backup: &mut Reader,
    use_rows: impl FnOnce(&mut SortedRows<'_>) -> Result<(), StorageFailure>,
) -> Result<(), RestoreFailure> {
    thread::scope(|scope| {
        let (sender, chunks) = mpsc::sync_channel(BACKUP_CHUNKS_AHEAD);
        let reader = thread::Builder::new().spawn_scoped(scope, move || {
            while let Some(chunk) = backup.next_chunk()? {
                // Without a receiver, `use_rows` has failed.
                if sender.send(chunk).is_err() {
                    break;
                }
            }
            Ok::<(), InvalidBackup>(())
        })?;
        let mut rows = chunks
            .into_iter()
            .flat_map(|Chunk { table, rows, .. }| rows.into_iter().map(move |row| (table, row)));
        let loaded = use_rows(&mut rows);
        drop(rows);
        let panicked = StorageFailure::Impossible("reading the backup panicked");
        let read = reader.join().map_err(|_payload| panicked)?;
        loaded?;
        Ok(read?)
    })
}

from_causes!(RestoreFailure:
    InvalidBackup => Self::Backup,
    OpenFailure => Self::File,
    StorageFailure => Self::File,
    std::io::Error => Self::File,
);
